"""Laws of the text form over generated candidates, options and budgets (RFC 1489)."""

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prepare.services.replaying import read_recording, replay
from prepare.values import Build
from tests.oracle import prepare_oracle as oracle
from tests.properties import reference
from tests.properties.strategies import (
    Fixture,
    bodies,
    budgets,
    scope_ids,
    text_fixtures,
)
from tests.services.building import (
    LARGEST,
    build_of,
    items_of,
    memory,
    omitted,
    origins,
    pack_memories,
    pack_text,
    size,
)
from tests.services.documents import (
    TITLES,
    Item,
    expected_markdown,
    read_citation,
    read_markdown,
)


def with_budget(fixture: Fixture, max_bytes: int) -> Fixture:
    return {**fixture, "request": {**fixture["request"], "max_bytes": max_bytes}}


@pytest.mark.clause("A-090", "A-092", "A-093", "A-094", "A-104", "A-109")
@settings(max_examples=200)
@given(text_fixtures)
def test_equals_the_reference(fixture: Fixture) -> None:
    build = build_of(fixture)

    expected = reference.prepare(fixture)
    assert build.content == expected.content
    assert origins(build) == expected.origins
    assert [item.truncated for item in build.selected] == expected.truncated


@pytest.mark.clause("A-102", "A-105", "A-109", "A-137", "A-142", "A-144", "A-150")
@settings(max_examples=200)
@given(text_fixtures)
def test_a_text_keeps_the_laws_of_its_layout(fixture: Fixture) -> None:
    build = build_of(fixture)

    items = items_of(build)
    max_bytes = fixture["request"]["max_bytes"]
    assert build.content_bytes == size(build.content or "") <= max_bytes
    if build.content is not None:
        assert read_markdown(build.content) == expected_markdown(items)
    _check_citations(fixture, build, items)
    _check_headings(fixture, items)
    _check_ranks(fixture, items)
    _check_accounting(fixture, build, items)


def _check_citations(fixture: Fixture, build: Build, items: list[Item]) -> None:
    """What is shown is what the build says of itself, sizes included (H-14)."""
    assert [read_citation(item) for item in items] == origins(build)
    assert [(item.rendered_bytes, item.truncated) for item in items] == [
        (item.rendered_bytes, item.truncated) for item in build.selected
    ]
    for item in items:
        is_entry = read_citation(item)[4] is not None
        show = fixture["request"]["assembly"]["show"]
        assert len(item.metadata) == 3 + is_entry + len(show)


def _check_headings(fixture: Fixture, items: list[Item]) -> None:
    """Sections in request order, without the empty ones, entries numbered from 1."""
    sections = fixture["request"]["assembly"]["sections"]
    grouped = [
        (title, [item.heading for item in group])
        for title, group in itertools.groupby(items, lambda item: item.section)
    ]
    present = {title for title, _ in grouped}
    requested = [TITLES[section["family"]] for section in sections]
    assert [title for title, _ in grouped] == [
        title for title in requested if title in present
    ]
    for title, headings in grouped:
        numbers = range(1, len(headings) + 1)
        assert headings == [f"### {title} {number}" for number in numbers]


def _check_ranks(fixture: Fixture, items: list[Item]) -> None:
    """A rank is the place in the family's bounded list, whatever was skipped."""
    assembly = fixture["request"]["assembly"]
    ranks = {
        (TITLES[section["family"]], candidate.identity): rank
        for section in assembly["sections"]
        for rank, candidate in enumerate(
            oracle._ranked(fixture, section["family"]), start=1
        )
    }
    for item in items:
        place = ranks[item.section, read_citation(item)]
        assert item.rank == (place if "recall_rank" in assembly["show"] else None)


def _check_accounting(fixture: Fixture, build: Build, items: list[Item]) -> None:
    """A.11: exclusion events and selected items add up; nothing else is counted."""
    limits = {
        section["family"]: section["limit"]
        for section in fixture["request"]["assembly"]["sections"]
    }
    counts = omitted(build)
    assert {family for family, _ in counts} <= limits.keys()
    assert all(count > 0 for count in counts.values())
    found = reference.retrieved(fixture)
    for family, limit in limits.items():
        selected = sum(item.section == TITLES[family] for item in items)
        assert selected <= limit
        left = sum(
            count
            for (owner, reason), count in counts.items()
            if owner == family and reason != "not_retrieved"
        )
        assert found[family] == selected + left
        flag = counts.get((family, "not_retrieved"), 0)
        assert flag == (1 if found[family] == 0 else 0)


@pytest.mark.clause("A-153", "A-154", "A-155", "A-156", "A-157", "A-158", "A-160")
@settings(max_examples=200)
@given(text_fixtures)
def test_bodies_are_whole_or_the_longest_prefix(fixture: Fixture) -> None:
    """Each step of the budget algorithm, measured by rendering the document again."""
    max_bytes = fixture["request"]["max_bytes"]
    show = fixture["request"]["assembly"]["show"]
    build = build_of(fixture)

    shown = iter(items_of(build))
    delivered = iter(origins(build))
    expected_drops: dict[tuple[str, str], int] = {}
    done: list[oracle.Section] = []
    wanted = next(delivered, None)
    for section in fixture["request"]["assembly"]["sections"]:
        family, entries = section["family"], list[oracle.Entry]()

        def fits(
            entry: oracle.Entry,
            family: str = family,
            entries: list[oracle.Entry] = entries,
        ) -> bool:
            trial = [*done, oracle.Section(family, [*entries, entry])]
            return size(oracle.render_text(trial, show)) <= int(max_bytes)

        for rank, candidate in enumerate(oracle._ranked(fixture, family), start=1):
            if len(entries) == section["limit"]:
                break
            units = oracle.body_units(candidate.body)
            entry = oracle.Entry(candidate, "".join(units), rank=rank)
            may_be_whole = size(entry.body) <= 2000 and fits(entry)
            if candidate.identity == wanted:
                wanted = next(delivered, None)
                entry = _check_shown(next(shown), entry, units, fits)
                assert entry.truncated == (not may_be_whole)
                entries.append(entry)
                continue
            assert not may_be_whole
            alone = entry._replace(body="…", truncated=True)
            reason = "below_min_bytes" if fits(alone) else "no_fitting_truncation"
            key = (family, reason)
            expected_drops[key] = expected_drops.get(key, 0) + 1
            # 64 bytes of prefix and ellipsis would not have fitted.
            assert not fits(_longer_than(entry, units, 63))
        if entries:
            done.append(oracle.Section(family, entries))
    drops = ("below_min_bytes", "no_fitting_truncation")
    found = {key: count for key, count in omitted(build).items() if key[1] in drops}
    assert found == expected_drops


def _check_shown(
    item: Item, entry: oracle.Entry, units: list[str], fits: Any
) -> oracle.Entry:
    """The shown body is whole, or its longest fitting prefix; returned as an entry."""
    if not item.truncated:
        assert item.body == entry.body
        return entry
    prefix = item.body.removesuffix("…")
    assert item.body == prefix + "…"
    count = next(n for n in range(len(units)) if "".join(units[:n]) == prefix)
    assert 64 <= size(item.body) <= 2000
    longer = "".join(units[: count + 1]) + "…"
    is_whole = count + 1 == len(units)
    one_more = entry._replace(body=longer, truncated=True)
    assert is_whole or size(longer) > 2000 or not fits(one_more)
    return entry._replace(body=item.body, truncated=True)


def _longer_than(entry: oracle.Entry, units: list[str], count: int) -> oracle.Entry:
    """The entry with the shortest proper prefix and ellipsis over `count` bytes."""
    for length in range(len(units)):
        body = "".join(units[:length]) + "…"
        if size(body) > count:
            return entry._replace(body=body, truncated=True)
    return entry._replace(body="x" * LARGEST, truncated=True)


@pytest.mark.clause("A-096", "A-110")
@settings(max_examples=200)
@given(text_fixtures)
def test_only_order_and_sizes_decide(fixture: Fixture) -> None:
    """The same again, pools handed over in another order, other words of equal size."""
    build = build_of(fixture)

    recording = read_recording(fixture)
    pools = dict(reversed(list(recording.pools.items())))
    assert replay(replace(recording, pools=pools)).build == build
    other_words = str.maketrans("aeiou", "uoiea")
    changed: Fixture = json.loads(json.dumps(fixture))
    for group in changed["candidates"]["memory"]:
        for hit in group["hits"]:
            hit["body"] = hit["body"].translate(other_words)
    other = build_of(changed)
    assert other.selected == build.selected
    assert other.omissions == build.omissions


@pytest.mark.clause("A-162", "A-154")
@settings(max_examples=100)
@given(text_fixtures, st.integers(1, 150))
def test_the_exact_size_is_accepted(fixture: Fixture, less: int) -> None:
    whole = build_of(with_budget(fixture, LARGEST))
    assume(512 <= whole.content_bytes <= LARGEST)

    assert build_of(with_budget(fixture, whole.content_bytes)) == whole
    assume(whole.content_bytes - less >= 512)
    short = build_of(with_budget(fixture, whole.content_bytes - less))
    assert short.content_bytes <= whole.content_bytes - less
    assert short.content != whole.content


@pytest.mark.clause("A-153", "A-154")
@settings(max_examples=200)
@given(st.sampled_from(["x", "汉", "😀", "\t", "\U000e0001"]), st.integers(-4, 4))
def test_a_body_is_cut_over_2000_escaped_bytes(character: str, more: int) -> None:
    width = size("".join(oracle.body_units(character)))
    count, rest = divmod(1999 + more, width)
    body = "." + "." * rest + character * count

    (item,) = items_of(pack_memories(body))
    assert item.truncated == (more > 0)
    assert 2000 - width < size(item.body) <= 2000 or more <= 0


@pytest.mark.clause("A-155")
@settings(max_examples=200)
@given(bodies, st.lists(budgets, min_size=2, max_size=6))
def test_a_larger_budget_never_gives_less_of_one_item(
    body: str, allowed: list[int]
) -> None:
    sizes = [
        pack_memories(body, max_bytes=max_bytes).content_bytes
        for max_bytes in sorted(allowed)
    ]

    assert sizes == sorted(sizes)


@pytest.mark.clause("A-135", "A-136", "A-137", "A-161")
@settings(max_examples=200)
@given(scope_ids, scope_ids, scope_ids, scope_ids, budgets)
def test_any_text_is_a_safe_identity(
    scope_id: str, artifact_id: str, entry_id: str, version_id: str, max_bytes: int
) -> None:
    """Beyond what B.3 lets into an id: any text stays one line and reads back."""
    entry = (entry_id, version_id)
    found = memory(artifact_id, "A fact.", scope_id, entry=entry)
    build = pack_text(("memory", 1, [found]), max_bytes=max_bytes)

    assume(build.content is not None)
    (item,) = items_of(build)
    assert read_citation(item) == (scope_id, "memory", artifact_id, 1, *entry)
    assert len(item.metadata) == 4
    assert all(line.isascii() and line.isprintable() for line in item.metadata)
