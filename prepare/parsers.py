"""Strict JSON (J-5): what it accepts means one thing, and nothing it gets is a 500."""

import json
import math
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

MAX_DEPTH = 64
_MAX_INTEGER_DIGITS = 20  # beyond any bound here; Python refuses 4,300 digits by itself


class StrictJSONParser(BaseParser):
    """One JSON value, UTF-8, no repeated keys, no NaN, no lone surrogates."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        raw = stream.read(settings.MAX_BODY_BYTES + 1)
        if len(raw) > settings.MAX_BODY_BYTES:
            raise RequestDataTooBig
        return parse_json(raw)


def parse_json(raw: bytes) -> Any:
    """Decode `raw`; raises `ParseError` with a reason that quotes nothing of it."""
    try:
        text = raw.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            parse_int=_bounded_integer,
        )
    except UnicodeDecodeError:
        raise ParseError("The body is not UTF-8.") from None
    except json.JSONDecodeError:
        raise ParseError("The body is not valid JSON.") from None
    except RecursionError:
        raise ParseError("The body is nested too deeply.") from None
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(value)
    if "\\u" in text:
        _check_surrogates(value)
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ParseError("An object repeats a key.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ParseError("NaN and Infinity are not JSON.")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ParseError("A number is out of range.")
    return value


def _bounded_integer(digits: str) -> int:
    if len(digits) > _MAX_INTEGER_DIGITS:
        raise ParseError("A number is out of range.")
    return int(digits)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise ParseError("The body is nested too deeply.")


def _check_surrogates(value: Any) -> None:
    """A lone surrogate escape is legal JSON but no text; UTF-8 cannot carry it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ParseError("A string holds a lone surrogate.") from None
