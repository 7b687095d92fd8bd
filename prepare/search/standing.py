"""Why a search did or did not find one document: in words and counts (J-18).

For the Inspector. It ranks one pool once more, inside the caller's snapshot, and says
at which step the document fell out; no score or mass leaves it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from prepare.models import SearchDocument, SearchPool
from prepare.search.index import unpack_terms
from prepare.search.lookup import Hit, PoolKey, SearchPlan, plan_search
from prepare.search.ranking import Gate, choose_terms

SearchCause = Literal[
    "no_terms",  # nothing in the query can be searched for
    "no_shared_term",
    "gate_closed",  # the best hit holds too little of the query: nothing is admitted
    "too_frequent",  # it holds only terms that too many documents hold
    "item_floor",  # this one holds too little of the query
    "behind_bound",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Counts of the pool, and of one document in it.

    `stored` can be found there; `admitted` of them were, of at most as many as a search
    ranks. Of the document, `shared_terms` counts those of the query that it holds;
    `place` is its rank, from 1, if it was admitted; `cause` is None within the bound.
    """

    stored: int
    admitted: int
    query_terms: int
    shared_terms: int | None = None
    place: int | None = None
    cause: SearchCause | None = None


def find_standing(
    *,
    key: PoolKey,
    document: SearchDocument | None,
    query: str,
    gate: Gate,
    postings_cap: int,
    bound: int,
) -> Standing:
    """Where `document` of this pool stands; with None only the counts of the pool.

    Four statements, whatever is stored.
    """
    row = SearchPool.objects.filter(scope=key.scope_id, family=key.family).first()
    plan = plan_search(query=query, pools=[key], gate=gate, postings_cap=postings_cap)
    hits = plan.find(key)
    admitted = plan.admitted(hits)
    counts = Standing(
        stored=0 if row is None else row.documents,
        admitted=len(admitted),
        query_terms=len(plan.terms),
    )
    if document is None:
        return counts
    held = set(unpack_terms(bytes(document.terms)))
    place = _place(document, admitted)
    is_listed = place is not None and place <= bound
    return Standing(
        stored=counts.stored,
        admitted=counts.admitted,
        query_terms=counts.query_terms,
        shared_terms=len(held.intersection(plan.terms)),
        place=place,
        cause=None if is_listed else _cause(plan, key, document, held, hits),
    )


def _place(document: SearchDocument, hits: Sequence[Hit]) -> int | None:
    ids = [hit.document_id for hit in hits]
    return ids.index(document.pk) + 1 if document.pk in ids else None


def _cause(
    plan: SearchPlan,
    key: PoolKey,
    document: SearchDocument,
    held: set[int],
    hits: Sequence[Hit],
) -> SearchCause:
    """The first step at which a document that is not listed fell out."""
    if not plan.terms:
        return "no_terms"
    if held.isdisjoint(plan.terms):
        return "no_shared_term"
    admitted = plan.admitted(hits)
    if not admitted:
        return "gate_closed"
    if _place(document, admitted) is not None:
        return "behind_bound"
    if _place(document, hits) is not None:
        return "item_floor"
    return "behind_bound" if _is_reached(plan, key, held) else "too_frequent"


def _is_reached(plan: SearchPlan, key: PoolKey, held: set[int]) -> bool:
    """Whether the terms that find documents find this one (see `choose_terms`)."""
    weighting = plan.weighting(key)
    if weighting is None:
        return False
    driving, _ = choose_terms(weighting.frequencies, plan.postings_cap)
    # Only the newest documents of a single term over the cap are looked at.
    is_capped = weighting.frequencies[driving[0]] > plan.postings_cap
    return not is_capped and not held.isdisjoint(driving)
