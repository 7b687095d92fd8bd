"""Cut a topic memory's detail into chunks and a chunk into a snippet; pure (C.6)."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from prepare.search.analysis import document_terms, term_positions

SNIPPET_CHARS: Final = 480
CHUNK_CHARS: Final = 1_200
_SECTION_CHARS: Final = 300  # a heading starts a new chunk after at least this much

_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
# Where an oversize block is cut, best first: after a line, a sentence, a word.
_CUTS = (
    re.compile(r"\n"),
    re.compile(r"[.!?](?=\s)|[。！？；]"),
    re.compile(r"\s"),
)
_ELLIPSIS = "…"


def chunk_spans(detail: str) -> tuple[tuple[int, int], ...]:
    """(start, end) of each chunk of Markdown text: adjacent, in order, covering all.

    A chunk ends before a heading or after a blank line, outside code fences, and has at
    most CHUNK_CHARS characters; only longer blocks are cut inside.
    """
    spans: list[tuple[int, int]] = []
    start = end = 0
    for block_end, opens_section in _blocks(detail):
        section_due = opens_section and end - start >= _SECTION_CHARS
        if end > start and (section_due or block_end - start > CHUNK_CHARS):
            spans.append((start, end))
            start = end
        while block_end - start > CHUNK_CHARS:
            cut = _cut(detail, start)
            spans.append((start, cut))
            start = cut
        end = block_end
    if end > start:
        spans.append((start, end))
    return tuple(spans)


def make_snippet(chunk: str, terms: Collection[str]) -> str | None:
    """At most SNIPPET_CHARS characters of one chunk around its matches of query terms.

    Whitespace is collapsed and a cut end marked with an ellipsis. None if the chunk
    holds none of the terms.
    """
    wanted = frozenset(terms)
    if wanted.isdisjoint(document_terms(chunk)):
        return None
    text = " ".join(chunk.split())
    if len(text) <= SNIPPET_CHARS:
        return text
    centre = _find_centre(text, wanted)
    width = SNIPPET_CHARS - len(_ELLIPSIS)
    if centre <= width // 2:
        return text[:width].rstrip() + _ELLIPSIS
    if centre >= len(text) - width // 2:
        return _ELLIPSIS + text[-width:].lstrip()
    width -= len(_ELLIPSIS)
    start = centre - width // 2
    return _ELLIPSIS + text[start : start + width].strip() + _ELLIPSIS


def _find_centre(text: str, wanted: frozenset[str]) -> int:
    """Middle of the narrow stretch with most distinct terms, or of the text."""
    matches = [match for match in term_positions(text) if match[1] in wanted]
    best_count, centre = 0, len(text) // 2
    counts: dict[str, int] = {}
    first = 0
    for last, term in matches:
        counts[term] = counts.get(term, 0) + 1
        while last - matches[first][0] > SNIPPET_CHARS // 2:
            left = matches[first][1]
            counts[left] -= 1
            if not counts[left]:
                del counts[left]
            first += 1
        if len(counts) > best_count:
            best_count, centre = len(counts), (matches[first][0] + last) // 2
    return centre


def _blocks(detail: str) -> Iterator[tuple[int, bool]]:
    """(end, whether a heading opens it) of each paragraph with its headings and blanks.

    A fenced block is one paragraph, whatever its lines look like.
    """
    position = 0
    opens_section = has_body = ended = False
    fence = ""
    for line in detail.splitlines(keepends=True):
        is_blank = not line.strip()
        is_heading = not fence and _HEADING.match(line) is not None
        if position and (is_heading or (ended and not is_blank)):
            yield position, opens_section
            opens_section = has_body = False
        opens_section |= is_heading
        has_body |= not (is_heading or is_blank)
        if (mark := _FENCE.match(line)) and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        ended = is_blank and has_body and not fence
        position += len(line)
    if position:
        yield position, opens_section


def _cut(detail: str, start: int) -> int:
    """End of an oversize chunk: the last good place in its second half."""
    stop = start + CHUNK_CHARS
    middle = start + CHUNK_CHARS // 2
    for pattern in _CUTS:
        ends = [match.end() for match in pattern.finditer(detail, middle, stop)]
        if ends:
            return ends[-1]
    return stop
