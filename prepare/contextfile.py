"""Files of context: JSON Lines, as the commands and the admin read and write them."""

from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import count
from typing import Any, BinaryIO

from django.conf import settings
from rest_framework.exceptions import ParseError

from prepare.errors import InvalidRequest
from prepare.parsers import parse_json
from prepare.services.importing import NumberedLine, RefusedLine
from prepare.services.lines import Line
from prepare.services.text import dump_legacy

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def format_line(line: Line) -> str:
    """ASCII: raw U+0085 or U+2028 would end the line for some readers."""
    return dump_legacy(line.as_json()) + "\n"


class ContextFile:
    """The lines of a file, from the first one each time: a write may run twice.

    What cannot be read again, a pipe, is held in memory. `report` is called with the
    number of bytes read. Iterating raises `RefusedLine`.
    """

    def __init__(
        self, file: BinaryIO, report: Callable[[int], object] = lambda _: None
    ) -> None:
        self._file = file if file.seekable() else BytesIO(file.read())
        self._report = report

    def __iter__(self) -> Iterator[NumberedLine]:
        self._file.seek(0)
        return read_lines(self._file, self._report)


def read_lines(
    file: BinaryIO, report: Callable[[int], object] = lambda _: None
) -> Iterator[NumberedLine]:
    """Decode line by line, blank ones skipped; raises `RefusedLine`.

    Lines end with LF only, so that U+2028 or CR inside a text ends none. `report` is
    called with the number of bytes read.
    """
    longest = 2 * settings.MAX_BODY_BYTES
    for number in count(1):
        raw = file.readline(longest + 1)
        if not raw:
            return
        report(len(raw))
        if len(raw) > longest:
            cause = InvalidRequest(message=f"is longer than {longest} bytes")
            raise RefusedLine(number, cause)
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        if raw.strip():
            yield NumberedLine(number=number, data=_decode(number, raw))


def _decode(number: int, raw: bytes) -> Any:
    try:
        return parse_json(raw)
    except ParseError as error:
        reason = str(error.detail).replace("The body", "The line")
        raise RefusedLine(number, InvalidRequest(message=reason)) from None
