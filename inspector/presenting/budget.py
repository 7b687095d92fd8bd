"""Where the bytes of a budget went, as the parts of one bar. Pure.

Sizes are UTF-8 bytes of `content`. Of a build every part is known; a receipt names the
items only, so the rest of what was used is one part (H-14).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from inspector.presenting.words import N_
from prepare import limits
from prepare.services import legacy, rendering
from prepare.values import Build, Identity, PrepareRequest, SelectedItem

FRAME = N_("Frame, headings and joints")
FIXED_FRAME = N_("Fixed frame")
COMMAS = N_("Commas")
UNUSED = N_("Unused")

_Part = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """One piece of the bar: `size` bytes that begin after the first `start` bytes."""

    label: str
    css_class: str
    size: int
    start: int


def bar_of_receipt(receipt: Mapping[str, Any]) -> tuple[BarPart, ...]:
    """Items in order, then what the receipt does not tell apart, then what is left.

    The sizes add up to `requested_max_bytes`. Empty if the receipt contradicts itself.
    """
    items = [
        (f"{number}. {item['kind']}", f"of-{item['kind']}", item["rendered_bytes"])
        for number, item in enumerate(receipt["selected"], start=1)
    ]
    used, requested = receipt["used_bytes"], receipt["requested_max_bytes"]
    frame = used - sum(size for _, _, size in items)
    if frame < 0 or used > requested:
        return ()
    rest = [(FRAME, "of-frame", frame), (UNUSED, "of-unused", requested - used)]
    return tuple(_in_a_row([*items, *rest]))


def bar_of_build(request: PrepareRequest, build: Build) -> tuple[BarPart, ...]:
    """Frame, each section's heading and joints, each item, unused.

    The sizes add up to `max_bytes`. Raises `ValueError` if those before the last do not
    add up to the content: a drawing that is nearly right explains nothing.
    """
    parts: list[_Part] = []
    if build.content is not None:
        is_text = request.assembly is not None
        parts = list(_of_text(build) if is_text else _of_envelope(build))
    if sum(size for _, _, size in parts) != build.content_bytes:
        raise ValueError("the parts do not add up to the content")
    unused = (UNUSED, "of-unused", request.max_bytes - build.content_bytes)
    return tuple(_in_a_row([*parts, unused]))


def selector_of(item: SelectedItem) -> str:
    """The section that an item is delivered in."""
    if not isinstance(item.identity, Identity):
        return "code"
    return limits.SELECTORS[item.identity.artifact.family]


def section_bytes(family: str, items: int) -> int:
    """Heading and joints of a section of the text form; none without items (A-106)."""
    if not items:
        return 0
    heading = len(rendering.section_heading(family).encode())
    return heading + len(rendering.JOINT) * (1 + items)


def _of_text(build: Build) -> Iterator[_Part]:
    yield FIXED_FRAME, "of-frame", rendering.FRAME_BYTES
    numbered = enumerate(build.selected, start=1)
    for family, group in groupby(numbered, lambda pair: selector_of(pair[1])):
        items = list(group)
        heading = rendering.section_heading(family)
        yield heading, "of-section", section_bytes(family, len(items))
        yield from (_item(number, item) for number, item in items)


def _of_envelope(build: Build) -> Iterator[_Part]:
    yield FIXED_FRAME, "of-frame", legacy.FRAME_BYTES
    yield COMMAS, "of-section", len(build.selected) - 1
    for number, item in enumerate(build.selected, start=1):
        yield _item(number, item)


def _item(number: int, item: SelectedItem) -> _Part:
    family = selector_of(item)
    return f"{number}. {family}", f"of-{family}", item.rendered_bytes


def _in_a_row(pieces: Iterable[_Part]) -> Iterator[BarPart]:
    start = 0
    for label, css_class, size in pieces:
        if size:
            yield BarPart(label=label, css_class=css_class, size=size, start=start)
        start += size
