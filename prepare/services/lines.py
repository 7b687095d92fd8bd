"""The lines of a context file, from JSON to typed values and back (design section 4).

One JSON object per line; what it describes is stored under the ids it names. Reading is
strict: unknown keys and wrong JSON types are refused (J-5). What a content may hold is
for the writer to check. Keys with a default are left out when written.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.services.artifacts import Lineage, SourceRef
from prepare.services.candidates import Proposal
from prepare.services.collections import EntryChange
from prepare.services.jsonobject import JsonObject
from prepare.services.scopes import ExternalReference, ScopeFields
from prepare.services.sources import SourceContent
from prepare.values import ArtifactRef

Json = dict[str, Any]

STATES = ("active", "forgotten", "retired", "merged")
# An approved Candidate is the artifact it became.
CANDIDATE_STATUSES = ("pending", "rejected")
AUTHOR_CHARS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """When, by whom and why something was written, as far as the file says."""

    created_at: datetime | None = None
    created_by: str = ""
    reason: str = ""
    restored_from_revision: int | None = None

    def as_json(self) -> Json:
        return _without_defaults(
            created_at=self.created_at and write_moment(self.created_at),
            created_by=self.created_by,
            reason=self.reason,
            restored_from_revision=self.restored_from_revision,
        )


NO_ORIGIN = Origin()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeLine:
    scope_id: str
    fields: ScopeFields
    created_at: datetime | None = None

    def as_json(self) -> Json:
        fields = self.fields
        return {
            "type": "scope",
            "scope_id": self.scope_id,
            "title": fields.title,
            "summary": fields.summary,
        } | _without_defaults(
            parent_scope_id=fields.parent_scope_id,
            context_references=list(fields.context_references),
            external_references=fields.external_json(),
            created_at=self.created_at and write_moment(self.created_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    scope_id: str
    source_type: str
    source_id: str
    source: SourceContent
    created_at: datetime | None = None

    def as_json(self) -> Json:
        return {
            "type": "source",
            "scope_id": self.scope_id,
            "source_type": self.source_type,
            "source_id": self.source_id,
            "content": self.source.content,
        } | _without_defaults(
            metadata=self.source.metadata,
            created_at=self.created_at and write_moment(self.created_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactLine:
    """One revision. `state` None leaves the head's state as it is."""

    scope_id: str
    artifact: ArtifactRef
    content: Json
    lineage: Lineage
    state: str | None = None
    merged_into: str | None = None
    origin: Origin = NO_ORIGIN

    def as_json(self) -> Json:
        return (
            {"type": "artifact", "scope_id": self.scope_id}
            | _artifact_json(self.artifact)
            | {"content": self.content}
            | _lineage_json(self.lineage)
            | _without_defaults(state=self.state, merged_into=self.merged_into)
            | self.origin.as_json()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLine:
    """One entry that a collection revision adds or changes."""

    scope_id: str
    artifact_id: str
    revision: int
    entry: EntryChange
    origin: Origin = NO_ORIGIN

    def as_json(self) -> Json:
        return {
            "type": "memory_entry",
            "scope_id": self.scope_id,
            "artifact_id": self.artifact_id,
            "revision": self.revision,
            "entry_id": self.entry.entry_id,
            "entry_version_id": self.entry.entry_version_id,
            "kind": self.entry.kind,
            "text": self.entry.text,
            **({} if self.entry.active else {"state": "inactive"}),
        } | self.origin.as_json()


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateLine:
    """A proposal under review. Its id and version are made anew (contract C.7)."""

    scope_id: str
    proposal: Proposal
    status: str = "pending"
    decision_reason: str = ""
    created_at: datetime | None = None

    def as_json(self) -> Json:
        proposal = self.proposal
        return (
            {
                "type": "candidate",
                "scope_id": self.scope_id,
                "family": proposal.family,
                "content": dict(proposal.content),
            }
            | _lineage_json(proposal.lineage)
            | _without_defaults(
                target=proposal.target and _artifact_json(proposal.target),
                reason=proposal.reason,
                status=None if self.status == "pending" else self.status,
                decision_reason=self.decision_reason,
                created_at=self.created_at and write_moment(self.created_at),
            )
        )


Line = ScopeLine | SourceLine | ArtifactLine | EntryLine | CandidateLine


def parse_line(data: object) -> Line:
    """The value of one decoded line; raises `InvalidRequest` saying what is wrong."""
    if not isinstance(data, Mapping):
        raise InvalidRequest(message="should be a JSON object")
    name = data.get("type")
    parse = _PARSERS.get(name) if isinstance(name, str) else None
    if parse is None:
        raise InvalidRequest(message=f"type: should be one of {', '.join(_PARSERS)}")
    return parse(data)


def write_moment(moment: datetime) -> str:
    """ISO 8601 in UTC with a final Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _without_defaults(**values: Any) -> Json:
    return {name: value for name, value in values.items() if value}


def _artifact_json(artifact: ArtifactRef) -> Json:
    return {
        "family": artifact.family,
        "artifact_id": artifact.artifact_id,
        "revision": artifact.revision,
    }


def _lineage_json(lineage: Lineage) -> Json:
    return _without_defaults(
        sources=[
            {"source_type": item.source_type, "source_id": item.source_id}
            for item in lineage.sources
        ],
        artifacts=[_artifact_json(item) for item in lineage.artifacts],
    )


_LINEAGE_KEYS = ("sources", "artifacts")
_ORIGIN_KEYS = ("created_at", "created_by", "reason", "restored_from_revision")
_ARTIFACT_KEYS = ("family", "artifact_id", "revision")


def _origin(fields: JsonObject) -> Origin:
    restored = fields.data.get("restored_from_revision")
    return Origin(
        created_at=fields.moment("created_at"),
        created_by=fields.optional_text("created_by", AUTHOR_CHARS) or "",
        reason=fields.optional_text("reason") or "",
        restored_from_revision=None
        if restored is None
        else fields.revision("restored_from_revision"),
    )


def _artifact(fields: JsonObject) -> ArtifactRef:
    return ArtifactRef(
        family=fields.text("family"),
        artifact_id=fields.text("artifact_id"),
        revision=fields.revision("revision"),
    )


def _lineage(fields: JsonObject) -> Lineage:
    return Lineage(
        sources=tuple(
            SourceRef(
                source_type=item.text("source_type"), source_id=item.text("source_id")
            )
            for item in fields.objects("sources", ("source_type", "source_id"))
        ),
        artifacts=tuple(
            _artifact(item) for item in fields.objects("artifacts", _ARTIFACT_KEYS)
        ),
    )


def _parse_scope(data: Mapping[str, Any]) -> ScopeLine:
    fields = JsonObject(
        data,
        ("type", "scope_id", "title", "summary"),
        ("parent_scope_id", "context_references", "external_references", "created_at"),
    )
    return ScopeLine(
        scope_id=fields.text("scope_id"),
        fields=ScopeFields(
            title=fields.trimmed("title", limits.TITLE_CHARS),
            summary=fields.trimmed("summary", limits.SUMMARY_CHARS),
            parent_scope_id=fields.optional_text("parent_scope_id"),
            context_references=fields.texts("context_references"),
            external_references=tuple(
                ExternalReference(
                    kind=item.trimmed("kind", limits.REFERENCE_KIND_CHARS),
                    value=item.trimmed("value", limits.REFERENCE_VALUE_CHARS),
                )
                for item in fields.objects("external_references", ("kind", "value"))
            ),
        ),
        created_at=fields.moment("created_at"),
    )


def _parse_source(data: Mapping[str, Any]) -> SourceLine:
    fields = JsonObject(
        data,
        ("type", "scope_id", "source_type", "source_id", "content"),
        ("metadata", "created_at"),
    )
    has_metadata = fields.data.get("metadata") is not None
    source_type, source_id = fields.text("source_type"), fields.text("source_id")
    return SourceLine(
        scope_id=fields.text("scope_id"),
        source_type=source_type,
        source_id=source_id,
        source=SourceContent(
            source_type=source_type,
            source_id=source_id,
            content=fields.data["content"],
            metadata=fields.object("metadata") if has_metadata else None,
        ),
        created_at=fields.moment("created_at"),
    )


def _parse_artifact(data: Mapping[str, Any]) -> ArtifactLine:
    fields = JsonObject(
        data,
        ("type", "scope_id", *_ARTIFACT_KEYS, "content"),
        (*_LINEAGE_KEYS, "state", "merged_into", *_ORIGIN_KEYS),
    )
    state = fields.choice("state", STATES)
    merged_into = fields.optional_text("merged_into")
    if (state == "merged") != (merged_into is not None):
        raise fields.refused("merged_into", "goes with state merged, and only with it")
    return ArtifactLine(
        scope_id=fields.text("scope_id"),
        artifact=_artifact(fields),
        content=fields.object("content"),
        lineage=_lineage(fields),
        state=state,
        merged_into=merged_into,
        origin=_origin(fields),
    )


def _parse_entry(data: Mapping[str, Any]) -> EntryLine:
    names = ("scope_id", "artifact_id", "entry_id", "entry_version_id", "kind", "text")
    fields = JsonObject(data, ("type", "revision", *names), ("state", *_ORIGIN_KEYS))
    return EntryLine(
        scope_id=fields.text("scope_id"),
        artifact_id=fields.text("artifact_id"),
        revision=fields.revision("revision"),
        entry=EntryChange(
            entry_id=fields.text("entry_id"),
            entry_version_id=fields.text("entry_version_id"),
            kind=fields.text("kind"),
            text=fields.text("text"),
            active=fields.choice("state", ("active", "inactive")) != "inactive",
        ),
        origin=_origin(fields),
    )


def _parse_candidate(data: Mapping[str, Any]) -> CandidateLine:
    fields = JsonObject(
        data,
        ("type", "scope_id", "family", "content"),
        (*_LINEAGE_KEYS, "target", "reason", "status", "decision_reason", "created_at"),
    )
    target = fields.data.get("target")
    return CandidateLine(
        scope_id=fields.text("scope_id"),
        proposal=Proposal(
            family=fields.text("family"),
            content=fields.object("content"),
            lineage=_lineage(fields),
            target=None
            if target is None
            else _artifact(JsonObject(target, _ARTIFACT_KEYS, path="target")),
            reason=fields.optional_text("reason", limits.CANDIDATE_REASON_CHARS) or "",
        ),
        status=fields.choice("status", CANDIDATE_STATUSES) or "pending",
        decision_reason=fields.optional_text(
            "decision_reason", limits.CANDIDATE_REASON_CHARS
        )
        or "",
        created_at=fields.moment("created_at"),
    )


_PARSERS: dict[str, Callable[[Mapping[str, Any]], Line]] = {
    "scope": _parse_scope,
    "source": _parse_source,
    "artifact": _parse_artifact,
    "memory_entry": _parse_entry,
    "candidate": _parse_candidate,
}
