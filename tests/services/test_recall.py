"""What recall reads, how much of it, in which order, and what fails it (contract D)."""

import json
import re
import time
from collections import Counter
from typing import Any

import pytest
from django.db import connection

from prepare import limits
from prepare.models import Scope
from prepare.services.merging import Omissions
from prepare.services.packing import bounded_candidates
from prepare.services.recall import Recalled, recall
from prepare.services.runtime import Runtime
from prepare.stopwatch import Stopwatch
from prepare.values import Candidate, TopicCandidate
from tests.api import Api
from tests.factories import (
    collect,
    experience,
    make_scope,
    profile,
    remember,
    topic,
    write,
)
from tests.queries import hidden_tables

FAMILIES = limits.SELECTABLE_FAMILIES
STORED = {limits.MEMORY: (limits.ATOMIC_MEMORY, limits.MEMORY_COLLECTION)}
MARKS = {
    "memory": ("an-atomic-memory", "an-entry"),
    "experience": ("an-experience",),
    "profile": ("a-profile",),
    "topic-memory": ("a-topic",),
}


def sections(*families, limit=2):
    return {"sections": [{"family": name, "limit": limit} for name in families]}


@pytest.fixture
def scope(db):
    """One Scope with something to find in every family."""
    scope = make_scope("s")
    remember(scope, "zebra an-atomic-memory")
    collect(scope, [("entry", "version", "zebra an-entry")])
    write(scope, "experience", experience("zebra an-experience"))
    write(scope, "topic-memory", topic("zebra a-topic"))
    profile(scope, "zebra a-profile")
    return scope


def execute(statement, parameters=()):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def spoil_bodies(family):
    """What is stored for this family can no longer be read."""
    for stored in STORED.get(family, (family,)):
        execute(
            "UPDATE prepare_artifactrevision SET content = 'spoilt' WHERE artifact_id"
            " IN (SELECT id FROM prepare_artifact WHERE family = %s)",
            [stored],
        )


def spoil_index(family):
    """The family's search finds what its index must not hold (no search: profiles)."""
    for stored in STORED.get(family, (family,)):
        execute(
            "UPDATE prepare_artifact SET lifecycle = 'retired' WHERE family = %s",
            [stored],
        )


def texts(candidates: list[Candidate] | tuple[Candidate, ...]) -> list[str]:
    return [
        item.title if isinstance(item, TopicCandidate) else item.body
        for item in candidates
    ]


def recalled(scopes, *families, readers=frozenset(FAMILIES)) -> Recalled:
    return recall(
        query="zebra",
        families=families,
        scopes=scopes,
        runtime=Runtime(readers=readers),
        stopwatch=Stopwatch(time.perf_counter),
    )


@pytest.mark.clause("A-050", "A-051", "A-052", "A-055")
@pytest.mark.parametrize("spoil", [spoil_bodies, spoil_index])
@pytest.mark.parametrize("family", FAMILIES)
def test_unselected_families_are_not_read(api: Api, scope, family, spoil) -> None:
    others = [name for name in FAMILIES if name != family]
    for other in others:
        spoil(other)
    content = api.content("s", "zebra", assembly=sections(family))
    assert all(mark in content for mark in MARKS[family])
    assert not any(mark in content for other in others for mark in MARKS[other])
    for other in others:
        assert f'family="{other}"' not in content


@pytest.mark.clause("A-079")
@pytest.mark.parametrize(
    ("family", "spoil"),
    [(family, spoil_bodies) for family in FAMILIES]
    + [(family, spoil_index) for family in FAMILIES if family != "profile"],
)
def test_selected_family_that_cannot_be_read_is_an_error(api, scope, family, spoil):
    """Also beside a family that has something to deliver."""
    spoil(family)
    other = next(name for name in FAMILIES if name != family)
    for assembly in (sections(family), sections(other, family)):
        answer = api.prepare("s", "zebra", assembly=assembly)
        assert answer.status in (500, 503)
        assert answer.code in ("internal_error", "stale-projection")
        assert "zebra" not in str(answer.body)


@pytest.mark.clause("A-079", "A-187")
@pytest.mark.parametrize(
    ("family", "table"),
    [
        ("memory", "posting"),
        ("memory", "memoryentryversion"),
        ("experience", "term"),
        ("topic-memory", "searchchunk"),
        ("profile", "artifactrevision"),
    ],
)
def test_failing_database_is_503_and_retryable(api: Api, scope, family, table) -> None:
    with hidden_tables(f"prepare_{table}"):
        answer = api.prepare("s", "zebra", assembly=sections(family))
    assert (answer.status, answer.code) == (503, "runtime_not_ready")
    assert answer.headers["Retry-After"] == "1"


@pytest.mark.clause("A-062", "A-073", "A-079")
@pytest.mark.parametrize("family", FAMILIES)
def test_legacy_reads_memories_topics_and_experiences(api: Api, scope, family) -> None:
    content = api.content("s", "zebra")
    assert "a-profile" not in content
    for name in limits.LEGACY_FAMILIES:
        assert all(mark in content for mark in MARKS[name])
    spoil_bodies(family)
    if family == "profile":
        assert api.content("s", "zebra") == content
    else:
        assert api.prepare("s", "zebra").status in (500, 503)


@pytest.mark.clause("A-073")
@pytest.mark.parametrize("family", ["profile", "topic-memory"])
def test_default_sections_read_neither_profile_nor_topics(api, scope, family):
    spoil_bodies(family)
    spoil_index(family)
    content = api.content("s", "zebra", assembly={})
    assert "an-atomic-memory" in content
    assert "an-experience" in content
    assert not any(mark in content for mark in MARKS[family])


@pytest.mark.clause("A-053", "A-056")
def test_no_sections_reads_nothing(api: Api, scope) -> None:
    """C-69: nothing but the Scope itself can be read, and the answer is normal."""
    names = "searchdocument searchchunk searchpool posting term artifact source"
    names += " artifactrevision memoryentryversion contextreference candidate"
    with hidden_tables(*(f"prepare_{name}" for name in names.split())):
        answer = api.prepare("s", "zebra", assembly={"sections": []})
        assert (answer.status, answer.body["status"]) == (200, "empty")
        assert answer.body["content"] is None
        assert api.prepare("s", "zebra", assembly={}).status == 503
        assert api.prepare("s", "zebra").status == 503
        assert api.prepare("t", "zebra", assembly={"sections": []}).code == (
            "scope_not_found"
        )


@pytest.mark.clause("A-056")
def test_absent_default_and_empty_assembly_differ(api: Api, scope) -> None:
    assemblies: list[Any] = [{}, {"sections": []}]
    answers = [api.prepare("s", "zebra").body["content"]] + [
        api.prepare("s", "zebra", assembly=assembly).body["content"]
        for assembly in assemblies
    ]
    assert "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1" in answers[0]
    assert "BEGIN_POWERCONTEXT_PREPARED_TEXT_V1" in answers[1]
    assert answers[2] is None


@pytest.mark.clause("A-078")
@pytest.mark.parametrize("family", FAMILIES)
def test_unconfigured_reader_has_no_candidates(api, scope, family, settings) -> None:
    """Not an error, and not even a look at what is stored."""
    spoil_bodies(family)
    spoil_index(family)
    settings.READERS = frozenset(FAMILIES) - {family}
    answer = api.prepare("s", "zebra", assembly=sections(family))
    assert (answer.status, answer.body["status"]) == (200, "empty")
    others = sections(*FAMILIES)
    content = api.content("s", "zebra", assembly=others)
    assert not any(mark in content for mark in MARKS[family])
    assert api.prepare("s", "zebra").status == 200


def test_evidence_says_what_ran(scope) -> None:
    reference = make_scope("r")
    families = ("memory", "profile", "topic-memory", "experience")
    readers = frozenset(families) - {"experience"}
    found = recalled([scope, reference], *families, readers=readers)
    ran: Counter[tuple[Any, ...]] = Counter()
    for call in found.evidence.searches:
        ran[call.family, call.mode, call.outcome] += call.count
    assert ran == {
        ("atomic-memory", "fts", "completed"): 2,
        ("profile", "snapshot", "completed"): 1,
        ("topic-memory", "fts", "completed"): 1,
        ("experience", "none", "not_run"): 2,
    }
    assert not found.pools.get("experience")
    assert recalled([scope]).evidence.rounds == ()


def fill(scope, count, *, word="zebra"):
    """`count` matches of each searched family, in one Scope."""
    for number in range(count):
        remember(scope, f"{word} {number:02}", artifact_id=f"m{number:02}")
        write(scope, "experience", experience(f"{word} {number:02}"))
        write(scope, "topic-memory", topic(f"{word} {number:02}"))


@pytest.mark.clause("A-057", "A-058", "A-059", "A-060")
def test_pools_are_bounded(db) -> None:
    reference = make_scope("r")
    scope = make_scope("s", references=["r"])
    for each in (scope, reference):
        fill(each, 40)
    found = recalled([scope, reference], "memory", "experience", "topic-memory")
    sizes = {
        family: [(pool.scope_id, len(pool.candidates)) for pool in pools]
        for family, pools in found.pools.items()
    }
    assert sizes == {
        "memory": [("s", 16), ("r", 16)],
        "experience": [("s", 8), ("r", 8)],
        "topic-memory": [("s", 8)],
    }


@pytest.mark.clause("A-060", "A-159")
def test_nothing_beyond_the_pool_fills_the_output(api: Api, db) -> None:
    """16 long memories rank first and do not fit; a short one behind them would."""
    scope = make_scope("s")
    for number in range(15):
        remember(scope, "zebra " * 300, artifact_id=f"m{number:02}")
    remember(scope, "zebra", artifact_id="short")
    request = {"max_bytes": 512, "assembly": sections("memory", limit=8)}
    assert ">     zebra\n" in api.content("s", "zebra", **request)
    remember(scope, "zebra " * 300, artifact_id="m15")
    assert api.prepare("s", "zebra", **request).body["status"] == "empty"


@pytest.mark.clause("A-061", "A-091")
def test_references_are_direct_and_one_way(api: Api, db) -> None:
    for scope_id, references in (
        ("far", []),
        ("near", ["far"]),
        ("s", ["near"]),
        ("other", ["s"]),
    ):
        fill(make_scope(scope_id, references=references), 1)
    assemblies: list[Any] = [sections("memory", "experience"), {}]
    for assembly in assemblies:
        content = api.content("s", "zebra", assembly=assembly)
        assert re.findall(r'Scope: "(\w+)"', content) == ["s", "near", "s", "near"]
    assert re.findall(r'scope_id":"(\w+)"', api.content("s", "zebra")) == [
        "near",
        "near",
    ]


@pytest.mark.clause("A-059")
def test_topics_stay_in_the_current_scope(api: Api, db) -> None:
    fill(make_scope("r"), 1)
    make_scope("s", references=["r"])
    assembly = sections("topic-memory")
    assert api.prepare("s", "zebra", assembly=assembly).body["status"] == "empty"


def store(scope: Scope, family: str, text: str) -> None:
    if family == "memory":
        remember(scope, text)
    else:
        write(scope, family, experience(text))


def merged(family, scopes) -> tuple[list[str], int]:
    """Last words of the family's bounded list, and how many its bound cut off."""
    omissions = Omissions()
    pools = recalled(scopes, family).pools[family]
    candidates = bounded_candidates(family, pools, omissions)
    counts = {item.reason: item.count for item in omissions.as_omissions()}
    words = [text.split()[-1] for text in texts(candidates)]
    return words, counts.get("family_limit", 0)


@pytest.mark.clause("A-090", "A-092", "A-093", "A-094", "A-102")
@pytest.mark.parametrize("family", ["memory", "experience"])
def test_scopes_take_turns_in_configured_order(api: Api, db, family) -> None:
    """References neither sorted nor in creation order; hits keep their own order."""
    counts = {"alpha": 0, "mid": 1, "zeta": 3}
    scopes = {name: make_scope(name) for name in counts}
    scopes["s"] = make_scope("s", references=["zeta", "alpha", "mid"])
    for name, count in (counts | {"s": 2}).items():
        for number in range(count):
            store(scopes[name], family, "zebra " * (number + 1) + f"{name}-{number}")
    alone = [merged(family, [scopes[name]])[0] for name in ("s", "zeta")]
    assert alone == [["s-1", "s-0"], ["zeta-2", "zeta-1", "zeta-0"]]
    in_turn = [scopes[name] for name in ("s", "zeta", "alpha", "mid")]
    order, _ = merged(family, in_turn)
    assert order == ["s-1", "zeta-2", "mid-0", "s-0", "zeta-1", "zeta-0"]

    limit = limits.SECTION_LIMITS[family]
    assembly = sections(family, limit=limit) | {"show": ["recall_rank"]}
    content = api.content("s", "zebra", assembly=assembly)
    assert re.findall(r"(\w+-\d)$", content, re.MULTILINE) == order[:limit]
    ranks = re.findall(r"Recall rank: (\d)", content)
    assert ranks == [str(rank) for rank in range(1, len(order[:limit]) + 1)]


@pytest.mark.clause("A-093", "A-094")
@pytest.mark.parametrize(("family", "cap"), [("memory", 16), ("experience", 8)])
def test_merged_list_is_cut_after_taking_turns(db, family, cap) -> None:
    scopes = [make_scope(name) for name in ("c", "a", "b")]
    for scope in scopes:
        for number in range(cap + 2):
            store(scope, family, f"zebra {scope.scope_id} {number}-{scope.scope_id}")
    order, cut_off = merged(family, scopes)
    assert [word[-1] for word in order] == (["c", "a", "b"] * cap)[:cap]
    assert cut_off == 3 * cap - cap


@pytest.mark.clause("A-100", "A-101")
def test_same_id_in_two_scopes_and_same_body_twice(api: Api, db) -> None:
    reference = make_scope("r")
    scope = make_scope("s", references=["r"])
    for artifact_id in ("m2", "m1"):
        remember(scope, "zebra", artifact_id=artifact_id)
    remember(reference, "zebra", artifact_id="m1")
    content = api.content("s", "zebra", assembly=sections("memory", limit=8))
    found = re.findall(r'Scope: "(\w)"\n    Artifact: .*id="(\w+)"', content)
    assert found == [("s", "m1"), ("r", "m1"), ("s", "m2")]
    items = json.loads(api.content("s", "zebra").splitlines()[4])["items"]
    assert [item["content"] for item in items] == ["zebra"] * 3


@pytest.mark.clause("A-099", "A-101")
def test_entries_of_one_revision_are_separate_items(api: Api, db) -> None:
    scope = make_scope("s")
    collect(scope, [("e2", "v2", "zebra"), ("e1", "v1", "zebra")])
    remember(scope, "zebra", artifact_id="aaa")
    content = api.content("s", "zebra", assembly=sections("memory", limit=8))
    assert re.findall(r'id="(\w+)", (?:revision|version)', content) == (
        ["aaa", "memory", "e1", "memory", "e2"]
    )
    assert re.findall(r'version="(\w+)"', content) == ["v1", "v2"]


@pytest.mark.clause("A-104", "A-112")
def test_experiences_first(api: Api, scope) -> None:
    write(scope, "experience", experience("zebra again"))
    remember(scope, "zebra again")
    assembly = {
        "sections": [
            {"family": "experience", "limit": 2},
            {"family": "memory", "limit": 6},
        ]
    }
    content = api.content("s", "zebra", assembly=assembly)
    assert re.findall(r"^#{2,3} (.+)$", content, re.MULTILINE) == [
        "Experience",
        "Experience 1",
        "Experience 2",
        "Memory",
        "Memory 1",
        "Memory 2",
        "Memory 3",
    ]
