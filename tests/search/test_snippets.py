"""Chunks and snippets of topic-memory details (C.6)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prepare.search.analysis import document_terms, query_terms
from prepare.search.snippets import (
    CHUNK_CHARS,
    SNIPPET_CHARS,
    chunk_spans,
    make_snippet,
)

FILLER = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. "
LINES = ["# Title\n", "## Part\n", "\n", "\r\n", "```\n", "~~~\n", "  # in code\n"]
BLOCKS = ["word ", "悬空引用。", "a line\n", "x" * 700, FILLER * 9, " " * 400]
markdown = st.lists(st.sampled_from(LINES + BLOCKS), max_size=40).map("".join)


def chunks_of(detail):
    return [detail[start:end] for start, end in chunk_spans(detail)]


def make(text, query):
    return make_snippet(text, query_terms(query))


@given(markdown | st.text())
def test_chunks_cover_the_text_in_order(detail):
    chunks = chunks_of(detail)
    assert "".join(chunks) == detail
    assert all(0 < len(chunk) <= CHUNK_CHARS for chunk in chunks)
    assert chunk_spans(detail) == chunk_spans(detail)


def test_short_detail_is_one_chunk():
    assert chunk_spans("# A\n\nshort\n\n# B\n\nshort") == ((0, 22),)
    assert chunk_spans("") == ()


def test_a_heading_starts_a_chunk():
    first = "# One\n\n" + FILLER * 8 + "\n\n"
    second = "## Two\n\n" + FILLER * 3
    assert chunks_of(first + second) == [first, second]


def test_a_heading_stays_with_its_paragraph():
    first, second = FILLER * 18 + "\n\n", "# Two\n\n" + FILLER * 18
    assert chunks_of(first + second) == [first, second]


def test_paragraphs_are_not_cut():
    paragraphs = [FILLER * 9 + "\n\n" for _ in range(6)]
    chunks = chunks_of("".join(paragraphs))
    assert chunks == ["".join(paragraphs[at : at + 2]) for at in (0, 2, 4)]


def test_a_comment_in_a_code_fence_is_no_heading():
    code = "```sh\n" + "run this\n\n# not a heading\n" * 20 + "```\n"
    assert chunks_of(code) == [code]


@pytest.mark.parametrize(
    "unit", ["one more line\n", "A sentence. ", "一句话。", "word "]
)
def test_oversize_blocks_are_cut_at_a_good_place(unit):
    chunks = chunks_of(unit * 700)
    assert len(chunks) > 1
    assert all(chunk.strip().endswith(unit.strip()) for chunk in chunks)


def test_unbroken_text_is_cut_anyway():
    assert [len(chunk) for chunk in chunks_of("x" * 2_500)] == [1200, 1200, 100]


def test_no_match_no_snippet():
    assert make(FILLER * 20, "zebra") is None
    assert make(FILLER * 20, "") is None


def test_a_short_chunk_is_shown_whole():
    assert make("  The\n\n zebra \t runs ", "zebra") == "The zebra runs"


@pytest.mark.parametrize(
    ("before", "after", "cut_start", "cut_end"),
    [(0, 20, False, True), (10, 10, True, True), (20, 0, True, False)],
)
def test_centred_on_the_match(before, after, cut_start, cut_end):
    snippet = make(FILLER * before + "zebra. " + FILLER * after, "a zebra")
    assert "zebra" in snippet
    assert snippet.startswith("…") == cut_start
    assert snippet.endswith("…") == cut_end
    assert SNIPPET_CHARS - 5 <= len(snippet) <= SNIPPET_CHARS


def test_prefers_the_stretch_with_most_distinct_terms():
    text = "zebra zebra zebra " + FILLER * 10 + "zebra and lion " + FILLER * 10
    assert "zebra and lion" in make(text, "zebra lion")


def test_finds_chinese_and_folded_words():
    text = FILLER * 10 + "naïve ＣＡＦＥ́ 悬空引用 " + FILLER * 10
    for query in ("cafe", "悬空", "naive"):
        assert "悬空引用" in make(text, query)


@given(st.text() | markdown, st.text(max_size=20) | st.just("word 悬空 line"))
def test_snippet_laws(chunk, query):
    terms = query_terms(query)
    snippet = make_snippet(chunk, terms)
    assert (snippet is None) == set(terms).isdisjoint(document_terms(chunk))
    if snippet is None:
        return
    collapsed = " ".join(chunk.split())
    assert len(snippet) <= SNIPPET_CHARS
    assert snippet == collapsed or (
        len(collapsed) > SNIPPET_CHARS
        and "…" in (snippet[0], snippet[-1])
        and snippet.removeprefix("…").removesuffix("…") in collapsed
    )


def test_time_is_linear():
    detail = "zebra lion " * 11_000
    start = time.process_time()
    for chunk in chunks_of(detail):
        make(chunk, "zebra lion")
    make(detail, "zebra lion")
    chunks_of("\n" * 125_000)
    assert time.process_time() - start < 5
