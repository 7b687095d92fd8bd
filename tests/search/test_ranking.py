"""BM25 weights, the choice of driving terms, the admission gate (J-18)."""

from math import inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prepare.search.ranking import (
    K1,
    MAX_SCORED_TERMS,
    MIN_DOCUMENTS,
    SHORT_QUERY_WORDS,
    B,
    Gate,
    PoolStatistics,
    admit,
    choose_terms,
    idf,
    weigh,
)

POOL = PoolStatistics(documents=4_000, total_length=80_000)
shares = st.floats(0, 1)
gates = st.builds(Gate, latin_mass=shares, han_mass=shares, item_mass=shares)
mass_lists = st.lists(shares, max_size=12)
term_counts = st.integers(0, 500)
frequency_maps = st.dictionaries(
    st.integers(-(2**63), 2**63 - 1), st.integers(1, 9_000), max_size=40
)


def score(weighting, held, length):
    """The formula of the ranking statement for one document."""
    return sum(
        weighting.idf[key]
        * weighting.saturation
        * frequency
        / (frequency + weighting.length_base + weighting.length_slope * length)
        for key, frequency in held.items()
    )


def test_idf_falls_from_unknown_to_everywhere():
    values = [idf(5_000, count) for count in (0, 1, 2, 50, 2_500, 5_000)]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(log(1 + 5_000.5 / 0.5))
    assert values[-1] > 0


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_idf_is_never_negative(documents, frequency):
    """Also when a count is momentarily ahead of the number of documents."""
    assert 0 < idf(documents, frequency) < inf


def test_small_pools_count_as_a_sample():
    """Else the only document of a new Scope could not answer for its own words."""
    assert idf(1, 1) == idf(MIN_DOCUMENTS, 1)
    assert idf(1, 1) / idf(1, 0) > 0.8


def test_score_is_bm25():
    weighting = weigh(POOL, {7: 40}, [7])
    length, frequency = 30, 3
    norm = K1 * (1 - B + B * length / 20)
    expected = idf(4_000, 40) * frequency * (K1 + 1) / (frequency + norm)
    assert score(weighting, {7: 3}, 30) == pytest.approx(expected)


def test_score_rises_with_frequency_and_falls_with_length():
    weighting = weigh(POOL, {7: 40}, [7])
    assert score(weighting, {7: 2}, 20) > score(weighting, {7: 1}, 20)
    assert score(weighting, {7: 1}, 20) > score(weighting, {7: 1}, 40)


def test_unknown_terms_count_in_the_total_only():
    weighting = weigh(POOL, {1: 5, 2: 0, 9: 4}, [3, 2, 1])
    assert weighting.frequencies == {1: 5}
    assert weighting.idf == {1: idf(4_000, 5)}
    assert weighting.total_idf == pytest.approx(idf(4_000, 5) + 2 * idf(4_000, 0))


def test_empty_pool_has_finite_weights():
    weighting = weigh(PoolStatistics(documents=0, total_length=0), {}, [1, 2])
    assert 0 < weighting.length_slope < inf
    assert weighting.total_idf > 0


@given(frequency_maps, st.integers(1, 10_000))
def test_driving_terms_are_the_rarest_within_the_cap(frequencies, cap):
    driving, probed = choose_terms(frequencies, cap)
    assert {*driving, *probed} == frequencies.keys()
    assert len(driving) + len(probed) == len(frequencies)
    assert bool(driving) == bool(frequencies)
    counts = [frequencies[key] for key in (*driving, *probed)]
    assert counts == sorted(counts)
    assert len(driving) <= 1 or sum(counts[: len(driving)]) <= cap
    assert not probed or sum(counts[: len(driving) + 1]) > cap


def test_choice_does_not_depend_on_the_order_of_terms():
    assert choose_terms({3: 5, 1: 5, 2: 4}, 9) == ((2, 1), (3,))
    assert choose_terms({1: 5, 2: 4, 3: 5}, 9) == ((2, 1), (3,))


def test_choice_is_bounded():
    driving, probed = choose_terms({key: key for key in range(1, 2_000)}, 5_000)
    assert len(driving) + len(probed) == MAX_SCORED_TERMS
    assert max(driving + probed) == MAX_SCORED_TERMS


def test_gate_shut_admits_nothing():
    assert admit([0.28, 0.25], 0, Gate()) == (False, False)


def test_gate_open_admits_by_item_mass():
    assert admit([0.1, 0.30, 0.09], 0, Gate()) == (True, True, False)


def test_no_hits():
    assert admit([], 0, Gate()) == ()


def test_threshold_is_interpolated_by_the_han_share():
    assert admit([0.2], 1, Gate()) == (True,)
    assert admit([0.24], 0.5, Gate()) == (False,)
    assert admit([0.26], 0.5, Gate()) == (True,)


def test_zero_gate_admits_every_hit():
    gate = Gate(latin_mass=0, han_mass=0, item_mass=0)
    assert admit([0.01, 0.001], 0.3, gate) == (True, True)


def test_long_queries_ask_for_a_smaller_share():
    assert admit([0.2], 0, Gate(), term_count=SHORT_QUERY_WORDS) == (False,)
    assert admit([0.2], 0, Gate(), term_count=SHORT_QUERY_WORDS * 2) == (True,)


@given(mass_lists, shares, gates, term_counts)
def test_one_answer_for_each_hit(masses, share, gate, count):
    assert len(admit(masses, share, gate, term_count=count)) == len(masses)


@given(mass_lists, shares, gates, shares, term_counts)
def test_raising_a_threshold_never_admits_more(masses, share, gate, more, count):
    before = admit(masses, share, gate, term_count=count)
    for higher in (
        Gate(
            latin_mass=gate.latin_mass,
            han_mass=gate.han_mass,
            item_mass=gate.item_mass + more,
        ),
        Gate(
            latin_mass=gate.latin_mass + more,
            han_mass=gate.han_mass + more,
            item_mass=gate.item_mass,
        ),
    ):
        after = admit(masses, share, higher, term_count=count)
        assert all(was or not now for was, now in zip(before, after, strict=True))


@given(mass_lists, shares, gates, st.integers(0, 11), shares, term_counts)
def test_holding_more_never_loses_a_hit(masses, share, gate, place, more, count):
    before = admit(masses, share, gate, term_count=count)
    richer = [m + more * (at == place) for at, m in enumerate(masses)]
    after = admit(richer, share, gate, term_count=count)
    assert all(now or not was for was, now in zip(before, after, strict=True))


@given(mass_lists, shares, gates, term_counts, st.integers(0, 500))
def test_a_longer_query_never_admits_less(masses, share, gate, count, more):
    before = admit(masses, share, gate, term_count=count)
    after = admit(masses, share, gate, term_count=count + more)
    assert all(now or not was for was, now in zip(before, after, strict=True))


@given(mass_lists, shares, gates)
def test_admission_follows_mass(masses, share, gate):
    """Whoever holds more than an admitted hit is admitted too."""
    admitted = admit(masses, share, gate)
    kept = [m for m, is_in in zip(masses, admitted, strict=True) if is_in]
    left = [m for m, is_in in zip(masses, admitted, strict=True) if not is_in]
    assert not kept or not left or max(left) < min(kept)
