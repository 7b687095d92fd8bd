"""The code points of a prepared content that a reader would not see (C-27, J-7). Pure.

The text form shows Cc and Cf as escapes; every other invisible code point passes
through, and so does most of Cf in the JSON envelope. Nothing is changed here: the
content is cut into segments that are as long as itself.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

# Default_Ignorable_Code_Point (Unicode 15, DerivedCoreProperties) outside Cf, and what
# fonts show as nothing: Braille without dots, a note without a head.
_INVISIBLE = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x2065, 0x2065), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1D159, 0x1D159), (0xE0000, 0xE0FFF)),
)
# How each form spells an escape. An escaped backslash of the envelope begins none.
_TEXT_ESCAPE = re.compile(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")
_JSON_ESCAPE = re.compile(r"\\u([0-9a-f]{4})|\\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One code point as `U+202E` and its Unicode name."""

    label: str
    name: str
    escaped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A piece of the content; `point` is set where it stands for one code point."""

    text: str
    point: Point | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    point: Point
    count: int


@lru_cache(maxsize=4096)
def is_hidden(character: str) -> bool:
    """Whether a reader may miss it: controls, formats, fillers, unusual spaces.

    The line feed and the space are what everybody expects them to be.
    """
    if character in ("\n", " "):
        return False
    if unicodedata.category(character) in ("Cc", "Cf", "Zs", "Zl", "Zp"):
        return True
    point = ord(character)
    return any(first <= point <= last for first, last in _INVISIBLE)


def find_segments(content: str, *, is_text: bool) -> tuple[Segment, ...]:
    """The content cut at each escape of a hidden code point and at each hidden one.

    A body that holds such an escape literally looks the same in the text form; only
    the exact revision tells them apart.
    """
    return tuple(_segments(content, _TEXT_ESCAPE if is_text else _JSON_ESCAPE))


def _segments(content: str, escape: re.Pattern[str]) -> Iterator[Segment]:
    start = 0
    for match in escape.finditer(content):
        digits = next((group for group in match.groups() if group), None)
        character = _as_character(digits)
        if character is None or not is_hidden(character):
            continue
        yield from _raw(content[start : match.start()])
        yield Segment(text=match.group(), point=describe(character, escaped=True))
        start = match.end()
    yield from _raw(content[start:])


def _as_character(digits: str | None) -> str | None:
    """Eight digits that somebody typed may name no code point."""
    if digits is None or int(digits, 16) > 0x10FFFF:
        return None
    return chr(int(digits, 16))


def _raw(text: str) -> Iterator[Segment]:
    start = 0
    for index, character in enumerate(text):
        if not is_hidden(character):
            continue
        if index > start:
            yield Segment(text=text[start:index])
        yield Segment(text=character, point=describe(character, escaped=False))
        start = index + 1
    if start < len(text):
        yield Segment(text=text[start:])


def describe(character: str, *, escaped: bool) -> Point:
    """Controls and unassigned code points have a label instead of a name."""
    point = ord(character)
    is_control = unicodedata.category(character) == "Cc"
    kind = "control" if is_control else "reserved"
    name = unicodedata.name(character, f"<{kind}-{point:04X}>")
    return Point(label=f"U+{point:04X}", name=name, escaped=escaped)


def count_points(segments: Iterable[Segment]) -> tuple[Found, ...]:
    """Each code point once for either way, those that passed through first."""
    counts = Counter(one.point for one in segments if one.point is not None)
    found = [Found(point=point, count=count) for point, count in counts.items()]
    return tuple(
        sorted(
            found,
            key=lambda one: (one.point.escaped, len(one.point.label), one.point.label),
        )
    )
