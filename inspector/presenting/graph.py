"""Scopes and what they read as a drawing: columns from left to right. Pure.

The same Scopes and references give the same drawing. Sizes are CSS pixels, whole ones.
References that close a circle are drawn from right to left.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from prepare.services.stored import Reference, ScopeName
from prepare.services.text import escape_body

NODE_WIDTH = 216
NODE_HEIGHT = 54
_COLUMN_GAP = 76
_ROW_GAP = 16
_LANE_HEIGHT = 10  # where a long reference passes a column
_MARGIN = 10
_LONE_COLUMNS = 4
_LONE_GAP = 20
_HEAD = 8
_TITLE_CELLS = 24
_ID_CELLS = 27
_SWEEPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnScope:
    """A box; `x`, `y` is its upper left corner, the labels are cut to its width."""

    scope_id: str
    title_label: str
    id_label: str
    x: int
    y: int
    is_focus: bool

    @property
    def text_x(self) -> int:
        return self.x + 12

    @property
    def title_y(self) -> int:
        return self.y + 23

    @property
    def id_y(self) -> int:
        return self.y + 41


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnReference:
    """`path` is an SVG path, `heads` are the points of its arrow heads."""

    path: str
    heads: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    width: int
    height: int
    scopes: tuple[DrawnScope, ...]
    references: tuple[DrawnReference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingList:
    """The drawing in words: one Scope and those that it reads."""

    reader: ScopeName
    targets: tuple[ScopeName, ...]


def reading_lists(
    scopes: Iterable[ScopeName], references: Iterable[Reference]
) -> tuple[ReadingList, ...]:
    """Readers in the order of `scopes`; Scopes that read none are left out."""
    names = {scope.scope_id: scope for scope in scopes}
    targets: dict[str, list[ScopeName]] = {name: [] for name in names}
    for one in references:
        targets[one.reader].append(names[one.target])
    return tuple(
        ReadingList(reader=names[reader], targets=tuple(read))
        for reader, read in targets.items()
        if read
    )


def draw_scopes(
    scopes: Sequence[ScopeName],
    references: Sequence[Reference],
    *,
    focus: str | None = None,
) -> Drawing:
    """Readers left of what they read; Scopes without a reference in rows below."""
    names = [scope.scope_id for scope in scopes]
    links = _Links.of(names, references)
    linked = {name for pair in links.pairs for name in pair}
    columns = _order(_columns([name for name in names if name in linked], links.pairs))
    places, width, height = _place(columns)
    lone = [name for name in names if name not in linked]
    lone_places, lone_width, height = _place_lone(lone, height)
    places |= lone_places
    return Drawing(
        width=max(width, lone_width, NODE_WIDTH + 2 * _MARGIN),
        height=height,
        scopes=tuple(
            DrawnScope(
                scope_id=scope.scope_id,
                title_label=cut(scope.title, _TITLE_CELLS),
                id_label=cut(scope.scope_id, _ID_CELLS),
                x=places[scope.scope_id][0],
                y=places[scope.scope_id][1],
                is_focus=scope.scope_id == focus,
            )
            for scope in scopes
        ),
        references=tuple(
            _draw(pair, links, places, columns.lanes) for pair in links.pairs
        ),
    )


_Pair = tuple[str, str]
_Lane = tuple[str, str, int]  # a long pair and the column that it passes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Links:
    """`pairs` lead from left to right; `heads` says at which ends arrows are."""

    pairs: tuple[_Pair, ...]
    heads: dict[_Pair, frozenset[str]]

    @classmethod
    def of(cls, names: Sequence[str], references: Sequence[Reference]) -> "_Links":
        backward = _closing_circles(names, references)
        heads: dict[_Pair, frozenset[str]] = {}
        for one in references:
            pair = (one.reader, one.target)
            if pair in backward:
                pair = (one.target, one.reader)
            heads[pair] = heads.get(pair, frozenset()) | {one.target}
        return cls(pairs=tuple(heads), heads=heads)


def _closing_circles(
    names: Sequence[str], references: Sequence[Reference]
) -> set[_Pair]:
    """References back to a Scope on the way here, found depth first."""
    targets: dict[str, list[str]] = {name: [] for name in names}
    for one in references:
        targets[one.reader].append(one.target)
    found: set[_Pair] = set()
    done: set[str] = set()
    for start in names:
        if start in done:
            continue
        way = [(start, iter(targets[start]))]
        on_way = {start}
        while way:
            name, rest = way[-1]
            target = next(rest, None)
            if target is None:
                way.pop()
                on_way.discard(name)
                done.add(name)
            elif target in on_way:
                found.add((name, target))
            elif target not in done:
                way.append((target, iter(targets[target])))
                on_way.add(target)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Slots from top to bottom: Scope ids, and lanes of pairs that pass by."""

    slots: list[list[str | _Lane]]
    pairs: tuple[_Pair, ...]
    lanes: dict[_Pair, list[_Lane]] = field(default_factory=dict)


def _columns(names: Sequence[str], pairs: tuple[_Pair, ...]) -> _Columns:
    """Each Scope as far left as its readers allow."""
    column = dict.fromkeys(names, 0)
    for _ in names:  # no circles are left: at most one round for each Scope
        for reader, target in pairs:
            column[target] = max(column[target], column[reader] + 1)
    slots: list[list[str | _Lane]] = [
        [] for _ in range(max(column.values(), default=-1) + 1)
    ]
    for name in names:
        slots[column[name]].append(name)
    lanes: dict[_Pair, list[_Lane]] = {}
    for reader, target in pairs:
        passed = [
            (reader, target, number)
            for number in range(column[reader] + 1, column[target])
        ]
        lanes[reader, target] = passed
        for lane in passed:
            slots[lane[2]].append(lane)
    return _Columns(slots=slots, pairs=pairs, lanes=lanes)


def _order(columns: _Columns) -> _Columns:
    """Slots near what they are joined to, so that few references cross."""
    before: dict[str | _Lane, list[str | _Lane]] = {}
    after: dict[str | _Lane, list[str | _Lane]] = {}
    for pair in columns.pairs:
        chain: list[str | _Lane] = [pair[0], *columns.lanes[pair], pair[1]]
        for left, right in pairwise(chain):
            after.setdefault(left, []).append(right)
            before.setdefault(right, []).append(left)
    slots = [list(column) for column in columns.slots]
    for sweep in range(_SWEEPS):
        joined = before if sweep % 2 == 0 else after
        numbers = range(len(slots)) if sweep % 2 == 0 else reversed(range(len(slots)))
        for number in numbers:
            _sort_column(slots, number, joined)
    return _Columns(slots=slots, pairs=columns.pairs, lanes=columns.lanes)


def _sort_column(
    slots: list[list[str | _Lane]],
    number: int,
    joined: dict[str | _Lane, list[str | _Lane]],
) -> None:
    """By the middle of the joined slots; what is joined to none keeps its height."""
    height = {
        slot: (index + 0.5) / len(column)
        for column in slots
        for index, slot in enumerate(column)
    }

    def middle(slot: str | _Lane) -> float:
        near = [height[other] for other in joined.get(slot, ())]
        return sum(near) / len(near) if near else height[slot]

    slots[number].sort(key=middle)


_Places = dict[str | _Lane, tuple[int, int]]


def _place(columns: _Columns) -> tuple[_Places, int, int]:
    """Upper left corners, and the size; each column is centred."""
    heights = [sum(map(_height, column)) for column in columns.slots]
    heights = [
        height + _ROW_GAP * (len(column) - 1)
        for height, column in zip(heights, columns.slots, strict=True)
    ]
    highest = max(heights, default=0)
    places: _Places = {}
    for number, column in enumerate(columns.slots):
        x = _MARGIN + number * (NODE_WIDTH + _COLUMN_GAP)
        y = _MARGIN + (highest - heights[number]) // 2
        for slot in column:
            places[slot] = (x, y)
            y += _height(slot) + _ROW_GAP
    count = len(columns.slots)
    width = 2 * _MARGIN + count * NODE_WIDTH + max(count - 1, 0) * _COLUMN_GAP
    return places, width, highest + 2 * _MARGIN if count else 0


def _height(slot: str | _Lane) -> int:
    return NODE_HEIGHT if isinstance(slot, str) else _LANE_HEIGHT


def _place_lone(names: Sequence[str], top: int) -> tuple[_Places, int, int]:
    if not names:
        return {}, 0, top
    start = top + _MARGIN
    places: _Places = {
        name: (
            _MARGIN + (index % _LONE_COLUMNS) * (NODE_WIDTH + _LONE_GAP),
            start + (index // _LONE_COLUMNS) * (NODE_HEIGHT + _ROW_GAP),
        )
        for index, name in enumerate(names)
    }
    columns = min(len(names), _LONE_COLUMNS)
    rows = -(-len(names) // _LONE_COLUMNS)
    width = 2 * _MARGIN + columns * (NODE_WIDTH + _LONE_GAP) - _LONE_GAP
    height = rows * (NODE_HEIGHT + _ROW_GAP) - _ROW_GAP
    return places, width, start + height + _MARGIN


def _draw(
    pair: _Pair, links: _Links, places: _Places, lanes: dict[_Pair, list[_Lane]]
) -> DrawnReference:
    """Right side of the left box to the left side of the right one."""
    left, right = pair
    heads = links.heads[pair]
    x, y = places[left][0] + NODE_WIDTH, places[left][1] + NODE_HEIGHT // 2
    end_x, end_y = places[right][0], places[right][1] + NODE_HEIGHT // 2
    points = []
    if left in heads:
        points.append(f"{x},{y} {x + _HEAD},{y - 5} {x + _HEAD},{y + 5}")
        x += _HEAD
    if right in heads:
        points.append(
            f"{end_x},{end_y} {end_x - _HEAD},{end_y - 5} {end_x - _HEAD},{end_y + 5}"
        )
        end_x -= _HEAD
    path = [f"M{x} {y}"]
    for lane in lanes[pair]:
        lane_x, lane_y = places[lane][0], places[lane][1] + _LANE_HEIGHT // 2
        path.append(_curve(x, y, lane_x, lane_y))
        x, y = lane_x + NODE_WIDTH, lane_y
        path.append(f"H{x}")
    path.append(_curve(x, y, end_x, end_y))
    return DrawnReference(path=" ".join(path), heads=tuple(points))


def _curve(x: int, y: int, end_x: int, end_y: int) -> str:
    middle = (x + end_x) // 2
    return f"C{middle} {y} {middle} {end_y} {end_x} {end_y}"


def cut(text: str, cells: int) -> str:
    """As shown, at most `cells` wide; Chinese and emoji take two cells each."""
    shown = " ".join(escape_body(text).split())
    used = 0
    for index, character in enumerate(shown):
        used += _cells(character)
        if used > cells:
            return _first_cells(shown[:index], cells - 1) + "…"
    return shown


def _first_cells(text: str, cells: int) -> str:
    while text and sum(map(_cells, text)) > cells:
        text = text[:-1]
    return text.rstrip()


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
