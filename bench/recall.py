"""Recall of the labelled sets through prepare, words only (`make bench-recall`).

Share of the labelled evidence found among the delivered items, averaged over queries:
memory limit 8, one Scope per query. Printed with the query gate off (ranking alone) and
on, and how often unrelated queries got an answer. Data: POWERCONTEXT_RECALL_DATA, a
folder of `<set>/docs.jsonl` and `<set>/queries.jsonl`; without it nothing is measured.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT = 8
UNRELATED = 400
ADVERSARIAL = 5  # a category of LoCoMo: its evidence does not hold the answer
# A query of another set is unrelated to every Scope of this one.
OTHER_SET = {"locomo": "cosqa", "cmrc": "locomo", "cosqa": "locomo"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    scope: str
    text: str
    relevant: frozenset[str]


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
        )
        for line in read_lines(folder / "queries.jsonl")
        if line.get("category") != ADVERSARIAL
    ]


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


class Preparer:
    """Runs prepare for one gate setting and returns the delivered artifact ids."""

    def __init__(self, *, gate_on: bool) -> None:
        from prepare.search.ranking import Gate
        from prepare.services.runtime import Runtime, configured_runtime

        closed = Gate(latin_mass=0, han_mass=0, item_mass=0)
        self.runtime = configured_runtime() if gate_on else Runtime(gate=closed)

    def delivered(self, scope: str, text: str) -> list[str]:
        from prepare.services.access import LOCAL
        from prepare.services.prepare import prepare_context
        from prepare.values import parse_prepare_request

        request = parse_prepare_request(
            {
                "scope_id": scope,
                "query": text,
                "max_bytes": 32768,
                "assembly": {"sections": [{"family": "memory", "limit": LIMIT}]},
            }
        )
        build = prepare_context(request, principal=LOCAL, runtime=self.runtime).build
        return [identity.artifact.artifact_id for identity in build.origins]


def recall(preparer: Preparer, queries: list[Query]) -> float:
    shares = [
        len(query.relevant & set(preparer.delivered(query.scope, query.text)))
        / len(query.relevant)
        for query in queries
    ]
    return sum(shares) / len(shares)


def answered(preparer: Preparer, scope: str, queries: list[Query]) -> float:
    """Share of queries about something else that got any item."""
    asked = queries[:: max(1, len(queries) // UNRELATED)][:UNRELATED]
    return sum(bool(preparer.delivered(scope, q.text)) for q in asked) / len(asked)


def main() -> None:
    data = os.environ.get("POWERCONTEXT_RECALL_DATA")
    if not data:
        sys.exit("Set POWERCONTEXT_RECALL_DATA to the folder of labelled sets.")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["POWERCONTEXT_SERVER_DATA_DIR"] = scratch
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "powercontext.settings")
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        report(Path(data))


def report(data: Path) -> None:
    sets = {
        folder.name: read_queries(folder)
        for folder in sorted(data.iterdir())
        if (folder / "queries.jsonl").is_file()
    }
    print("set       docs  queries  R@8 gate off  R@8 gate on  answered  CPU ms/query")
    for name, queries in sets.items():
        documents = load(data / name)
        ranking_alone = recall(Preparer(gate_on=False), queries)
        start = time.process_time()
        gated = recall(Preparer(gate_on=True), queries)
        cpu = (time.process_time() - start) * 1000 / len(queries)
        other = sets.get(OTHER_SET.get(name, ""), [])
        unrelated = answered(Preparer(gate_on=True), queries[0].scope, other)
        print(
            f"{name:8} {documents:6} {len(queries):8} {ranking_alone:13.3f}"
            f" {gated:12.3f} {unrelated:9.3f} {cpu:13.2f}",
            flush=True,
        )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
