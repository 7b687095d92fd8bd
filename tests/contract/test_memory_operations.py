"""Memories, their states and merges, and entries of a collection (C.2, C.3)."""

from typing import Any

import pytest

from prepare.models import Scope
from tests.api import Answer, Api
from tests.contract.steps import (
    ARTIFACTS,
    RECORD,
    REF,
    failed,
    follow_body,
    is_prepared,
    pages,
    recorded,
    set_state,
)
from tests.factories import (
    collect,
    make_scope,
    remember,
    source,
)

pytestmark = pytest.mark.usefixtures("scope")


def test_remember(api: Api) -> None:
    request = {"scope_id": "contract", "kind": "fact", "text": " cafe\u0301\n"}
    answer = api.post("/v1/memory/remember", {**request, "reason": "told so"})
    assert (answer.status, answer.body["changed"]) == (200, True)
    [record] = answer.body["records"]
    assert list(record) == RECORD
    assert list(record["artifact"]) == REF
    identifier = record["artifact"]["artifact_id"]
    assert record == {
        "artifact": {
            "family": "atomic-memory",
            "artifact_id": identifier,
            "revision": 1,
        },
        "kind": "fact",
        "text": "caf\u00e9",
        "state": "active",
        "state_version": 0,
        "merged_into_id": None,
    }
    stored = api.get(f"{ARTIFACTS}/atomic-memory/{identifier}").body
    assert stored["reason"] == "told so"
    again = api.post("/v1/memory/remember", request).body["records"][0]
    assert again["artifact"]["artifact_id"] != identifier
    longest = api.post("/v1/memory/remember", {**request, "text": "x" * 8192})
    assert longest.status == 200
    for change in ({"text": "x" * 8193}, {"text": " "}, {"kind": " "}, {"reason": 1}):
        failed(
            api.post("/v1/memory/remember", request | change), 422, "invalid_request"
        )
    unknown = api.post("/v1/memory/remember", request | {"scope_id": "nope"})
    failed(unknown, 404, "scope_not_found")


@pytest.mark.parametrize("path", ["/v1/memory/search", "/v1/atomic-memory/search"])
def test_memory_search(api: Api, scope: Scope, path: str) -> None:
    for number in range(3):
        remember(scope, f"orchid {number}", artifact_id=f"m{number}")
    remember(make_scope("other"), "orchid elsewhere")
    request = {"scope_id": "contract", "query": "orchid"}
    answer = api.post(path, request)
    assert list(answer.body) == ["mode", "hits"]
    assert answer.body["mode"] == "text"
    hits = answer.body["hits"]
    assert [hit["memory"]["text"] for hit in hits] == [f"orchid {n}" for n in range(3)]
    assert list(hits[0]) == ["memory", "score", "matched_by"]
    assert list(hits[0]["memory"]) == RECORD
    assert hits[0]["matched_by"] == ["text"]
    assert hits[0]["score"] > hits[1]["score"] > hits[2]["score"] > 0
    assert len(api.post(path, request | {"limit": 2}).body["hits"]) == 2
    assert api.post(path, request | {"query": "cactus"}).body["hits"] == []
    for mode in ("vector", "hybrid"):
        refused = api.post(path, request | {"mode": mode})
        failed(refused, 422, "capability_not_supported")
    for change in ({"limit": 0}, {"limit": 101}, {"mode": "x"}, {"query": " "}):
        failed(api.post(path, request | change), 422, "invalid_request")
    unknown = api.post(path, request | {"scope_id": "nope"})
    failed(unknown, 404, "scope_not_found")


def test_search_options_of_one_operation(api: Api, scope: Scope) -> None:
    remember(scope, "orchid fact", kind="fact")
    remember(scope, "orchid rule", kind="rule")
    request = {"scope_id": "contract", "query": "orchid"}
    found = api.post("/v1/atomic-memory/search", request | {"kind": "rule"})
    assert [hit["memory"]["kind"] for hit in found.body["hits"]] == ["rule"]
    tagged = {"tags": ["a"], "tag_match": "any"}
    refused = api.post("/v1/atomic-memory/search", request | tagged)
    failed(refused, 422, "capability_not_supported")
    refused = api.post("/v1/memory/search", request | {"tag_filter": {"all": ["a"]}})
    failed(refused, 422, "capability_not_supported")
    extras: list[dict[str, Any]] = [{"kind": "rule"}, {"tags": []}, {"limit": 51}]
    for extra in extras:
        refused = api.post("/v1/memory/search", request | extra)
        failed(refused, 422, "invalid_request")


def test_forget_and_restore(api: Api) -> None:
    record = recorded(api)
    assert is_prepared(api)
    forgotten = set_state(api, record, "forgotten").body
    assert forgotten["changed"] is True
    [after] = forgotten["records"]
    assert after == record | {"state": "forgotten", "state_version": 1}
    assert not is_prepared(api)

    same = set_state(api, after, "forgotten").body
    assert same == {"changed": False, "records": [after]}
    details = failed(set_state(api, record, "active"), 409, "atomic_memory_changed")
    assert details == {"revision": 1, "state_version": 1}

    path = f"{ARTIFACTS}/atomic-memory/{record['artifact']['artifact_id']}"
    state = api.get(f"{path}/state")
    assert state.body == {
        "artifact": record["artifact"],
        "state": "forgotten",
        "state_version": 1,
        "merged_into_id": None,
    }
    assert state.headers["ETag"] == '"revision:1"'
    edited = api.put(
        path,
        {"content": {"kind": "fact", "text": "orchid edited"}},
        headers={"If-Match": '"revision:1"'},
    )
    assert edited.status == 200
    assert not is_prepared(api)
    newer = after | {"artifact": record["artifact"] | {"revision": 2}}
    [active] = set_state(api, newer, "active").body["records"]
    assert (active["state"], active["state_version"]) == ("active", 2)
    assert active["text"] == "orchid edited"
    assert is_prepared(api)


def test_retired_is_final(api: Api) -> None:
    record = recorded(api)
    [retired] = set_state(api, record, "retired").body["records"]
    assert retired["state"] == "retired"
    assert not is_prepared(api)
    for state in ("active", "forgotten"):
        failed(set_state(api, retired, state), 409, "invalid_memory_state")
    path = f"{ARTIFACTS}/atomic-memory/{record['artifact']['artifact_id']}"
    edited = api.put(
        path,
        {"content": {"kind": "fact", "text": "x"}},
        headers={"If-Match": '"revision:1"'},
    )
    failed(edited, 409, "invalid_memory_state")
    assert api.get(f"{path}/revisions/1").body["content"]["text"] == "orchid"


def test_lifecycle_errors(api: Api) -> None:
    record = recorded(api)
    failed(set_state(api, record, "merged"), 422, "invalid_request")
    wrong = record | {"artifact": record["artifact"] | {"artifact_id": "nope"}}
    failed(set_state(api, wrong, "forgotten"), 404, "artifact_not_found")
    wrong = record | {"artifact": record["artifact"] | {"family": "experience"}}
    failed(set_state(api, wrong, "forgotten"), 422, "invalid_request")
    for other in (
        {"state_version": 5},
        {"artifact": record["artifact"] | {"revision": 2}},
    ):
        answer = set_state(api, record | other, "forgotten")
        failed(answer, 409, "atomic_memory_changed")


def merge(api: Api, *records: dict[str, Any], **extra: Any) -> Answer:
    request = {
        "scope_id": "contract",
        "inputs": [
            {key: record[key] for key in ("artifact", "state_version")}
            for record in records
        ],
        "content": {"kind": "fact", "text": "orchids, merged"},
        **extra,
    }
    return api.post("/v1/atomic-memory/merges", request)


def test_merge(api: Api, scope: Scope) -> None:
    source(scope, "src")
    second, first = recorded(api, "orchid 2"), recorded(api, "orchid 1")
    evidence = [{"name": "content", "source_id": "src"}]
    body = merge(api, first, second, source_refs=evidence).body
    assert body["changed"] is True
    merged, *inputs = body["records"]
    identifier = merged["artifact"]["artifact_id"]
    assert (merged["text"], merged["state"]) == ("orchids, merged", "active")
    assert inputs == [
        record | {"state": "merged", "state_version": 1, "merged_into_id": identifier}
        for record in (first, second)
    ]
    stored = api.get(f"{ARTIFACTS}/atomic-memory/{identifier}").body
    assert stored["artifacts"] == [first["artifact"], second["artifact"]]
    assert stored["sources"] == [{"source_type": "content", "source_id": "src"}]
    assert stored["content"]["creation"] == {
        "type": "merge",
        "input_artifact_ids": [
            record["artifact"]["artifact_id"] for record in (first, second)
        ],
    }
    path = f"{ARTIFACTS}/atomic-memory/{first['artifact']['artifact_id']}"
    assert api.get(f"{path}/state").body["merged_into_id"] == identifier
    # An exact read stays with what was cited; it does not follow the merge.
    assert api.get(f"{path}/revisions/1").body["content"]["text"] == "orchid 1"
    content = api.content("contract", "orchid", assembly={})
    assert "orchids, merged" in content
    assert "orchid 1" not in content

    failed(set_state(api, inputs[0], "active"), 409, "invalid_memory_state")
    failed(merge(api, *inputs), 409, "invalid_memory_state")
    edited = api.put(
        path,
        {"content": {"kind": "fact", "text": "x"}},
        headers={"If-Match": '"revision:1"'},
    )
    failed(edited, 409, "invalid_memory_state")


def test_merge_errors(api: Api) -> None:
    first, second = recorded(api, "orchid 1"), recorded(api, "orchid 2")
    failed(merge(api, first), 422, "invalid_request")
    failed(merge(api, first, first), 409, "invalid_memory_relation")
    stale = second | {"state_version": 1}
    failed(merge(api, first, stale), 409, "atomic_memory_changed")
    missing = second | {"artifact": second["artifact"] | {"artifact_id": "nope"}}
    failed(merge(api, first, missing), 404, "artifact_not_found")
    unknown = [{"name": "content", "source_id": "nope"}]
    failed(merge(api, first, second, source_refs=unknown), 404, "source_not_found")
    [forgotten] = set_state(api, second, "forgotten").body["records"]
    failed(merge(api, first, forgotten), 409, "invalid_memory_state")
    # Nothing of a refused merge is left.
    heads = api.get(f"{ARTIFACTS}/atomic-memory").body["items"]
    assert len(heads) == 2
    path = f"{ARTIFACTS}/atomic-memory/{first['artifact']['artifact_id']}/state"
    assert api.get(path).body["state"] == "active"


def test_memory_lists(api: Api) -> None:
    records = [recorded(api, f"orchid {number}") for number in range(5)]
    [forgotten] = set_state(api, records[1], "forgotten").body["records"]
    active = [record for record in records if record is not records[1]]

    entries = pages(follow_body(api, "/v1/memory/entries/list"), "entries")
    assert entries == active
    everything = pages(
        follow_body(api, "/v1/memory/entries/list", include_inactive=True), "entries"
    )
    assert everything == [records[0], forgotten, *records[2:]]
    items = pages(follow_body(api, "/v1/atomic-memory/list"), "items")
    assert items == active
    items = pages(
        follow_body(api, "/v1/atomic-memory/list", states=["forgotten"]), "items"
    )
    assert items == [forgotten]
    request = {"scope_id": "contract", "tag_filter": {}}
    refused = api.post("/v1/memory/entries/list", request)
    failed(refused, 422, "capability_not_supported")
    request = {"scope_id": "contract", "tags": ["a"]}
    refused = api.post("/v1/atomic-memory/list", request)
    failed(refused, 422, "capability_not_supported")


def test_memory_list_by_kind(api: Api, scope: Scope) -> None:
    quoted = '"kind":"rule",'
    for number, kind in enumerate(["fact", "Fact", "rule", "ru%", 'q"uote', "契"]):
        remember(scope, f"{quoted} {number}", artifact_id=f"m{number}", kind=kind)
    for kind in ("rule", "ru%", 'q"uote', "契", "none"):
        request = {"scope_id": "contract", "kind": kind}
        items = api.post("/v1/atomic-memory/list", request).body["items"]
        assert [item["kind"] for item in items] == [kind] * (kind != "none")


def test_memory_list_kind_is_case_sensitive(api: Api, scope: Scope) -> None:
    for kind in ("fact", "Fact"):
        remember(scope, "orchid", kind=kind)
    items = api.post(
        "/v1/atomic-memory/list", {"scope_id": "contract", "kind": "fact"}
    ).body["items"]
    assert [item["kind"] for item in items] == ["fact"]


@pytest.mark.clause("A-184", "A-185")
def test_memory_entry_by_citation_and_by_target(api: Api, scope: Scope) -> None:
    first = collect(scope, [("e1", "e1-v1", "orchid one"), ("e2", "e2-v1", "fern")])
    collect(scope, [("e1", "e1-v2", "orchid two")])

    def get(revision: int, entry: str, version: str, **ref: Any) -> Answer:
        memory_ref = {"family": "memory", "artifact_id": "memory", "revision": revision}
        citation = {
            "memory_ref": memory_ref | ref,
            "entry_id": entry,
            "entry_version_id": version,
        }
        request = {"scope_id": "contract", "citation": citation}
        return api.post("/v1/memory/entries/get", request)

    assert get(1, "e1", "e1-v1").body == {
        "artifact": {"family": "memory", "artifact_id": "memory", "revision": 1},
        "entry_id": "e1",
        "entry_version_id": "e1-v1",
        "version": 1,
        "kind": "fact",
        "text": "orchid one",
        "state": "active",
    }
    assert get(2, "e1", "e1-v2").body["text"] == "orchid two"
    assert get(2, "e1", "e1-v2").body["version"] == 2
    assert get(2, "e2", "e2-v1").body["text"] == "fern"
    # Neither a later nor an earlier version stands in for the cited one.
    for revision, version in [(1, "e1-v2"), (2, "e1-v1"), (1, "E1-V1")]:
        failed(get(revision, "e1", version), 404, "memory_not_found")
    failed(get(1, "e2", "e1-v1"), 404, "memory_not_found")
    failed(get(3, "e1", "e1-v2"), 404, "artifact_not_found")
    wrong = get(1, "e1", "e1-v1", family="atomic-memory")
    failed(wrong, 422, "legacy_memory_operation_unsupported")

    def current(entry: str) -> Answer:
        target = {
            "type": "memory_entry",
            "family": "memory",
            "artifact_id": first.artifact.artifact_id,
            "entry_id": entry,
        }
        request = {"scope_id": "contract", "target": target}
        return api.post("/v1/memory/entries/get", request)

    assert list(current("e1").body) == RECORD
    assert current("e1").body["text"] == "orchid two"
    failed(current("nope"), 404, "not_found")
    refused: list[dict[str, Any]] = [{}, {"target": None}]
    for request in [*refused, {"citation": {}, "target": {}}]:
        answer = api.post("/v1/memory/entries/get", {"scope_id": "contract", **request})
        failed(answer, 422, "invalid_request")
