"""The search operations of the API, over the same index and admission as prepare.

Scores are made from the rank: no relevance score leaves a search (J-18).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from prepare import limits
from prepare.models import Scope, SearchPool
from prepare.search import lookup
from prepare.search.lookup import Hit, PoolKey
from prepare.search.vendors import read_snapshot
from prepare.services import reading
from prepare.services.reading import MemoryView
from prepare.services.recall import load_bodies
from prepare.services.runtime import Runtime
from prepare.services.stored import RankedHit, SearchResult
from prepare.values import TopicCandidate

# How many ranked memories a search of atomic memories looks through: entries of
# collections rank among them, and memories of other kinds.
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
        hits = [
            hit
            for hit in _find(scope, limits.MEMORY, query, _DEEPEST, runtime)
            if hit.entry_version_id is None
        ]
        if kind is None:
            hits = hits[:limit]
        bodies = load_bodies(hits, query)
        rows = [bodies.current_revision(scope, hit) for hit in hits]
    views = [reading.memory_view(row.artifact, row) for row in rows]
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
        hits = _find(scope, limits.TOPIC_MEMORY, query, limit, runtime)[:limit]
        bodies = load_bodies(hits, query)
        candidates = [bodies.candidate(scope, hit) for hit in hits]
    return [
        FoundTopic(topic=candidate, rank=rank)
        for rank, candidate in enumerate(candidates, start=1)
        if isinstance(candidate, TopicCandidate)
    ]


def search_family(
    *, scope: Scope, family: str, query: str, start: int, size: int, runtime: Runtime
) -> SearchResult:
    """What one family of one Scope holds of the query, best first, `start` left out.

    `family` is the selector: `memory` finds atomic memories and entries of collections.
    Raises `NotReady` if the search cannot be trusted: that is never an empty result.
    """
    with read_snapshot():
        hits = _find(scope, family, query, start + size + 1, runtime)[start:]
        bodies = load_bodies(hits[:size], query)
        candidates = [bodies.candidate(scope, hit) for hit in hits[:size]]
        pool = SearchPool.objects.filter(scope=scope, family=family).first()
    return SearchResult(
        hits=tuple(
            RankedHit(rank=rank, candidate=candidate)
            for rank, candidate in enumerate(candidates, start=start + 1)
        ),
        has_more=len(hits) > size,
        documents=0 if pool is None else pool.documents,
    )


def _find(
    scope: Scope, family: str, query: str, depth: int, runtime: Runtime
) -> Sequence[Hit]:
    pool = PoolKey(scope_id=scope.pk, family=family)
    plan = lookup.plan_search(
        query=query,
        pools=[pool],
        gate=runtime.gate,
        postings_cap=runtime.postings_cap,
        depth=max(depth, limits.SEARCH_DEPTH),
    )
    return plan.rank(pool)
