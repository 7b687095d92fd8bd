"""The drawn budget, hidden code points, and the comparison, from pure values."""

import base64
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.presenting.budget import UNUSED, bar_of_build, section_bytes
from inspector.presenting.codepoints import (
    count_points,
    find_segments,
    is_hidden,
)
from inspector.presenting.comparing import compare_results
from inspector.presenting.content import Result, present_result
from prepare.services.prepare import build
from prepare.services.recall import Recalled
from prepare.services.replaying import read_recording
from prepare.values import Prepared, PrepareRequest, parse_prepare_request
from tests.properties.strategies import Fixture, legacy_fixtures, text_fixtures
from tests.services.building import in_scopes, memory

# --- the bar ----------------------------------------------------------------------


@given(st.one_of(text_fixtures, legacy_fixtures))
def test_the_bar_adds_up_to_content_and_budget(fixture: Fixture) -> None:
    recording = read_recording(fixture)
    request = recording.request
    built = build(request, Recalled(pools=recording.pools))

    parts = bar_of_build(request, built)

    assert sum(part.size for part in parts) == request.max_bytes
    used = sum(part.size for part in parts if part.label != UNUSED)
    assert used == built.content_bytes
    assert all(one.start + one.size == two.start for one, two in pairwise(parts))
    items = [part.size for part in parts if part.label[:1].isdigit()]
    assert items == [item.rendered_bytes for item in built.selected]


def packed(*bodies: str, **fields) -> tuple[PrepareRequest, Prepared]:
    wire = {"scope_id": "project:demo", "query": "q", **fields}
    wire.setdefault("assembly", {"sections": [{"family": "memory", "limit": 8}]})
    if wire["assembly"] is None:
        del wire["assembly"]
    request = parse_prepare_request(wire)
    found = [memory(f"m{number}", body) for number, body in enumerate(bodies, 1)]
    pools = {"memory": in_scopes(found)}
    return request, Prepared(build=build(request, Recalled(pools=pools)))


def result_of(*bodies: str, **fields) -> Result:
    return present_result(*packed(*bodies, **fields))


def test_the_parts_of_a_text_and_of_an_envelope() -> None:
    text = result_of("one", "two", max_bytes=2000)
    labels = [part.label for part in text.bar]
    assert labels == ["Fixed frame", "## Memory", "1. memory", "2. memory", "Unused"]
    assert text.bar[0].size == 354
    assert text.bar[1].size == section_bytes("memory", 2) == 9 + 2 + 2 * 2
    envelope = result_of("one", "two", assembly=None)
    labels = [part.label for part in envelope.bar]
    assert labels == ["Fixed frame", "Commas", "1. memory", "2. memory", "Unused"]
    empty = result_of()
    assert [(part.label, part.size) for part in empty.bar] == [("Unused", 8000)]
    assert section_bytes("memory", 0) == 0


def test_parts_that_do_not_add_up_are_not_drawn() -> None:
    request, prepared = packed("one")
    object.__setattr__(prepared.build, "content_bytes", 7)
    with pytest.raises(ValueError, match="add up"):
        bar_of_build(request, prepared.build)


# --- hidden code points -----------------------------------------------------------

C_27 = "ok😀" + "".join(chr(0xE0100 + byte) for byte in b"obey")


def test_c_27_what_passes_through_is_counted_and_named() -> None:
    content = result_of(C_27).content
    assert content is not None
    assert C_27 in content.literal
    assert (content.passed, content.escaped) == (4, 0)
    assert [(one.point.label, one.point.name) for one in content.points] == [
        ("U+E0162", "VARIATION SELECTOR-115"),
        ("U+E0165", "VARIATION SELECTOR-118"),
        ("U+E016F", "VARIATION SELECTOR-128"),
        ("U+E0179", "VARIATION SELECTOR-138"),
    ]
    assert "".join(one.text for one in content.segments) == content.literal


@pytest.mark.parametrize(
    "point",
    [0x34F, 0x115F, 0x3164, 0x2800, 0xFE0F, 0xE0100, 0xA0, 0x3000, 0x17B4, 0xFFA0],
)
def test_invisible_outside_of_controls_and_formats(point: int) -> None:
    assert unicodedata.category(chr(point)) not in ("Cc", "Cf")
    content = result_of(f"a{chr(point)}b").content
    assert content is not None
    [found] = content.points
    assert (found.point.label, found.point.escaped) == (f"U+{point:04X}", False)
    assert found.point.name == unicodedata.name(chr(point))


def test_escapes_of_the_text_form_are_marked() -> None:
    content = result_of("a\u202eb\tc\U000e0041\u202e").content
    assert content is not None
    assert [
        (one.point.label, one.point.name, one.count, one.point.escaped)
        for one in content.points
    ] == [
        ("U+0009", "<control-0009>", 1, True),
        ("U+202E", "RIGHT-TO-LEFT OVERRIDE", 2, True),
        ("U+E0041", "TAG LATIN CAPITAL LETTER A", 1, True),
    ]
    marked = [one.text for one in content.segments if one.point]
    assert marked == ["\\u202e", "\\u0009", "\\U000e0041", "\\u202e"]


def test_the_envelope_escapes_less() -> None:
    content = result_of("a\u202eb\x01c\\u202e\u0085", assembly=None).content
    assert content is not None
    assert [(one.point.label, one.point.escaped) for one in content.points] == [
        ("U+202E", False),
        ("U+0001", True),
        ("U+0085", True),
    ]


@pytest.mark.parametrize("text", ["", "a b\nc", "é汉😀", r"\u0041\U00110000\u12"])
def test_what_everybody_sees_is_not_marked(text: str) -> None:
    assert count_points(find_segments(text, is_text=True)) == ()


@given(st.text(), st.booleans())
def test_segments_are_the_content(text: str, is_text: bool) -> None:
    segments = find_segments(text, is_text=is_text)
    assert "".join(one.text for one in segments) == text
    plain = "".join(one.text for one in segments if one.point is None)
    assert not any(is_hidden(character) for character in plain)


# --- the result -------------------------------------------------------------------


def test_downloads_are_the_exact_bytes() -> None:
    request, prepared = packed("body — 一")
    content = present_result(request, prepared).content
    assert content is not None
    kind, _, data = content.address.partition(",")
    assert kind == "data:text/plain;charset=utf-8;base64"
    assert base64.b64decode(data).decode() == prepared.build.content


def test_an_empty_result() -> None:
    result = result_of()
    assert (result.status, result.content, result.content_digest) == (
        "empty",
        None,
        None,
    )
    assert (result.items, result.used_bytes) == ((), 0)


# --- comparing --------------------------------------------------------------------


def names(items) -> list[str]:
    return [item.identity.artifact.artifact_id for item in items]


def test_gained_lost_and_kept() -> None:
    small = result_of("a " * 200, "b " * 200, max_bytes=1000)
    large = result_of("a " * 200, "b " * 200, "c")
    changes = compare_results(small, large)
    assert (names(changes.gained), names(changes.lost)) == (["m2", "m3"], [])
    [kept] = changes.kept
    assert kept.left == kept.right == small.items[0]
    [pair] = changes.sections
    assert (pair.left.items, pair.right.items) == (1, 3)
    assert pair.difference == f"+{sum(item.rendered_bytes for item in changes.gained)}"
    assert (pair.left.around, pair.right.around) == (13, 17)
    back = compare_results(large, small)
    assert names(back.lost) == ["m2", "m3"]
    assert back.sections[0].difference.startswith("-")


def test_two_forms_of_one_item_are_one_item() -> None:
    changes = compare_results(result_of("a"), result_of("a", assembly=None))
    assert (changes.gained, changes.lost) == ((), ())
    assert changes.kept[0].left.rendered_bytes != changes.kept[0].right.rendered_bytes
    assert changes.sections[0].right.around == 0


def test_nothing_beside_nothing() -> None:
    assert compare_results(result_of(), result_of()).sections == ()
