"""Exact reads: the recorded revision, never the head, never a merge target (C.8).

Every function takes a Scope the caller was already authorized for. A missing value is
an error of its own kind; nothing here returns another revision instead (A-185).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from prepare import limits
from prepare.errors import ArtifactNotFound, MemoryNotFound, Unsupported
from prepare.models import (
    Artifact,
    ArtifactRevision,
    MemoryEntryVersion,
    Scope,
)
from prepare.services.artifacts import SourceRef
from prepare.values import ArtifactRef, Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionView:
    """One exact revision with its evidence links (contract C.8)."""

    scope_id: str
    artifact: ArtifactRef
    content: dict[str, Any]
    content_digest: str
    sources: tuple[SourceRef, ...]
    artifacts: tuple[ArtifactRef, ...]
    created_at: datetime
    created_by: str | None
    restored_from_revision: int | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView:
    """An atomic memory head as the memory operations show it (wire section 6)."""

    artifact: ArtifactRef
    kind: str
    text: str
    state: str
    state_version: int
    merged_into_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """One entry version as one collection revision holds it (J-2)."""

    artifact: ArtifactRef
    entry_id: str
    entry_version_id: str
    version: int
    kind: str
    text: str
    state: str


def find_head(*, scope: Scope, family: str, artifact_id: str) -> Artifact:
    """Raises `ArtifactNotFound`."""
    head = Artifact.objects.filter(
        scope=scope, family=family, artifact_id=artifact_id
    ).first()
    if head is None or head.artifact_id != artifact_id:
        raise ArtifactNotFound
    return head


def read_revision(*, scope: Scope, artifact: ArtifactRef) -> RevisionView:
    """Exactly this revision, whatever became of the head; raises `ArtifactNotFound`."""
    row = (
        _with_evidence(ArtifactRevision.objects.all())
        .filter(
            artifact__scope=scope,
            artifact__family=artifact.family,
            artifact__artifact_id=artifact.artifact_id,
            revision=artifact.revision,
        )
        .first()
    )
    # A database that pads would find `a` for `a `.
    if row is None or row.artifact.artifact_id != artifact.artifact_id:
        raise ArtifactNotFound
    return revision_view(scope, row)


def read_head_revision(*, scope: Scope, family: str, artifact_id: str) -> RevisionView:
    head = find_head(scope=scope, family=family, artifact_id=artifact_id)
    return read_revision(scope=scope, artifact=head_ref(head))


def list_revisions(
    *, scope: Scope, family: str, artifact_id: str
) -> QuerySet[ArtifactRevision]:
    """All revisions of one artifact; raises `ArtifactNotFound` if there is none."""
    head = find_head(scope=scope, family=family, artifact_id=artifact_id)
    return _with_evidence(ArtifactRevision.objects.all()).filter(artifact=head)


def list_heads(*, scope: Scope, family: str) -> QuerySet[Artifact]:
    return Artifact.objects.filter(scope=scope, family=family)


def head_revisions(heads: Sequence[Artifact]) -> dict[int, ArtifactRevision]:
    """The current revision of each head, by its key; one query and its evidence."""
    rows = _with_evidence(ArtifactRevision.objects.all()).filter(
        artifact__in=heads, revision__in={head.revision for head in heads}
    )
    current = {head.pk: head.revision for head in heads}
    return {
        row.artifact_id: row for row in rows if current[row.artifact_id] == row.revision
    }


def revision_view(scope: Scope, row: ArtifactRevision) -> RevisionView:
    return RevisionView(
        scope_id=scope.scope_id,
        artifact=revision_ref(row),
        content=json.loads(row.content),
        content_digest=row.content_digest,
        sources=tuple(
            SourceRef(
                source_type=link.source.source_type, source_id=link.source.source_id
            )
            for link in sorted(row.source_evidence.all(), key=_position)
        ),
        artifacts=tuple(
            revision_ref(link.target)
            for link in sorted(row.artifact_evidence.all(), key=_position)
        ),
        created_at=row.created_at,
        created_by=row.created_by or None,
        restored_from_revision=row.restored_from_revision,
        reason=row.reason or None,
    )


def memory_view(head: Artifact, row: ArtifactRevision) -> MemoryView:
    content = json.loads(row.content)
    return MemoryView(
        artifact=revision_ref(row),
        kind=content["kind"],
        text=content["text"],
        state=head.state,
        state_version=head.state_version,
        merged_into_id=head.merged_into.artifact_id if head.merged_into else None,
    )


def memory_views(heads: Sequence[Artifact]) -> list[MemoryView]:
    rows = head_revisions(heads)
    return [memory_view(head, rows[head.pk]) for head in heads]


def read_entry(*, scope: Scope, identity: Identity) -> EntryView:
    """The entry version that this exact collection revision holds (A-184).

    Raises `MemoryNotFound` if the revision does not hold it, even if a later one does.
    """
    if identity.artifact.family != limits.MEMORY_COLLECTION:
        raise Unsupported(
            "Only entries of a Memory collection are read by entry id.",
            code="legacy_memory_operation_unsupported",
        )
    revision = read_revision(scope=scope, artifact=identity.artifact)
    for entry in revision.content["entries"]:
        if (entry["entry_id"], entry["entry_version_id"]) == (
            identity.entry_id,
            identity.entry_version_id,
        ):
            break
    else:
        raise MemoryNotFound
    row = MemoryEntryVersion.objects.get(
        artifact__scope=scope,
        artifact__family=limits.MEMORY_COLLECTION,
        artifact__artifact_id=identity.artifact.artifact_id,
        entry_version_id=identity.entry_version_id,
    )
    return EntryView(
        artifact=identity.artifact,
        entry_id=row.entry_id,
        entry_version_id=row.entry_version_id,
        version=row.version,
        kind=row.kind,
        text=row.text,
        state=entry["state"],
    )


def read_current_entry(*, scope: Scope, artifact_id: str, entry_id: str) -> MemoryView:
    """The current, active version of an entry, in the shape of a memory record.

    This is the older logical target; an exact citation never ends here (A-185).
    """
    head = Artifact.objects.filter(
        scope=scope, family=limits.MEMORY_COLLECTION, artifact_id=artifact_id
    ).first()
    if head is None:
        raise MemoryNotFound(code="not_found")
    revision = read_revision(scope=scope, artifact=head_ref(head))
    for entry in revision.content["entries"]:
        if entry["entry_id"] == entry_id and entry["state"] == "active":
            break
    else:
        raise MemoryNotFound(code="not_found")
    version = head.entry_versions.get(entry_version_id=entry["entry_version_id"])
    return MemoryView(
        artifact=revision.artifact,
        kind=version.kind,
        text=version.text,
        state="active",
        state_version=0,
        merged_into_id=None,
    )


def revision_ref(row: ArtifactRevision) -> ArtifactRef:
    return ArtifactRef(
        family=row.artifact.family,
        artifact_id=row.artifact.artifact_id,
        revision=row.revision,
    )


def head_ref(head: Artifact) -> ArtifactRef:
    return ArtifactRef(
        family=head.family, artifact_id=head.artifact_id, revision=head.revision
    )


def _with_evidence(rows: QuerySet[ArtifactRevision]) -> QuerySet[ArtifactRevision]:
    return rows.select_related("artifact").prefetch_related(
        "source_evidence__source", "artifact_evidence__target__artifact"
    )


def _position(link: Any) -> int:
    return int(link.position)
