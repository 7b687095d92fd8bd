"""One exact identity from what people paste: tolerant in form, strict in meaning. Pure.

Taken are the citation lines of a text block, and the JSON of a receipt's item, of the
envelope's item or citation, or of an exact read. What is pasted names one identity and
names it whole; nothing is guessed, and nothing is looked up here.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.services.checking import Citation, check_citation
from prepare.services.envelopes import read_citation
from prepare.values import ArtifactRef, Identity

Problem = Literal[
    "nothing_found",
    "several_found",
    "not_json",
    "code",
    "no_identity",  # no Artifact can be called that
    "entry_incomplete",
    "entry_of_other_family",
]

Json = Mapping[str, Any]

# A JSON string literal on one line, as `quote_identity` and other writers spell it.
_LITERAL = r'("(?:[^"\\\n]|\\.)*")'
# No part of a pattern spans lines: a megabyte of blank ones stays cheap.
_START, _END = r"^[ \t>]*", r"[ \t\r]*$"
_SCOPE = re.compile(rf"{_START}Scope: *{_LITERAL}{_END}", re.MULTILINE)
_ARTIFACT = re.compile(
    rf"{_START}Artifact: *family={_LITERAL}, *id={_LITERAL},"
    rf" *revision=([0-9]{{1,10}}){_END}",
    re.MULTILINE,
)
_ENTRY = re.compile(
    rf"{_START}Entry: *id={_LITERAL}, *version={_LITERAL}{_END}", re.MULTILINE
)
_REFERENCE_KEYS = {"family", "artifact_id", "revision"}
_ENTRY_KEYS = {"artifact", "entry_id", "entry_version_id"}


class CitationRefused(Exception):
    """What was pasted names no identity; `problem` is a closed word."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem)


def read_identity(pasted: str, *, scope_id: str) -> Identity:
    """The one identity that is cited; `scope_id` is the Scope of the request, which a
    short citation means (G.4). Raises `CitationRefused`."""
    is_json = pasted.lstrip().startswith(("{", '"', "["))
    citation = _read_json(pasted) if is_json else _read_lines(pasted)
    return as_identity(citation, scope_id=scope_id)


def as_identity(citation: Citation, *, scope_id: str) -> Identity:
    """Within the bounds of contract B.3, with an entry where one belongs."""
    identity = citation.identity(citation.scope_id or scope_id)
    try:
        check_citation(
            Citation(
                scope_id=identity.scope_id,
                artifact=identity.artifact,
                entry_id=identity.entry_id,
                entry_version_id=identity.entry_version_id,
            )
        )
    except InvalidRequest:
        raise CitationRefused("no_identity") from None
    if (identity.entry_id is None) != (identity.entry_version_id is None):
        raise CitationRefused("entry_incomplete")
    is_collection = identity.artifact.family == limits.MEMORY_COLLECTION
    if identity.entry_id is not None and not is_collection:
        raise CitationRefused("entry_of_other_family")
    return identity


def _read_lines(pasted: str) -> Citation:
    """`Scope:`, `Artifact:` and, of a collection, `Entry:`; other lines are ignored."""
    scopes, artifacts = _SCOPE.findall(pasted), _ARTIFACT.findall(pasted)
    entries = _ENTRY.findall(pasted)
    if max(len(scopes), len(artifacts), len(entries)) > 1:
        raise CitationRefused("several_found")
    if not artifacts:
        raise CitationRefused("nothing_found")
    family, artifact_id, revision = artifacts[0]
    entry_id, version_id = entries[0] if entries else (None, None)
    return Citation(
        scope_id=_unquote(scopes[0]) if scopes else None,
        artifact=ArtifactRef(
            family=_unquote(family),
            artifact_id=_unquote(artifact_id),
            revision=int(revision),
        ),
        entry_id=None if entry_id is None else _unquote(entry_id),
        entry_version_id=None if version_id is None else _unquote(version_id),
    )


def _unquote(literal: str) -> str:
    try:
        value = json.loads(literal)
    except ValueError:
        raise CitationRefused("not_json") from None
    return str(value)


def _read_json(pasted: str) -> Citation:
    """An object, or the line of a larger one that holds it (`"citation": {...},`)."""
    start = max(pasted.find("{"), 0)
    try:
        value, end = json.JSONDecoder(object_pairs_hook=_once).raw_decode(pasted, start)
    except (ValueError, RecursionError):
        raise CitationRefused("not_json") from None
    if pasted[end:].strip(" \t\r\n,]}"):
        raise CitationRefused("several_found")
    if not isinstance(value, dict):
        raise CitationRefused("nothing_found")
    return _read_object(value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two values for one key would be two meanings (J-5)."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is repeated")
    return found


def _read_object(value: Json) -> Citation:
    if "code_evidence" in value:
        raise CitationRefused("code")
    citation = read_citation(_citation_of(value))
    if citation is None:
        raise CitationRefused("nothing_found")
    scope_id = value.get("scope_id")
    if citation.scope_id is None and isinstance(scope_id, str):
        return replace(citation, scope_id=scope_id)
    return citation


def _citation_of(value: Json) -> object:
    """The part of one of our documents that cites, in a form of the envelope (G.4)."""
    if "artifact_address" in value:  # an item of a receipt
        return {"artifact": value["artifact_address"]}
    if "citation" in value:  # an item of the envelope, or the request of a read
        return value["citation"]
    if value.keys() >= _REFERENCE_KEYS:  # a reference, or the answer of a read
        return {"artifact_ref": {key: value[key] for key in _REFERENCE_KEYS}}
    if value.keys() >= _ENTRY_KEYS:  # the answer of a read of an entry
        entry = {key: value[key] for key in ("entry_id", "entry_version_id")}
        return {"memory_ref": value["artifact"], **entry}
    if value.keys() >= {"scope_id", "artifact"}:  # an address
        return {"artifact": {key: value[key] for key in ("scope_id", "artifact")}}
    return dict(value)
