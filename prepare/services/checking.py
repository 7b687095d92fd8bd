"""Hold a receipt against its published schema, and against the injected bytes. Pure.

The schema is `openapi/receipt.schema.json`, the file that clients get: one description
of a receipt, and none beside it that may differ. Nothing is looked for inside the
content: where it came from is what the receipt says (RFC 1435, contract A.8-A.12).
"""

import hashlib
import json
import math
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from prepare import limits
from prepare.compactjson import dump_compact
from prepare.errors import InvalidRequest, Violation
from prepare.services.identifiers import check_name, check_visible_ascii
from prepare.values import (
    ArtifactRef,
    CodeIdentity,
    Identity,
)
from prepare.wirereader import REPORTED_VIOLATIONS

SCHEMA_FILE = Path(__file__).parents[2] / "openapi" / "receipt.schema.json"

# What files and logs add to a text that came without it, and how to take it back.
_STORAGE_CHANGES = (
    ("a byte order mark", rb"\A\xef\xbb\xbf", b""),
    ("CR in its line ends", rb"\r\n", b"\n"),
    ("one line feed at its end", rb"\n\Z", b""),
)

Json = Mapping[str, Any]
Loc = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """What a receipt or a text names; `scope_id` None is "the Scope of the request",
    as the short citations of the JSON envelope say it (contract G.4)."""

    scope_id: str | None
    artifact: ArtifactRef
    entry_id: str | None = None
    entry_version_id: str | None = None

    def identity(self, scope_id: str) -> Identity:
        return Identity(
            scope_id=scope_id,
            artifact=self.artifact,
            entry_id=self.entry_id,
            entry_version_id=self.entry_version_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One number or digest of the receipt beside the one recomputed."""

    name: str
    expected: str | int | None
    actual: str | int | None

    @property
    def outcome(self) -> str:
        return "match" if self.expected == self.actual else "mismatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentCheck:
    """`problems` are contradictions inside the receipt; `notes` explain a mismatch."""

    checks: tuple[Check, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    citations: tuple[Citation | CodeIdentity, ...]


def check_content(content: bytes | None, receipt: Json) -> ContentCheck:
    """Recompute what the receipt says about the injected bytes (R-028, R-030).

    `content` is empty for a response of status `empty`, None if it is not at hand: then
    there are no checks. Raises `InvalidRequest` with the violations if this is not a
    receipt of our policy.
    """
    check_receipt(receipt)
    checks, notes = _compare(content, receipt)
    return ContentCheck(
        checks=checks,
        problems=tuple(_contradictions(receipt)),
        notes=notes,
        citations=tuple(_citation(item) for item in receipt["selected"]),
    )


def _compare(
    content: bytes | None, receipt: Json
) -> tuple[tuple[Check, ...], tuple[str, ...]]:
    """The checks, and what explains a mismatch."""
    if content is None:
        return (), ()
    expected = receipt["content_digest"]
    checks = (
        Check(name="content_digest", expected=expected, actual=_digest(content)),
        Check(
            name="content_bytes", expected=receipt["used_bytes"], actual=len(content)
        ),
    )
    is_equal = all(check.outcome == "match" for check in checks)
    return checks, () if is_equal else tuple(_explain_mismatch(content, expected))


def _digest(content: bytes) -> str | None:
    return f"sha256:{hashlib.sha256(content).hexdigest()}" if content else None


def _explain_mismatch(content: bytes, expected: str | None) -> Iterator[str]:
    """Which usual changes in storage explain the difference, if any do."""
    done = []
    for what, found, instead in _STORAGE_CHANGES:
        repaired = re.sub(found, instead, content)
        if repaired != content:
            content = repaired
            done.append(what)
    if done and _digest(content) == expected:
        what = " and ".join(done)
        yield f"without {what} the content matches: what stored it added that"


def check_receipt(receipt: object) -> None:
    """Schema, size and identities (R-036, R-180); raises `InvalidRequest`.

    Some megabytes may break the schema in each place; nobody reads beyond the first.
    """
    found = _violations(_schema(), receipt, ("receipt",))
    violations = list(islice(found, REPORTED_VIOLATIONS))
    if not violations and isinstance(receipt, Mapping):
        violations = list(_bound_violations(receipt))
    if violations:
        raise InvalidRequest(violations, message="This is not a receipt.")


@cache
def _schema() -> Json:
    schema: Json = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return schema


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)  # type: ignore[arg-type]


_TYPES: dict[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
    "null": lambda value: value is None,
}


def _violations(schema: Json, value: object, loc: Loc) -> Iterator[Violation]:
    """The keywords that our schema uses; a test fails if it ever uses another."""
    if "$ref" in schema:
        schema = _schema()["$defs"][schema["$ref"].rpartition("/")[2]]
    if "oneOf" in schema:
        found = [
            list(islice(_violations(option, value, loc), REPORTED_VIOLATIONS))
            for option in schema["oneOf"]
        ]
        if all(found):
            yield from min(found, key=len)  # of the form that it is most like
        return
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_TYPES[name](value) for name in types):
        yield _violation(loc, f"should be {' or '.join(types)}")
    elif isinstance(value, Mapping):
        yield from _object_violations(schema, value, loc)
    elif isinstance(value, list):
        yield from _array_violations(schema, value, loc)
    elif value is not None:
        yield from _scalar_violations(schema, value, loc)


def _object_violations(schema: Json, value: Json, loc: Loc) -> Iterator[Violation]:
    properties = schema["properties"]
    for name in schema.get("required", ()):
        if name not in value:
            yield _violation((*loc, name), "is missing")
    for name, item in value.items():
        if name not in properties:
            yield _violation(loc, "has an unknown key")
        else:
            yield from _violations(properties[name], item, (*loc, name))


def _array_violations(schema: Json, value: list[Any], loc: Loc) -> Iterator[Violation]:
    if len(value) > schema["maxItems"]:
        yield _violation(loc, f"holds more than {schema['maxItems']} items")
    for index, item in enumerate(value):
        yield from _violations(schema["items"], item, (*loc, index))


def _scalar_violations(schema: Json, value: Any, loc: Loc) -> Iterator[Violation]:
    if "enum" in schema and value not in schema["enum"]:
        yield _violation(loc, "is not in the closed list")
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        yield _violation(loc, "does not have its fixed form")
    if schema.get("format") == "uuid" and not _is_uuid(value):
        yield _violation(loc, "should be a UUID")
    if "minimum" in schema and value < schema["minimum"]:
        yield _violation(loc, f"is below {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        yield _violation(loc, f"is above {schema['maximum']}")


def _is_uuid(value: str) -> bool:
    try:
        return str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


def _violation(loc: Loc, msg: str) -> Violation:
    return Violation(type="receipt", loc=loc, msg=msg)


def _bound_violations(receipt: Json) -> Iterator[Violation]:
    """What the schema cannot say: bytes, and identities that can exist."""
    try:
        size = len(dump_compact(dict(receipt)))
    except UnicodeEncodeError:
        yield _violation(("receipt",), "holds a lone surrogate")
        return
    if size > limits.RECEIPT_BYTES:
        yield _violation(("receipt",), f"has more than {limits.RECEIPT_BYTES} bytes")
    for index, item in enumerate(receipt["selected"]):
        loc = ("receipt", "selected", index)
        if "code_evidence" in item:
            continue
        if item["artifact_address"]["artifact"]["family"] != item["kind"]:
            yield _violation(loc, "has a kind and a family that differ")
        try:
            check_citation(_artifact_citation(item["artifact_address"]))
        except InvalidRequest:
            yield _violation(loc, "has an identity outside the bounds of identities")


def check_citation(citation: Citation) -> None:
    """Bounds of contract B.3; whatever passes may be looked up on every database.

    Raises `InvalidRequest`.
    """
    artifact = citation.artifact
    if citation.scope_id is not None:
        check_name(citation.scope_id, limits.SCOPE_ID_CHARS, "scope_id")
        if not citation.scope_id.isascii():
            _check_encodable(citation.scope_id)
    check_visible_ascii(artifact.family, "family")
    check_visible_ascii(artifact.artifact_id, "artifact_id")
    for value in (citation.entry_id, citation.entry_version_id):
        if value is not None:
            check_visible_ascii(value, "entry")
    if not 1 <= artifact.revision <= limits.HIGHEST_REVISION:
        raise InvalidRequest([_violation(("body", "revision"), "is out of range")])


def _check_encodable(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        violation = _violation(("body", "scope_id"), "holds a lone surrogate")
        raise InvalidRequest([violation]) from None


def _citation(item: Json) -> Citation | CodeIdentity:
    if "code_evidence" in item:
        return CodeIdentity(**item["code_evidence"])
    return _artifact_citation(item["artifact_address"])


def _artifact_citation(address: Json) -> Citation:
    return Citation(
        scope_id=address["scope_id"], artifact=ArtifactRef(**address["artifact"])
    )


def _contradictions(receipt: Json) -> Iterator[str]:
    """Statements of one receipt that cannot all be true."""
    selected = receipt["selected"]
    retrieval = receipt["retrieval"]
    citations = [_citation(item) for item in selected]
    if len(set(citations)) != len(citations):
        yield "selected names one identity twice"
    is_empty = receipt["content_digest"] is None
    if is_empty != (receipt["used_bytes"] == 0) or is_empty != (not selected):
        yield "content_digest, used_bytes and selected disagree about being empty"
    if receipt["used_bytes"] > receipt["requested_max_bytes"]:
        yield "used_bytes is above requested_max_bytes"
    if sum(item["rendered_bytes"] for item in selected) > receipt["used_bytes"]:
        yield "the items have more rendered_bytes than used_bytes"
    if receipt["truncated"] != any(item["truncated"] for item in selected):
        yield "truncated disagrees with the items"
    configs = [config["config_id"] for config in retrieval["rerank_configs"]]
    if sorted(set(configs)) != sorted(
        {one["config_id"] for one in retrieval["reranks"]}
    ):
        yield "rerank_configs and reranks name different configurations"
    if len(set(configs)) != len(configs):
        yield "rerank_configs holds a configuration twice"
    is_random = any(one["non_deterministic"] for one in retrieval["rerank_configs"])
    if is_random and not receipt["non_deterministic"]:
        yield "non_deterministic disagrees with rerank_configs"
