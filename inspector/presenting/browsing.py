"""One line of what is stored, for lists. Pure; never fails on what is stored."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prepare import limits
from prepare.services.rendering import body_text
from prepare.services.stored import (
    CandidateRow,
    HeadRow,
    RankedHit,
    SearchResult,
    SourceRow,
)

LINE_CHARS = 160
# What an artifact says first; the rest is on its page.
_SPOKEN = {
    limits.ATOMIC_MEMORY: "text",
    limits.EXPERIENCE: "lesson",
    limits.TOPIC_MEMORY: "title",
    limits.PROFILE: "content",
    limits.PROMPT: "instructions",
}
# A JSON string that may be cut anywhere, without a broken escape at its end.
_STRING_START = re.compile(r'"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Gist:
    """`line` is one line of the content; a collection has `entries` instead."""

    line: str = ""
    entries: int | None = None
    is_readable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadLine:
    head: HeadRow
    gist: Gist


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    row: SourceRow
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateLine:
    row: CandidateRow
    gist: Gist


@dataclass(frozen=True, slots=True, kw_only=True)
class HitLine:
    """`body` is the text as a search offers it; cut if it is long."""

    hit: RankedHit
    body: str


def head_lines(rows: Iterable[HeadRow]) -> tuple[HeadLine, ...]:
    return tuple(
        HeadLine(head=row, gist=gist(row.artifact.family, row.content)) for row in rows
    )


def candidate_lines(rows: Iterable[CandidateRow]) -> tuple[CandidateLine, ...]:
    return tuple(
        CandidateLine(row=row, gist=gist(row.family, row.proposal)) for row in rows
    )


def source_lines(rows: Iterable[SourceRow]) -> tuple[SourceLine, ...]:
    return tuple(SourceLine(row=row, line=source_line(row.start)) for row in rows)


def hit_lines(result: SearchResult) -> tuple[HitLine, ...]:
    return tuple(
        HitLine(hit=hit, body=shorten(body_text(hit.candidate), 4 * LINE_CHARS))
        for hit in result.hits
    )


def gist(family: str, content: str) -> Gist:
    """The first line of what an artifact of this family says."""
    try:
        stored = json.loads(content)
        if family == limits.MEMORY_COLLECTION:
            return Gist(entries=len(stored["entries"]))
        return Gist(line=first_line(_spoken(family, stored)))
    except (ValueError, LookupError, TypeError, RecursionError):
        return Gist(is_readable=False)


def _spoken(family: str, stored: Any) -> str:
    value = stored[_SPOKEN[family]]
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value or f"mode: {stored['mode']}"


def source_line(start: str) -> str:
    """The first line of a Source, from the beginning of its stored JSON."""
    match = _STRING_START.match(start)
    return first_line(json.loads(f'"{match[1]}"') if match else start)


def first_line(text: str) -> str:
    """The first line that is not blank."""
    lines = (line.strip() for line in text.splitlines())
    return shorten(next((line for line in lines if line), ""), LINE_CHARS)


def shorten(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"
