"""Prepare end to end: profiles, topics, access, statements, and no writes."""

import re
from pathlib import Path
from typing import Any

import pytest

from prepare import limits
from prepare.models import Artifact
from prepare.services import candidates
from tests.api import Api
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    profile,
    propose,
    remember,
    revise,
    source,
    token,
    topic,
    write,
)
from tests.queries import captured_tables, nothing_written

PROFILES = {"sections": [{"family": "profile", "limit": 8}]}
TOPICS = {"sections": [{"family": "topic-memory", "limit": 8}]}
ALL = {
    "sections": [
        {"family": "profile", "limit": 2},
        {"family": "memory", "limit": 2},
        {"family": "topic-memory", "limit": 2},
        {"family": "experience", "limit": 2},
    ]
}
FORMS = [
    pytest.param({}, id="legacy"),
    pytest.param({"assembly": {}}, id="default"),
    pytest.param({"assembly": ALL}, id="all-families"),
]


def headings(content: str) -> list[str]:
    return re.findall(r"^### (.+)$", content, re.MULTILINE)


def cited(content: str) -> list[tuple[str, str, int]]:
    """(Scope, artifact, revision) of each entry of a text."""
    pattern = r'Scope: "([^"]+)"\n    Artifact: .*id="([^"]+)", revision=(\d+)'
    return [
        (scope, id_, int(number)) for scope, id_, number in re.findall(pattern, content)
    ]


def is_empty(api: Api, scope_id: str, query: str, **options) -> bool:
    answer = api.prepare(scope_id, query, **options)
    assert answer.status == 200, answer.body
    return bool(answer.body["status"] == "empty")


# Profiles.


@pytest.mark.clause("A-062", "A-063", "A-064", "A-066", "A-072")
def test_profiles_come_in_scope_order_whatever_the_query(api: Api, db) -> None:
    references = {name: make_scope(name) for name in ("alpha", "zeta", "mid")}
    scope = make_scope("s", references=["zeta", "mid", "alpha"])
    first = profile(scope, "Writes Go.")
    revise(first, {"content": "Writes Rust."})
    for name in ("alpha", "zeta"):
        profile(references[name], f"Profile of {name}.")
    assembly = PROFILES | {"show": ["recall_rank"]}
    content = api.content("s", "unrelated words", assembly=assembly)
    assert cited(content) == [
        ("s", "profile", 2),
        ("zeta", "profile", 1),
        ("alpha", "profile", 1),
    ]
    assert re.findall(r"Recall rank: (\d)", content) == ["1", "2", "3"]
    assert "Writes Rust." in content
    assert "Writes Go." not in content
    assert api.content("s", "Go", assembly=assembly) == content
    assert is_empty(api, "mid", "Writes", assembly=assembly)


@pytest.mark.clause("A-070")
def test_profile_limit_counts_scopes_that_have_one(api: Api, db) -> None:
    for name in ("a", "b", "c"):
        row = make_scope(name)
        if name != "a":
            profile(row, f"Profile of {name}.")
    make_scope("s", references=["a", "c", "b"])
    for limit, expected in ((1, ["c"]), (2, ["c", "b"]), (8, ["c", "b"])):
        assembly = {"sections": [{"family": "profile", "limit": limit}]}
        content = api.content("s", "q", assembly=assembly)
        assert [scope for scope, _, _ in cited(content)] == expected


@pytest.mark.clause("A-066", "A-067", "A-068", "A-069")
def test_only_committed_profiles_count(api: Api, db) -> None:
    scope = make_scope("s")
    assert is_empty(api, "s", "q", assembly=PROFILES)
    pending = propose(scope, "profile", {"content": "Proposed."})
    assert is_empty(api, "s", "q", assembly=PROFILES)
    candidates.reject(
        scope=scope,
        candidate_id=pending.candidate_id,
        expected_version=1,
        reason="No.",
        authorship=BY_TEST,
    )
    assert is_empty(api, "s", "q", assembly=PROFILES)

    committed = profile(scope, "Committed.")
    replacement = propose(scope, "profile", {"content": "Next."}, target=committed)
    content = api.content("s", "q", assembly=PROFILES)
    assert cited(content) == [("s", "profile", 1)]
    assert ">     Committed." in content
    candidates.approve(
        scope=scope,
        candidate_id=replacement.candidate_id,
        expected_version=1,
        authorship=BY_TEST,
    )
    content = api.content("s", "q", assembly=PROFILES)
    assert cited(content) == [("s", "profile", 2)]
    assert ">     Next." in content
    Artifact.objects.filter(family="profile").update(lifecycle="retired")
    assert is_empty(api, "s", "q", assembly=PROFILES)


@pytest.mark.clause("A-067", "A-068")
def test_candidates_are_never_recalled(api: Api, db) -> None:
    scope = make_scope("s")
    for decide in (False, True):
        row = propose(scope, "experience", experience("zebra"))
        if decide:
            candidates.reject(
                scope=scope,
                candidate_id=row.candidate_id,
                expected_version=1,
                reason="No.",
                authorship=BY_TEST,
            )
    assert is_empty(api, "s", "zebra")
    assert is_empty(api, "s", "zebra", assembly={})


@pytest.mark.clause("A-071")
def test_profile_is_truncated_and_budgeted_like_any_body(api: Api, db) -> None:
    scope = make_scope("s")
    profile(scope, "# About\n\n" + "界" * 1000)
    content = api.content("s", "q", assembly=PROFILES)
    assert "Truncated: yes" in content
    body = "\n".join(re.findall(r"^>     (.*)$", content, re.MULTILINE))
    assert len(body.encode()) <= limits.BODY_BYTES
    assert body.endswith("…")
    content = api.content("s", "q", assembly=PROFILES, max_bytes=700)
    assert len(content.encode()) <= 700
    assert is_empty(api, "s", "q", assembly=PROFILES, max_bytes=512)


# Topic memories.


@pytest.mark.clause("A-074", "A-075", "A-076")
def test_topic_shows_title_summary_and_a_snippet_if_any(api: Api, db) -> None:
    scope = make_scope("s")
    filler = "\n\n" + "Filler. " * 200 + "\n\n"
    detail = f"{filler}The zebra grazes.{filler}The zebra sleeps.{filler}"
    both = write(scope, "topic-memory", topic("Zebra", "In short.", detail))
    bare = write(scope, "topic-memory", topic("Zebra again", "In brief.", "Nothing."))
    content = api.content("s", "zebra", assembly=TOPICS)
    assert headings(content) == ["Topic Memory 1", "Topic Memory 2"]
    blocks = {
        key: next(
            part for part in content.split("### ") if row.artifact.artifact_id in part
        )
        for key, row in (("both", both), ("bare", bare))
    }
    quoted = re.findall(r"^>     (.*)$", blocks["both"], re.MULTILINE)
    assert quoted[:4] == ["Title: Zebra", "", "Summary: In short.", ""]
    assert quoted[4].startswith("Snippet: ")
    assert "The zebra grazes." in quoted[4]  # of equal chunks the first
    assert "sleeps" not in quoted[4]
    assert len(quoted[4]) <= len("Snippet: ") + 480
    assert "Snippet" not in blocks["bare"]
    assert detail not in content
    assert ("s", both.artifact.artifact_id, 1) in cited(content)

    exact = {
        "family": "topic-memory",
        "artifact_id": both.artifact.artifact_id,
        "revision": 1,
    }
    answer = api.post("/v1/topic-memory/get", {"scope_id": "s", "artifact": exact})
    assert answer.body["detail"] == detail


@pytest.mark.clause("A-081")
def test_sources_and_prompts_never_enter(api: Api, db) -> None:
    scope = make_scope("s")
    source(scope, "zebra", "zebra source")
    write(
        scope,
        "prompt",
        {
            "schema_version": "powercontext.prompt.v1",
            "mode": "custom",
            "instructions": "zebra prompt",
            "demonstrations": [],
        },
        artifact_id="memory.rerank",
    )
    assert is_empty(api, "s", "zebra prompt source")
    assert is_empty(api, "s", "zebra prompt source", assembly=ALL)
    for family in ("skill", "handoff"):
        body = {"family": family, "content": {"text": "zebra"}}
        assert api.post("/v1/scopes/s/artifacts", body).status == 422


# Access.


@pytest.fixture
def enforced(settings):
    settings.ACCESS_MODE = "enforced"


@pytest.mark.clause("A-061", "A-071", "A-180", "A-181", "A-182")
@pytest.mark.parametrize("family", limits.SELECTABLE_FAMILIES)
def test_one_unreadable_reference_refuses_the_whole_request(api, db, enforced, family):
    """Also when it comes last and holds nothing; topics do not cross, so they pass."""
    hidden = make_scope("hidden-scope")
    scope = make_scope("s", references=["hidden-scope"])
    profile(scope, "zebra")
    for each in (scope, hidden):
        remember(each, "zebra secret" if each is hidden else "zebra")
        write(each, "experience", experience("zebra"))
        write(each, "topic-memory", topic("zebra"))
    caller = api.with_token(token("reader", scope))
    assembly = {"sections": [{"family": family, "limit": 2}]}
    answer = caller.prepare("s", "zebra", assembly=assembly)
    if family == "topic-memory":
        assert answer.body["status"] == "ready"
    else:
        assert (answer.status, answer.code) == (403, "forbidden")
    legacy = caller.prepare("s", "zebra")
    assert (legacy.status, legacy.code) == (403, "forbidden")
    for each in (answer, legacy):
        assert "hidden" not in str(each.body)
        assert "secret" not in str(each.body)
    both = api.with_token(token("both", scope, hidden))
    assert both.prepare("s", "zebra", assembly=assembly).body["status"] == "ready"


@pytest.mark.clause("A-053", "A-054", "A-180", "A-187")
@pytest.mark.parametrize(
    "options", [{}, {"assembly": {"sections": []}}, {"assembly": ALL}]
)
def test_current_scope_is_authorized_first(api: Api, db, enforced, options) -> None:
    scope, other = make_scope("s"), make_scope("t")
    remember(other, "zebra")
    assert api.prepare("t", "zebra", **options).status == 401
    assert api.with_token("wrong").prepare("t", "zebra", **options).status == 401
    caller = api.with_token(token("reader", scope))
    refused = [caller.prepare(name, "zebra", **options) for name in ("t", "missing")]
    assert [answer.status for answer in refused] == [403, 403]
    assert refused[0].body == refused[1].body
    assert is_empty(caller, "s", "zebra", **options)


@pytest.mark.clause("A-180")
@pytest.mark.parametrize("role", ["admin", "viewer", "contributor"])
def test_administering_a_scope_does_not_read_it(api: Api, db, enforced, role) -> None:
    scope = make_scope("s")
    remember(scope, "zebra")
    caller = api.with_token(token("t", scope, role=role, server_admin=role == "admin"))
    assert caller.prepare("s", "zebra").status == (403 if role == "admin" else 200)


@pytest.mark.clause("A-053", "A-061")
def test_empty_sections_ask_nothing_of_references(api: Api, db, enforced) -> None:
    make_scope("hidden")
    scope = make_scope("s", references=["hidden"])
    caller = api.with_token(token("reader", scope))
    assert is_empty(caller, "s", "zebra", assembly={"sections": []})


@pytest.mark.clause("A-080")
def test_faults_have_the_same_codes_with_and_without_assembly(api: Api, db) -> None:
    remember(make_scope("s"), "zebra")
    extras: list[dict[str, Any]] = [
        {},
        {"assembly": {}},
        {"assembly": {"sections": []}},
    ]
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"scope_id": "s", "query": " "}, 422, "invalid_request"),
        ({"scope_id": "s", "query": "q", "max_bytes": 1}, 422, "invalid_request"),
        ({"scope_id": "missing", "query": "q"}, 404, "scope_not_found"),
    ]
    for body, status, code in cases:
        for extra in extras:
            answer = api.post("/v1/context/prepare", body | extra)
            assert (answer.status, answer.code) == (status, code)
    over = api.prepare("s", "zebra", assembly={"sections": ALL["sections"] * 2})
    assert (over.status, over.code) == (422, "invalid_request")


# Reading only.


@pytest.mark.clause("A-065", "A-077", "A-206")
@pytest.mark.parametrize("options", FORMS)
def test_prepare_writes_nothing(api: Api, db, options) -> None:
    """Not one row, whether something is found or not; so nothing is generated."""
    scope = make_scope("s")
    source(scope, "src", "zebra")
    remember(scope, "zebra")
    write(scope, "topic-memory", topic("zebra"))
    make_scope("empty")
    with nothing_written():
        for scope_id in ("s", "empty"):
            api.prepare(scope_id, "zebra", **options)
            api.prepare(scope_id, "nothing like it", **options)
    assert is_empty(api, "s", "zebra", assembly=PROFILES)


SCOPES = ["scope", "contextreference"]
STATISTICS = ["searchpool", "term"]
BODIES = ["artifactrevision", "memoryentryversion"]
RANKING = "ranking"
PROFILE_HEADS = "artifactrevision"
TOPIC_CHUNKS = "searchchunk"


def fill(scope, numbers):
    for number in numbers:
        remember(scope, f"zebra number {number}")


@pytest.mark.clause("A-060")
def test_statements_do_not_grow_with_what_is_stored_or_delivered(api: Api, db) -> None:
    """The statements, in order: Scopes, statistics, one ranking per pool, bodies."""
    scope = make_scope("s")
    collect(scope, [("e", "v", "zebra entry")])
    write(scope, "experience", experience("zebra"))
    write(scope, "topic-memory", topic("zebra"))
    profile(scope, "Zebra.")
    memory_only = {"sections": [{"family": "memory", "limit": 8}]}
    one_memory = {"sections": [{"family": "memory", "limit": 1}]}
    three = [*STATISTICS, *[RANKING] * 3, *BODIES, TOPIC_CHUNKS]
    two = [*STATISTICS, *[RANKING] * 2, *BODIES]
    one = [*STATISTICS, RANKING, *BODIES]
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({}, [*SCOPES, *three]),  # memory, topic memory, experience
        ({"assembly": {}}, [*SCOPES, *two]),
        ({"assembly": ALL}, [*SCOPES, PROFILE_HEADS, *three]),
        ({"assembly": memory_only}, [*SCOPES, *one]),
        ({"assembly": one_memory}, [*SCOPES, *one]),
        ({"assembly": PROFILES}, [*SCOPES, PROFILE_HEADS]),
        ({"assembly": {"sections": []}}, ["scope"]),
    ]
    fill(scope, range(10))
    for rows in (10, 1000):
        fill(scope, range(10, rows))
        for options, statements in expected:
            with captured_tables() as found:
                answer = api.prepare("s", "zebra", **options)
            assert answer.status == 200
            assert sorted(found) == sorted(statements), (rows, options)
    assert len(headings(api.content("s", "zebra", assembly=memory_only))) == 8


def test_statements_grow_by_one_ranking_per_scope_and_family(api: Api, db) -> None:
    for name in ("a", "b", "c"):
        remember(make_scope(name), "zebra")
    scope = make_scope("s", references=["c", "a", "b"])
    remember(scope, "zebra")
    with captured_tables() as found:
        api.content("s", "zebra", assembly={})
    assert found == [*SCOPES, *STATISTICS, *[RANKING] * 4, "artifactrevision"]


def test_access_adds_three_statements(api: Api, db, enforced) -> None:
    """The token, the decision on the current Scope, the decision on its references."""
    other = make_scope("r")
    scope = make_scope("s", references=["r"])
    remember(scope, "zebra")
    caller = api.with_token(token("reader", scope, other))
    with captured_tables() as found:
        caller.content("s", "zebra", assembly={})
    assert found[:5] == ["token", "scope", "grant", "contextreference", "grant"]
    assert found[5:] == [*STATISTICS, RANKING, "artifactrevision"]


@pytest.mark.clause("A-209")
def test_tests_look_at_results_not_at_calls() -> None:
    """No test asks a mock which calls were made, or in which order."""
    asked = re.compile(r"assert_(?:not_)?(?:called|any_call|has_calls)|mock_calls")
    folder = Path(__file__).parent.parent
    files = [path for path in folder.rglob("*.py") if path != Path(__file__)]
    assert len(files) > 20
    assert not [path.name for path in files if asked.search(path.read_text())]
