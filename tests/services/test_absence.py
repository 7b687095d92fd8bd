"""Why one exact identity is, or is not, in the context."""

from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prepare.models import Grant, Scope, Token
from prepare.services import memories
from prepare.services.absence import Question, explain_absence, recall_ranks
from prepare.services.access import LOCAL, Principal
from prepare.services.memories import MemoryTarget
from prepare.services.prepare import assemble, recall_for
from prepare.services.runtime import Runtime
from prepare.stopwatch import Stopwatch
from prepare.values import ArtifactRef, Identity, parse_prepare_request
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    profile,
    ref,
    remember,
    revise,
    token,
    topic,
    write,
)


def identity(row, **entry: str) -> Identity:
    return Identity(scope_id=row.artifact.scope.scope_id, artifact=ref(row), **entry)


def run(scope_id: str, query: str = "zebra", *, principal=LOCAL, runtime=None, **wire):
    wire.setdefault("assembly", {"sections": [{"family": "memory", "limit": 2}]})
    if wire["assembly"] is None:
        del wire["assembly"]
    request = parse_prepare_request({"scope_id": scope_id, "query": query, **wire})
    runtime = runtime or Runtime()
    stopwatch = Stopwatch(lambda: 0.0)
    recalled = recall_for(
        request, principal=principal, runtime=runtime, stopwatch=stopwatch
    )
    prepared = assemble(request, recalled, stopwatch=stopwatch)
    return Question(
        request=request,
        recalled=recalled,
        build=prepared.build,
        principal=principal,
        runtime=runtime,
    )


def ask(about: Identity, *args, **options) -> Any:
    return explain_absence(run(*args, **options), about)


def selecting(*families: str, limit: int = 2):
    return {"sections": [{"family": name, "limit": limit} for name in families]}


@pytest.fixture
def scope(db) -> Scope:
    return make_scope("s")


def reader_of(*scopes: Scope) -> Principal:
    token("reader", *scopes)
    return Principal(name="reader", token_id=Token.objects.get(name="reader").pk)


def test_selected(scope) -> None:
    remember(scope, "zebra zebra first", artifact_id="a")
    row = remember(scope, "zebra second one here", artifact_id="b")
    answer = ask(identity(row), "s")
    assert (answer.cause, answer.position, answer.truncated) == (None, 2, False)
    assert (answer.rank, answer.list_length) == (2, 2)


def test_truncated(scope) -> None:
    row = remember(scope, "zebra " * 200)
    answer = ask(identity(row), "s", max_bytes=1000)
    assert (answer.position, answer.truncated) == (1, True)


@pytest.mark.parametrize(
    ("count", "limit", "rank", "cut_by_pool"), [(5, 2, 3, False), (18, 8, 17, True)]
)
def test_family_limit(db, count, limit, rank, cut_by_pool) -> None:
    """Of the section, or of the merged list of two Scopes."""
    other = make_scope("r")
    scope = make_scope("s", references=["r"])
    for number in range(count):
        remember(other if number % 2 else scope, "zebra", artifact_id=f"{number:02}")
    question = run("s", assembly=selecting("memory", limit=limit))
    dropped = [one.identity for one in question.build.dropped]
    answers = [explain_absence(question, one) for one in dropped]
    assert {answer.cause for answer in answers} == {"family_limit"}
    [found] = [answer for answer in answers if answer.rank == rank]
    assert (found.cut_by_pool, found.list_length) == (cut_by_pool, count)


def test_budget(scope) -> None:
    for number in range(2):
        remember(scope, "zebra " * 90, artifact_id=str(number))
    question = run("s", max_bytes=1100)
    reasons = {
        explain_absence(question, one.identity).cause for one in question.build.dropped
    }
    assert reasons <= {"no_fitting_truncation", "below_min_bytes"}
    assert reasons


def test_entry_limit_of_the_envelope(scope) -> None:
    for number in range(10):
        remember(scope, f"zebra number {number}")
    question = run("s", assembly=None)
    last = question.build.dropped[-1].identity
    answer = explain_absence(question, last)
    assert (answer.cause, answer.rank) == ("entry_limit", 10)


@pytest.mark.parametrize("assembly", [None, selecting("experience", "memory", limit=1)])
def test_answers_agree_with_the_omissions(db, assembly) -> None:
    """Every candidate is either selected or counted, under the same family."""
    other = make_scope("r")
    scope = make_scope("s", references=["r"])
    for number in range(9):
        for place in (scope, other):
            remember(place, "zebra " * (number + 1) * 20, artifact_id=f"m{number}")
            write(place, "experience", experience("zebra"), artifact_id=f"e{number}")
            write(place, "topic-memory", topic("zebra"), artifact_id=f"t{number}")
    question = run("s", assembly=assembly, max_bytes=3000)
    found: Counter[tuple[str, str | None]] = Counter()
    for family, pools in question.recalled.pools.items():
        for pool in pools:
            for candidate in pool.candidates:
                answer = explain_absence(question, candidate.identity)
                assert answer.family == family
                found[family, answer.cause] += 1
    selected = sum(count for (_, cause), count in found.items() if cause is None)
    assert selected == len(question.build.selected)
    assert {key: count for key, count in found.items() if key[1] is not None} == {
        (one.family, one.reason): one.count for one in question.build.omissions
    }


def test_ranks_are_those_of_the_text(scope) -> None:
    for number in range(3):
        remember(scope, "zebra " * (number + 1), artifact_id=str(number))
    question = run("s", assembly=selecting("memory") | {"show": ["recall_rank"]})
    ranks = recall_ranks(question.request, question.recalled)
    assert sorted(ranks.values()) == [1, 2, 3]
    for item in question.build.selected:
        assert f"Recall rank: {ranks[item.identity]}" in question.build.content


def test_not_stored_and_not_the_head(scope) -> None:
    row = remember(scope, "zebra", artifact_id="a")
    revise(row, {"kind": "fact", "text": "zebra again"})
    old = ask(identity(row), "s")
    assert (old.cause, old.stored.head_revision) == ("not_head", 2)
    for artifact_id, revision in [("a", 3), ("A", 1), ("a ", 1), ("_", 1), ("%", 1)]:
        artifact = ArtifactRef(
            family="atomic-memory", artifact_id=artifact_id, revision=revision
        )
        answer = ask(Identity(scope_id="s", artifact=artifact), "s")
        assert answer.cause == "not_stored", artifact_id


@pytest.mark.parametrize("state", ["forgotten", "retired"])
def test_states(scope, state) -> None:
    row = remember(scope, "zebra")
    target = MemoryTarget(artifact=ref(row), state_version=0)
    memories.change_state(scope=scope, target=target, state=state, authorship=BY_TEST)
    answer = ask(identity(row), "s")
    assert (answer.cause, answer.stored.state) == (state, state)


def test_merged(scope) -> None:
    rows = [remember(scope, f"zebra {number}") for number in range(2)]
    memories.merge_memories(
        scope=scope,
        inputs=[MemoryTarget(artifact=ref(row), state_version=0) for row in rows],
        content={"kind": "fact", "text": "zebra both"},
        authorship=BY_TEST,
    )
    assert ask(identity(rows[0]), "s").cause == "merged"


def test_what_the_request_does_not_read(db) -> None:
    other = make_scope("r")
    elsewhere = remember(make_scope("e"), "zebra")
    scope = make_scope("s", references=["r"])
    far_topic = write(other, "topic-memory", topic("zebra"))
    prompt = write(scope, "prompt", PROMPT, artifact_id="memory.rerank")
    row = remember(scope, "zebra")
    topics = selecting("topic-memory")
    assert ask(identity(elsewhere), "s").cause == "scope_not_read"
    assert ask(identity(far_topic), "s", assembly=topics).cause == "scope_not_read"
    assert ask(identity(prompt), "s").cause == "family_not_recalled"
    assert ask(identity(row), "s", assembly=topics).cause == "family_not_selected"
    without = Runtime(readers=frozenset({"experience"}))
    assert ask(identity(row), "s", runtime=without).cause == "reader_not_configured"


PROMPT = {
    "schema_version": "powercontext.prompt.v1",
    "mode": "custom",
    "instructions": "Choose with care.",
    "demonstrations": [{"input": 1, "expected_output": [2]}],
}


def test_profiles_are_found_without_words(scope) -> None:
    row = profile(scope, "Likes rye.")
    answer = ask(identity(row), "s", "unrelated", assembly=selecting("profile"))
    assert (answer.cause, answer.position) == (None, 1)


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        ("quagga", "no_common_word"),
        ("the of and", "query_without_words"),
        ("zebra " + " ".join(f"unknown{n}" for n in range(5)), "below_gate"),
    ],
)
def test_what_the_search_does_not_admit(scope, query, cause) -> None:
    row = remember(scope, "zebra")
    remember(scope, "something else")
    answer = ask(identity(row), "s", query)
    assert answer.cause == cause
    assert (answer.search.stored, answer.search.admitted) == (2, 0)


def test_below_the_floor(scope) -> None:
    """It shares one frequent word; the best hit holds all the rare ones."""
    words = "okapi quagga tapir bongo serval genet civet"
    remember(scope, f"common {words}")
    row = remember(scope, "common")
    for _ in range(60):
        remember(scope, "common")
    answer = ask(identity(row), "s", f"common {words}")
    assert (answer.cause, answer.search.admitted) == ("below_floor", 1)


def test_ranked_behind_the_bound(scope) -> None:
    rows = [remember(scope, "zebra", artifact_id=f"{n:02}") for n in range(18)]
    answer = ask(identity(rows[16]), "s")
    assert (answer.cause, answer.search.rank) == ("ranked_behind", 17)
    assert (answer.search.stored, answer.search.admitted) == (18, 18)


def test_entries_of_a_collection(scope) -> None:
    first = collect(scope, [("e1", "v1", "zebra one"), ("e2", "v1b", "quagga")])
    named = {"entry_id": "e1", "entry_version_id": "v1"}
    assert ask(identity(first, **named), "s").position == 1
    absent = identity(first, entry_id="e2", entry_version_id="v1b")
    assert ask(absent, "s").cause == "no_common_word"
    second = collect(scope, [("e1", "v2", "zebra two")])
    assert ask(identity(first, **named), "s").cause == "not_head"
    assert ask(identity(second, **named), "s").cause == "not_head"


@pytest.mark.clause("A-181")
def test_an_unreadable_scope_is_as_an_unknown_one(scope) -> None:
    """C-48: no count, state or hint of what another Scope holds."""
    secret = remember(make_scope("secret"), "zebra", artifact_id="known")
    reader = reader_of(scope)
    denied = ask(identity(secret), "s", principal=reader)
    artifact = ArtifactRef(family="atomic-memory", artifact_id="known", revision=1)
    unknown = Identity(scope_id="nowhere", artifact=artifact)
    missing = ask(unknown, "s", principal=reader)
    assert denied.cause == missing.cause == "unknown_scope"
    assert (denied.stored, denied.search) == (missing.stored, missing.search)


def test_a_grant_decides_now(scope) -> None:
    other = make_scope("other")
    row = remember(other, "zebra")
    reader = reader_of(scope, other)
    assert ask(identity(row), "s", principal=reader).cause == "scope_not_read"
    Grant.objects.filter(scope=other).delete()
    assert ask(identity(row), "s", principal=reader).cause == "unknown_scope"


def test_the_number_of_statements_is_constant(scope) -> None:
    def count() -> int:
        rows = [remember(scope, "quagga") for _ in range(10)]
        question = run("s", "zebra okapi")
        with CaptureQueriesContext(
            connection,
        ) as captured:
            explain_absence(question, identity(rows[0]))
        statements = [query["sql"] for query in captured.captured_queries]
        assert all(one.startswith(("SELECT", "WITH")) for one in statements)
        return len(statements)

    remember(scope, "zebra quagga")
    assert count() == count()
