"""From the Scopes' ranked lists to one bounded list per family. Pure.

Contract D.1 and RFC 1489 selection steps 4-6: Scopes take turns, the merged list is
cut, empty and repeated candidates go. Scores are never compared across Scopes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from prepare import limits
from prepare.errors import InvariantViolated
from prepare.values import (
    Bound,
    Candidate,
    Dropped,
    Omission,
    Reason,
    ScopePool,
    TopicCandidate,
)


class Omissions:
    """Exclusion events while lists are walked (A.11): who was dropped, and by what."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Reason]] = Counter()
        self._dropped: list[Dropped] = []

    def drop(
        self,
        family: str,
        reason: Reason,
        *candidates: Candidate,
        bound: Bound | None = None,
    ) -> None:
        for candidate in candidates:
            self._counts[family, reason] += 1
            self._dropped.append(
                Dropped(identity=candidate.identity, reason=reason, bound=bound)
            )

    def note_empty(self, family: str) -> None:
        """One event without a candidate: the family's list is empty."""
        self._counts[family, "not_retrieved"] += 1

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        return tuple(self._dropped)

    def as_omissions(self) -> tuple[Omission, ...]:
        return tuple(
            Omission(family=family, reason=reason, count=count)
            for (family, reason), count in sorted(self._counts.items())
        )


def check_pools(family: str, pools: Sequence[ScopePool]) -> None:
    """One Scope's list over its bound is our bug, never silently cut (J-25)."""
    cap = limits.POOL_CAPS.get(family)
    if cap is not None and any(len(pool.candidates) > cap for pool in pools):
        raise InvariantViolated(f"{family}-candidate-limit")


def interleave(lists: Iterable[Sequence[Candidate]]) -> Iterator[Candidate]:
    """One from each list per turn, in list order (A-090, A-093)."""
    remaining = [iter(candidates) for candidates in lists]
    while remaining:
        still_open = []
        for iterator in remaining:
            for candidate in iterator:
                yield candidate
                still_open.append(iterator)
                break
        remaining = still_open


def cut(
    merged: list[Candidate],
    cap: int | None,
    family: str,
    omissions: Omissions,
    bound: Bound = "pool",
) -> list[Candidate]:
    if cap is None:
        return merged
    omissions.drop(family, "family_limit", *merged[cap:], bound=bound)
    return merged[:cap]


def drop_blank(
    candidates: Iterable[Candidate], family: str, omissions: Omissions
) -> list[Candidate]:
    """Remove candidates whose text is white space only (A-097).

    The test is `str.strip` on the stored text: U+200B or NUL alone is not blank.
    """
    kept = []
    for candidate in candidates:
        if isinstance(candidate, TopicCandidate) or candidate.body.strip():
            kept.append(candidate)
        else:
            omissions.drop(family, "blank", candidate)
    return kept


def drop_repeated(
    candidates: Iterable[Candidate], family: str, omissions: Omissions
) -> list[Candidate]:
    """Keep the first of each exact identity (A-098); equal bodies both stay (A-101)."""
    first = {}
    for candidate in candidates:
        if candidate.identity in first:
            omissions.drop(family, "duplicate", candidate)
        else:
            first[candidate.identity] = candidate
    return list(first.values())
