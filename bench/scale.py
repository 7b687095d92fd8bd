"""Load many memories and prepare from them (`make bench-scale`).

On SQLite and, beside it, on the server that DATABASE_URL names: both get the same
memories and queries and take turns, so that other work of the machine meets both.
Prints load rates, times and statements of prepare, sizes, and the plan of the ranking
statement. The databases are made for it and dropped.
"""

import argparse
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import preparing
from bench.databases import Database, open_databases, run_all

BATCH = 500
QUERIES = 120
# As many queries to one database before it is the other's turn: CPU of a server is
# counted in ticks of 10 ms.
TURN = 30
IDLE_SECONDS = 3
CHINESE_SHARE = 0.08
NOW = datetime(2026, 1, 1, tzinfo=UTC)
_SYLLABLES = [first + last for first in "bcdfghjklm" for last in "aiou"]
_HAN = [chr(code) for code in range(0x4E00, 0x4E00 + 1200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds of one piece of work: on the clock, and of CPU of its process."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    cost: Cost
    statements: int
    found: tuple[str, ...]


@dataclass(slots=True)
class Round:
    """All queries asked once of one database."""

    prepared: list[Prepared]
    server_cpu: float = 0.0


class Writer:
    """Deterministic texts whose words are as unequally common as real ones."""

    def __init__(self) -> None:
        self._random = random.Random(8)
        self._words = ["".join(self._syllables()) for _ in range(20_000)]
        self._weights = [1 / (rank + 5) for rank in range(len(self._words))]
        self._han_weights = [1 / (rank + 20) for rank in range(len(_HAN))]

    def _syllables(self) -> list[str]:
        return self._random.choices(_SYLLABLES, k=self._random.randint(2, 4))

    def text(self, words: int) -> str:
        pick = self._random.choices
        if self._random.random() < CHINESE_SHARE:
            return "".join(pick(_HAN, self._han_weights, k=2 * words))
        return " ".join(pick(self._words, self._weights, k=words))


# In the process of a database.


def make_scopes(count: int) -> list[str]:
    from prepare.services.scopes import ScopeFields, create_scope

    return [
        create_scope(
            fields=ScopeFields(title="Scale", summary="Made by bench/scale.py."),
            idempotency_key=f"scale-{number}",
            now=NOW,
            scope_id=f"scale-{number}",
        ).scope_id
        for number in range(count)
    ]


def load(scope_id: str, texts: dict[str, str]) -> Cost:
    """Store texts by their artifact ids, as the artifact writer does, but in bulk."""
    from django.db import transaction

    from prepare import limits
    from prepare.models import Artifact, ArtifactRevision, Scope
    from prepare.search import index
    from prepare.services import contents

    wall, cpu = time.perf_counter(), time.process_time()
    family = limits.ATOMIC_MEMORY
    scope = Scope.objects.get(scope_id=scope_id)
    with transaction.atomic():
        Artifact.objects.bulk_create(
            Artifact(
                scope=scope,
                family=family,
                artifact_id=name,
                revision=1,
                created_at=NOW,
                updated_at=NOW,
            )
            for name in texts
        )
        # Read back: the MySQL family does not return the keys of many rows.
        heads = list(Artifact.objects.filter(scope=scope, artifact_id__in=texts))
        rows = []
        for head in heads:
            content = {"kind": "fact", "text": texts[head.artifact_id]}
            stored = contents.canonical_json(
                contents.normalize_content(family, content)
            )
            rows.append(
                ArtifactRevision(
                    artifact=head,
                    revision=1,
                    content=stored,
                    content_digest=contents.digest(stored),
                    created_at=NOW,
                )
            )
        ArtifactRevision.objects.bulk_create(rows)
        revisions = ArtifactRevision.objects.filter(artifact__in=heads)
        of_head = {row.artifact_id: row for row in revisions}
        index.add_documents(
            family=family,
            texts=[
                index.IndexedText(
                    artifact=head,
                    revision=of_head[head.pk],
                    text=texts[head.artifact_id],
                )
                for head in heads
            ],
        )
    return Cost(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)


def prepare_timed(scope_id: str, query: str) -> Prepared:
    with preparing.captured() as statements:
        wall, cpu = time.perf_counter(), time.process_time()
        found = preparing.prepare(scope_id, query)
        cost = Cost(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)
    return Prepared(cost=cost, statements=len(statements), found=found)


def explain(scope_id: str, query: str) -> list[str]:
    """The plan of the ranking statement that this query runs."""
    from django.db import connection

    with preparing.captured() as statements:
        preparing.prepare(scope_id, query)
    sql, parameters = next(filter(preparing.is_ranking, statements))
    verb = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{verb} {sql}", parameters)
        rows = cursor.fetchall()
    lines = [" ".join(str(part) for part in row if part is not None) for row in rows]
    if "Outputs & filters:" not in lines:
        return lines
    # Of OceanBase the operators are enough, and the ranges that are read.
    end = lines.index("Outputs & filters:")
    details = "".join(line.strip() for line in lines[end:])
    ranges = set(re.findall(r"(\d+),(-?\d+),MIN ; \1,\2,MAX", details))
    pools = {pool for pool, _ in ranges}
    return [
        *lines[:end],
        f"{len(ranges)} ranges of (pool, term), of {len(pools)} pool",
    ]


def compact() -> None:
    """Make OceanBase merge what was written, as it does every night by itself."""
    from django.db import connection

    if not getattr(connection, "oceanbase_version", None):
        return
    with connection.cursor() as cursor:
        cursor.execute("ALTER SYSTEM MAJOR FREEZE")
        while True:
            time.sleep(2)
            cursor.execute(
                "SELECT status FROM oceanbase.DBA_OB_MAJOR_COMPACTION"
                " WHERE last_scn = frozen_scn AND status = 'IDLE'"
            )
            if cursor.fetchone():
                return


_SIZES = {
    "OceanBase": "SELECT SUM(occupy_size) FROM oceanbase.DBA_OB_TABLE_SPACE_USAGE"
    " WHERE database_name = DATABASE()",
    "SQLite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
}
_SIZE_OF_OTHERS = (
    "SELECT SUM(data_length + index_length) FROM information_schema.tables"
    " WHERE table_schema = DATABASE()"
)


def megabytes() -> float:
    """What the tables and their indexes take on disk."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(_SIZES.get(connection.display_name, _SIZE_OF_OTHERS))
        return float(cursor.fetchone()[0]) / 1e6


# In the process of the benchmark.


def load_all(
    databases: Sequence[Database], shares: Sequence[tuple[str, dict[str, str]]]
) -> None:
    costs: dict[str, list[Cost]] = {one.name: [] for one in databases}
    servers = [one.server.cpu_seconds() for one in databases]
    for scope_id, texts in shares:
        for one in databases:
            costs[one.name].append(one.run(load, scope_id, texts))
    documents = sum(len(texts) for _, texts in shares)
    for one, before in zip(databases, servers, strict=True):
        wall = sum(cost.wall for cost in costs[one.name])
        cpu = sum(cost.cpu for cost in costs[one.name])
        line = f"{one.name}: load {documents / wall:.0f}/s, client CPU {cpu:.1f} s"
        if before is not None:
            line += f", server CPU {(one.server.cpu_seconds() or 0) - before:.1f} s"
        print(line, flush=True)


def ask_all(
    databases: Sequence[Database], asked: Sequence[tuple[str, str]]
) -> list[Round]:
    """Ask every query of every database, in turns."""
    idle = [idle_share(one) for one in databases]
    rounds = [Round(prepared=[]) for _ in databases]
    for start in range(0, len(asked), TURN):
        for one, round_, resting in zip(databases, rounds, idle, strict=True):
            before, wall = one.server.cpu_seconds(), time.perf_counter()
            for scope_id, query in asked[start : start + TURN]:
                round_.prepared.append(one.run(prepare_timed, scope_id, query))
            after, wall = one.server.cpu_seconds(), time.perf_counter() - wall
            if before is not None and after is not None:
                round_.server_cpu += after - before - resting * wall
    return rounds


def idle_share(database: Database) -> float:
    """CPU seconds a second that the server takes for itself."""
    if (before := database.server.cpu_seconds()) is None:
        return 0.0
    time.sleep(IDLE_SECONDS)
    return ((database.server.cpu_seconds() or before) - before) / IDLE_SECONDS


def report(name: str, databases: Sequence[Database], rounds: Sequence[Round]) -> None:
    for one, round_ in zip(databases, rounds, strict=True):
        wall = percentiles([item.cost.wall for item in round_.prepared])
        cpu = percentiles([item.cost.cpu for item in round_.prepared])
        statements = sorted({item.statements for item in round_.prepared})
        line = f"{one.name}, {name}: p50 / p95 wall {wall} ms, client CPU {cpu} ms"
        if one.server.pid is not None:
            each = round_.server_cpu * 1000 / len(round_.prepared)
            line += f", server CPU {each:.1f} ms on average"
        print(f"{line}, statements {statements}", flush=True)
    first = [item.found for item in rounds[0].prepared]
    for one, round_ in zip(databases[1:], rounds[1:], strict=True):
        same = [item.found for item in round_.prepared] == first
        print(f"  {one.name} answers as {databases[0].name}: {same}", flush=True)


def percentiles(seconds: Sequence[float]) -> str:
    cuts = statistics.quantiles(seconds, n=20)
    return f"{cuts[9] * 1000:.1f} / {cuts[18] * 1000:.1f}"


def shares_of(
    texts: Sequence[str], scopes: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """What to load at once, for every Scope an equal part."""
    named = [(f"m{number:06}", text) for number, text in enumerate(texts)]
    for number, scope_id in enumerate(scopes):
        part = named[number :: len(scopes)]
        for start in range(0, len(part), BATCH):
            yield scope_id, dict(part[start : start + BATCH])


def run(databases: Sequence[Database], documents: int, scope_count: int) -> None:
    print(f"{documents} memories, {scope_count} Scopes", flush=True)
    writer = Writer()
    texts = [writer.text(words=25) for _ in range(documents)]
    scopes = run_all(databases, make_scopes, scope_count)[0]
    load_all(databases, list(shares_of(texts, scopes)))
    queries = [writer.text(words=3 + number % 8) for number in range(QUERIES)]
    asked = [
        (scopes[number % len(scopes)], query) for number, query in enumerate(queries)
    ]
    run_all(databases, preparing.prepare, *asked[0])
    report("first time", databases, ask_all(databases, asked))
    report("again", databases, ask_all(databases, asked))
    longest = max(asked, key=lambda one: len(one[1].split()))
    for one, plan in zip(databases, run_all(databases, explain, *longest), strict=True):
        print(f"{one.name}, plan of the ranking statement:", *plan, sep="\n  ")
    run_all(databases, compact)
    for one, size in zip(databases, run_all(databases, megabytes), strict=True):
        print(f"{one.name}: {size:.1f} MB")
    report("compacted", databases, ask_all(databases, asked))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--scopes", type=int, default=1)
    options = parser.parse_args()
    with open_databases() as databases:
        run(databases, options.documents, options.scopes)


if __name__ == "__main__":
    main()
