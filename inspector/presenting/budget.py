"""Where the bytes of a budget went, as the parts of one bar. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.presenting.words import N_

FRAME = N_("Frame, headings and joints")
UNUSED = N_("Unused")


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


def _in_a_row(pieces: Iterable[tuple[str, str, int]]) -> Iterator[BarPart]:
    start = 0
    for label, css_class, size in pieces:
        if size:
            yield BarPart(label=label, css_class=css_class, size=size, start=start)
        start += size
