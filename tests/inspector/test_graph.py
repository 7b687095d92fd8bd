"""The drawing of Scopes: every one once, apart, and the same each time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.presenting.graph import (
    NODE_HEIGHT,
    NODE_WIDTH,
    Drawing,
    cut,
    draw_scopes,
    reading_lists,
)
from prepare.services.stored import Reference, ScopeName


def scopes(count: int) -> list[ScopeName]:
    return [ScopeName(scope_id=f"s{n:02}", title=f"Scope {n}") for n in range(count)]


def reference(reader: int, target: int) -> Reference:
    return Reference(reader=f"s{reader:02}", target=f"s{target:02}")


def check(drawing: Drawing, count: int) -> None:
    """All boxes inside the drawing, none over another."""
    boxes = [(one.x, one.y) for one in drawing.scopes]
    assert len(boxes) == len(set(boxes)) == count
    for x, y in boxes:
        assert 0 <= x <= drawing.width - NODE_WIDTH
        assert 0 <= y <= drawing.height - NODE_HEIGHT
    for index, (x, y) in enumerate(boxes):
        for other_x, other_y in boxes[index + 1 :]:
            apart = abs(x - other_x) >= NODE_WIDTH or abs(y - other_y) >= NODE_HEIGHT
            assert apart


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_scopes_that_read_nothing(count):
    drawing = draw_scopes(scopes(count), [])
    check(drawing, count)
    assert drawing.references == ()


@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), unique=True).map(
        lambda pairs: [pair for pair in pairs if pair[0] != pair[1]]
    )
)
def test_any_references_can_be_drawn(pairs):
    """Circles and references both ways too; one line for each pair, all its heads."""
    references = [reference(*pair) for pair in pairs]
    drawing = draw_scopes(scopes(12), references)
    check(drawing, 12)
    assert len(drawing.references) == len({frozenset(pair) for pair in pairs})
    assert sum(len(one.heads) for one in drawing.references) == len(pairs)
    assert drawing == draw_scopes(scopes(12), references)


def test_readers_are_left_of_what_they_read():
    drawing = draw_scopes(
        scopes(4), [reference(0, 1), reference(1, 2), reference(0, 2)], focus="s01"
    )
    x = {one.scope_id: one.x for one in drawing.scopes}
    assert x["s00"] < x["s01"] < x["s02"]
    assert [one.scope_id for one in drawing.scopes if one.is_focus] == ["s01"]
    y = {one.scope_id: one.y for one in drawing.scopes}
    assert y["s03"] > max(y["s00"], y["s01"], y["s02"])


def test_the_same_in_words():
    lists = reading_lists(scopes(3), [reference(2, 1), reference(2, 0)])
    assert [
        (one.reader.scope_id, [t.scope_id for t in one.targets]) for one in lists
    ] == [("s02", ["s01", "s00"])]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("abcdefghij", "abcdefghij"),
        ("abcdefghijk", "abcdefghi…"),
        ("项目甲乙丙", "项目甲乙丙"),
        ("项目甲乙丙丁", "项目甲乙…"),
        ("a\u202eb\nc", "a\\u202eb c"),
    ],
)
def test_labels_are_cut_by_their_width(text, shown):
    assert cut(text, 10) == shown
