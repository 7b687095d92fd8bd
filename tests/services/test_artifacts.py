"""The one writer: append-only, optimistic, all or nothing, byte-exact (C.1, C.5)."""

import json
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection

from prepare.errors import (
    ArtifactNotFound,
    Conflict,
    InvalidRequest,
    PowerContextError,
    RevisionConflict,
    SourceNotFound,
)
from prepare.models import (
    Artifact,
    ArtifactRevision,
    Scope,
    Source,
)
from prepare.services import access, artifacts, candidates, memories, scopes, sources
from prepare.services.artifacts import Lineage, SourceRef
from prepare.services.memories import MemoryTarget
from prepare.services.scopes import ScopeFields
from prepare.services.sources import SourceContent
from prepare.values import ArtifactRef
from tests.api import Api
from tests.factories import (
    BY_TEST,
    NOW,
    collect,
    experience,
    make_scope,
    profile,
    propose,
    ref,
    remember,
    revise,
    source,
    topic,
    write,
)

FACT = {"kind": "fact", "text": "zebra"}


@pytest.fixture
def scope(db) -> Scope:
    return make_scope("s")


def dump() -> dict[str, list[tuple[Any, ...]]]:
    """Every stored row of the app."""
    tables = [
        name
        for name in connection.introspection.table_names()
        if name.startswith("prepare_")
    ]
    rows = {}
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT * FROM {table}")
            rows[table] = cursor.fetchall()
    return rows


@pytest.mark.clause("A-183")
def test_revisions_keep_their_content_and_digest(scope) -> None:
    row = remember(scope, "one")
    for text in ("two", "three"):
        row = revise(row, {"kind": "fact", "text": text})
    rows = list(row.artifact.revisions.order_by("revision"))
    assert [item.revision for item in rows] == [1, 2, 3]
    assert [json.loads(item.content)["text"] for item in rows] == [
        "one",
        "two",
        "three",
    ]
    assert len({item.content_digest for item in rows}) == 3
    assert Artifact.objects.get(pk=row.artifact_id).revision == 3


# Optimistic writes.


def replace(scope: Scope, artifact_id: str, **options: Any) -> ArtifactRevision:
    return artifacts.replace_artifact(
        scope=scope,
        family="atomic-memory",
        artifact_id=artifact_id,
        content=FACT | {"text": "next"},
        authorship=BY_TEST,
        **options,
    )


def test_stale_if_match_changes_nothing(scope) -> None:
    remember(scope, "zebra", artifact_id="m")
    replace(scope, "m", expected_revision=1)
    before = dump()
    with pytest.raises(RevisionConflict) as caught:
        replace(scope, "m", expected_revision=1)
    assert caught.value.details == {
        "provided_etag": '"revision:1"',
        "current_etag": '"revision:2"',
    }
    assert dump() == before


@pytest.mark.parametrize(
    ("header", "status", "code"),
    [
        (None, 428, "precondition_required"),
        ('"revision:2"', 412, "revision_conflict"),
        ('"revision:1"', 200, None),
    ],
)
def test_if_match(api: Api, scope, header, status, code) -> None:
    remember(scope, "zebra", artifact_id="m")
    headers = {} if header is None else {"If-Match": header}
    path = "/v1/scopes/s/artifacts/atomic-memory/m"
    answer = api.put(path, {"content": FACT}, headers=headers)
    assert answer.status == status
    if code is None:
        assert answer.headers["ETag"] == '"revision:2"'
    else:
        assert answer.code == code


@pytest.mark.parametrize("revision", [1, 4, 5])
def test_imported_revisions_ascend(scope, revision) -> None:
    write(scope, "atomic-memory", FACT, artifact_id="m")
    replace(scope, "m", revision=5)
    with pytest.raises(Conflict):
        replace(scope, "m", revision=revision)
    assert replace(scope, "m", revision=9).revision == 9
    assert replace(scope, "m").revision == 10


def test_taken_identity_is_a_conflict(scope) -> None:
    profile(scope, "One.")
    before = dump()
    with pytest.raises(Conflict) as caught:
        profile(scope, "Two.")
    assert caught.value.code == "idempotency_conflict"
    assert dump() == before


@pytest.mark.parametrize(
    ("family", "artifact_id"), [("profile", "mine"), ("prompt", "my.prompt")]
)
def test_named_artifacts_have_one_name(scope, family, artifact_id) -> None:
    prompt = {"mode": "auto", "instructions": "", "demonstrations": []}
    content = {"content": "One."} if family == "profile" else prompt
    if family == "prompt":
        content = content | {"schema_version": "powercontext.prompt.v1"}
    with pytest.raises(InvalidRequest):
        write(scope, family, content, artifact_id=artifact_id)


def test_lineage_stays_in_its_scope(scope) -> None:
    other = make_scope("other")
    source(other, "src")
    foreign = remember(other, "zebra")
    for lineage, error in (
        (
            Lineage(sources=(SourceRef(source_type="content", source_id="src"),)),
            SourceNotFound,
        ),
        (Lineage(artifacts=(ref(foreign),)), ArtifactNotFound),
    ):
        before = dump()
        with pytest.raises(error):
            write(scope, "atomic-memory", FACT, lineage=lineage)
        assert dump() == before


def test_rollback_is_a_new_revision(scope) -> None:
    first = profile(scope, "One.")
    revise(first, {"content": "Two."})
    authorship = artifacts.Authorship(now=NOW, restored_from_revision=1, reason="Back.")
    row = artifacts.replace_artifact(
        scope=scope,
        family="profile",
        artifact_id="profile",
        content={"content": "One."},
        authorship=authorship,
    )
    content = json.loads(row.content)
    assert (row.revision, row.restored_from_revision) == (3, 1)
    assert content["content"] == "One.\n"
    assert content["generation"]["mode"] == "rollback"


# All or nothing: each writer fails at each of its statements.


class InjectedError(Exception):
    pass


class FailingWrites:
    """Lets `allowed` writing statements of this connection through, then fails."""

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self.count = 0

    def __call__(self, execute: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            self.count += 1
            if self.count > self.allowed:
                raise InjectedError
        return execute(sql, *arguments)


def target(scope: Scope, artifact_id: str) -> MemoryTarget:
    head = Artifact.objects.get(scope=scope, artifact_id=artifact_id)
    artifact = ArtifactRef(
        family=head.family, artifact_id=artifact_id, revision=head.revision
    )
    return MemoryTarget(artifact=artifact, state_version=head.state_version)


def approve(scope: Scope) -> object:
    row = candidates.list_candidates(scope=scope).get()
    return candidates.approve(
        scope=scope,
        candidate_id=row.candidate_id,
        expected_version=1,
        authorship=BY_TEST,
    )


def retire(scope: Scope) -> object:
    return memories.change_state(
        scope=scope, target=target(scope, "m1"), state="retired", authorship=BY_TEST
    )


def merge(scope: Scope) -> object:
    return memories.merge_memories(
        scope=scope,
        inputs=[target(scope, "m1"), target(scope, "m2")],
        content=FACT,
        authorship=BY_TEST,
    )


def reorder(scope: Scope) -> object:
    fields = ScopeFields(title="New", summary="N.", context_references=("b", "a"))
    return scopes.update_scope(scope=scope, fields=fields, expected_version=1)


def cite(scope: Scope) -> object:
    reference = SourceRef(source_type="content", source_id="src")
    lineage = Lineage(
        sources=(reference,),
        artifacts=(ArtifactRef(family="atomic-memory", artifact_id="m1", revision=1),),
    )
    return write(scope, "topic-memory", topic("z", detail="z " * 2000), lineage=lineage)


WRITERS: dict[str, Callable[[Scope], object]] = {
    "create": cite,
    "replace": lambda scope: replace(scope, "m1"),
    "collect": lambda scope: collect(scope, [("e1", "v2", "new"), ("e3", "x", "y")]),
    "approve": approve,
    "retire": retire,
    "merge": merge,
    "source": lambda scope: source(scope, "new"),
    "scope": lambda scope: make_scope("t", references=["b", "a"]),
    "update scope": reorder,
    "token": lambda scope: access.create_token(name="t", now=NOW, scopes=[scope]),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_writers_leave_nothing_behind(db, writer) -> None:
    for name in ("a", "b"):
        make_scope(name)
    scope = make_scope("s", references=["a", "b"])
    source(scope, "src")
    for artifact_id in ("m1", "m2"):
        remember(scope, "zebra", artifact_id=artifact_id)
    collect(scope, [("e1", "v1", "zebra"), ("e2", "w1", "zebra")])
    propose(scope, "experience", experience("zebra"))
    before = dump()
    for allowed in range(100):
        failing = FailingWrites(allowed)
        with connection.execute_wrapper(failing):
            try:
                WRITERS[writer](scope)
            except InjectedError:
                assert dump() == before, f"failed at statement {failing.count}"
            else:
                break
    assert allowed >= 2
    assert dump() != before


def _update_scope(scope: Scope) -> None:
    fields = ScopeFields(
        title="New", summary="New.", context_references=("r", "missing")
    )
    scopes.update_scope(scope=scope, fields=fields, expected_version=1)


def _create_scope(scope: Scope) -> None:
    make_scope("t", references=["r", "missing"])


def _create_source(scope: Scope) -> None:
    bad = SourceContent(
        source_type="content", source_id="x", content=1, metadata={"n": float("nan")}
    )
    sources.create_source(scope=scope, source=bad, now=NOW)


def _collect(scope: Scope) -> None:
    collect(scope, [("e1", "v1", "zebra"), ("not an id", "v2", "zebra")])


def _collect_twice(scope: Scope) -> None:
    collect(scope, [("e1", "v1", "zebra"), ("e1", "v2", "zebra")])


@pytest.mark.parametrize(
    "attempt",
    [_update_scope, _create_scope, _create_source, _collect, _collect_twice],
)
def test_refused_writes_leave_nothing_behind(db, attempt) -> None:
    make_scope("r")
    scope = make_scope("s", references=["r"])
    before = dump()
    with pytest.raises(PowerContextError):
        attempt(scope)
    assert dump() == before


def test_token_is_not_created_without_its_grants(scope) -> None:
    before = dump()
    with pytest.raises(IntegrityError):
        access.create_token(name="t", now=NOW, scopes=[scope, scope])
    assert dump() == before


# Exact text.

ODD = "𠮷野家で😀 𝒳 e\u0301 ﷽ \u202eabc"
NFC = unicodedata.normalize("NFC", ODD)


def test_four_byte_text_in_every_column(api: Api, db) -> None:
    """C-45: read back exactly over HTTP, wherever text is stored."""
    fields = {"title": ODD, "summary": ODD, "idempotency_key": ODD, "scope_id": ODD}
    references = {"external_references": [{"kind": ODD, "value": ODD}]}
    created = api.post("/v1/scopes", fields | references)
    assert created.status == 201
    assert [created.body[key] for key in ("scope_id", "title", "summary")] == [ODD] * 3
    assert created.body["external_references"] == [{"kind": ODD, "value": ODD}]
    evidence = {
        "scope_id": ODD,
        "source_id": ODD,
        "content": ODD,
        "metadata": {ODD: ODD},
    }
    assert api.post("/v1/sources/content", evidence).status == 202
    [listed] = api.get(f"/v1/scopes/{ODD}/sources").body["items"]
    assert (listed["source_id"], listed["content"]) == (ODD, ODD)
    assert json.loads(Source.objects.get().metadata) == {ODD: ODD}
    contents = {
        "atomic-memory": {"kind": ODD, "text": ODD},
        "experience": experience(ODD),
        "topic-memory": topic(ODD, ODD, ODD),
        "profile": {"content": ODD},
    }
    for family, content in contents.items():
        path = f"/v1/scopes/{ODD}/artifacts"
        row = api.post(path, {"family": family, "content": content}).body
        exact = api.get(f"{path}/{family}/{row['artifact_id']}/revisions/1").body
        assert exact["scope_id"] == ODD
        normalized = {"atomic-memory": NFC, "profile": f"{NFC}\n"}
        expected = dict(content)
        if family in normalized:
            name = "text" if family == "atomic-memory" else "content"
            expected[name] = normalized[family]
        assert {key: exact["content"][key] for key in expected} == expected
    assert NFC in api.content(ODD, "野家")
