"""C-41: similar identities are apart or refused, and alike so on every database.

A collation of the MySQL family can take `a` for `A` or for `á`; even its binary one
takes `a ` for `a`.
"""

import re
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from prepare.models import Scope, ScopeBinding, Source, Token
from tests import factories
from tests.api import Api
from tests.factories import make_scope, remember

VARIANTS = (
    *("Alpha", "alpha", "ALPHA", "ａlpha", "ÁLPHA"),
    *("caf\u00e9", "cafe\u0301", "cafe", "ﬁ", "fi", "straße", "strasse"),
    *("a b", "a  b", "a\u00a0b", "ı", "i", "K", "\u212a", "가", "\u1100\u1161"),
)
ASCII_VARIANTS = ("Alpha", "alpha", "ALPHA", "a_pha", "a%pha", "alpha-", "alpha0")
PADDED = ("alpha ", " alpha", "alpha\t", "alpha\n", "alpha\u3000", "alpha\u00a0")


def numbered(names: tuple[str, ...]) -> list[tuple[int, str]]:
    return list(enumerate(names))


@pytest.fixture(autouse=True)
def scope(db: None) -> Scope:
    return make_scope("s")


def test_scopes(api: Api) -> None:
    for number, name in numbered(VARIANTS):
        remember(make_scope(name), f"marigold number{number}")
    for number, name in numbered(VARIANTS):
        content = api.content(name, "marigold", assembly={})
        assert re.findall(r"number\d+", content) == [f"number{number}"]
        descriptor = api.get(f"/v1/scopes/{quote(name, safe='')}").body
        assert descriptor["scope_id"] == name


def test_references_of_scopes(api: Api) -> None:
    for number, name in numbered(VARIANTS):
        remember(make_scope(name), f"marigold number{number}")
    for number, name in numbered(VARIANTS):
        reader = make_scope(f"reader {number}", references=[name])
        content = api.content(reader.scope_id, "marigold", assembly={})
        assert re.findall(r"number\d+", content) == [f"number{number}"]


@pytest.mark.parametrize("padded", PADDED)
def test_padded_scopes(api: Api, padded: str) -> None:
    remember(make_scope("alpha"), "marigold")
    new = {"title": "T", "summary": "S", "idempotency_key": "k"}
    assert api.post("/v1/scopes", new | {"scope_id": padded}).status == 422
    for field in ("parent_scope_id", "context_references"):
        value = [padded] if field == "context_references" else padded
        answer = api.post("/v1/scopes", new | {field: value})
        assert (answer.status, answer.code) == (404, "scope_not_found")
    assert api.prepare(padded, "marigold").code == "scope_not_found"
    assert api.get(f"/v1/scopes/{quote(padded, safe='')}").status == 404
    body = {"scope_id": padded, "kind": "fact", "text": "t"}
    assert api.post("/v1/memory/remember", body).code == "scope_not_found"


@pytest.mark.parametrize("padded", PADDED)
def test_padded_scopes_of_a_token(api: Api, settings: Any, padded: str) -> None:
    settings.ACCESS_MODE = "enforced"
    secret = factories.token("t", make_scope("alpha"))
    caller = api.with_token(secret)
    assert caller.get("/v1/scopes/alpha").status == 200
    assert caller.get(f"/v1/scopes/{quote(padded, safe='')}").status == 403
    assert caller.prepare(padded, "q").status == 403


def test_idempotency_keys(api: Api) -> None:
    body = {"title": "T", "summary": "S"}
    made = [api.post("/v1/scopes", body | {"idempotency_key": key}) for key in VARIANTS]
    assert {answer.status for answer in made} == {201}
    assert len({answer.body["scope_id"] for answer in made}) == len(VARIANTS)
    again = api.post("/v1/scopes", body | {"idempotency_key": VARIANTS[1]})
    assert again.body == made[1].body


@pytest.mark.parametrize("padded", PADDED)
def test_padded_idempotency_keys(api: Api, padded: str) -> None:
    body = {"title": "T", "summary": "S"}
    assert api.post("/v1/scopes", body | {"idempotency_key": "alpha"}).status == 201
    answer = api.post("/v1/scopes", body | {"idempotency_key": padded})
    assert answer.status == 422
    [error] = answer.body["error"]["details"]["errors"]
    assert error["loc"] == ["body", "idempotency_key"]


def test_bindings(api: Api) -> None:
    keys = [
        {"integration": "git", "kind": "repo", "external_id": "x", field: name}
        for field in ("integration", "kind", "external_id")
        for name in VARIANTS
    ]
    for number, key in enumerate(keys):
        body = {"key": key, "scope_id": make_scope(f"scope {number}").scope_id}
        assert api.send("put", "/v1/scope-bindings", body).status == 200
    for number, key in enumerate(keys):
        asked = {"binding_keys": [key], "allow_default": False}
        answer = api.post("/v1/scope-bindings/resolve", asked)
        assert answer.body["scope_id"] == f"scope {number}"
    cleared = api.post("/v1/scope-bindings/clear", {"key": keys[0]})
    assert cleared.body == {"cleared": True}
    assert ScopeBinding.objects.count() == len(keys) - 1


@pytest.mark.parametrize("padded", PADDED)
@pytest.mark.parametrize("field", ["integration", "kind", "external_id"])
def test_padded_bindings(api: Api, field: str, padded: str) -> None:
    key = {"integration": "git", "kind": "repo", "external_id": "x", field: "alpha"}
    assert (
        api.send("put", "/v1/scope-bindings", {"key": key, "scope_id": "s"}).status
        == 200
    )
    key[field] = padded
    bind = {"key": key, "scope_id": make_scope("other").scope_id}
    resolve = {"binding_keys": [key], "allow_default": False}
    assert api.send("put", "/v1/scope-bindings", bind).status == 422
    assert api.post("/v1/scope-bindings/resolve", resolve).status == 422
    assert api.post("/v1/scope-bindings/clear", {"key": key}).status == 422
    assert ScopeBinding.objects.get().scope.scope_id == "s"


def test_sources(api: Api) -> None:
    for number, name in numbered(VARIANTS):
        body = {"scope_id": "s", "source_id": name, "content": f"number{number}"}
        assert api.post("/v1/sources/content", body).status == 202
    for number, name in numbered(VARIANTS):
        path = f"/v1/scopes/s/sources/content/{quote(name, safe='')}"
        assert api.get(path).body["content"] == f"number{number}"
    assert Source.objects.count() == len(VARIANTS)


@pytest.mark.parametrize("padded", PADDED)
def test_padded_sources(api: Api, scope: Scope, padded: str) -> None:
    """Refused when made, and neither read nor cited as evidence in another's place."""
    factories.source(scope, "alpha")
    body = {"scope_id": "s", "source_id": padded, "content": "evidence"}
    assert api.post("/v1/sources/content", body).status == 422
    path = f"/v1/scopes/s/sources/content/{quote(padded, safe='')}"
    assert api.get(path).code == "source_not_found"
    padded_type = padded.replace("alpha", "content")
    for name, source_id in (("content", padded), (padded_type, "alpha")):
        proposal = {
            "scope_id": "s",
            "proposal": factories.experience("marigold"),
            "source_refs": [{"name": name, "source_id": source_id}],
            "artifact_refs": [],
        }
        answer = api.post("/v1/experience/propose", proposal)
        assert (answer.status, answer.code) == (404, "source_not_found")


def test_artifacts_and_entries(api: Api, scope: Scope) -> None:
    entries = []
    for number, name in numbered(ASCII_VARIANTS):
        remember(scope, f"marigold number{number}", artifact_id=name)
        entries.append((name, f"v-{name}", f"petunia number{number}"))
    factories.collect(scope, entries)
    for number, name in numbered(ASCII_VARIANTS):
        path = f"/v1/scopes/s/artifacts/atomic-memory/{quote(name, safe='')}"
        assert api.get(path).body["content"]["text"] == f"marigold number{number}"
    missing = f"/v1/scopes/s/artifacts/atomic-memory/{quote('aLPHA', safe='')}"
    assert api.get(missing).code == "artifact_not_found"
    found = api.content("s", "petunia")
    assert set(re.findall(r"petunia number\d", found)) <= {text for *_, text in entries}


@pytest.mark.parametrize("padded", PADDED)
def test_padded_artifacts(api: Api, scope: Scope, padded: str) -> None:
    remember(scope, "marigold", artifact_id="alpha")
    path = f"/v1/scopes/s/artifacts/atomic-memory/{quote(padded, safe='')}"
    change = {"content": {"kind": "fact", "text": "other"}}
    for answer in (
        api.get(path),
        api.get(f"{path}/revisions"),
        api.get(f"{path}/revisions/1"),
        api.get(f"{path}/state"),
        api.send("put", path, change, headers={"If-Match": '"revision:1"'}),
    ):
        assert answer.status in (404, 422), answer.body
    assert scope.artifacts.get().revision == 1


def test_tokens(api: Api, scope: Scope) -> None:
    for name in VARIANTS:
        call_command("create_token", name, scope=["s"], role="viewer", verbosity=0)
    call_command("revoke_token", "alpha", verbosity=0)
    revoked = Token.objects.exclude(revoked_at=None)
    assert list(revoked.values_list("name", flat=True)) == ["alpha"]


@pytest.mark.parametrize("padded", PADDED)
def test_padded_tokens(api: Api, scope: Scope, padded: str) -> None:
    factories.token("alpha", scope)
    for command in ("create_token", "revoke_token"):
        with pytest.raises(CommandError):
            call_command(command, padded, verbosity=0)
    assert Token.objects.get().revoked_at is None
