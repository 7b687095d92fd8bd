"""One request as the Inspector tries it: the API's result, and what it leaves unsaid.

Nothing is written. The candidates, the result and the answer about one wanted identity
come from one snapshot.
"""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from prepare.search.vendors import read_snapshot
from prepare.services import legacy, packing
from prepare.services.absence import Absence, find_absence
from prepare.services.access import Principal
from prepare.services.merging import Omissions
from prepare.services.prepare import NewId, assemble, recall_for
from prepare.services.recall import Recalled
from prepare.services.runtime import Runtime
from prepare.stopwatch import Clock, Stopwatch
from prepare.values import (
    Bound,
    Build,
    Identity,
    Pools,
    Prepared,
    PrepareRequest,
    Reason,
    SelectedItem,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Where one identity is in the bounded lists, and what became of it.

    `place` of `listed` is its rank in its Scope's list; `rank` its recall rank in the
    family, None if it got none. Either `position` and `item` say how it was delivered,
    or `reason` (and `bound`) why it was not.
    """

    family: str
    place: int
    listed: int
    rank: int | None
    position: int | None = None
    item: SelectedItem | None = None
    reason: Reason | None = None
    bound: Bound | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Either `listing` or `absence`."""

    wanted: Identity
    listing: Listing | None = None
    absence: Absence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """`ranks` are the recall ranks of all candidates that have one."""

    prepared: Prepared
    ranks: Mapping[Identity, int]
    answer: Answer | None = None


def try_request(
    request: PrepareRequest,
    *,
    principal: Principal,
    runtime: Runtime,
    wanted: Identity | None = None,
    clock: Clock = time.perf_counter,
    new_id: NewId = uuid.uuid4,
) -> Tried:
    """What `prepare_context` gives, and raises, for this request.

    With `wanted` also where that identity is, or why it is nowhere.
    """
    stopwatch = Stopwatch(clock)
    absence = None
    with read_snapshot():
        recalled = recall_for(
            request, principal=principal, runtime=runtime, stopwatch=stopwatch
        )
        if wanted is not None and _find_place(recalled.pools, wanted) is None:
            absence = find_absence(
                wanted, request=request, principal=principal, runtime=runtime
            )
    prepared = assemble(request, recalled, stopwatch=stopwatch, new_id=new_id)
    ranks = recall_ranks(request, recalled)
    answer = None
    if wanted is not None:
        listing = find_listing(wanted, recalled.pools, ranks, prepared.build)
        answer = Answer(wanted=wanted, listing=listing, absence=absence)
    return Tried(prepared=prepared, ranks=ranks, answer=answer)


def recall_ranks(request: PrepareRequest, recalled: Recalled) -> dict[Identity, int]:
    """The rank of each candidate in its family's bounded list, from 1 (A-102)."""
    bounded = (
        legacy.bounded_candidates
        if request.assembly is None
        else packing.bounded_candidates
    )
    return {
        candidate.identity: rank
        for family in request.families
        for rank, candidate in enumerate(
            bounded(family, recalled.pools.get(family, ()), Omissions()), start=1
        )
    }


def _find_place(pools: Pools, wanted: Identity) -> tuple[str, int, int] | None:
    """Family, rank and length of the Scope's list that holds it first."""
    for family, lists in pools.items():
        for pool in lists:
            identities = [candidate.identity for candidate in pool.candidates]
            if wanted in identities:
                return family, identities.index(wanted) + 1, len(identities)
    return None


def find_listing(
    wanted: Identity, pools: Pools, ranks: Mapping[Identity, int], build: Build
) -> Listing | None:
    """None if it is in no list. Of an identity that was listed more than once the one
    that came furthest counts."""
    found = _find_place(pools, wanted)
    if found is None:
        return None
    family, place, listed = found
    listing = Listing(family=family, place=place, listed=listed, rank=ranks.get(wanted))
    for position, item in enumerate(build.selected, start=1):
        if item.identity == wanted:
            return replace(listing, position=position, item=item)
    # Limits of the pool, blanks and repetitions go first, so the last event is that of
    # the one that came furthest.
    last = [one for one in build.dropped if one.identity == wanted][-1]
    return replace(listing, reason=last.reason, bound=last.bound)
