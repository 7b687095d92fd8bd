"""Laws of single texts: escapes, literals, units and the longest prefix."""

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prepare.services import text
from tests.oracle import prepare_oracle as oracle
from tests.properties.strategies import bodies, hostile_text
from tests.services.building import size

any_text = hostile_text() | st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.clause("A-138", "A-139", "A-140")
@settings(max_examples=200)
@given(any_text)
def test_a_shown_body_has_no_control_but_line_feed(body: str) -> None:
    shown = text.escape_body(body)

    assert shown == "".join(oracle.body_units(body))
    kinds = {unicodedata.category(one) for one in shown if one != "\n"}
    assert kinds.isdisjoint({"Cc", "Cf", "Zl", "Zp"})
    assert (shown + ".").splitlines() == (shown + ".").split("\n")
    assert text.escape_body(shown) == shown


@pytest.mark.clause("A-135", "A-136")
@settings(max_examples=200)
@given(any_text)
def test_an_identity_literal_is_one_printable_ascii_line(value: str) -> None:
    literal = text.quote_identity(value)

    assert json.loads(literal) == value
    assert literal.isascii()
    assert literal.isprintable()


@settings(max_examples=200)
@given(any_text)
def test_legacy_json_is_one_line_and_keeps_the_text(value: str) -> None:
    dumped = text.dump_legacy({"content": value})

    assert json.loads(dumped) == {"content": value}
    assert len(dumped.splitlines()) == 1
    escaped = "\u0085\u2028\u2029"
    for character in value:
        if character >= " " and character not in '"\\' + escaped:
            assert character in dumped


@pytest.mark.clause("A-155", "A-156", "A-163")
@settings(max_examples=200)
@given(bodies, st.integers(0, 2300), st.integers(0, 2000), st.booleans())
def test_longest_prefix(body: str, room: int, bound: int, is_text: bool) -> None:
    """It is one of the prefixes of whole units, fits both bounds, and is the last."""
    body = text.normalize_newlines(body) if is_text else body
    bound = max(bound, 3)
    as_unit = text.text_unit if is_text else text.legacy_unit

    found = text.longest_prefix(body, as_unit, output_budget=room, body_budget=bound)

    units = oracle.body_units(body) if is_text else list(body)

    def output_bytes(shown: str) -> int:
        if is_text:
            return size(shown) + 6 * shown.count("\n")
        return size(text.dump_legacy(shown)) - 2

    fitting = [
        shown
        for count in range(max(len(units), 1))
        for shown in ["".join(units[:count]) + "…"]
        if size(shown) <= bound and output_bytes(shown) <= room
    ]
    if found is None:
        assert room < 3
        assert not fitting
        return
    assert found.shown == fitting[-1]
    assert found.body_bytes == size(found.shown)
    assert found.output_bytes == output_bytes(found.shown)
