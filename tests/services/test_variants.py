"""Variants of one request over one snapshot, each as if it had been asked for alone."""

from dataclasses import replace
from typing import Any

import pytest

from prepare.errors import Forbidden, InvalidRequest
from prepare.services.access import LOCAL, authenticate
from prepare.services.prepare import prepare_context
from prepare.services.recall import Recalled
from prepare.services.runtime import Runtime
from prepare.services.variants import prepare_variants, section_costs
from prepare.values import Prepared, PrepareRequest, parse_prepare_request
from tests.factories import (
    collect,
    experience,
    make_scope,
    profile,
    remember,
    token,
    topic,
    write,
)
from tests.queries import captured_tables, nothing_written
from tests.services.building import experience as experience_candidate
from tests.services.building import in_scopes, memory

SECTIONS: dict[str, list[tuple[str, int]] | None] = {
    "envelope": None,
    "empty": [],
    "memory": [("memory", 2)],
    "experience-first": [("experience", 2), ("memory", 6)],
    "default": [("memory", 6), ("experience", 2)],
    "topics": [("topic-memory", 8)],
    "all": [("profile", 2), ("topic-memory", 2), ("experience", 1), ("memory", 3)],
}


def request_of(name: str, **fields) -> PrepareRequest:
    wire = {"scope_id": "s", "query": "zebra", "include_receipt": True, **fields}
    sections = SECTIONS[name]
    if sections is not None:
        listed = [{"family": family, "limit": limit} for family, limit in sections]
        wire["assembly"] = {"sections": listed}
    return parse_prepare_request(wire)


def without_times(prepared: Prepared) -> dict[str, Any]:
    receipt = dict(prepared.receipt or {})
    receipt["receipt_id"] = None
    receipt["stages"] = [one | {"duration_ms": 0} for one in receipt["stages"]]
    return prepared.as_wire() | {"receipt": receipt}


def prepare(*requests: PrepareRequest, principal=LOCAL, **runtime) -> Any:
    return prepare_variants(requests, principal=principal, runtime=Runtime(**runtime))


@pytest.fixture
def scope(db):
    """More than any limit admits, here and in a reference."""
    reference = make_scope("reference")
    scope = make_scope("s", references=["reference"])
    for each in (scope, reference):
        for number in range(12):
            remember(each, f"zebra {number} " * 20)
        for number in range(5):
            write(each, "experience", experience(f"zebra {number}"))
            write(each, "topic-memory", topic(f"zebra {number}"))
        profile(each, "Zebras.")
    collect(scope, [("e1", "v1", "zebra entry")])
    return scope


@pytest.mark.clause("R-008", "R-083", "R-170", "R-172")
@pytest.mark.parametrize("second", SECTIONS)
@pytest.mark.parametrize("first", SECTIONS)
def test_each_is_what_the_api_answers_alone(scope, first, second) -> None:
    """Also its evidence: a pool does not depend on what else was asked for."""
    requests = [request_of(first), request_of(second, max_bytes=2000)]
    for request, variant in zip(requests, prepare(*requests), strict=True):
        alone = prepare_context(request, principal=LOCAL, runtime=Runtime())
        assert variant.request == request
        if alone.receipt is None:
            assert variant.prepared == alone
        else:
            assert without_times(variant.prepared) == without_times(alone)


def test_an_unconfigured_reader_is_only_in_the_receipt_that_asked(scope) -> None:
    readers = frozenset({"memory"})
    one, other = prepare(
        request_of("memory"), request_of("experience-first"), readers=readers
    )
    assert [
        [call["outcome"] for call in variant.prepared.receipt["retrieval"]["searches"]]
        for variant in (one, other)
    ] == [["completed"], ["completed", "not_run"]]


@pytest.mark.clause("A-181")
def test_a_scope_that_one_of_them_may_not_read_refuses_both(scope) -> None:
    """C-48: topic memories alone would not read the reference."""
    reader = authenticate(token("reader", scope), service_token="")
    topics = request_of("topics")
    assert prepare(topics, topics, principal=reader)
    with pytest.raises(Forbidden):
        prepare(topics, request_of("memory"), principal=reader)


@pytest.mark.clause("A-027")
def test_bounds_are_checked_before_any_read(scope) -> None:
    with captured_tables() as tables, pytest.raises(InvalidRequest):
        prepare(request_of("empty"), request_of("default"), assembly_max_entries=7)
    assert tables == []


def test_they_ask_one_scope_one_query(scope) -> None:
    with pytest.raises(ValueError, match="form only"):
        prepare(request_of("memory"), request_of("memory", query="quilt"))


@pytest.mark.clause("A-206")
def test_candidates_are_read_once(scope) -> None:
    """J-14, and one snapshot: as many statements as the union alone."""
    with captured_tables() as alone:
        prepare(request_of("all"))
    with nothing_written(), captured_tables() as both:
        prepare(request_of("all"), request_of("envelope"))
    assert sorted(both) == sorted(alone)


# --- what order costs -------------------------------------------------------------


def costs(*sections: tuple[str, int], max_bytes: int):
    pools = {
        "memory": in_scopes(
            [memory(f"m{number}", f"{number} " * 200) for number in range(4)]
        ),
        "experience": in_scopes(
            [
                experience_candidate(f"e{number}", f"{number} " * 200)
                for number in (1, 2)
            ]
        ),
        "profile": (),
    }
    wire = [{"family": family, "limit": limit} for family, limit in sections]
    request = parse_prepare_request(
        {
            "scope_id": "project:demo",
            "query": "q",
            "max_bytes": max_bytes,
            "assembly": {"sections": wire},
        }
    )
    return section_costs(request, Recalled(pools=pools))


def names(share) -> list[str]:
    return [one.artifact.artifact_id for one in share.identities]


def test_an_earlier_section_costs_a_later_one_items() -> None:
    first, second = costs(("memory", 2), ("experience", 2), max_bytes=1440)
    assert names(first.got) == names(first.first) == ["m0", "m1"]
    assert (first.without, first.lost) == ((), ())
    assert names(second.got) == []
    assert names(second.first) == ["e1", "e2"]
    assert second.lost == second.first.identities
    assert second.without == (("memory", second.first),)
    assert second.first.rendered_bytes == sum(
        item.rendered_bytes for item in second.first.items
    )


def test_each_earlier_section_is_left_out_by_itself() -> None:
    *_, last = costs(("experience", 1), ("profile", 1), ("memory", 2), max_bytes=1600)
    assert [family for family, _ in last.without] == ["experience", "profile"]
    without = dict(last.without)
    assert without["profile"] == last.got
    assert names(without["experience"]) == names(last.first) == ["m0", "m1"]
    assert len(last.got.items) == 1 or last.got.truncated == 1


def test_room_for_all_costs_nothing() -> None:
    for cost in costs(("memory", 3), ("experience", 2), max_bytes=32768):
        assert cost.got == cost.first
        assert cost.lost == ()
        assert all(share == cost.got for _, share in cost.without)


def test_coming_first_is_having_the_budget_alone(scope) -> None:
    """The page says both; nothing is taken before the first section."""
    request = request_of("all", max_bytes=1500)
    [variant] = prepare(request)
    for cost in variant.costs:
        assert request.assembly is not None
        sections = request.assembly.sections
        others = [one for one in sections if one != cost.section]
        moved = replace(request.assembly, sections=(cost.section, *others))
        [again] = prepare(replace(request, assembly=moved))
        assert again.costs[0].got == cost.first


def test_the_envelope_has_no_sections(scope) -> None:
    [variant] = prepare(request_of("envelope"))
    assert variant.costs == ()
