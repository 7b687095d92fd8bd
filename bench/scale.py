"""Load many memories into the configured database and prepare from them.

Prints the load rate, time per prepare request, and the plan of the ranking statement.
What is loaded stays: give it a database of its own (DATABASE_URL).
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prepare.models import Scope

BATCH = 500
QUERIES = 60
CHINESE_SHARE = 0.08
NOW = datetime(2026, 1, 1, tzinfo=UTC)
_SYLLABLES = [first + last for first in "bcdfghjklm" for last in "aiou"]
_HAN = [chr(code) for code in range(0x4E00, 0x4E00 + 1200)]


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


def load(scope: "Scope", texts: Sequence[str]) -> None:
    """What the artifact writer stores, heads and revisions in bulk."""
    from django.db import transaction

    from prepare import limits
    from prepare.models import Artifact, ArtifactRevision
    from prepare.search import index
    from prepare.services import contents

    family = limits.ATOMIC_MEMORY
    by_name = {f"art_{uuid.uuid4().hex}": text for text in texts}
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
            for name in by_name
        )
        # Read back: the MySQL family does not return the keys of many rows.
        heads = list(Artifact.objects.filter(scope=scope, artifact_id__in=by_name))
        rows = []
        for head in heads:
            content = {"kind": "fact", "text": by_name[head.artifact_id]}
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
                    text=by_name[head.artifact_id],
                )
                for head in heads
            ],
        )


def make_scopes(count: int) -> list["Scope"]:
    from prepare.services.scopes import ScopeFields, create_scope

    return [
        create_scope(
            fields=ScopeFields(title="Scale", summary="Made by bench/scale.py."),
            idempotency_key=uuid.uuid4().hex,
            now=NOW,
        )
        for _ in range(count)
    ]


def prepare_all(scopes: Sequence["Scope"], queries: Sequence[str]) -> None:
    """Print wall and client CPU of one request, p50 and p95."""
    walls, cpus, found = [], [], 0
    for number, query in enumerate(queries):
        wall, cpu = time.perf_counter(), time.process_time()
        found += prepare_one(scopes[number % len(scopes)], query)
        walls.append((time.perf_counter() - wall) * 1000)
        cpus.append((time.process_time() - cpu) * 1000)
    for name, values in (("wall", walls), ("client CPU", cpus)):
        cuts = statistics.quantiles(values, n=20)
        print(f"prepare {name}: p50 {cuts[9]:.1f} ms, p95 {cuts[18]:.1f} ms")
    print(f"items found by {len(queries)} queries: {found}")


def prepare_one(scope: "Scope", query: str) -> int:
    from prepare.services.access import LOCAL
    from prepare.services.prepare import prepare_context
    from prepare.services.runtime import Runtime
    from prepare.values import parse_prepare_request

    request = parse_prepare_request(
        {
            "scope_id": scope.scope_id,
            "query": query,
            "assembly": {"sections": [{"family": "memory", "limit": 8}]},
        }
    )
    prepared = prepare_context(request, principal=LOCAL, runtime=Runtime())
    return len(prepared.build.origins)


def explain(scope: "Scope", query: str) -> None:
    """Print the plan of the ranking statement that this query runs."""
    from django.db import connection

    ranking: list[tuple[str, Any]] = []

    def watch(execute: Any, sql: str, params: Any, *rest: Any) -> Any:
        if sql.startswith("WITH driven"):
            ranking.append((sql, params))
        return execute(sql, params, *rest)

    with connection.execute_wrapper(watch):
        prepare_one(scope, query)
    verb = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    for sql, params in ranking[:1]:
        with connection.cursor() as cursor:
            cursor.execute(f"{verb} {sql}", params)
            for row in cursor.fetchall():
                if str(row[0]).startswith("Outputs & filters"):
                    break  # of OceanBase the operators are enough
                print(" ", *(str(part) for part in row if part is not None))


def run(documents: int, scope_count: int) -> None:
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    version = ".".join(map(str, connection.get_database_version()))
    print(
        f"{connection.display_name} {version}: {documents} memories, Scopes:", end=" "
    )
    print(scope_count)
    writer = Writer()
    texts = [writer.text(words=25) for _ in range(documents)]
    scopes = make_scopes(scope_count)
    shares = [texts[number::scope_count] for number in range(scope_count)]
    wall, cpu = time.perf_counter(), time.process_time()
    for scope, share in zip(scopes, shares, strict=True):
        for start in range(0, len(share), BATCH):
            load(scope, share[start : start + BATCH])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"load: {documents / wall:.0f}/s wall, {documents / cpu:.0f}/s of client CPU")
    queries = [writer.text(words=6) for _ in range(QUERIES)]
    prepare_one(scopes[0], queries[0])
    prepare_all(scopes, queries)
    explain(scopes[0], queries[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--scopes", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["POWERCONTEXT_SERVER_DATA_DIR"] = scratch
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "powercontext.settings")
        import django

        django.setup()
        run(options.documents, options.scopes)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
