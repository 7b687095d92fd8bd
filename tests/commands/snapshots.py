"""Everything an export must bring back, without the keys that the database chose."""

from typing import Any

from prepare.models import (
    Artifact,
    ArtifactRevision,
    Candidate,
    ContextReference,
    MemoryEntryVersion,
    Scope,
    SearchPool,
    Source,
)

_COLUMNS: dict[Any, tuple[str, ...]] = {
    Scope: (
        "scope_id",
        "title",
        "summary",
        "parent__scope_id",
        "external_references",
        "created_at",
        "next_source_position",
    ),
    ContextReference: ("scope__scope_id", "position", "target__scope_id"),
    Source: (
        "scope__scope_id",
        "source_type",
        "source_id",
        "content",
        "metadata",
        "content_digest",
        "position",
        "created_at",
    ),
    Artifact: (
        "scope__scope_id",
        "family",
        "artifact_id",
        "lifecycle",
        "merged_into__artifact_id",
        "revision",
        "created_at",
    ),
    ArtifactRevision: (
        "artifact__scope__scope_id",
        "artifact__family",
        "artifact__artifact_id",
        "revision",
        "content",
        "content_digest",
        "created_at",
        "created_by",
        "reason",
        "restored_from_revision",
    ),
    MemoryEntryVersion: (
        "artifact__artifact_id",
        "entry_id",
        "entry_version_id",
        "version",
        "previous__entry_version_id",
        "kind",
        "text",
        "content_digest",
        "created_in_revision",
        "created_at",
    ),
    Candidate: (
        "scope__scope_id",
        "family",
        "proposal",
        "evidence",
        "status",
        "reason",
        "decision_reason",
        "version",
        "created_at",
    ),
    SearchPool: ("scope__scope_id", "family", "documents", "total_length"),
}


def stored() -> dict[str, list[str]]:
    """The rows of each table as sorted text, and the evidence of each revision."""
    tables = {
        model.__name__: sorted(map(repr, model.objects.values_list(*columns)))
        for model, columns in _COLUMNS.items()
    }
    tables["evidence"] = sorted(map(_evidence, ArtifactRevision.objects.all()))
    return tables


def _evidence(row: ArtifactRevision) -> str:
    sources = [
        link.source.source_id for link in row.source_evidence.order_by("position")
    ]
    targets = [
        (link.target.artifact.artifact_id, link.target.revision)
        for link in row.artifact_evidence.order_by("position")
    ]
    return repr((row.artifact.artifact_id, row.revision, sources, targets))
