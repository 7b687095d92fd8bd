"""Stored content as labelled parts, and citations as lines to copy. Pure.

Nothing here fails on content that our writer would not have stored: it is shown as it
is.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from prepare.services.rendering import metadata_block
from prepare.values import Assembly, Identity

# In the order they are written; everything else follows by name.
_READING_ORDER = (
    "title",
    "kind",
    "mode",
    "summary",
    "situation",
    "action",
    "outcome",
    "lesson",
    "failure.signature.recall_cue",
    "failure.signature.symptom",
    "failure.repair_surface",
    "failure.verification.condition",
    "failure.verification.check_subject",
    "text",
    "instructions",
    "demonstrations",
    "detail",
    "content",
)
_SHORT = frozenset({"title", "kind", "mode", "failure.repair_surface"})
# Fixed words of the format itself, and what the page shows in a list of its own.
_LEFT_OUT = frozenset({"schema", "schema_version", "media_type", "entries"})
_SHORT_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`name` is the path of the value, `number` its place among several of the name;
    `form` is how it is shown."""

    name: str
    text: str
    form: Literal["short", "body", "json"]
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """`parts` of a readable content; else `raw`, the stored text itself."""

    parts: tuple[Part, ...] = ()
    raw: str | None = None
    stored_bytes: int = 0

    @property
    def short_parts(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.form == "short")

    @property
    def long_parts(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.form != "short")


def read_content(stored: str) -> Content:
    """The parts of an artifact's stored JSON, whatever its family."""
    size = len(stored.encode("utf-8", "surrogatepass"))
    try:
        value = json.loads(stored)
    except (ValueError, RecursionError):
        return Content(raw=stored, stored_bytes=size)
    if not isinstance(value, dict):
        return Content(raw=stored, stored_bytes=size)
    parts = sorted(_read_parts(value), key=_reading_place)
    return Content(parts=tuple(parts), stored_bytes=size)


def _reading_place(part: Part) -> int:
    known = part.name in _READING_ORDER
    return _READING_ORDER.index(part.name) if known else len(_READING_ORDER)


def _read_parts(value: dict[str, Any]) -> Iterator[Part]:
    """Texts that are nested in other values are parts of their own."""
    for key, item in value.items():
        if key == "failure" and isinstance(item, dict):
            yield from _failure_parts(item)
        elif key == "demonstrations" and isinstance(item, list):
            yield from _demonstration_parts(item)
        elif key not in _LEFT_OUT:
            yield _part(key, item)


def _failure_parts(failure: dict[str, Any]) -> Iterator[Part]:
    for name, inner in failure.items():
        if isinstance(inner, dict):
            for last, text in inner.items():
                yield _part(f"failure.{name}.{last}", text)
        else:
            yield _part(f"failure.{name}", inner)


def _demonstration_parts(demonstrations: list[Any]) -> Iterator[Part]:
    for number, one in enumerate(demonstrations, start=1):
        if isinstance(one, dict):
            for name in sorted(one, reverse=True):  # input, then expected_output
                yield _part(f"demonstrations.{name}", one[name], number)
        else:
            yield _part("demonstrations", one, number)


def _part(name: str, value: Any, number: int | None = None) -> Part:
    if not isinstance(value, str):
        return Part(name=name, text=as_json(value), form="json", number=number)
    is_short = name in _SHORT and len(value) <= _SHORT_CHARS and "\n" not in value
    return Part(
        name=name, text=value, form="short" if is_short else "body", number=number
    )


def read_source_content(stored: str) -> Content:
    """A Source is any JSON value; a text is shown as that text."""
    size = len(stored.encode("utf-8", "surrogatepass"))
    try:
        value = json.loads(stored)
    except (ValueError, RecursionError):
        return Content(raw=stored, stored_bytes=size)
    if isinstance(value, str):
        return Content(
            parts=(Part(name="content", text=value, form="body"),), stored_bytes=size
        )
    part = Part(name="content", text=as_json(value), form="json")
    return Content(parts=(part,), stored_bytes=size)


def read_metadata(stored: str) -> str | None:
    """Metadata of a Source for reading, None if there is none."""
    try:
        value = json.loads(stored)
    except (ValueError, RecursionError):
        return stored
    return as_json(value) if value else None


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def citation_lines(identity: Identity) -> str:
    """The lines that cite this in a prepared text, without their indent."""
    block = metadata_block(
        identity, assembly=Assembly(sections=()), recall_rank=0, truncated=False
    )
    lines = [line.removeprefix("    ") for line in block.split("\n")]
    return "\n".join(line for line in lines if not line.startswith("Truncated:"))
