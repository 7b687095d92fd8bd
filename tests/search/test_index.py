"""The projection is what the active heads say, whatever happened (C-12, C-51)."""

import json
import random
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prepare.errors import Conflict
from prepare.models import (
    Artifact,
    ArtifactRevision,
    MemoryEntryVersion,
    Posting,
    Scope,
    SearchChunk,
    SearchDocument,
    SearchPool,
    Term,
)
from prepare.search import index, lookup
from prepare.search.analysis import document_terms, term_key
from prepare.search.snippets import chunk_spans
from prepare.services import memories
from prepare.services.collections import EntryChange, write_collection
from prepare.services.contents import searchable_text
from prepare.services.health import check_thoroughly
from prepare.services.memories import MemoryTarget
from prepare.services.rebuilding import rebuild_search
from prepare.values import ArtifactRef
from tests.factories import (
    BY_TEST,
    experience,
    make_scope,
    profile,
    remember,
    revise,
    topic,
    write,
)

POOLS = {"atomic-memory": "memory", "memory": "memory"}
WORDS = ["zebra", "giraffe", "契约", "write_boolean", "😀", "café", "the", "20.04"]

# (scope, pool, artifact id, entry id): where a document is, in words.
Key = tuple[str, str, str, str]


def keys_of(text: str) -> dict[int, int]:
    counted: Counter[int] = Counter()
    for term, frequency in document_terms(text).items():
        counted[term_key(term)] += frequency
    return dict(counted)


def pack(keys: dict[int, int]) -> bytes:
    return b"".join(struct.pack("<q", key) for key in sorted(keys))


class Projection:
    """What a search can see, free of row numbers."""

    def __init__(self) -> None:
        self.documents: dict[Key, Any] = {}
        self.postings: dict[tuple[Key, int], tuple[int, int]] = {}
        self.terms: Counter[tuple[str, str, int]] = Counter()
        self.pools: dict[tuple[str, str], tuple[int, int]] = {}

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other)


def read_projection() -> Projection:
    """From the tables."""
    found = Projection()
    pools = {
        pool.pk: (pool.scope.scope_id, pool.family)
        for pool in SearchPool.objects.select_related("scope")
    }
    names: dict[int, Key] = {}
    chunks: dict[int, list[Any]] = {}
    for chunk in SearchChunk.objects.order_by("document", "position"):
        span = (chunk.position, chunk.start, chunk.end, bytes(chunk.terms))
        chunks.setdefault(chunk.document_id, []).append(span)
    for row in SearchDocument.objects.all():
        name = (*pools[row.pool_id], row.artifact_key, row.entry_key)
        names[row.pk] = name
        found.documents[name] = (
            (row.artifact_id, row.revision_id, row.entry_version_id),
            (row.length, bytes(row.terms)),
            chunks.get(row.pk, []),
        )
    for posting in Posting.objects.all():
        name = names[posting.document_id]
        assert name[:2] == pools[posting.pool_id]
        found.postings[name, posting.term] = (posting.frequency, posting.length)
    for term in Term.objects.exclude(frequency=0):
        found.terms[(*pools[term.pool_id], term.term)] = term.frequency
    for pool in SearchPool.objects.exclude(documents=0):
        found.pools[pools[pool.pk]] = (pool.documents, pool.total_length)
    return found


def searchable() -> Iterator[tuple[ArtifactRevision, MemoryEntryVersion | None, str]]:
    """(revision, entry version, text) of every active head and active entry."""
    for head in Artifact.objects.filter(lifecycle="active"):
        row = head.revisions.get(revision=head.revision)
        content = json.loads(row.content)
        if head.family == "memory":
            for entry in content["entries"]:
                if entry["state"] == "active":
                    version = head.entry_versions.get(
                        entry_version_id=entry["entry_version_id"]
                    )
                    yield row, version, version.text
        elif head.family not in ("profile", "prompt"):
            yield row, None, searchable_text(head.family, content)


def compute_projection() -> Projection:
    """From the heads, document by document."""
    expected = Projection()
    for row, version, text in searchable():
        head = row.artifact
        pool = (head.scope.scope_id, POOLS.get(head.family, head.family))
        name = (*pool, head.artifact_id, version.entry_id if version else "")
        held = keys_of(text)
        length = sum(held.values())
        detail = json.loads(row.content).get("detail", "")
        expected.documents[name] = (
            (head.pk, row.pk, version.pk if version else None),
            (length, pack(held)),
            [
                (position, start, end, pack(keys_of(detail[start:end])))
                for position, (start, end) in enumerate(chunk_spans(detail))
            ],
        )
        for key, frequency in held.items():
            expected.postings[name, key] = (frequency, length)
            expected.terms[(*pool, key)] += 1
        documents, total = expected.pools.get(pool, (0, 0))
        expected.pools[pool] = (documents + 1, total + length)
    return expected


class Life:
    """Random writes to two Scopes through the services."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.scopes = [make_scope("s"), make_scope("t")]
        self.count = 0

    def step(self) -> None:
        steps = [self.create, self.create, self.revise, self.change_state]
        steps += [self.merge, self.collect, self.collect]
        self.draw.choice(steps)()

    def text(self) -> str:
        words = self.draw.choices(WORDS, k=self.draw.randint(1, 6))
        return " ".join(["word", *words])

    def scope(self) -> Scope:
        return self.draw.choice(self.scopes)

    def content(self, family: str) -> dict[str, Any]:
        detail = "\n\n".join(self.text() * 40 for _ in range(self.draw.randint(1, 3)))
        contents: dict[str, dict[str, Any]] = {
            "atomic-memory": {"kind": "fact", "text": self.text()},
            "experience": experience(self.text()),
            "topic-memory": topic(self.text(), self.text(), detail),
            "profile": {"content": self.text()},
        }
        return contents[family]

    def create(self) -> None:
        families = ["atomic-memory"] * 3 + ["experience", "topic-memory"]
        family = self.draw.choice(families)
        write(self.scope(), family, self.content(family))

    def pick(self, **filters: Any) -> Artifact | None:
        heads = Artifact.objects.exclude(family="memory").filter(**filters)
        return self.draw.choice([*heads.order_by("pk"), None])

    def revise(self) -> None:
        head = self.pick(merged_into=None)
        if head is not None and head.lifecycle != "retired":
            row = head.revisions.get(revision=head.revision)
            revise(row, self.content(head.family))

    def target(self, head: Artifact) -> MemoryTarget:
        artifact = ArtifactRef(
            family=head.family, artifact_id=head.artifact_id, revision=head.revision
        )
        return MemoryTarget(artifact=artifact, state_version=head.state_version)

    def change_state(self) -> None:
        head = self.pick(family="atomic-memory")
        if head is None:
            return
        try:
            memories.change_state(
                scope=head.scope,
                target=self.target(head),
                state=self.draw.choice(memories.STATES),
                authorship=BY_TEST,
            )
        except Conflict:
            assert head.state in ("merged", "retired")

    def merge(self) -> None:
        scope = self.scope()
        active = {"family": "atomic-memory", "lifecycle": "active", "scope": scope}
        heads = {head for head in (self.pick(**active) for _ in range(3)) if head}
        if len(heads) > 1:
            memories.merge_memories(
                scope=scope,
                inputs=[self.target(head) for head in heads],
                content=self.content("atomic-memory"),
                authorship=BY_TEST,
            )

    def collect(self) -> None:
        scope, artifact_id = self.scope(), self.draw.choice(["memory", "other"])
        changes = []
        for entry_id in self.draw.sample(["e1", "e2", "e3", "E1"], 2):
            versions = MemoryEntryVersion.objects.filter(
                artifact__scope=scope,
                artifact__artifact_id=artifact_id,
                entry_id=entry_id,
            )
            known = list(versions.order_by("pk"))
            old = self.draw.choice([*known, None, None])
            self.count += 1
            changes.append(
                EntryChange(
                    entry_id=entry_id,
                    entry_version_id=old.entry_version_id if old else f"v{self.count}",
                    kind="fact",
                    text=old.text if old else self.text(),
                    active=self.draw.random() < 0.7,
                )
            )
        write_collection(
            scope=scope, artifact_id=artifact_id, changes=changes, authorship=BY_TEST
        )


@pytest.mark.parametrize("seed", range(6))
def test_projection_follows_every_write(db, seed) -> None:
    life = Life(seed)
    for number in range(60):
        life.step()
        if number % 6 == 5:
            assert read_projection() == compute_projection(), f"step {number}"
    before = read_projection()
    assert before.documents
    assert check_thoroughly().is_ready
    rebuild_search(report=lambda done: None)
    assert read_projection() == before
    assert check_thoroughly().is_ready


def test_rebuild_repairs_what_was_spoilt(db) -> None:
    life = Life(99)
    for _ in range(30):
        life.step()
    before = read_projection()
    Posting.objects.all().delete()
    Term.objects.all().update(frequency=3)
    SearchPool.objects.all().update(documents=0)
    assert read_projection() != before
    assert not check_thoroughly().is_ready
    rebuild_search(report=lambda done: None)
    assert read_projection() == before


def test_texts_of_a_pool_are_written_together(db) -> None:
    """Of 30 memories in a rebuild as many statements write as of 3."""
    scope = make_scope("s")
    counts = []
    for number in range(30):
        remember(scope, f"zebra {number}")
        if number + 1 in (3, 30):
            with CaptureQueriesContext(connection) as captured:
                rebuild_search(report=lambda done: None)
            counts.append(sum(query["sql"].startswith("INSERT") for query in captured))
    assert counts[0] == counts[1]
    assert read_projection() == compute_projection()


def test_profiles_and_prompts_are_not_indexed(db) -> None:
    scope = make_scope("s")
    profile(scope, "zebra")
    prompt = {
        "schema_version": "powercontext.prompt.v1",
        "mode": "custom",
        "instructions": "zebra",
        "demonstrations": [],
    }
    write(scope, "prompt", prompt, artifact_id="memory.rerank")
    assert not SearchDocument.objects.exists()
    assert not Posting.objects.exists()


@pytest.mark.parametrize("words", [1, 999, 2000, 2001, 4500])
def test_texts_of_any_length_are_written_and_removed_whole(db, words) -> None:
    """Around the batch sizes of the bulk statements."""
    scope = make_scope("s")
    detail = " ".join(f"w{number}" for number in range(words))
    row = write(scope, "topic-memory", topic("zebra", detail=detail))
    assert read_projection() == compute_projection()
    assert Posting.objects.count() >= words
    revise(row, topic("giraffe"))
    assert read_projection() == compute_projection()
    assert Posting.objects.count() < 20


def test_packed_terms_round_trip() -> None:
    keys = [-(2**63), 2**63 - 1, -1, 1, 5]
    assert index.unpack_terms(index.pack_terms(keys)) == tuple(sorted(keys))
    assert index.unpack_terms(b"") == ()


@pytest.mark.sqlite_only("reads SQLite's catalogue; others cluster by primary key")
def test_postings_and_terms_are_clustered(db) -> None:
    """One B-tree each: no row numbers, no second index beside the key."""
    remember(make_scope("s"), "zebra")
    for table in ("prepare_posting", "prepare_term"):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = %s",
                [table],
            )
            assert cursor.fetchone()[0].endswith("WITHOUT ROWID")
            cursor.execute(
                "SELECT origin FROM pragma_index_list(%s)",
                [table],
            )
            assert cursor.fetchall() == [("pk",)]


@pytest.mark.sqlite_only("reads SQLite's query plan")
def test_one_ranking_reads_one_range_per_term(db) -> None:
    """The plan of the ranking statement searches by key; it never scans a table."""
    scope = make_scope("s")
    for number in range(50):
        remember(scope, f"zebra common {number}")
    pool = SearchPool.objects.get()
    for cap in (5000, 49):
        with CaptureQueriesContext(connection) as captured:
            lookup.rank_terms(
                pool_id=pool.pk,
                terms=[term_key("zebra"), term_key("common"), term_key("7")],
                postings_cap=cap,
            )
        statements = [query["sql"] for query in captured.captured_queries]
        [ranking] = [sql for sql in statements if sql.startswith("WITH")]
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {ranking}")
            plan = [str(row[3]) for row in cursor.fetchall()]
        assert any("SEARCH prepare_posting USING PRIMARY KEY" in step for step in plan)
        assert not any(
            step.startswith(("SCAN prepare_", "SCAN posting", "SCAN document"))
            for step in plan
        )
