"""Cut the blocks out of a piece of log, before they are taken apart. Pure.

A log puts lines around a block, the same words before each of its lines, or the whole
of it into one JSON string. What is taken away is said in a note, so that nobody takes
the excerpt for the bytes that were injected.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.services import envelopes, rendering
from prepare.services.text import BODY_PREFIX

MAX_BLOCKS = 8
# Far above every budget; a block without its end reaches to the end of the log.
MAX_CHARACTERS = 2 * limits.MAX_BYTES_HIGHEST

# The lines of the frame, in the order in which one block has them.
_RANKS = {
    rendering.TITLE: 0,
    rendering.NOTICE.partition("\n")[0]: 1,
    rendering.BEGIN: 2,
    envelopes.BEGIN: 2,
    rendering.END: 3,
    envelopes.END: 3,
}
_END_RANK = 3
_LINE_ENDS = "\r"
_DIGIT = re.compile(r"[0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """One block with nothing around it; `line` is its first in the log, from 1."""

    text: str
    line: int
    notes: tuple[str, ...]


def cut_excerpts(text: str) -> tuple[Excerpt, ...]:
    """The blocks in order; raises `InvalidRequest` if nothing of a frame is there."""
    text, notes = _unpack_json(text)
    lines = text.split("\n")
    lines, more = _strip_prefix(lines)
    spans = list(_spans(lines))
    if not spans:
        raise InvalidRequest(
            message="The text holds no PowerContext block: no line is its title, its"
            " notice, or a begin or end marker."
        )
    if len(spans) > MAX_BLOCKS:
        raise InvalidRequest(
            message=f"The text holds {len(spans)} blocks; at most {MAX_BLOCKS} are"
            " verified at once."
        )
    notes += more + _around(lines, spans)
    return tuple(_excerpt(lines, span, notes) for span in spans)


def _unpack_json(text: str) -> tuple[str, tuple[str, ...]]:
    """The string that the whole text is, or the `content` of the object that it is."""
    if text.lstrip()[:1] not in ('"', "{"):
        return text, ()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text, ()
    if isinstance(value, str):
        return value, ("the block was inside a JSON string",)
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        return value["content"], ("the block was the `content` of a JSON object",)
    return text, ()


def _strip_prefix(lines: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The lines without what a log put before each, such as a time or an indent.

    Told by the first line that ends like one of the frame. A prefix may differ in its
    digits only. None is taken away if a line of the frame stands without, nor one like
    that of a body, whose lines may say anything.
    """
    if any(_rank(line) is not None for line in lines):
        return lines, ()
    prefix = next(
        (
            line.rstrip(_LINE_ENDS).removesuffix(mark)
            for line in lines
            for mark in _RANKS
            if line.rstrip(_LINE_ENDS).endswith(mark)
        ),
        "",
    )
    if not prefix or prefix.endswith(BODY_PREFIX):
        return lines, ()
    shape = _shape(prefix)
    bare = [_without(line, len(prefix), shape) for line in lines]
    return bare, (f"{len(prefix)} characters before each line were left out",)


def _without(line: str, length: int, shape: str) -> str:
    """A line of another prefix stays: it is not of the block, or the block is damaged.

    Of a blank line the log may have cut the white space.
    """
    if _shape(line[:length]) == shape:
        return line[length:]
    return "" if _shape(line) == shape.rstrip() else line


def _shape(prefix: str) -> str:
    return _DIGIT.sub("0", prefix)


def _rank(line: str) -> int | None:
    return _RANKS.get(line.rstrip(_LINE_ENDS).removeprefix("\ufeff"))


def _spans(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """First line of each block and the line after it.

    A frame line that an open block has passed already begins the next one.
    """
    start, passed = None, -1
    for index, line in enumerate(lines):
        rank = _rank(line)
        if rank is None:
            continue
        if start is not None and rank <= passed:
            yield start, index
            start = None
        start = index if start is None else start
        passed = rank
        if rank == _END_RANK:
            yield start, index + 1
            start, passed = None, -1
    if start is not None:
        yield start, len(lines)


def _around(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    starts = [start for start, _ in spans] + [len(lines)]
    ends = [0] + [end for _, end in spans]
    left_out = sum(
        1
        for end, start in zip(ends, starts, strict=True)
        for line in lines[end:start]
        if line.strip()
    )
    if not left_out:
        return ()
    return (f"{left_out} lines of the log outside the block were left out",)


def _excerpt(
    lines: Sequence[str], span: tuple[int, int], notes: tuple[str, ...]
) -> Excerpt:
    start, end = span
    text = "\n".join(lines[start:end])
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS]
        notes += (f"only its first {MAX_CHARACTERS} characters were looked at",)
    return Excerpt(text=text, line=start + 1, notes=notes)
