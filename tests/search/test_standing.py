"""At which step of a search one document fell out (J-18)."""

from dataclasses import fields

import pytest

from prepare.models import SearchDocument
from prepare.search.lookup import PoolKey
from prepare.search.ranking import Gate
from prepare.search.standing import Standing, find_standing
from tests.factories import collect, make_scope, remember

GATE = Gate()
OPEN = Gate(latin_mass=0, han_mass=0, item_mass=0)


def stand(scope, name, query, *, gate=GATE, postings_cap=5000, bound=16) -> Standing:
    document = None
    if name is not None:
        document = SearchDocument.objects.get(artifact_key=name)
    return find_standing(
        key=PoolKey(scope_id=scope.pk, family="memory"),
        document=document,
        query=query,
        gate=gate,
        postings_cap=postings_cap,
        bound=bound,
    )


@pytest.fixture
def scope(db):
    scope = make_scope("s")
    remember(scope, "zebra apple", artifact_id="both")
    remember(scope, "quilt", artifact_id="other")
    return scope


def test_what_is_listed_has_a_place_and_no_cause(scope) -> None:
    assert stand(scope, "both", "zebra apple") == Standing(
        stored=2, admitted=1, query_terms=2, shared_terms=2, place=1
    )


def test_without_a_document_only_the_list_is_counted(scope) -> None:
    assert stand(scope, None, "zebra apple") == Standing(
        stored=2, admitted=1, query_terms=2
    )
    empty = make_scope("empty")
    assert stand(empty, None, "zebra") == Standing(stored=0, admitted=0, query_terms=1)


@pytest.mark.parametrize("query", ["the and of", "?!", "…"])
def test_a_query_without_terms(scope, query) -> None:
    found = stand(scope, "both", query)
    assert (found.cause, found.stored, found.query_terms) == ("no_terms", 2, 0)


def test_no_shared_term(scope) -> None:
    found = stand(scope, "other", "zebra apple")
    assert (found.cause, found.shared_terms) == ("no_shared_term", 0)


def test_the_gate_stays_closed(scope) -> None:
    """One of eight words: the best hit is this one, and too little."""
    found = stand(scope, "both", "zebra unrelated words nobody stored here ever again")
    assert (found.cause, found.admitted, found.shared_terms) == ("gate_closed", 0, 1)


def test_the_gate_is_open_but_this_one_holds_too_little(scope) -> None:
    remember(scope, "pear grape melon fig", artifact_id="best")
    gate = Gate(latin_mass=0.5, han_mass=0.5, item_mass=0.3)
    found = stand(scope, "both", "pear grape melon fig zebra", gate=gate)
    assert (found.cause, found.admitted, found.shared_terms) == ("item_floor", 1, 1)


@pytest.mark.parametrize(("name", "place"), [("m16", 17), ("m80", None)])
def test_others_rank_before_it(scope, name, place) -> None:
    """Behind the bound, and behind the depth to which a search ranks."""
    for number in range(90):
        remember(scope, "melon", artifact_id=f"m{number:02}")
    found = stand(scope, name, "melon")
    assert (found.cause, found.place) == ("behind_bound", place)
    assert (found.stored, found.admitted) == (92, 64)
    assert stand(scope, name, "melon", bound=17).cause == (
        None if place == 17 else "behind_bound"
    )


def test_it_holds_only_terms_that_too_many_hold(scope) -> None:
    for number in range(6):
        remember(scope, "melon", artifact_id=f"m{number}")
    query = "zebra melon"
    # `zebra` finds, `melon` only reorders what it found.
    found = stand(scope, "m3", query, gate=OPEN, postings_cap=5)
    assert (found.cause, found.shared_terms) == ("too_frequent", 1)
    assert stand(scope, "m3", query, gate=OPEN).cause is None


def test_only_the_newest_of_an_overlong_term_are_looked_at(scope) -> None:
    for number in range(6):
        remember(scope, "melon", artifact_id=f"m{number}")
    assert stand(scope, "m0", "melon", postings_cap=5).cause == "too_frequent"
    assert stand(scope, "m5", "melon", postings_cap=5).cause is None


def test_an_entry_of_a_collection_has_its_own_standing(scope) -> None:
    collect(scope, [("e1", "v1", "zebra"), ("e2", "v2", "quilt")])
    document = SearchDocument.objects.get(entry_key="e2")
    found = find_standing(
        key=PoolKey(scope_id=scope.pk, family="memory"),
        document=document,
        query="zebra",
        gate=GATE,
        postings_cap=5000,
        bound=16,
    )
    assert (found.cause, found.stored) == ("no_shared_term", 4)


def test_no_score_leaves_the_search() -> None:
    kinds = {field.name: str(field.type) for field in fields(Standing)}
    assert not [name for name, kind in kinds.items() if "float" in kind]


@pytest.mark.parametrize("stored", [1, 40])
def test_four_statements_whatever_is_stored(
    scope, stored, django_assert_num_queries
) -> None:
    for number in range(stored):
        remember(scope, "melon", artifact_id=f"m{number}")
    document = SearchDocument.objects.get(artifact_key="m0")
    with django_assert_num_queries(4):
        find_standing(
            key=PoolKey(scope_id=scope.pk, family="memory"),
            document=document,
            query="melon",
            gate=GATE,
            postings_cap=5000,
            bound=16,
        )
