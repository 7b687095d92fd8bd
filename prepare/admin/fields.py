"""Form fields: what a browser sends, turned into what the services take.

Browsers send every line break as CRLF, and Django's fields trim by default. NUL is
refused by the fields themselves; everything else is text.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import (
    AdminTextareaWidget,
    AdminTextInputWidget,
    AutocompleteSelect,
)
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from rest_framework.exceptions import ParseError

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.models import Artifact, Scope, Source
from prepare.parsers import parse_json
from prepare.services.artifacts import SourceRef
from prepare.services.identifiers import check_visible_ascii
from prepare.values import ArtifactRef


class LineField(forms.CharField):
    """One line, trimmed."""

    widget = AdminTextInputWidget


class BodyField(forms.CharField):
    """A text of any length, kept as typed, with LF line ends."""

    def __init__(self, *, rows: int = 6, **kwargs: Any) -> None:
        kwargs.setdefault("strip", False)
        widget = AdminTextareaWidget(attrs={"rows": rows, "dir": "auto"})
        super().__init__(widget=widget, **kwargs)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return text.replace("\r\n", "\n") if isinstance(text, str) else text


class IdentityField(LineField):
    """1 to 128 visible ASCII characters (contract B.3)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=limits.IDENTITY_CHARS, **kwargs)

    def clean(self, value: Any) -> Any:
        cleaned = super().clean(value)
        if cleaned:
            try:
                check_visible_ascii(cleaned)
            except InvalidRequest as error:
                raise ValidationError(error.violations[0].msg) from error
        return cleaned


class JSONTextField(BodyField):
    """Strict JSON (J-5) as text; cleans to the decoded value, or None if left empty."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            return parse_json(text.encode("utf-8", "surrogatepass"))
        except ParseError as error:
            raise ValidationError(f"Not accepted as JSON: {error.detail}") from error


_CONTROL = frozenset({"Cc", "Cf", "Zl", "Zp"})


def write_line(identity: str) -> str:
    """An identity as one line; as a JSON string where it would not survive as typed.

    A Scope id may hold a line feed or a bidi mark, which no text area can show.
    """
    plain = identity == identity.strip() and not identity.startswith('"')
    if plain and not any(unicodedata.category(char) in _CONTROL for char in identity):
        return identity
    return json.dumps(identity)


def read_line(line: str) -> str:
    if not line.startswith('"'):
        return line
    try:
        value = parse_json(line.encode("utf-8", "surrogatepass"))
    except ParseError as error:
        raise ValidationError("A line in quotes is not a JSON string.") from error
    if not isinstance(value, str) or "\0" in value:
        raise ValidationError("A line in quotes is not a JSON string.")
    return value


class LinesField(BodyField):
    """One identity per line, in order, none twice. Cleans to a list of strings."""

    def __init__(self, *, highest: int | None = None, **kwargs: Any) -> None:
        self.highest = highest
        super().__init__(rows=3, required=False, **kwargs)

    def clean(self, value: Any) -> list[str]:
        text = super().clean(value)
        lines = [read_line(line.strip()) for line in text.split("\n") if line.strip()]
        if self.highest is not None and len(lines) > self.highest:
            raise ValidationError(f"At most {self.highest} lines.")
        repeated = [line for line, times in Counter(lines).items() if times > 1]
        if repeated:
            raise ValidationError(f"Repeated: {', '.join(map(write_line, repeated))}")
        return lines

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return "\n".join(write_line(item) for item in value)
        return value


def find_missing(wanted: Sequence[str], found: Collection[str]) -> None:
    missing = [write_line(item) for item in wanted if item not in found]
    if missing:
        raise ValidationError(f"Not found: {', '.join(missing)}")


def find_source_refs(scope: Scope, lines: Sequence[str]) -> tuple[SourceRef, ...]:
    """Each line is a source id of this Scope, or `source_type/source_id`."""
    tails = [line.partition("/")[2] for line in lines]
    rows = list(Source.objects.filter(scope=scope, source_id__in=[*lines, *tails]))
    return tuple(_one_source(line, rows) for line in lines)


def _one_source(line: str, rows: Iterable[Source]) -> SourceRef:
    found = [
        row
        for row in rows
        if line in (row.source_id, f"{row.source_type}/{row.source_id}")
    ]
    if not found:
        raise ValidationError(f"The Scope has no Source {write_line(line)}.")
    if len(found) > 1:
        raise ValidationError(
            f"Several Sources are called {write_line(line)}: write type/id."
        )
    return SourceRef(source_type=found[0].source_type, source_id=found[0].source_id)


_REVISION = re.compile(r"([^/]+)/(.+)@([1-9][0-9]{0,9})")


def parse_revision(line: str) -> ArtifactRef:
    """`family/artifact_id@revision`, as these pages show revisions."""
    match = _REVISION.fullmatch(line)
    if match is None or int(match[3]) > limits.HIGHEST_REVISION:
        raise ValidationError(
            f"Write family/artifact_id@revision, not {write_line(line)}."
        )
    return ArtifactRef(family=match[1], artifact_id=match[2], revision=int(match[3]))


def is_key(text: object) -> bool:
    """Whether `text` can be a primary key; databases refuse larger numbers."""
    return (
        isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 19
    )


class ScopeSelect(AutocompleteSelect):
    """A searched choice of one Scope, for lists too long for a menu."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(Artifact._meta.get_field("scope"), admin.site, **kwargs)

    def optgroups(self, name: str, value: Sequence[str], attr: Any = None) -> Any:
        # Django looks up whatever was sent as a primary key and fails on a word.
        return super().optgroups(name, [key for key in value if is_key(key)], attr)


def scope_field(**kwargs: Any) -> "forms.ModelChoiceField[Scope]":
    return forms.ModelChoiceField(
        queryset=Scope.objects.all(),
        widget=ScopeSelect(),
        help_text="Search by the beginning of its id or title.",
        **kwargs,
    )


def initial_scope(request: HttpRequest) -> dict[str, int]:
    """The Scope that `?scope=` names by primary key, as a link of these pages does."""
    key = request.GET.get("scope", "")
    return {"scope": int(key)} if is_key(key) else {}
