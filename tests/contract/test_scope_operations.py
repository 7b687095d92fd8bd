"""Scopes and their bindings, key by key, and their errors (contract B.1, J-27)."""

import re
from typing import Any

import pytest

from tests.api import Answer, Api
from tests.contract.steps import (
    DESCRIPTOR,
    failed,
    follow,
    locs,
    pages,
)
from tests.factories import (
    make_scope,
)

pytestmark = pytest.mark.usefixtures("scope")


def new_scope(**fields: Any) -> dict[str, Any]:
    return {"title": "T", "summary": "S", "idempotency_key": "key", **fields}


def changed_scope(**fields: Any) -> dict[str, Any]:
    return {"title": "T", "summary": "S", "expected_version": 1, **fields}


def test_create_scope_with_generated_id(api: Api) -> None:
    answer = api.post("/v1/scopes", new_scope())
    assert answer.status == 201
    assert list(answer.body) == DESCRIPTOR
    assert re.fullmatch(r"scp_[0-9abcdefghjkmnpqrstvwxyz]{26}", answer.body["scope_id"])
    assert answer.body == {
        "scope_id": answer.body["scope_id"],
        "title": "T",
        "summary": "S",
        "parent_scope_id": None,
        "context_references": [],
        "external_references": [],
        "version": 1,
    }
    assert api.get(f"/v1/scopes/{answer.body['scope_id']}").body == answer.body


def test_create_scope_with_everything(api: Api) -> None:
    for name in ("z", "a", "m"):
        make_scope(name)
    fields = {
        "scope_id": "project:demo",
        "parent_scope_id": "contract",
        "context_references": ["z", "a", "m"],
        "external_references": [{"kind": "repo", "value": "https://example.com/x"}],
    }
    answer = api.post("/v1/scopes", new_scope(**fields))
    assert answer.status == 201
    assert fields.items() <= answer.body.items()
    assert api.get("/v1/scopes/project:demo").body == answer.body


def test_create_scope_is_idempotent(api: Api) -> None:
    first = api.post("/v1/scopes", new_scope())
    again = api.post("/v1/scopes", new_scope())
    assert (again.status, again.body) == (201, first.body)
    for other in (new_scope(title="U"), new_scope(scope_id="chosen")):
        failed(api.post("/v1/scopes", other), 409, "scope_idempotency_conflict")
    assert api.post("/v1/scopes", new_scope(idempotency_key="k2")).status == 201
    taken = new_scope(idempotency_key="k3", scope_id="contract")
    failed(api.post("/v1/scopes", taken), 409, "scope_conflict")


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"title": " T"}, ["title"]),
        ({"title": ""}, ["title"]),
        ({"title": "x" * 257}, ["title"]),
        ({"summary": "S\n"}, ["summary"]),
        ({"summary": "x" * 2001}, ["summary"]),
        ({"idempotency_key": ""}, ["idempotency_key"]),
        ({"idempotency_key": "x" * 257}, ["idempotency_key"]),
        ({"context_references": ["contract", "contract"]}, ["context_references"]),
        ({"context_references": None}, ["context_references"]),
        ({"context_references": [1]}, ["context_references", 0]),
        ({"external_references": [{"kind": "x"}]}, ["external_references", 0, "value"]),
        (
            {"external_references": [{"kind": "x" * 129, "value": "v"}]},
            ["external_references", 0, "kind"],
        ),
        ({"parent_scope_id": ""}, ["parent_scope_id"]),
    ],
)
def test_invalid_scope(api: Api, fields: dict[str, Any], loc: list[Any]) -> None:
    details = failed(
        api.post("/v1/scopes", new_scope(**fields)), 422, "invalid_request"
    )
    assert locs(details) == [["body", *loc]]


def test_update_scope(api: Api) -> None:
    for name in ("z", "a"):
        make_scope(name)
    path = "/v1/scopes/contract"
    answer = api.put(path, changed_scope(title="New", context_references=["z", "a"]))
    assert list(answer.body) == DESCRIPTOR
    assert (answer.status, answer.body["version"]) == (200, 2)
    assert answer.body["title"] == "New"
    assert answer.body["context_references"] == ["z", "a"]
    assert api.get(path).body == answer.body

    stale = api.put(path, changed_scope())
    details = failed(stale, 409, "scope_version_conflict")
    assert details == {"expected_version": 1, "current_version": 2}
    cleared = api.put(path, changed_scope(expected_version=2))
    assert cleared.body["context_references"] == []
    failed(api.put("/v1/scopes/nope", changed_scope()), 404, "scope_not_found")


def test_scope_relationships(api: Api) -> None:
    make_scope("child")
    path = "/v1/scopes/child"
    itself = api.put(path, changed_scope(context_references=["child"]))
    details = failed(itself, 422, "invalid_scope_relationship")
    assert details == {"relationship": "Context Reference"}
    for fields in ({"context_references": ["nope"]}, {"parent_scope_id": "nope"}):
        failed(api.put(path, changed_scope(**fields)), 404, "scope_not_found")
        failed(api.post("/v1/scopes", new_scope(**fields)), 404, "scope_not_found")
    assert api.get(path).body["version"] == 1

    assert api.put(path, changed_scope(parent_scope_id="contract")).status == 200
    for parent in ("child", "contract"):
        looped = api.put("/v1/scopes/contract", changed_scope(parent_scope_id=parent))
        if parent == "child":
            details = failed(looped, 422, "invalid_scope_relationship")
        else:
            details = failed(looped, 422, "invalid_scope_relationship")
        assert details == {"relationship": "Parent"}
    # References may form a cycle: they are not followed (contract B.2).
    cyclic = changed_scope(context_references=["child"])
    assert api.put("/v1/scopes/contract", cyclic).status == 200


def test_list_scopes_page_by_page(api: Api) -> None:
    names = [f"s{number}" for number in range(5)]
    for name in names:
        make_scope(name)
    answers = list(follow(api, "/v1/scopes"))
    assert all(list(answer.body) == ["items", "next_cursor"] for answer in answers)
    items = pages(iter(answers), "items")
    listed = [item["scope_id"] for item in items]
    assert [name for name in listed if name in names] == names
    assert len(listed) == len(set(listed))
    assert list(items[0]) == DESCRIPTOR


def test_default_scope(api: Api) -> None:
    before = api.get("/v1/scopes/default")
    assert (before.status, before.body["title"]) == (200, "Default")
    answer = api.put("/v1/scopes/default", {"scope_id": "contract"})
    assert (answer.status, answer.body["scope_id"]) == (200, "contract")
    assert api.get("/v1/scopes/default").body == answer.body
    unknown = api.put("/v1/scopes/default", {"scope_id": "nope"})
    failed(unknown, 404, "scope_not_found")
    assert api.get("/v1/scopes/default").body == answer.body


def test_scope_bindings(api: Api) -> None:
    make_scope("bound")
    make_scope("second")
    keys = [
        {"integration": "codex", "kind": "repo", "external_id": name}
        for name in ("one", "two", "ONE")
    ]

    def resolve(**request: Any) -> Answer:
        return api.post("/v1/scope-bindings/resolve", request)

    bound = {"key": keys[1], "scope_id": "bound"}
    answer = api.put("/v1/scope-bindings", bound)
    assert (answer.status, answer.body) == (200, bound)
    api.put("/v1/scope-bindings", {"key": keys[2], "scope_id": "second"})

    assert list(resolve().body) == DESCRIPTOR
    assert resolve().body["title"] == "Default"
    assert resolve(binding_keys=keys).body["scope_id"] == "bound"
    assert resolve(binding_keys=[keys[2], keys[1]]).body["scope_id"] == "second"
    explicit = resolve(binding_keys=keys, explicit_scope_id="contract")
    assert explicit.body["scope_id"] == "contract"
    failed(resolve(explicit_scope_id="nope"), 404, "scope_not_found")
    failed(resolve(allow_default=False), 404, "scope_not_found")
    unbound = resolve(binding_keys=keys[:1], allow_default=False)
    failed(unbound, 404, "scope_not_found")
    missing = {"key": keys[0], "scope_id": "nope"}
    failed(api.put("/v1/scope-bindings", missing), 404, "scope_not_found")

    api.put("/v1/scope-bindings", {"key": keys[1], "scope_id": "second"})
    assert resolve(binding_keys=keys).body["scope_id"] == "second"
    for cleared in (True, False):
        answer = api.post("/v1/scope-bindings/clear", {"key": keys[1]})
        assert (answer.status, answer.body) == (200, {"cleared": cleared})
    assert resolve(binding_keys=keys[:2]).body["title"] == "Default"
