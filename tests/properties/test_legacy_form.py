"""Laws of the legacy envelope over generated candidates and budgets (contract G)."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prepare.values import Build
from tests.oracle import prepare_oracle as oracle
from tests.properties import reference
from tests.properties.strategies import Fixture, bodies, budgets, legacy_fixtures
from tests.services.building import (
    LARGEST,
    IdentityTuple,
    build_of,
    memory,
    omitted,
    origins,
    pack_envelope,
    size,
)
from tests.services.documents import dump_envelope, read_envelope


@pytest.mark.clause("A-190")
@settings(max_examples=200)
@given(legacy_fixtures)
def test_equals_the_reference(fixture: Fixture) -> None:
    build = build_of(fixture)

    expected = reference.prepare(fixture)
    assert build.content == expected.content
    assert origins(build) == expected.origins
    assert [item.truncated for item in build.selected] == expected.truncated


@pytest.mark.clause("A-109", "A-150", "A-156", "A-190")
@settings(max_examples=200)
@given(legacy_fixtures)
def test_an_envelope_keeps_the_laws_of_its_layout(fixture: Fixture) -> None:
    build = build_of(fixture)

    items = [] if build.content is None else read_envelope(build.content)
    max_bytes = fixture["request"]["max_bytes"]
    assert build.content_bytes == size(build.content or "") <= max_bytes
    assert [size(dump_envelope(item)) for item in items] == [
        item.rendered_bytes for item in build.selected
    ]
    assert len(items) <= 8
    current = fixture["current_scope_id"]
    stored = {
        candidate.identity: candidate.body
        for candidate in oracle._legacy_order(fixture)
    }
    for item, identity in zip(items, origins(build), strict=True):
        _check_item(item, identity, current)
        _check_content(item, stored[identity])
    experiences = [one for one in origins(build) if one[1] == "experience"]
    assert len(experiences) <= 2
    _check_accounting(fixture, build)


def _check_item(item: Fixture, identity: IdentityTuple, current: str) -> None:
    """Key order and the four forms of a citation (G.3, G.4, J-2)."""
    scope_id, family, artifact_id, revision, entry_id, version_id = identity
    ref: Fixture = {"family": family, "artifact_id": artifact_id, "revision": revision}
    names = ["citation", "content", "truncated", "kind"]
    address: Fixture = {"scope_id": scope_id, "artifact": ref}
    if entry_id is None:
        assert list(item) == names
        assert item["kind"] == family
        short, long = {"artifact_ref": ref}, {"artifact": address}
    else:
        assert list(item) == names[:-1]
        entry: Fixture = {"entry_id": entry_id, "entry_version_id": version_id}
        short, long = {"memory_ref": ref} | entry, {"memory": address} | entry
    assert item["citation"] == (short if scope_id == current else long)


def _check_content(item: Fixture, stored: str) -> None:
    """The stored text, or a shorter prefix of it of 64 to 2000 bytes with the mark."""
    if not item["truncated"]:
        assert item["content"] == stored
        return
    assert item["content"].endswith("…")
    assert stored.startswith(item["content"].removesuffix("…"))
    assert 64 <= size(item["content"]) <= min(2000, size(stored) - 1)


def _check_accounting(fixture: Fixture, build: Build) -> None:
    counts = omitted(build)
    found = reference.retrieved(fixture)
    assert {family for family, _ in counts} <= found.keys() - {"profile"}
    selectors = {"atomic-memory": "memory"}
    owners = [selectors.get(one[1], one[1]) for one in origins(build)]
    for family in ("memory", "topic-memory", "experience"):
        left = sum(
            count
            for (owner, reason), count in counts.items()
            if owner == family and reason != "not_retrieved"
        )
        assert found[family] == owners.count(family) + left
        flag = counts.get((family, "not_retrieved"), 0)
        assert flag == (1 if found[family] == 0 else 0)


@settings(max_examples=200)
@given(legacy_fixtures)
def test_items_are_whole_the_longest_prefix_or_counted(fixture: Fixture) -> None:
    """Contract G.7, G.8, measured by rendering the envelope again."""
    max_bytes = fixture["request"]["max_bytes"]
    current = fixture["current_scope_id"]
    build = build_of(fixture)

    shown = [] if build.content is None else read_envelope(build.content)
    delivered = origins(build)
    entries: list[oracle.Entry] = []

    def fits(body: str, *, truncated: bool) -> bool:
        entry = oracle.Entry(candidate, body, truncated=truncated)
        found = oracle.render_legacy([*entries, entry], current)
        return size(found) <= int(max_bytes)

    drops = {"below_min_bytes": 0, "no_fitting_truncation": 0}
    for candidate in oracle._legacy_order(fixture):
        if len(entries) == len(delivered) and len(entries) == 8:
            break
        body = candidate.body
        may_be_whole = size(body) <= 2000 and fits(body, truncated=False)
        is_next = delivered[len(entries) : len(entries) + 1] == [candidate.identity]
        if not is_next:
            assert not may_be_whole
            is_short = size(body) < 64
            drops["below_min_bytes" if is_short else "no_fitting_truncation"] += 1
            continue
        item = shown[len(entries)]
        assert item["truncated"] == (not may_be_whole)
        if item["truncated"]:
            count = len(item["content"])
            longer = body[:count] + "…"
            too_long = size(longer) > min(2000, size(body) - 1)
            assert too_long or not fits(longer, truncated=True)
        entries.append(oracle.Entry(candidate, item["content"], item["truncated"]))
    assert len(entries) == len(delivered)
    for reason, count in drops.items():
        found = omitted(build)
        assert count == sum(n for (_, why), n in found.items() if why == reason)


@pytest.mark.clause("A-162")
@settings(max_examples=100)
@given(legacy_fixtures)
def test_the_exact_size_is_accepted(fixture: Fixture) -> None:
    def at(max_bytes: int) -> Build:
        request = {**fixture["request"], "max_bytes": max_bytes}
        return build_of({**fixture, "request": request})

    whole = at(LARGEST)
    assume(512 < whole.content_bytes <= LARGEST)
    assert at(whole.content_bytes) == whole
    short = at(whole.content_bytes - 1)
    assert short.content_bytes < whole.content_bytes


@settings(max_examples=200)
@given(bodies, st.lists(budgets, min_size=2, max_size=6))
def test_a_larger_budget_never_gives_less_of_one_item(
    body: str, allowed: list[int]
) -> None:
    found = [memory("m1", body)]

    sizes = [
        pack_envelope(found, max_bytes=max_bytes).content_bytes
        for max_bytes in sorted(allowed)
    ]

    assert sizes == sorted(sizes)
