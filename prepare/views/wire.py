"""Values as the wire shows them; key order as the public server writes it."""

from collections.abc import Sequence
from typing import Any

from prepare.services.artifacts import SourceRef
from prepare.services.reading import EntryView, MemoryView, RevisionView
from prepare.values import ArtifactRef


def artifact_ref(artifact: ArtifactRef) -> dict[str, Any]:
    return {
        "family": artifact.family,
        "artifact_id": artifact.artifact_id,
        "revision": artifact.revision,
    }


def to_artifact_ref(data: dict[str, Any]) -> ArtifactRef:
    return ArtifactRef(
        family=data["family"],
        artifact_id=data["artifact_id"],
        revision=data["revision"],
    )


def source_refs(sources: Sequence[SourceRef]) -> list[dict[str, str]]:
    """The older spelling, in which the type is called `name`."""
    return [
        {"name": source.source_type, "source_id": source.source_id}
        for source in sources
    ]


def to_source_refs(data: Sequence[dict[str, str]]) -> tuple[SourceRef, ...]:
    return tuple(
        SourceRef(source_type=item["name"], source_id=item["source_id"])
        for item in data
    )


def to_artifact_refs(data: Sequence[dict[str, Any]]) -> tuple[ArtifactRef, ...]:
    return tuple(to_artifact_ref(item) for item in data)


def revision(view: RevisionView) -> dict[str, Any]:
    return {
        "scope_id": view.scope_id,
        **artifact_ref(view.artifact),
        "content": view.content,
        "sources": [
            {"source_type": item.source_type, "source_id": item.source_id}
            for item in view.sources
        ],
        "artifacts": [artifact_ref(item) for item in view.artifacts],
        "content_digest": view.content_digest,
        "created_at": view.created_at.isoformat().replace("+00:00", "Z"),
        "created_by": view.created_by,
        "restored_from_revision": view.restored_from_revision,
        "reason": view.reason,
    }


def memory_record(view: MemoryView) -> dict[str, Any]:
    return {
        "artifact": artifact_ref(view.artifact),
        "kind": view.kind,
        "text": view.text,
        "state": view.state,
        "state_version": view.state_version,
        "merged_into_id": view.merged_into_id,
    }


def entry(view: EntryView) -> dict[str, Any]:
    return {
        "artifact": artifact_ref(view.artifact),
        "entry_id": view.entry_id,
        "entry_version_id": view.entry_version_id,
        "version": view.version,
        "kind": view.kind,
        "text": view.text,
        "state": view.state,
    }
