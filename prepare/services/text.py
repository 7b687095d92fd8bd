"""Characters and bytes: escaping of untrusted text and the longest fitting prefix.

Pure. RFC 1489 "standard text", contract A.4 and G.2. Sizes are UTF-8 bytes.
"""

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prepare import limits

ELLIPSIS_BYTES = len(limits.ELLIPSIS.encode())

# A body line in the text form is shown as code inside a quote; a line without the
# prefix, even an empty one, would end the quote.
BODY_PREFIX = ">     "

_NEWLINES = re.compile("\r\n|[\r\u2028\u2029]")


def _find_invisible() -> str:
    """Every Cc and Cf character but LF, as one regular-expression class (J-7)."""
    points = (chr(point) for point in range(sys.maxunicode + 1))
    return "".join(
        re.escape(character)
        for character in points
        if unicodedata.category(character) in ("Cc", "Cf") and character != "\n"
    )


_INVISIBLE = re.compile(f"[{_find_invisible()}]")


def _escape_invisible(match: re.Match[str]) -> str:
    point = ord(match.group())
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def normalize_newlines(body: str) -> str:
    """CRLF, CR, U+2028 and U+2029 become LF. U+0085 does not: it is Cc (A-138)."""
    return _NEWLINES.sub("\n", body)


def escape_body(body: str) -> str:
    r"""The body as it is shown: newlines normalized, Cc and Cf visible (A-138..A-140).

    `"a\tb"` becomes `a\u0009b`. A text that already holds `\u0009` literally stays as
    it is: the stored revision, not this rendering, is what a machine reads.
    """
    return _INVISIBLE.sub(_escape_invisible, normalize_newlines(body))


def escape_unit(character: str) -> str:
    """One character of a newline-normalized body as `escape_body` shows it."""
    return _INVISIBLE.sub(_escape_invisible, character)


def quote_identity(value: str) -> str:
    """An identity as a one-line ASCII JSON literal; it can open no line (A-135, J-6).

    `ensure_ascii=False` would leave U+0085, U+2028 and bidi controls raw.
    """
    return json.dumps(value, ensure_ascii=True)


_LEGACY_LINE_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def dump_legacy(value: object) -> str:
    """Compact JSON, non-ASCII raw, on one line for every reader (contract G.2)."""
    raw = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return raw.translate(_LEGACY_LINE_BREAKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What truncation never splits: `shown` is one character or one whole escape.

    `body_bytes` counts against the bound of one body, `output_bytes` against the
    document (prefixes and JSON escapes included).
    """

    shown: str
    body_bytes: int
    output_bytes: int


def text_unit(character: str) -> Unit:
    shown = escape_unit(character)
    size = len(shown.encode())
    extra = len(BODY_PREFIX) if character == "\n" else 0
    return Unit(shown=shown, body_bytes=size, output_bytes=size + extra)


def legacy_unit(character: str) -> Unit:
    escaped = len(dump_legacy(character).encode()) - 2
    size = len(character.encode())
    return Unit(shown=character, body_bytes=size, output_bytes=escaped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """A truncated body, ellipsis included."""

    shown: str
    body_bytes: int
    output_bytes: int


def longest_prefix(
    body: str,
    as_unit: Callable[[str], Unit],
    *,
    output_budget: int,
    body_budget: int = limits.BODY_BYTES,
) -> Prefix | None:
    """The longest proper prefix of `body` plus the ellipsis that meets both bounds.

    None if not even a lone ellipsis fits `output_budget` (contract A.4 budget step 3).
    Costs one pass over the units that fit, whatever the length of the body.
    """
    body_room = body_budget - ELLIPSIS_BYTES
    output_room = output_budget - ELLIPSIS_BYTES
    if output_room < 0:
        return None
    shown: list[str] = []
    body_bytes = output_bytes = 0
    for unit in _units(body[:-1], as_unit):
        if (
            body_bytes + unit.body_bytes > body_room
            or output_bytes + unit.output_bytes > output_room
        ):
            break
        body_bytes += unit.body_bytes
        output_bytes += unit.output_bytes
        shown.append(unit.shown)
    return Prefix(
        shown="".join(shown) + limits.ELLIPSIS,
        body_bytes=body_bytes + ELLIPSIS_BYTES,
        output_bytes=output_bytes + ELLIPSIS_BYTES,
    )


def _units(body: str, as_unit: Callable[[str], Unit]) -> Iterable[Unit]:
    """Units one by one, each distinct character measured once per body."""
    seen: dict[str, Unit] = {}
    for character in body:
        unit = seen.get(character)
        if unit is None:
            unit = seen[character] = as_unit(character)
        yield unit
