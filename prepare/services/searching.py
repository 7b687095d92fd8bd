"""The search operations of the API, over the same index and admission as prepare.

Scores are made from the rank: no relevance score leaves a search (J-18).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from prepare import limits
from prepare.models import Scope
from prepare.search import lookup
from prepare.search.lookup import Hit, PoolKey
from prepare.search.vendors import read_snapshot
from prepare.services import reading
from prepare.services.reading import MemoryView
from prepare.services.recall import Bodies, load_bodies
from prepare.services.runtime import Runtime
from prepare.values import TopicCandidate

# How many ranked memories a filter by kind looks through.
_DEEPEST = 1000
_RRF_CONSTANT = 60  # as the public server spaces its ranks


def rank_score(rank: int) -> float:
    """Reciprocal of 60 + rank, rank from 1."""
    return 1 / (_RRF_CONSTANT + rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemory:
    memory: MemoryView
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTopic:
    topic: TopicCandidate
    rank: int


def search_memories(
    *,
    scope: Scope,
    query: str,
    limit: int,
    runtime: Runtime,
    kind: str | None = None,
) -> list[FoundMemory]:
    """Active atomic memories of one Scope, best first; `kind` keeps only that kind."""
    with read_snapshot():
        depth = limit if kind is None else _DEEPEST
        hits, bodies = _find(scope, limits.MEMORY, query, depth, runtime)
        heads = [
            bodies.revisions[hit.revision_id].artifact
            for hit in hits
            if hit.entry_version_id is None
        ]
        views = reading.memory_views(heads)
    matching = [view for view in views if kind is None or view.kind == kind]
    return [
        FoundMemory(memory=view, rank=rank)
        for rank, view in enumerate(matching[:limit], start=1)
    ]


def search_topics(
    *, scope: Scope, query: str, limit: int, runtime: Runtime
) -> list[FoundTopic]:
    """Topic memories of one Scope, best first."""
    with read_snapshot():
        hits, bodies = _find(scope, limits.TOPIC_MEMORY, query, limit, runtime)
        candidates = [bodies.candidate(scope, hit) for hit in hits]
    return [
        FoundTopic(topic=candidate, rank=rank)
        for rank, candidate in enumerate(candidates, start=1)
        if isinstance(candidate, TopicCandidate)
    ]


def _find(
    scope: Scope, family: str, query: str, limit: int, runtime: Runtime
) -> tuple[Sequence[Hit], Bodies]:
    pool = PoolKey(scope_id=scope.pk, family=family)
    found = lookup.search(
        query=query,
        pools=[pool],
        gate=runtime.gate,
        postings_cap=runtime.postings_cap,
        depth=max(limit, limits.SEARCH_DEPTH),
    )
    hits = found[pool][: max(limit, 1)]
    return hits, load_bodies(hits, query)
