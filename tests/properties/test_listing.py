"""The fate of every candidate agrees with what the omissions count."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prepare.services.prepare import build
from prepare.services.recall import Recalled
from prepare.services.replaying import read_recording
from prepare.services.trying import find_listing, recall_ranks
from prepare.values import Build, Identity, Pools
from tests.properties.strategies import Fixture, legacy_fixtures, text_fixtures
from tests.services.building import identity


def listed(pools: Pools, families: tuple[str, ...]) -> Counter[Identity]:
    return Counter(
        candidate.identity
        for family in families
        for pool in pools.get(family, ())
        for candidate in pool.candidates
    )


def reasons(built: Build) -> dict[str, int]:
    """Omissions by reason, without those that stand for no candidate."""
    counts: Counter[str] = Counter()
    for one in built.omissions:
        counts[one.reason] += one.count
    del counts["not_retrieved"]
    return dict(counts)


@pytest.mark.clause("R-150", "R-158", "R-159", "R-161")
@given(st.one_of(text_fixtures, legacy_fixtures))
def test_every_candidate_is_delivered_or_dropped_once(fixture: Fixture) -> None:
    recording = read_recording(fixture)
    request = recording.request
    recalled = Recalled(pools=recording.pools)

    built = build(request, recalled)

    fates = Counter(built.origins)
    fates.update(one.identity for one in built.dropped)
    assert fates == listed(recording.pools, request.families)
    assert dict(Counter(one.reason for one in built.dropped)) == reasons(built)
    is_text = request.assembly is not None
    for one in built.dropped:
        assert (one.bound is not None) == (one.reason == "family_limit")
        assert one.bound != ("envelope" if is_text else "section")


@pytest.mark.clause("A-102", "R-158")
@given(st.one_of(text_fixtures, legacy_fixtures))
def test_what_is_said_of_one_identity_is_what_happened(fixture: Fixture) -> None:
    recording = read_recording(fixture)
    recalled = Recalled(pools=recording.pools)
    built = build(recording.request, recalled)
    ranks = recall_ranks(recording.request, recalled)

    for one in listed(recording.pools, recording.request.families):
        listing = find_listing(one, recording.pools, ranks, built)

        assert listing is not None
        if one in built.origins:
            assert listing.position == built.origins.index(one) + 1
            assert listing.item == built.selected[listing.position - 1]
            assert listing.rank is not None
        else:
            dropped = {
                (event.reason, event.bound)
                for event in built.dropped
                if event.identity == one
            }
            assert (listing.reason, listing.bound) in dropped
            # A repetition is dropped for the sake of the one that stays.
            assert listing.reason != "duplicate"
            early = listing.reason == "blank" or listing.bound in ("pool", "envelope")
            assert (listing.rank is None) == early


def test_what_is_in_no_list_has_no_listing() -> None:
    assert find_listing(identity("m1"), {}, {}, Build(content=None)) is None
