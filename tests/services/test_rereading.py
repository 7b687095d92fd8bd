"""Many citations read again: one statement of each kind, and nobody else's rows."""

from collections.abc import Sequence
from typing import Any

import pytest

from prepare.models import Scope
from prepare.services.access import LOCAL, Principal, authenticate
from prepare.services.artifacts import Lineage, SourceRef
from prepare.services.checking import Citation
from prepare.services.rereading import Reread, reread
from prepare.services.verifying import verify_block, verify_receipt
from prepare.values import ArtifactRef, CodeIdentity
from tests.api import Api
from tests.factories import (
    collect,
    experience,
    make_scope,
    profile,
    remember,
    revise,
    source,
    token,
    topic,
    write,
)
from tests.queries import captured_tables, nothing_written
from tests.services.test_checking import receipt_of
from tests.services.verification import QUERY, ask, sql

MEMORY = "atomic-memory"
# Each once, whatever the number of citations.
STATEMENTS = ["scope", "grant", "artifact", "artifactrevision", "sourceevidence"]


def cite(scope_id: str, artifact_id: str, **fields: Any) -> Citation:
    entry = {
        name: fields.pop(name)
        for name in ("entry_id", "entry_version_id")
        if name in fields
    }
    artifact: dict[str, Any] = {
        "family": MEMORY,
        "artifact_id": artifact_id,
        "revision": 1,
        **fields,
    }
    return Citation(scope_id=scope_id, artifact=ArtifactRef(**artifact), **entry)


def only(citation: Citation | CodeIdentity, principal: Principal = LOCAL) -> Reread:
    (found,) = reread([citation], principal)
    return found


def remember_from_source(scope: Scope, artifact_id: str) -> None:
    evidence = source(scope, f"src-{artifact_id}")
    write(
        scope,
        MEMORY,
        {"kind": "fact", "text": f"zebra {artifact_id}"},
        artifact_id=artifact_id,
        lineage=Lineage(
            sources=(SourceRef(source_type="content", source_id=evidence.source_id),)
        ),
    )


def reader_of(*scopes: Scope) -> Principal:
    return authenticate(token("reader", *scopes), service_token="")


@pytest.fixture
def many(db: None) -> tuple[list[Citation], Principal]:
    """32 citations over eight Scopes, each with a Source."""
    scopes = [make_scope(f"s{number}") for number in range(8)]
    for scope in scopes:
        for name in ("m1", "m2", "m3", "m4"):
            remember_from_source(scope, name)
    citations = [
        cite(scope.scope_id, name)
        for scope in scopes
        for name in ("m1", "m2", "m3", "m4")
    ]
    return citations, reader_of(*scopes)


@pytest.mark.parametrize("count", [1, 32])
def test_the_number_of_statements_does_not_grow(
    many: tuple[list[Citation], Principal], count: int
) -> None:
    citations, reader = many
    with nothing_written(), captured_tables() as tables:
        found = reread(citations[:count], reader)
    assert tables == STATEMENTS
    assert [(one.access, one.state, one.stored) for one in found] == [
        ("readable", "head", "intact")
    ] * count
    assert [[ref.source_id for ref in one.sources] for one in found] == [
        [f"src-{one.artifact.artifact_id}"] for one in citations[:count]
    ]


@pytest.mark.parametrize("count", [1, 26])
def test_nor_for_entries_of_one_collection(db: None, count: int) -> None:
    scope = make_scope("s")
    names = [f"e{number}" for number in range(26)]
    collect(scope, [(name, f"v-{name}", f"zebra {name}") for name in names])
    citations = [
        cite(
            "s", "memory", family="memory", entry_id=name, entry_version_id=f"v-{name}"
        )
        for name in names[:count]
    ]
    reader = reader_of(scope)
    with nothing_written(), captured_tables() as tables:
        found = reread(citations, reader)
    assert tables == [*STATEMENTS, "memoryentryversion"]
    assert {one.stored for one in found} == {"intact"}
    assert [one.candidate is not None for one in found] == [True] * count


@pytest.fixture
def wide(db: None) -> Scope:
    """Eight memories, eight topics, eight Scopes with profiles and two experiences."""
    others = [make_scope(f"o{number}") for number in range(7)]
    scope = make_scope("s", references=[other.scope_id for other in others])
    for each in (scope, *others):
        profile(each, f"# Zebra of {each.scope_id}")
    for number in range(8):
        remember(scope, f"zebra {number}")
        write(scope, "topic-memory", topic(f"zebra {number}"))
    for number in range(2):
        write(scope, "experience", experience(f"zebra {number}"))
    return scope


def sections(*limits: tuple[str, int]) -> dict[str, Any]:
    return {"sections": [{"family": name, "limit": limit} for name, limit in limits]}


FEW: Sequence[tuple[str, int]] = [("memory", 1)]
ALL: Sequence[tuple[str, int]] = [
    ("memory", 8),
    ("topic-memory", 8),
    ("experience", 2),
    ("profile", 8),
]


@pytest.mark.parametrize(("limits", "count"), [(FEW, 1), (ALL, 26)])
def test_a_receipt_and_its_text_cost_the_same_for_1_and_26_items(
    api: Api,
    wide: Scope,
    settings: Any,
    limits: Sequence[tuple[str, int]],
    count: int,
) -> None:
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 26
    content, receipt = ask(api, max_bytes=32768, assembly=sections(*limits))
    reader = reader_of(*Scope.objects.all())
    with nothing_written(), captured_tables() as tables:
        report = verify_receipt(content=content, receipt=receipt, principal=reader)
    assert (len(report.items), report.is_fine) == (count, True)
    assert tables == STATEMENTS
    with nothing_written(), captured_tables() as tables:
        claims = verify_block(content=content, principal=reader)
    assert (len(claims.items), claims.is_fine) == (count, True)
    assert tables == STATEMENTS


@pytest.mark.parametrize("delivered", [1, 8])
def test_an_envelope_costs_the_same_for_1_and_8_items(
    api: Api, db: None, delivered: int
) -> None:
    scope = make_scope("s")
    for number in range(delivered):
        remember(scope, f"zebra {number}")
    content = api.content("s", QUERY).encode()
    reader = reader_of(scope)
    with nothing_written(), captured_tables() as tables:
        report = verify_block(content=content, principal=reader, scope_id="s")
    assert (len(report.items), report.is_fine) == (delivered, True)
    assert tables == STATEMENTS


def test_without_citations_nothing_is_asked(db: None) -> None:
    with captured_tables() as tables:
        assert reread([], LOCAL) == ()
        report = verify_receipt(
            content=b"",
            receipt=receipt_of(b"", selected=[], content_digest=None),
            principal=LOCAL,
        )
    assert (tables, report.items) == ([], ())


# Identities are compared by code point.

ODD = ["proj", "proj1", "proj:1", "proj%", "proj_", "Proj", "pröj", "pro\u0308j", "%"]


@pytest.mark.clause("R-205", "R-211")
def test_no_identity_stands_for_another(db: None) -> None:
    """C-49, C-41: prefixes, wildcards, case and accents."""
    remember(make_scope("proj"), "zebra", artifact_id="m1")
    readable = {
        name: only(cite(name, "m1")).access for name in [*ODD, "proj ", " proj", "_"]
    }
    assert readable.pop("proj") == "readable"
    assert set(readable.values()) == {"missing"}
    for name in ("M1", "m1%", "m_", "%", "m", "m11"):
        assert only(cite("proj", name)).access == "missing", name
    for family in ("ATOMIC-MEMORY", "%", "atomic_memory", "memory"):
        assert only(cite("proj", "m1", family=family)).access == "missing"


def test_many_alike_at_once_each_find_their_own(db: None) -> None:
    names = [name for name in ODD if name != "pro\u0308j"]
    for name in names:
        remember(make_scope(name), f"zebra of {name}", artifact_id="m1")
    asked = [cite(name, "m1") for name in [*names, "missing", "proj "]]
    found = reread(asked, LOCAL)
    for name, one in zip(names, found[:-2], strict=True):
        assert one.candidate is not None
        assert one.candidate.identity.scope_id == name
        assert vars_of(one) == f"zebra of {name}"
    assert [one.access for one in found[-2:]] == ["missing", "missing"]


def vars_of(one: Reread) -> str:
    return str(getattr(one.candidate, "body", None))


@pytest.mark.clause("R-212")
def test_a_denied_scope_among_readable_ones_shows_nothing(db: None) -> None:
    own, other = make_scope("own"), make_scope("other")
    for scope in (own, other):
        remember_from_source(scope, "m1")
    citations = [cite(name, "m1") for name in ("own", "other", "nowhere")]
    readable, denied, missing = reread(citations, reader_of(own))
    assert readable.access == "readable"
    assert denied == missing == Reread(access="denied")  # no hint which of them exists
    assert [one.access for one in reread(citations, LOCAL)] == [
        "readable",
        "readable",
        "missing",
    ]


@pytest.mark.clause("R-211")
def test_each_revision_of_one_artifact_is_itself(db: None) -> None:
    row = remember(make_scope("s"), "zebra one", artifact_id="m1")
    revise(row, {"kind": "fact", "text": "zebra two"})
    citations = [cite("s", "m1", revision=number) for number in (2, 1, 3)]
    second, first, none = reread(citations, LOCAL)
    assert (vars_of(first), first.state) == ("zebra one", "superseded")
    assert (vars_of(second), second.state) == ("zebra two", "head")
    assert none.access == "missing"


def test_entries_are_those_of_their_own_revision_and_collection(db: None) -> None:
    scope = make_scope("s")
    collect(scope, [("e1", "v1", "zebra one")], revision=1)
    collect(scope, [("e1", "v2", "zebra two")], revision=2)
    collect(scope, [("e1", "v1", "another text")], artifact_id="other")

    def entry(artifact_id: str, version: str, revision: int) -> Reread:
        return only(
            cite(
                "s",
                artifact_id,
                family="memory",
                revision=revision,
                entry_id="e1",
                entry_version_id=version,
            )
        )

    assert vars_of(entry("memory", "v1", 1)) == "zebra one"
    assert vars_of(entry("other", "v1", 1)) == "another text"
    assert entry("memory", "v1", 1).state == "superseded"
    assert entry("memory", "v2", 1).access == "missing"
    assert entry("memory", "v1", 2).access == "missing"
    assert entry("memory", "V1", 1).access == "missing"
    sql(
        "UPDATE prepare_memoryentryversion SET entry_version_id = 'gone'"
        " WHERE text = 'another text'"
    )
    found = entry("other", "v1", 1)
    assert (found.access, found.stored) == ("readable", "altered")
