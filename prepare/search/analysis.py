"""Turn text into search terms; pure, the same on every database (D.3, J-18, J-30).

Documents and queries pass the same steps: NFKC, then one scan that cuts the text into

words       letters, digits and marks of scripts that put spaces between words, with
            single joiners (``- . / @ & + : '``) inside. Terms: the whole, each piece
            between joiners, and the snake, camel and digit parts of a piece. The whole
            drops its joiners, so ``write_boolean``, ``writeBoolean`` and
            ``write-boolean`` share a term, but keeps those between digits (``20.04``
            is not ``2004``). ASCII words get their English snowball stem.
CJK runs    each character and each pair of neighbours; no dictionary.
unspaced    Thai, Lao, Khmer, Myanmar: each pair of neighbours, or the lone character.
emoji       one term each; skin tones and joiners are dropped.

Everything else separates: symbols, NUL and other controls, lone surrogates.

Folding rule: casefold, and no combining marks on Latin, Greek, Cyrillic, Hebrew and
Arabic letters: ``cafe`` finds café, ``strasse`` straße, ``api`` ＡＰＩ. Letters that
Unicode does not decompose (ø, ł, ı) stay as they are.

A change of the terms made here, a newer stemmer included, must raise
``ANALYSIS_VERSION``: stored postings of another version do not meet new queries.
"""

import importlib
import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol

ANALYSIS_VERSION = 2

MAX_TERM_CHARS = 64
"""A longer term is replaced by its hash, and its word is not kept in the cache."""

MAX_PARTS = 8
"""A piece with more camel or digit parts is opaque (hash, base64): only its whole."""

MAX_QUERY_TERMS = 2_048
"""A query has no byte bound (D.2); of a pasted log the first terms must do."""

# Dropped from queries, never from documents. Longer lists gain nothing (measured), and
# negations must stay out of it.
_STOP_WORDS = frozenset(
    """
    a am an and are as at be been being but by can could did do does doing for from had
    has have having he her his how i in is it its may me might must my of on or our
    shall she should so than that the their them then there these they this those to us
    was we were what when where which who whom whose why will with would you your
    """.split()  # noqa: SIM905
)


def _span(*ranges: tuple[int, int]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_CJK = _span(
    (0x1100, 0x11FF),  # Hangul Jamo that NFKC could not compose
    (0x3005, 0x3007),  # 々〆〇
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x3096),  # Hiragana
    (0x309D, 0x309F),
    (0x30A1, 0x30FA),  # Katakana
    (0x30FC, 0x30FF),
    (0x3105, 0x312F),  # Bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97C),
    (0xAC00, 0xD7A3),  # Hangul syllables
    (0xD7B0, 0xD7FB),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B167),
    (0x20000, 0x323AF),
)
_UNSPACED = _span(
    (0x0E01, 0x0E3A),  # Thai
    (0x0E40, 0x0E4E),
    (0x0E81, 0x0ECD),  # Lao
    (0x0EDC, 0x0EDF),
    (0x1000, 0x103F),  # Myanmar
    (0x1050, 0x109F),
    (0x1780, 0x17D3),  # Khmer
    (0x1950, 0x19C9),  # Tai Le, New Tai Lue
    (0x1A20, 0x1A7C),  # Tai Tham
    (0xA9E0, 0xA9EF),
    (0xAA60, 0xAA7F),
)
_FLAGS = _span((0x1F1E6, 0x1F1FF))
_EMOJI = _span(
    (0x2600, 0x27BF), (0x2B50, 0x2B55), (0x1F300, 0x1F3FA), (0x1F400, 0x1FAFF)
)
_MARKS = "".join(
    chr(code)
    for code in range(0x300, 0x1E950)
    if unicodedata.category(chr(code)).startswith("M")
)

# Possessive quantifiers: no backtracking, so one scan is linear in the text. Not on
# groups: CPython before 3.11.5 (Debian 12 has 3.11.2) keeps what a failed last turn of
# one ate, `end.` of "end. Next". Here the next character tells whether a group repeats.
_LETTER = rf"[^\W{_CJK}{_UNSPACED}]"
_ATOM = rf"{_LETTER}++(?:[{_MARKS}]++{_LETTER}*+)*"
_DOT = r"""(?:(?<![^\s/(\["'`“”«»])\.)?"""
_WORD = rf"{_DOT}{_ATOM}(?:[-./@&+:']{_ATOM})*(?:\+\+|\#(?!\w))?"
_SCAN = re.compile(
    f"({_WORD})|([{_CJK}]++)|([{_UNSPACED}]++)|([{_FLAGS}]{{1,2}}|[{_EMOJI}])"
)
_GRAM = re.compile(f"[{_CJK}{_UNSPACED}]")

# Ordering a run of combining marks costs CPython the square of its length (100,000
# alternating marks: 7 s), and no language stacks 30 (UAX #15, stream-safe text).
# Halfwidth voice marks are letters that become marks.
_MARK_RUN = re.compile(f"([{_MARKS}\uff9e\uff9f]{{30}})[{_MARKS}\uff9e\uff9f]+")
_TYPOGRAPHY = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u2010": "-"}
    | dict.fromkeys([0xAD, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF], "")
    | dict.fromkeys(range(0x202A, 0x202F), "")
    | dict.fromkeys(range(0x2066, 0x206A), "")
    | dict.fromkeys(range(0xFE00, 0xFE10), "")
    | dict.fromkeys(range(0xE0100, 0xE01F0), "")
)

_CLITIC = re.compile(r"'(?:s|d|m|ll|re|ve)(?!\w)", re.IGNORECASE)
_NEGATION = re.compile(r"(?<=n)'(?=t(?!\w))", re.IGNORECASE)
_OUTER_JOINER = re.compile(r"[/@:]")
_JOINER = re.compile(r"[-./@&+:']")
_DROPPED_JOINER = re.compile(r"(?<!\d)[-./@&+:']|[-./@&+:'](?!\d)|_")
_VERSION = re.compile(r"[vV](?=\d+\.)")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# What stands in quotes or backticks is meant literally: its stop words stay.
_QUOTED = re.compile(r"""("[^"]*"|`[^`]*`|“[^“”]*”|«[^«»]*»|(?<!\w)'[^']*'(?!\w))""")


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


def _load_stemmer() -> Callable[[], _Stemmer]:
    """PyStemmer (C) if installed, else its pure-Python twin: same output, 80x slower.

    Neither object may be shared by threads. Making one costs less than one stem
    (0.3 microseconds), so each use makes its own: no lock, no thread-local.
    """
    try:
        native = importlib.import_module("Stemmer")
    except ImportError:
        pure = importlib.import_module("snowballstemmer.english_stemmer")
        return lambda: pure.EnglishStemmer()
    return lambda: native.Stemmer("english", 0)


_new_stemmer = _load_stemmer()


def document_terms(text: str) -> dict[str, int]:
    """Term -> how often it occurs. The values' sum is the document length of BM25.

    Never raises; time is linear in the text.
    """
    return dict(Counter(_terms(_normalize(text), _word_terms)))


def query_terms(text: str) -> tuple[str, ...]:
    """Distinct terms in order of first appearance, stop words removed (D.3).

    Stop words stay inside quotes or backticks, and if they are the query's only word
    (``AND``); a longer query of nothing but stop words has no terms.
    """
    normalized = _normalize(text)
    terms: dict[str, None] = {}
    for index, segment in enumerate(_QUOTED.split(normalized)):
        quoted = index % 2 == 1
        word_terms = _word_terms if quoted else _content_word_terms
        terms.update(dict.fromkeys(_terms(segment, word_terms)))
    if not terms:
        terms = dict.fromkeys(_terms(normalized, _word_terms))
        return tuple(terms) if len(terms) == 1 else ()
    return tuple(terms)[:MAX_QUERY_TERMS]


def han_share(terms: Collection[str]) -> float:
    """Share of terms made from a script without spaces, 0..1; 0 without terms."""
    if not terms:
        return 0.0
    return sum(_GRAM.match(term) is not None for term in terms) / len(terms)


def term_key(term: str) -> int:
    """Signed 64-bit key of a term, the same on every machine; never the reserved 0."""
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def term_positions(text: str) -> Iterator[tuple[int, str]]:
    """(offset in ``text``, term) of every occurrence, in text order; for snippets.

    The offset is the start of the word, or the last character of a pair.
    """
    normalized, offsets = _normalize_with_offsets(text)
    for match in _SCAN.finditer(normalized):
        start = match.start()
        if match.lastindex == 1:
            for term in _word_terms(match[0]):
                yield offsets[start], term
            continue
        for index in range(len(match[0])):
            yield offsets[start + index], match[0][index]
            if index:
                yield offsets[start + index], match[0][index - 1 : index + 1]


def _terms(normalized: str, word_terms: Callable[[str], Iterable[str]]) -> list[str]:
    terms: list[str] = []
    for word, cjk, unspaced, emoji in _SCAN.findall(normalized):
        if word:
            terms.extend(word_terms(word))
        elif cjk:
            terms.extend(cjk)
            terms.extend(map(operator.add, cjk, cjk[1:]))
        elif len(unspaced) > 1:
            terms.extend(map(operator.add, unspaced, unspaced[1:]))
        else:
            terms.append(unspaced or emoji)
    return terms


def _normalize(text: str) -> str:
    if text.isascii():
        return text
    stream_safe = _MARK_RUN.sub(r"\1", text)
    return unicodedata.normalize("NFKC", stream_safe).translate(_TYPOGRAPHY)


_CLUSTER = re.compile(f"(?s:.)[{_MARKS}\uff9e\uff9f]*")


def _normalize_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """``_normalize`` and, for each character of the result, its offset in ``text``."""
    if text.isascii():
        return text, range(len(text))
    pieces: list[str] = []
    offsets: list[int] = []
    for match in _CLUSTER.finditer(text):
        pieces.append(_normalize(match[0]))
        offsets.extend([match.start()] * len(pieces[-1]))
    return "".join(pieces), offsets


def _word_terms(word: str) -> tuple[str, ...]:
    if len(word) > MAX_TERM_CHARS:
        return _stems(_word_forms(word))
    return _cached_word_terms(word)


@lru_cache(maxsize=32_768)
def _cached_word_terms(word: str) -> tuple[str, ...]:
    return _stems(_word_forms(word))


def _content_word_terms(word: str) -> tuple[str, ...]:
    return _stems(form for form in _word_forms(word) if form not in _STOP_WORDS)


def _stems(forms: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_stem(form) for form in forms if form))


def _stem(form: str) -> str:
    if form.isascii() and form.isalpha():
        return _new_stemmer().stemWord(form)
    return form


def _word_forms(word: str) -> Iterator[str]:
    """The whole of a word and its parts, folded, not stemmed; may repeat a form."""
    if word.isascii() and word.isalpha() and word.islower():
        yield _fold(word)
        return
    word = _NEGATION.sub("", _CLITIC.sub("", _strip_marks(word)))
    core = word.strip(".+#")
    if core != word:
        yield _fold(word)
    yield _fold_whole(core)
    if version := _VERSION.match(core):
        yield _fold_whole(core[version.end() :])
    pieces = _JOINER.split(core)
    if len(pieces) > 1:
        yield from map(_fold_whole, _OUTER_JOINER.split(core))
    for piece in pieces:
        yield _fold_whole(piece)
        for segment in piece.split("_"):
            yield from _segment_forms(segment)


def _segment_forms(segment: str) -> Iterator[str]:
    if not segment:
        return
    yield _fold(segment)
    if segment.isascii():
        parts = _PART.findall(segment)
        if 1 < len(parts) <= MAX_PARTS:
            yield from (part.lower() for part in parts if len(part) > 1)


def _strip_marks(word: str) -> str:
    """Drop the marks of Latin to Arabic letters; in Indic scripts marks spell."""
    if word.isascii():
        return word
    kept: list[str] = []
    foldable = False
    for char in unicodedata.normalize("NFKD", word):
        is_mark = unicodedata.category(char).startswith("M")
        if not is_mark:
            foldable = char < "\u0700"
        if not (is_mark and foldable):
            kept.append(char)
    return unicodedata.normalize("NFKC", "".join(kept))


def _fold_whole(word: str) -> str:
    return _fold(_DROPPED_JOINER.sub("", word))


def _fold(form: str) -> str:
    folded = form.casefold()
    if len(folded) <= MAX_TERM_CHARS:
        return folded
    digest = blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=16)
    return "#" + digest.hexdigest()
