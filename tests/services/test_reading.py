"""Exact reads: a citation gives the cited bytes for ever, the head's never (C.8)."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest

from prepare.models import Artifact, Scope
from prepare.services import contents, memories
from prepare.services.access import LOCAL
from prepare.services.artifacts import Lineage, SourceRef
from prepare.services.collections import EntryChange, write_collection
from prepare.services.memories import MemoryTarget
from prepare.services.prepare import prepare_context
from prepare.services.runtime import Runtime
from prepare.values import (
    ArtifactRef,
    Build,
    Identity,
    parse_prepare_request,
)
from tests.api import Answer, Api
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    profile,
    propose,
    ref,
    remember,
    revise,
    source,
    token,
    topic,
    write,
)
from tests.queries import captured_tables

ALL = {
    "sections": [
        {"family": "topic-memory", "limit": 8},
        {"family": "memory", "limit": 8},
        {"family": "profile", "limit": 8},
        {"family": "experience", "limit": 2},
    ]
}
FAILURE = {
    "signature": {"recall_cue": "zebra cue", "symptom": "Red."},
    "repair_surface": "working_state",
    "verification": {"condition": "Green.", "check_subject": "suite"},
}
TEXTS = (
    "zebra 契约：\n\n第二段 😀",
    "zebra `code` > quote",
    "zebra\n  indented\n# heading",
)


@pytest.fixture
def mixed(db) -> Scope:
    """Two Scopes with every family, bodies of several lines and scripts."""
    reference = make_scope("项目:一")
    scope = make_scope("s", references=[reference.scope_id])
    for each in (scope, reference):
        for number, text in enumerate(TEXTS):
            remember(each, text, artifact_id=f"m{number}")
        collect(each, [("e1", "v1", TEXTS[0]), ("e2", "v2", TEXTS[1])], revision=4)
        write(each, "experience", experience("zebra") | {"failure": FAILURE})
        write(each, "topic-memory", topic("zebra", detail="zebra detail " * 200))
        profile(each, "# Zebra\n\n- one\n- two")
    return scope


def read_exact(api: Api, identity: Identity) -> Answer:
    """The exact read a citation asks for, over HTTP."""
    artifact = identity.artifact
    reference = {
        "family": artifact.family,
        "artifact_id": artifact.artifact_id,
        "revision": artifact.revision,
    }
    if identity.entry_id is not None:
        citation = {
            "memory_ref": reference,
            "entry_id": identity.entry_id,
            "entry_version_id": identity.entry_version_id,
        }
        body = {"scope_id": identity.scope_id, "citation": citation}
        return api.post("/v1/memory/entries/get", body)
    scope_id, family, artifact_id = (
        quote(part, safe="")
        for part in (identity.scope_id, artifact.family, artifact.artifact_id)
    )
    return api.get(
        f"/v1/scopes/{scope_id}/artifacts/{family}/{artifact_id}"
        f"/revisions/{artifact.revision}"
    )


def body_of(family: str, answer: Answer) -> str:
    """The text an item of this family shows, from what its exact read returned."""
    if family == "memory":
        return str(answer.body["text"])
    content: dict[str, Any] = answer.body["content"]
    digest = contents.digest(contents.canonical_json(content))
    assert digest == answer.body["content_digest"]
    if family == "experience":
        return contents.experience_text(content)
    if family == "topic-memory":
        return f"Title: {content['title']}\n\nSummary: {content['summary']}"
    return str(content["content" if family == "profile" else "text"])


def build_text() -> Build:
    request = {"scope_id": "s", "query": "zebra", "max_bytes": 32768, "assembly": ALL}
    prepared = prepare_context(
        parse_prepare_request(request),
        principal=LOCAL,
        runtime=Runtime(assembly_max_entries=26),
    )
    return prepared.build


def legacy_items(api: Api) -> list[tuple[Identity, str]]:
    content = api.content("s", "zebra", max_bytes=32768)
    items = json.loads(content.splitlines()[4])["items"]
    assert not any(item["truncated"] for item in items)
    return [(as_identity(item["citation"]), item["content"]) for item in items]


def as_identity(citation: dict[str, Any]) -> Identity:
    """A legacy citation, in any of its four shapes (contract G.4, J-2)."""
    address = citation.get("artifact") or citation.get("memory") or {"scope_id": "s"}
    short = citation.get("artifact_ref") or citation.get("memory_ref")
    return Identity(
        scope_id=address["scope_id"],
        artifact=ArtifactRef(**(short or address["artifact"])),
        entry_id=citation.get("entry_id"),
        entry_version_id=citation.get("entry_version_id"),
    )


def shown_bodies(content: str) -> list[str]:
    """The quoted bodies of a text, unquoted, in order."""
    blocks = re.findall(r"(?:^>     .*\n)+", content, re.MULTILINE)
    return [
        "\n".join(line.removeprefix(">     ") for line in block.splitlines())
        for block in blocks
    ]


def change_everything(scope: Scope) -> None:
    """New heads for all; memories forgotten, retired and merged; entries moved on."""
    for head in Artifact.objects.filter(scope=scope).exclude(family="memory"):
        row = head.revisions.get(revision=head.revision)
        content = json.loads(row.content)
        content.pop("generation", None)
        name = "content" if head.family == "profile" else "text"
        name = {"experience": "lesson", "topic-memory": "title"}.get(head.family, name)
        revise(row, content | {name: "Changed."})
    for state in ("m0 forgotten", "m1 retired"):
        artifact_id, word = state.split()
        set_state(scope, artifact_id, word)
    other = remember(scope, "another")
    memories.merge_memories(
        scope=scope,
        inputs=[target(scope, "m2"), target(scope, other.artifact.artifact_id)],
        content={"kind": "fact", "text": "Merged."},
        authorship=BY_TEST,
    )
    collect(scope, [("e1", "v1b", "Moved on.")])


def target(scope: Scope, artifact_id: str) -> MemoryTarget:
    head = Artifact.objects.get(
        scope=scope, family="atomic-memory", artifact_id=artifact_id
    )
    return MemoryTarget(
        artifact=ArtifactRef(
            family=head.family, artifact_id=artifact_id, revision=head.revision
        ),
        state_version=head.state_version,
    )


def set_state(scope: Scope, artifact_id: str, state: str) -> None:
    memories.change_state(
        scope=scope,
        target=target(scope, artifact_id),
        state=state,
        authorship=BY_TEST,
    )


@pytest.mark.clause("A-109", "A-183", "A-184", "A-185", "A-186")
def test_every_citation_of_a_text_reads_back(api: Api, mixed: Scope) -> None:
    build = build_text()
    assert build.content is not None
    bodies = shown_bodies(build.content)
    identities = [item.identity for item in build.selected]
    assert len(bodies) == len(identities) == 1 + 8 + 2 + 2
    assert not any(item.truncated for item in build.selected)
    for change in (None, change_everything):
        if change is not None:
            for scope in Scope.objects.filter(artifacts__isnull=False).distinct():
                change(scope)
        for identity, body in zip(identities, bodies, strict=True):
            assert isinstance(identity, Identity)
            answer = read_exact(api, identity)
            assert answer.status == 200, answer.body
            expected = body_of(identity.artifact.family, answer)
            is_topic = identity.artifact.family == "topic-memory"
            shown = body.split("\n\nSnippet: ")[0] if is_topic else body
            assert shown == expected
    assert "Changed." in str(build_text().content)


@pytest.mark.clause("A-183", "A-184", "A-185", "A-186")
def test_every_citation_of_an_envelope_reads_back(api: Api, mixed: Scope) -> None:
    items = legacy_items(api)
    assert len(items) == 8
    assert {identity.scope_id for identity, _ in items} == {"s", "项目:一"}
    assert len({identity.artifact.family for identity, _ in items}) == 4
    for scope in (mixed, Scope.objects.get(scope_id="项目:一")):
        change_everything(scope)
    for identity, content in items:
        answer = read_exact(api, identity)
        assert answer.status == 200, answer.body
        family = identity.artifact.family
        if family == "topic-memory":
            shown = json.loads(content)
            content = f"Title: {shown['title']}\n\nSummary: {shown['summary']}"
        assert content == body_of(family, answer)


@pytest.mark.clause("A-183", "A-185")
@pytest.mark.parametrize("change", ["revise", "forget", "retire", "merge"])
def test_cited_revision_outlives_every_change(api: Api, db, change) -> None:
    scope = make_scope("s")
    first = remember(scope, "zebra one", artifact_id="m")
    other = remember(scope, "zebra two", artifact_id="n")
    before = read_exact(api, Identity(scope_id="s", artifact=ref(first)))
    if change == "revise":
        revise(first, {"kind": "fact", "text": "zebra three"})
    elif change == "merge":
        memories.merge_memories(
            scope=scope,
            inputs=[target(scope, "m"), target(scope, "n")],
            content={"kind": "fact", "text": "zebra both"},
            authorship=BY_TEST,
        )
    else:
        set_state(scope, "m", {"forget": "forgotten", "retire": "retired"}[change])
    after = read_exact(api, Identity(scope_id="s", artifact=ref(first)))
    assert after.body == before.body
    assert after.headers["ETag"] == '"revision:1"'
    state = api.get("/v1/scopes/s/artifacts/atomic-memory/m/state").body["state"]
    states = {"forget": "forgotten", "retire": "retired", "merge": "merged"}
    assert state == states.get(change, "active")
    missing = ArtifactRef(family="atomic-memory", artifact_id="m", revision=3)
    answer = read_exact(api, Identity(scope_id="s", artifact=missing))
    assert (answer.status, answer.code) == (404, "artifact_not_found")
    assert other.revision == 1


def set_active(scope: Scope, entry_id: str, *, active: bool, revision: Any = None):
    """Switch an entry with the text `other`; its version keeps its id."""
    change = EntryChange(
        entry_id=entry_id,
        entry_version_id="w1" if entry_id == "e2" else f"{entry_id}-v1",
        kind="fact",
        text="other",
        active=active,
    )
    write_collection(
        scope=scope,
        artifact_id="memory",
        changes=[change],
        authorship=BY_TEST,
        revision=revision,
    )


@pytest.mark.clause("A-184", "A-185")
@pytest.mark.parametrize(
    ("revision", "entry", "version", "text", "state"),
    [
        (3, "e1", "v1", "first", "active"),
        (5, "e1", "v2", "second", "active"),
        (5, "e2", "w1", "other", "active"),
        (7, "e2", "w1", "other", "inactive"),
        (7, "e1", "v2", "second", "active"),  # carried over, cited by the new head
        (3, "e1", "v2", None, None),  # written later
        (5, "e1", "v1", None, None),  # replaced by then
        (3, "e2", "w1", None, None),  # not there yet
        (5, "e2", "v2", None, None),  # of another entry
        (5, "E1", "v2", None, None),
        (4, "e1", "v1", None, None),  # no such revision
    ],
)
def test_entry_is_read_as_its_revision_holds_it(
    api: Api, db, revision, entry, version, text, state
) -> None:
    scope = make_scope("s")
    collect(scope, [("e1", "v1", "first")], revision=3)
    collect(scope, [("e1", "v2", "second"), ("e2", "w1", "other")], revision=5)
    set_active(scope, "e2", active=False, revision=7)
    artifact = ArtifactRef(family="memory", artifact_id="memory", revision=revision)
    answer = read_exact(
        api,
        Identity(
            scope_id="s", artifact=artifact, entry_id=entry, entry_version_id=version
        ),
    )
    if text is None:
        assert answer.status == 404
        assert answer.code in ("memory_not_found", "artifact_not_found")
    else:
        body = answer.body
        assert (body["text"], body["state"]) == (text, state)
        assert body["artifact"]["revision"] == revision
        assert body["version"] == {"v1": 1, "v2": 2, "w1": 1}[version]


def test_logical_target_is_the_current_active_entry(api: Api, db) -> None:
    """The older address; what is not active there is not found."""
    scope = make_scope("s")
    collect(scope, [("e1", "v1", "first"), ("e2", "w1", "other")])
    collect(scope, [("e1", "v2", "second")])
    set_active(scope, "e3", active=True)

    def read(entry_id: str, artifact_id: str = "memory") -> Answer:
        address = {
            "type": "memory_entry",
            "family": "memory",
            "artifact_id": artifact_id,
            "entry_id": entry_id,
        }
        body = {"scope_id": "s", "target": address}
        return api.post("/v1/memory/entries/get", body)

    assert read("e1").body["text"] == "second"
    assert read("e2").body["artifact"]["revision"] == 3
    assert read("e3").body["text"] == "other"
    set_active(scope, "e3", active=False)
    for missing in (("e3",), ("e4",), ("e1", "m")):
        assert read(*missing).code == "not_found"


def test_exact_reads_are_authorized_now(api: Api, db, settings) -> None:
    """Another Scope's artifact is neither readable nor distinguishable (C-48)."""
    mine, other = make_scope("mine"), make_scope("other")
    row = remember(other, "zebra", artifact_id="m")
    collect(other, [("e", "v", "zebra")])
    settings.ACCESS_MODE = "enforced"
    caller = api.with_token(token("reader", mine))
    entry = Identity(
        scope_id="other",
        artifact=ArtifactRef(family="memory", artifact_id="memory", revision=1),
        entry_id="e",
        entry_version_id="v",
    )
    for identity in (Identity(scope_id="other", artifact=ref(row)), entry):
        assert read_exact(api, identity).status == 401
        assert read_exact(caller, identity).code == "forbidden"
        elsewhere = Identity(
            scope_id="mine",
            artifact=identity.artifact,
            entry_id=identity.entry_id,
            entry_version_id=identity.entry_version_id,
        )
        assert read_exact(caller, elsewhere).status == 404


# Statements: one row or many.

EVIDENCE = ["sourceevidence", "source", "artifactevidence"]
TARGETS = ["artifactrevision", "artifact"]


def test_statements_of_an_exact_read(api: Api, db) -> None:
    """Scope, revision, and its evidence with what that names."""
    scope = make_scope("s")
    first = remember(scope, "one", artifact_id="m")
    source(scope, "src")
    lineage = Lineage(
        sources=(SourceRef(source_type="content", source_id="src"),) * 3,
        artifacts=(ref(first),) * 3,
    )
    cited = write(
        scope, "atomic-memory", {"kind": "fact", "text": "two"}, lineage=lineage
    )
    with captured_tables() as found:
        answer = read_exact(api, Identity(scope_id="s", artifact=ref(cited)))
    assert len(answer.body["sources"]) == len(answer.body["artifacts"]) == 3
    assert sorted(found) == sorted(["scope", "artifactrevision", *EVIDENCE, *TARGETS])


def list_everything(api: Api) -> dict[str, tuple[int, list[str]]]:
    """Length and statements of each listing of the Scope `s`."""
    requests: dict[str, tuple[str, Any]] = {
        "artifacts": ("/v1/scopes/s/artifacts/atomic-memory?limit=100", None),
        "revisions": ("/v1/scopes/s/artifacts/topic-memory/t/revisions", None),
        "sources": ("/v1/scopes/s/sources", None),
        "scopes": ("/v1/scopes", None),
        "entries": (
            "/v1/memory/entries/list",
            {"scope_id": "s", "include_inactive": True},
        ),
        "memories": (
            "/v1/atomic-memory/list",
            {"scope_id": "s", "states": ["active", "merged"], "kind": "fact"},
        ),
        "found": ("/v1/atomic-memory/search", {"scope_id": "s", "query": "zebra"}),
        "topics": ("/v1/topic-memory/search", {"scope_id": "s", "query": "zebra"}),
        "candidates": ("/v1/candidates/list", {"scope_id": "s"}),
    }
    listed = {}
    for name, (path, body) in requests.items():
        with captured_tables() as found:
            answer = api.get(path) if body is None else api.post(path, body)
        assert answer.status == 200, answer.body
        [items] = [value for value in answer.body.values() if isinstance(value, list)]
        listed[name] = (len(items), found)
    return listed


def test_lists_take_the_same_statements_for_one_row_and_for_many(api, db) -> None:
    scope = make_scope("s")
    source(scope, "src")
    evidence = Lineage(sources=(SourceRef(source_type="content", source_id="src"),))
    topics = [write(scope, "topic-memory", topic("zebra"), artifact_id="t")]

    def add(number: int) -> None:
        fact = {"kind": "fact", "text": f"zebra {number}"}
        pair = [write(scope, "atomic-memory", fact, lineage=evidence) for _ in range(2)]
        ids = [row.artifact.artifact_id for row in pair]
        memories.merge_memories(
            scope=scope,
            inputs=[target(scope, identifier) for identifier in ids],
            content=fact,
            authorship=BY_TEST,
        )
        topics.append(revise(topics[-1], topic("zebra", f"Number {number}.")))
        write(scope, "topic-memory", topic(f"zebra {number}"))
        propose(scope, "experience", experience("zebra"), target=None)
        make_scope(f"s{number}", references=["s"])

    add(0)
    few = list_everything(api)
    for number in range(1, 12):
        add(number)
    many = list_everything(api)
    for name, (length, statements) in few.items():
        assert many[name][0] > length, name
        assert many[name][1] == statements, name
    assert len(max((statements for _, statements in many.values()), key=len)) <= 8
