"""Readers and writers at once: no wrong answer, no lost write, no lock error.

Each thread has its own connection to the test database file, as each server thread has.
"""

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.test import Client

from prepare.errors import Conflict
from prepare.models import Artifact, Candidate, Scope, SearchPool, Source
from prepare.search import index
from prepare.search.vendors import read_snapshot
from prepare.services import memories, scopes
from prepare.services.health import check_thoroughly
from prepare.services.memories import MemoryTarget
from prepare.services.scopes import ScopeFields
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
    source,
    token,
    topic,
    write,
)

pytestmark = pytest.mark.django_db(transaction=True)

Result = TypeVar("Result")

# What waits for a lock waits 20 s (settings.py); half of that proves it did not.
PATIENCE_SECONDS = 10
SECONDS_OF_WRITING = 4

FORMS: list[dict[str, Any]] = [
    {},
    {"assembly": {}},
    {
        "assembly": {
            "sections": [
                {"family": "memory", "limit": 4},
                {"family": "profile", "limit": 1},
                {"family": "topic-memory", "limit": 1},
                {"family": "experience", "limit": 2},
            ]
        }
    },
]


@pytest.fixture
def scope() -> Scope:
    return make_scope("s")


def in_own_connection(job: Callable[[], Result]) -> Callable[[], Result]:
    def run() -> Result:
        try:
            return job()
        finally:
            connections.close_all()

    return run


def run_together(jobs: Sequence[Callable[[], Result]]) -> list[Result]:
    """Start all jobs at one moment, each in a thread; results in order."""
    barrier = threading.Barrier(len(jobs))

    def start(job: Callable[[], Result]) -> Result:
        barrier.wait(timeout=PATIENCE_SECONDS)
        return in_own_connection(job)()

    with ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(start, job) for job in jobs]
        return [future.result(timeout=60) for future in futures]


def run_beside(job: Callable[[], Result]) -> Result:
    """Run a job in another thread and connection, while this one keeps its state."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(in_own_connection(job)).result(timeout=PATIENCE_SECONDS)


def api() -> Api:
    """A client of its own for each thread."""
    return Api(Client())


def call(method: str, path: str, body: Any, **headers: str) -> Callable[[], Answer]:
    return lambda: api().send(method, path, body, headers=headers)


def statuses(answers: Sequence[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


def write_lock_is_held() -> bool:
    """Whether a second writer would wait: for SQLite's one lock, or for the pool."""
    if connection.vendor != "sqlite":
        return run_beside(pool_is_locked)
    with closing(sqlite3.connect(connection.settings_dict["NAME"], timeout=0)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        other.rollback()
        return False


def pool_is_locked() -> bool:
    try:
        with transaction.atomic():
            SearchPool.objects.select_for_update(nowait=True).get(family="memory")
    except OperationalError:
        return True
    return False


# Readers beside writers.


def test_unchanged_entries_are_never_missed(scope) -> None:
    """C-42: heads and the projection move on, and each answer is of one moment."""
    remember(scope, "zebra memory", artifact_id="m")
    collect(scope, [("e", "v", "zebra entry")])
    stop = time.monotonic() + SECONDS_OF_WRITING

    def append() -> int:
        count = 0
        while time.monotonic() < stop:
            count += 1
            collect(scope, [("moving", f"v{count}", f"other text {count}")])
            remember(scope, f"other text {count}")
        return count

    def read() -> int:
        client, count = api(), 0
        while time.monotonic() < stop or not count:
            for options in FORMS[:2]:
                content = client.content("s", "zebra", **options)
                assert "zebra memory" in content
                assert "zebra entry" in content
                count += 1
        return count

    written, *read_counts = run_together([append, *[read] * 4])
    assert written > 1
    assert min(read_counts) > 1
    assert check_thoroughly().is_ready


def test_captures_and_prepares_in_parallel(scope) -> None:
    """C-43: zero 5xx, nothing lost."""
    remember(scope, "zebra", artifact_id="m")
    captures = [
        call(
            "post",
            "/v1/memory/remember",
            {"scope_id": "s", "kind": "fact", "text": f"zebra {number}"},
        )
        for number in range(20)
    ]
    prepares = [
        call(
            "post",
            "/v1/context/prepare",
            {"scope_id": "s", "query": "zebra", **FORMS[number % 3]},
        )
        for number in range(20)
    ]
    answers = run_together([*captures, *prepares])
    assert statuses(answers) == {200: 40}
    assert Artifact.objects.count() == 21
    assert SearchPool.objects.get(family="memory").documents == 21
    assert check_thoroughly().is_ready


@pytest.mark.parametrize("access_mode", ["disabled", "enforced"])
def test_prepare_takes_no_write_lock(scope, settings, access_mode) -> None:
    remember(scope, "zebra", artifact_id="m")
    write(scope, "topic-memory", topic("zebra"))
    write(scope, "experience", experience("zebra"))
    profile(scope, "zebra")
    secret = token("t", scope)
    settings.ACCESS_MODE = access_mode

    def read() -> list[Answer]:
        caller = api().with_token(secret)
        answers = [caller.prepare("s", "zebra", **options) for options in FORMS]
        exact = "/v1/scopes/s/artifacts/atomic-memory/m/revisions/1"
        return [*answers, caller.get(exact)]

    with transaction.atomic():
        remember(scope, "zebra uncommitted")
        assert write_lock_is_held()
        answers = run_beside(read)
    assert statuses(answers) == {200: 4}
    assert not any("uncommitted" in str(answer.body) for answer in answers)
    assert not write_lock_is_held()


def test_snapshot_is_one_moment_and_blocks_no_writer(scope) -> None:
    remember(scope, "zebra")
    with read_snapshot():
        assert Artifact.objects.count() == 1
        run_beside(lambda: remember(scope, "zebra"))
        assert Artifact.objects.count() == 1
        assert SearchPool.objects.get().documents == 1
    assert Artifact.objects.count() == 2
    if connection.vendor == "sqlite":
        with transaction.atomic():
            assert write_lock_is_held()  # writers still start IMMEDIATE


def test_rebuilding_is_not_seen_until_it_is_done(scope) -> None:
    remember(scope, "zebra")
    with transaction.atomic():
        index.clear()
        content = run_beside(lambda: api().content("s", "zebra"))
        transaction.set_rollback(True)
    assert "zebra" in content


# Writers beside writers.


def test_one_of_many_replaces_wins(scope) -> None:
    remember(scope, "zebra", artifact_id="m")
    path = "/v1/scopes/s/artifacts/atomic-memory/m"
    answers = run_together(
        [
            call(
                "put",
                path,
                {"content": {"kind": "fact", "text": f"zebra {number}"}},
                **{"If-Match": '"revision:1"'},
            )
            for number in range(8)
        ]
    )
    assert statuses(answers) == {200: 1, 412: 7}
    head = Artifact.objects.get()
    assert (head.revision, head.revisions.count()) == (2, 2)
    assert check_thoroughly().is_ready


def test_one_profile_is_created(scope) -> None:
    body = {"family": "profile", "content": {"content": "One."}}
    create = call("post", "/v1/scopes/s/artifacts", body)
    assert statuses(run_together([create] * 6)) == {201: 1, 409: 5}


def test_one_key_makes_one_scope() -> None:
    body = {"title": "T", "summary": "S.", "idempotency_key": "k"}
    answers = run_together([call("post", "/v1/scopes", body)] * 8)
    assert statuses(answers) == {201: 8}
    assert len({answer.body["scope_id"] for answer in answers}) == 1
    assert Scope.objects.count() == 1


def test_one_of_two_payloads_gets_the_key() -> None:
    def create(title: str) -> Callable[[], Answer]:
        body = {"title": title, "summary": "S.", "idempotency_key": "k"}
        return call("post", "/v1/scopes", body)

    answers = run_together([create(title) for title in ("T", "U") * 4])
    assert statuses(answers) == {201: 4, 409: 4}
    [title] = {answer.body["title"] for answer in answers if answer.status == 201}
    assert Scope.objects.get().title == title


def test_updates_of_one_version(scope) -> None:
    def update() -> bool:
        fields = ScopeFields(title="New", summary="S.")
        try:
            scopes.update_scope(scope=scope, fields=fields, expected_version=1)
        except Conflict:
            return False
        return True

    assert sum(run_together([update] * 6)) == 1
    assert Scope.objects.get().version == 2


def test_source_positions_are_unique(scope) -> None:
    run_together([partial(source, scope, f"a{number}") for number in range(12)])
    same = run_together([partial(source, scope, "same")] * 6)
    assert {row.position for row in same} == {13}
    positions = Source.objects.order_by("position").values_list("position", flat=True)
    assert list(positions) == list(range(1, 14))


def test_one_of_many_merges_wins(scope) -> None:
    targets = [
        MemoryTarget(artifact=ref(remember(scope, text)), state_version=0)
        for text in ("zebra one", "zebra two")
    ]

    def merge(order: int) -> bool:
        try:
            memories.merge_memories(
                scope=scope,
                inputs=targets[::order],
                content={"kind": "fact", "text": "zebra"},
                authorship=BY_TEST,
            )
        except Conflict:
            return False
        return True

    jobs = [partial(merge, order) for order in (1, -1) * 3]
    assert sum(run_together(jobs)) == 1
    assert Artifact.objects.count() == 3
    assert check_thoroughly().is_ready


def test_one_approval_commits(scope) -> None:
    row = propose(scope, "experience", experience("zebra"))
    body = {
        "scope_id": "s",
        "candidate_id": row.candidate_id,
        "expected_version": 1,
    }
    approve = call("post", "/v1/candidates/approve", body)
    answers = run_together([approve] * 6)
    assert statuses(answers) == {200: 6}
    assert len({str(answer.body["result_artifact"]) for answer in answers}) == 1
    assert (Artifact.objects.count(), Candidate.objects.get().version) == (1, 2)
