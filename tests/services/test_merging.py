"""From ranked lists to one list per family: turns, caps, blanks and repetitions."""

from dataclasses import fields

import pytest

from prepare.errors import InvariantViolated
from prepare.services.merging import (
    Omissions,
    check_pools,
    cut,
    drop_blank,
    drop_repeated,
    interleave,
)
from prepare.services.packing import bounded_candidates
from prepare.values import BodyCandidate, Candidate, Omission, ScopePool, TopicCandidate
from tests.services.building import (
    as_counts,
    experience,
    in_scopes,
    items_of,
    memory,
    omitted,
    pack_text,
    profile,
    topic,
)
from tests.services.documents import read_citation

# What `str.strip` calls white space, and invisible text that it does not.
BLANK = ["", " ", "\n\r\t", "\u0085", "\u2028\u2029", "\u3000\u00a0", "\x1c\x1f"]
NOT_BLANK = ["\u200b", "\ufeff", "\x00", "\u00ad", "\u2800", "\ufe0f", "."]


def names(candidates) -> list[str]:
    return [one.identity.artifact.artifact_id for one in candidates]


def bounded(family, *candidates) -> tuple[list[str], dict[tuple[str, str], int]]:
    omissions = Omissions()
    found = bounded_candidates(family, in_scopes(candidates), omissions)
    return names(found), as_counts(omissions.as_omissions())


def in_scope(scope_id: str, *artifact_ids: str) -> list[Candidate]:
    return [memory(artifact_id, scope_id=scope_id) for artifact_id in artifact_ids]


@pytest.mark.clause("A-090", "A-092", "A-093")
def test_scopes_take_turns_in_the_order_given() -> None:
    lists = [in_scope("z", "z1", "z2", "z3"), [], in_scope("a", "a1")]

    assert names(interleave(lists)) == ["z1", "a1", "z2", "z3"]
    assert names(interleave([])) == []
    assert bounded("memory", *lists[0], *lists[2])[0] == ["z1", "a1", "z2", "z3"]


@pytest.mark.clause("A-093", "A-094")
@pytest.mark.parametrize(
    ("family", "make", "cap"), [("memory", memory, 16), ("experience", experience, 8)]
)
def test_the_merged_pool_is_cut_in_turn_order(family, make, cap) -> None:
    found = [
        make(f"{scope_id}{number}", scope_id=scope_id)
        for scope_id in ("cur", "ref")
        for number in range(cap - 3)
    ]

    kept, counts = bounded(family, *found)

    half = cap // 2
    assert kept == [f"{scope}{n}" for n in range(half) for scope in ("cur", "ref")]
    assert counts == {(family, "family_limit"): 2 * (cap - 3) - cap}


@pytest.mark.parametrize(
    ("family", "cap"), [("memory", 16), ("experience", 8), ("topic-memory", 8)]
)
def test_one_list_over_its_bound_is_our_fault(family, cap) -> None:
    def pools(count):
        return in_scopes(memory(f"m{number}") for number in range(count))

    check_pools(family, pools(cap))
    with pytest.raises(InvariantViolated, match=f"{family}-candidate-limit"):
        check_pools(family, pools(cap + 1))
    with pytest.raises(InvariantViolated):
        bounded(family, *pools(cap + 1)[0].candidates)


def test_profiles_have_no_pool_bound() -> None:
    found = [profile(f"scope-{number}") for number in range(40)]

    assert len(bounded("profile", *found)[0]) == 40


@pytest.mark.clause("A-097")
@pytest.mark.parametrize("body", BLANK, ids=ascii)
def test_blank_bodies_take_no_rank(body: str) -> None:
    found = [memory("blank", body), memory("m1")]

    build = pack_text(("memory", 8, found), show=["recall_rank"])

    (item,) = items_of(build)
    assert read_citation(item)[2] == "m1"
    assert item.rank == 1
    assert omitted(build) == {("memory", "blank"): 1}


@pytest.mark.clause("A-097")
@pytest.mark.parametrize("body", NOT_BLANK, ids=ascii)
def test_invisible_text_is_not_blank(body: str) -> None:
    counter = Omissions()

    assert drop_blank([memory("m1", body)], "memory", counter) == [memory("m1", body)]
    assert counter.as_omissions() == ()


def test_a_topic_is_never_blank() -> None:
    found = [topic("t1", title=" ", summary="\n")]

    assert drop_blank(found, "topic-memory", Omissions()) == found


@pytest.mark.clause("A-098", "A-102")
def test_the_first_of_equal_identities_stays_where_it_is() -> None:
    found = [
        memory("m1", "first"),
        memory("m2"),
        memory("m1", "same identity, other text"),
        memory("m3"),
    ]

    build = pack_text(("memory", 8, found), show=["recall_rank"])

    items = items_of(build)
    assert [(read_citation(item)[2], item.rank, item.body) for item in items] == [
        ("m1", 1, "first"),
        ("m2", 2, "A fact."),
        ("m3", 3, "A fact."),
    ]
    assert omitted(build) == {("memory", "duplicate"): 1}


@pytest.mark.clause("A-098")
def test_a_blank_body_does_not_hide_a_later_one_of_its_identity() -> None:
    assert bounded("memory", memory("m1", " "), memory("m1", "text")) == (
        ["m1"],
        {("memory", "blank"): 1},
    )


@pytest.mark.clause("A-099")
def test_entries_of_one_collection_revision_all_stay() -> None:
    entries = [("e1", "e1-v1"), ("e2", "e2-v1"), ("e1", "e1-v2"), ("e1", "e1-v1")]
    found = [memory("memory", revision=3, entry=entry) for entry in entries]

    build = pack_text(("memory", 8, found))

    cited = [read_citation(item)[4:] for item in items_of(build)]
    assert cited == entries[:3]


@pytest.mark.clause("A-098", "A-100", "A-101")
@pytest.mark.parametrize(
    "other",
    [
        memory("m1", scope_id="other"),
        memory("m1", revision=2),
        memory("M1"),
        memory("m1", family="experience"),
        memory("m1", entry=("e1", "v1")),
    ],
    ids=["scope", "revision", "case", "family", "entry"],
)
def test_near_misses_with_equal_bodies_both_stay(other: BodyCandidate) -> None:
    found = [memory("m1"), other]

    assert drop_repeated(found, "memory", Omissions()) == found
    assert len(pack_text(("memory", 8, found)).selected) == 2


@pytest.mark.clause("A-093", "A-097", "A-102")
def test_the_pool_is_cut_before_anything_is_removed() -> None:
    """A removed candidate has used its Scope's turn and its place in the pool."""
    blanks = [memory(f"b{n}", "", "cur") for n in range(16)]
    found = [*blanks, *in_scope("ref", *(f"r{n}" for n in range(9)))]

    kept, counts = bounded("memory", *found)

    assert kept == [f"r{n}" for n in range(8)]
    assert counts == {("memory", "family_limit"): 9, ("memory", "blank"): 8}


@pytest.mark.clause("A-096")
def test_candidates_carry_nothing_to_compare() -> None:
    """Identity, text and place in a list: no score ever reaches selection."""
    carried = {
        value: {one.name for one in fields(value)}
        for value in (BodyCandidate, TopicCandidate, ScopePool)
    }

    assert carried == {
        BodyCandidate: {"identity", "body"},
        TopicCandidate: {"identity", "title", "summary", "snippet"},
        ScopePool: {"scope_id", "candidates"},
    }


@pytest.mark.parametrize(
    ("cap", "kept", "dropped"), [(None, 3, 0), (4, 3, 0), (3, 3, 0), (2, 2, 1)]
)
def test_cut(cap, kept, dropped) -> None:
    counter = Omissions()

    assert len(cut(in_scope("s", "a", "b", "c"), cap, "memory", counter)) == kept
    assert sum(one.count for one in counter.as_omissions()) == dropped


def test_omissions_are_grouped_and_sorted() -> None:
    counter = Omissions()
    first, second, third = in_scope("s", "a", "b", "c")
    counter.drop("memory", "duplicate", first)
    counter.drop("experience", "family_limit", first, second, third)
    counter.drop("memory", "blank")
    counter.drop("memory", "duplicate", second, third)

    assert counter.as_omissions() == (
        Omission(family="experience", reason="family_limit", count=3),
        Omission(family="memory", reason="duplicate", count=3),
    )
    assert [item.identity.artifact.artifact_id for item in counter.dropped] == [
        *("a", "a", "b", "c"),
        *("b", "c"),
    ]


def test_a_family_without_candidates_is_marked_once() -> None:
    assert bounded("memory") == ([], {("memory", "not_retrieved"): 1})
    assert bounded("memory", memory("m1", " "))[1] == {("memory", "blank"): 1}
