"""Escapes, identity literals, legacy JSON, and where a truncation may cut."""

import json
import sys
import unicodedata

import pytest

from prepare.services import text
from tests.services.building import size


@pytest.mark.clause("A-138")
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\nb"),
        ("a\u2028b\u2029c", "a\nb\nc"),
        ("a\n\rb", "a\n\nb"),
        ("a\r\r\nb", "a\n\nb"),
        ("\r\n\r\n", "\n\n"),
        ("a\u2028\r\nb", "a\n\nb"),
        ("a\u0085b", "a\\u0085b"),  # NEL is Cc: no newline
        ("a\x0b\x0c\x1c\x1d\x1eb", "a\\u000b\\u000c\\u001c\\u001d\\u001eb"),
    ],
    ids=ascii,
)
def test_line_ends(body: str, shown: str) -> None:
    assert text.escape_body(body) == shown


@pytest.mark.clause("A-139", "A-140")
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("\t", "\\u0009"),
        ("\x00\x1b[0m\x7f", "\\u0000\\u001b[0m\\u007f"),
        ("\x80\x9f", "\\u0080\\u009f"),
        ("\u00ad\u200b\u200d\ufeff", "\\u00ad\\u200b\\u200d\\ufeff"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\U000e0001\U000e007f", "\\U000e0001\\U000e007f"),
        ("\U0001bca0", "\\U0001bca0"),
        ("\n", "\n"),
    ],
    ids=ascii,
)
def test_controls_and_formats_become_visible(body: str, shown: str) -> None:
    assert text.escape_body(body) == shown


def test_exactly_the_categories_cc_and_cf_are_escaped() -> None:
    """Every code point of this Python's Unicode tables (J-7)."""
    for point in range(sys.maxunicode + 1):
        if 0xD800 <= point <= 0xDFFF:
            continue
        character = chr(point)
        is_line_end = character in "\n\r\u2028\u2029"
        is_escaped = unicodedata.category(character) in ("Cc", "Cf")
        shown = text.escape_body(character)
        if is_line_end:
            assert shown == "\n"
        elif is_escaped:
            number = f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
            assert shown == number
        else:
            assert shown == character


@pytest.mark.parametrize(
    "body",
    [
        "修改 OpenAPI 后，需要重新生成客户端。",
        "ok😀" + "".join(chr(0xE0100 + byte) for byte in b"obey"),
        "\ufe0f\u034f\u115f\u3164\u2800\uffff\ufdd0\ue000",
        r"typed \u0009 and \U000e0001 stay as they are",
        "e\u0301 \u00e9 ﷽",
    ],
    ids=ascii,
)
def test_other_text_passes_unchanged(body: str) -> None:
    assert text.escape_body(body) == body


@pytest.mark.clause("A-135", "A-136")
@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("project:demo", '"project:demo"'),
        ('q"\\', r'"q\"\\"'),
        ("a\nb\tc\x00", r'"a\nb\tc\u0000"'),
        ("\u0085\u2028\u2029\x7f", r'"\u0085\u2028\u2029\u007f"'),
        ("项目🍞", r'"\u9879\u76ee\ud83c\udf5e"'),
        ("\u202e\U000e0041", r'"\u202e\udb40\udc41"'),
    ],
    ids=ascii,
)
def test_identity_literals(value: str, literal: str) -> None:
    assert text.quote_identity(value) == literal
    assert json.loads(literal) == value
    assert literal.isascii()
    assert literal.isprintable()


@pytest.mark.parametrize(
    ("value", "dumped"),
    [
        ("a\u0085\u2028\u2029b", r'"a\u0085\u2028\u2029b"'),
        ("汉😀\x7f\u200b\u202e", '"汉😀\x7f\u200b\u202e"'),
        ('\n\r\t\x0b"\\', r'"\n\r\t\u000b\"\\"'),
        ({"b": 1, "a": [True]}, '{"b":1,"a":[true]}'),
    ],
    ids=ascii,
)
def test_legacy_json(value: object, dumped: str) -> None:
    assert text.dump_legacy(value) == dumped


def cut_text(body: str, room: int, bound: int = 2000) -> str | None:
    found = text.longest_prefix(
        body, text.text_unit, output_budget=room, body_budget=bound
    )
    return None if found is None else found.shown


@pytest.mark.clause("A-155", "A-156", "A-163")
@pytest.mark.parametrize(
    ("body", "room", "shown"),
    [
        ("abcdef", 2, None),  # not even the ellipsis
        ("abcdef", 3, "…"),
        ("abcdef", 7, "abcd…"),
        ("abcdef", 99, "abcde…"),  # a proper prefix, whatever the room
        ("汉字汉", 8, "汉…"),
        ("汉字汉", 9, "汉字…"),
        ("😀😀", 6, "…"),
        ("😀😀", 7, "😀…"),
        ("a\tb", 9, "a…"),  # an escape is one unit
        ("a\tb", 10, "a\\u0009…"),
        ("a\U000e0001b", 13, "a…"),
        ("a\U000e0001b", 14, "a\\U000e0001…"),
        ("a\nbc", 10, "a…"),  # a line feed costs the next line's prefix
        ("a\nbc", 11, "a\n…"),
        ("e\u0301x", 4, "e…"),  # combining marks are code points of their own
        ("", 3, "…"),
    ],
    ids=ascii,
)
def test_a_cut_keeps_units_whole(body: str, room: int, shown: str | None) -> None:
    assert cut_text(body, room) == shown


@pytest.mark.clause("A-153")
@pytest.mark.parametrize("character", ["x", "é", "汉", "😀", "\t", "\U000e0001", "\n"])
def test_a_cut_keeps_the_bound_of_one_body(character: str) -> None:
    shown = cut_text(character * 2100, room=10**6)

    assert shown is not None
    width = size(text.escape_body(character))
    assert 2000 - width < size(shown) <= 2000


@pytest.mark.parametrize(
    ("character", "body_bytes", "output_bytes"),
    [
        ("a", 1, 1),
        ('"', 1, 2),
        ("\n", 1, 2),
        ("\x01", 1, 6),
        ("汉", 3, 3),
        ("\u0085", 2, 6),
        ("\u2028", 3, 6),
        ("\x7f", 1, 1),
    ],
    ids=ascii,
)
def test_legacy_units_count_raw_and_escaped_bytes(
    character: str, body_bytes: int, output_bytes: int
) -> None:
    unit = text.legacy_unit(character)

    assert unit.shown == character
    assert (unit.body_bytes, unit.output_bytes) == (body_bytes, output_bytes)
