"""Why the search of one pool did not offer one document (Inspector: why not this one?).

Runs the same statements and the same admission as recall; says words and counts, never
a score (J-18).
"""

from dataclasses import dataclass
from typing import Literal

from prepare import limits
from prepare.models import Posting, SearchDocument, SearchPool
from prepare.search.lookup import PoolKey, SearchPlan

Verdict = Literal[
    "offered",
    "ranked_behind",
    "below_gate",
    "below_floor",
    "no_common_word",
    "query_without_words",
    "not_indexed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolVerdict:
    """`stored` documents can be found in the pool, `admitted` were for this query.

    `rank` counts admitted documents from 1; None if it is not one of them.
    """

    verdict: Verdict
    stored: int
    admitted: int
    rank: int | None = None


def judge_document(
    plan: SearchPlan, key: PoolKey, *, artifact_key: int, entry_id: str | None
) -> PoolVerdict:
    """`artifact_key` is the head's primary key; `entry_id` of a collection entry."""
    pool = SearchPool.objects.filter(scope=key.scope_id, family=key.family).first()
    stored = 0 if pool is None else pool.documents
    judged = plan.judge(key)
    admitted = [hit.document_id for hit, is_in in judged if is_in]
    document_id = (
        SearchDocument.objects.filter(
            pool__scope_id=key.scope_id,
            pool__family=key.family,
            artifact=artifact_key,
            entry_key=entry_id or "",
        )
        .values_list("pk", flat=True)
        .first()
    )

    def say(verdict: Verdict, rank: int | None = None) -> PoolVerdict:
        return PoolVerdict(
            verdict=verdict, stored=stored, admitted=len(admitted), rank=rank
        )

    if not plan.terms:
        return say("query_without_words")
    if document_id is None or pool is None:
        return say("not_indexed")
    if document_id in admitted:
        rank = admitted.index(document_id) + 1
        offered = rank <= limits.POOL_CAPS[key.family]
        return say("offered" if offered else "ranked_behind", rank)
    if document_id in [hit.document_id for hit, _ in judged]:
        return say("below_floor" if admitted else "below_gate")
    shares_word = Posting.objects.filter(
        pool_id=pool.pk, term__in=plan.terms, document_id=document_id
    ).exists()
    if not shares_word:
        return say("no_common_word")
    # It shares words, but so many documents do that the ranking ended before it.
    return say("ranked_behind" if admitted else "below_gate")
