"""Recall of the labelled sets through prepare, words only (`make bench-recall`).

Share of the labelled evidence found among the delivered items, averaged over queries:
memory limit 8, one Scope per query. Printed with the query gate off (ranking alone) and
on, and how often unrelated queries got an answer. Data: POWERCONTEXT_RECALL_DATA, a
folder of `<set>/docs.jsonl` and `<set>/queries.jsonl`; without it nothing is measured.

When DATABASE_URL names a database server, every labelled query is also asked there: the
items delivered, and the ranking with its scores, must be those of SQLite. Every
difference is listed, and any is exit code 1.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import preparing
from bench.databases import Database, open_databases, run_all
from bench.preparing import LIMIT

UNRELATED = 400
ADVERSARIAL = 5  # a category of LoCoMo: its evidence does not hold the answer
# A query of another set is unrelated to every Scope of this one.
OTHER_SET = {"locomo": "cosqa", "cmrc": "locomo", "cosqa": "locomo"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    scope: str
    text: str
    relevant: frozenset[str]
    is_adversarial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Artifact ids delivered for each query, and the CPU of this process for all."""

    delivered: list[tuple[str, ...]]
    cpu_seconds: float


Sets = dict[str, list[Query]]
# Artifact id, score and mass of every ranked document, before admission.
Ranking = tuple[tuple[str, float, float], ...]


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def read_queries(folder: Path) -> list[Query]:
    return [
        Query(
            scope=line["scope"],
            text=line["query"],
            relevant=frozenset(line["relevant_ids"]),
            is_adversarial=line.get("category") == ADVERSARIAL,
        )
        for line in read_lines(folder / "queries.jsonl")
    ]


# In the process of a database.


def load(folder: Path) -> int:
    """Store every document as an atomic memory; returns how many."""
    from django.db import transaction
    from django.utils import timezone

    from prepare.models import Scope
    from prepare.services.artifacts import Authorship, create_artifact
    from prepare.services.scopes import ScopeFields, create_scope

    now = timezone.now()
    authorship = Authorship(now=now)
    scopes: dict[str, Scope] = {}
    count = 0
    with transaction.atomic():
        for line in read_lines(folder / "docs.jsonl"):
            name = line["scope"]
            if name not in scopes:
                scopes[name] = create_scope(
                    fields=ScopeFields(title=name, summary="Recall bench"),
                    idempotency_key=f"bench-{name}",
                    now=now,
                    scope_id=name,
                )
            create_artifact(
                scope=scopes[name],
                family="atomic-memory",
                content={"kind": "fact", "text": line["text"][:8000]},
                authorship=authorship,
                artifact_id=line["id"],
            )
            count += 1
    return count


def answer(asked: Sequence[tuple[str, str]], *, gate_on: bool) -> Answers:
    """Prepare for each (Scope, query)."""
    from prepare.search.ranking import Gate
    from prepare.services.runtime import Runtime, configured_runtime

    closed = Gate(latin_mass=0, han_mass=0, item_mass=0)
    runtime = configured_runtime() if gate_on else Runtime(gate=closed)
    start = time.process_time()
    delivered = [preparing.prepare(scope, text, runtime) for scope, text in asked]
    return Answers(delivered=delivered, cpu_seconds=time.process_time() - start)


def rank(asked: Sequence[tuple[str, str]]) -> list[Ranking]:
    """What the ranking statement of each query gives, asked for its scores too."""
    from django.db import connection

    rankings: list[Ranking] = []
    for scope, text in asked:
        with preparing.captured() as statements:
            preparing.prepare(scope, text)
        rows: list[tuple[str, float, float]] = []  # stays so if no word is known
        for sql, parameters in filter(preparing.is_ranking, statements):
            head, columns, tail = sql.partition(
                " document.id, document.revision_id, document.entry_version_id, mass"
            )
            assert columns, sql
            with connection.cursor() as cursor:
                cursor.execute(
                    f"{head} document.artifact_key, score, mass{tail}", parameters
                )
                rows += cursor.fetchall()
        rankings.append(tuple(rows))
    return rankings


# In the process of the benchmark.


def recall(answers: Answers, queries: Sequence[Query]) -> float:
    shares = [
        len(query.relevant & set(delivered)) / len(query.relevant)
        for query, delivered in zip(queries, answers.delivered, strict=True)
        if not query.is_adversarial
    ]
    return sum(shares) / len(shares)


def answered(database: Database, scope: str, queries: Sequence[Query]) -> float:
    """Share of queries about something else that got any item."""
    queries = [query for query in queries if not query.is_adversarial]
    if not queries:
        return 0.0
    asked = queries[:: max(1, len(queries) // UNRELATED)][:UNRELATED]
    answers = database.run(answer, [(scope, q.text) for q in asked], gate_on=True)
    return sum(map(bool, answers.delivered)) / len(asked)


def compare(
    what: str,
    queries: Sequence[Query],
    first: Sequence[tuple[Any, ...]],
    second: Sequence[tuple[Any, ...]],
) -> list[str]:
    """Print how many answers are the same; returns the others, place by place."""
    lines = []
    different = 0
    for query, one, other in zip(queries, first, second, strict=True):
        if one != other:
            different += 1
            lines.append(f"{what}, {query.scope}: {query.text}")
            lines += [
                f"  {place}: {mine} | {its}"
                for place, (mine, its) in enumerate(zip_longest(one, other), 1)
                if mine != its
            ]
    same = len(queries) - different
    print(
        f"  {what}: {len(queries)} queries, {same} identical, {different} different",
        flush=True,
    )
    return lines


def measure(databases: Sequence[Database], folder: Path, sets: Sets) -> list[str]:
    """One set, on both databases at once; returns the differences between them."""
    queries = sets[folder.name]
    asked = [(query.scope, query.text) for query in queries]
    documents = run_all(databases, load, folder)[0]
    alone = run_all(databases, answer, asked, gate_on=False)
    gated = run_all(databases, answer, asked, gate_on=True)
    unrelated = answered(
        databases[0], queries[0].scope, sets.get(OTHER_SET.get(folder.name, ""), [])
    )
    print(
        f"{folder.name:8} {documents:6} {len(queries):8}"
        f" {recall(alone[0], queries):13.3f} {recall(gated[0], queries):12.3f}"
        f" {unrelated:9.3f} {gated[0].cpu_seconds * 1000 / len(queries):13.2f}",
        flush=True,
    )
    if len(databases) == 1:
        return []
    rankings = run_all(databases, rank, asked)
    top = [[ranking[:LIMIT] for ranking in of_one] for of_one in rankings]
    return [
        *compare("delivered, gate off", queries, *[one.delivered for one in alone]),
        *compare("delivered, gate on", queries, *[one.delivered for one in gated]),
        *compare(f"top {LIMIT} ranked, with scores", queries, *top),
        *compare("all ranked, with scores", queries, *rankings),
    ]


def main() -> None:
    data = os.environ.get("POWERCONTEXT_RECALL_DATA")
    if not data:
        sys.exit("Set POWERCONTEXT_RECALL_DATA to the folder of labelled sets.")
    sets = {
        folder.name: read_queries(folder)
        for folder in sorted(Path(data).iterdir())
        if (folder / "queries.jsonl").is_file()
    }
    differences = []
    with open_databases() as databases:
        print("Databases:", ", ".join(one.name for one in databases))
        print(
            "set       docs  queries  R@8 gate off  R@8 gate on  answered  CPU ms/query"
        )
        for name in sets:
            differences += measure(databases, Path(data, name), sets)
    if differences:
        sys.exit("\n".join(["Differences:", *differences]))


if __name__ == "__main__":
    main()
