"""Memory collections: one artifact of family `memory`, immutable entry versions (J-2).

Part of the writer. A collection revision is a manifest of entry versions; entries that
a revision does not touch carry over, and are cited by the new revision from then on.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from prepare import limits
from prepare.errors import Conflict
from prepare.models import (
    Artifact,
    ArtifactRevision,
    MemoryEntryVersion,
    Scope,
    SearchDocument,
)
from prepare.search import index
from prepare.services import contents
from prepare.services.artifacts import NO_LINEAGE, Authorship, append_revision
from prepare.services.identifiers import check_visible_ascii
from prepare.services.writing import write_transaction

SCHEMA = "powercontext.memory-collection.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryChange:
    """Add or revise one entry; `active` False takes it out of search and prepare."""

    entry_id: str
    entry_version_id: str
    kind: str
    text: str
    active: bool = True


@write_transaction
def write_collection(
    *,
    scope: Scope,
    artifact_id: str,
    changes: Sequence[EntryChange],
    authorship: Authorship,
    revision: int | None = None,
) -> ArtifactRevision:
    """Write one collection revision with these changes; unchanged entries carry over.

    `revision` is for imports and must be above the head's. Raises `Conflict` for a
    version id that already names another text and for an entry that is changed twice.
    """
    check_visible_ascii(artifact_id, "artifact_id")
    if len({change.entry_id for change in changes}) != len(changes):
        raise Conflict("One revision changes each entry at most once.")
    head = (
        Artifact.objects.select_for_update()
        .filter(scope=scope, family=limits.MEMORY_COLLECTION, artifact_id=artifact_id)
        .first()
    )
    manifest = {} if head is None else _read_manifest(head)
    number = revision or (1 if head is None else head.revision + 1)
    if head is None:
        head = Artifact.objects.create(
            scope=scope,
            family=limits.MEMORY_COLLECTION,
            artifact_id=artifact_id,
            revision=number,
            created_at=authorship.now,
            updated_at=authorship.now,
        )
    elif number <= head.revision:
        raise Conflict(f"Revision {number} is not above {head.revision}.")
    head.revision = number
    head.updated_at = authorship.now
    head.save(update_fields=["revision", "updated_at"])
    versions = [_write_version(head, change, authorship) for change in changes]
    for change in changes:
        manifest[change.entry_id] = (change.entry_version_id, change.active)
    row = append_revision(
        head, _as_content(manifest), authorship=authorship, lineage=NO_LINEAGE
    )
    _reindex(head, row, changes, versions)
    return row


def _read_manifest(head: Artifact) -> dict[str, tuple[str, bool]]:
    row = head.revisions.get(revision=head.revision)
    return {
        entry["entry_id"]: (entry["entry_version_id"], entry["state"] == "active")
        for entry in json.loads(row.content)["entries"]
    }


def _as_content(manifest: dict[str, tuple[str, bool]]) -> dict[str, object]:
    entries = [
        manifest_entry(entry_id, version_id, active=active)
        for entry_id, (version_id, active) in sorted(manifest.items())
    ]
    return {"schema": SCHEMA, "entries": entries}


def manifest_entry(entry_id: str, version_id: str, *, active: bool) -> dict[str, str]:
    """One row of a collection revision's content."""
    return {
        "entry_id": entry_id,
        "entry_version_id": version_id,
        "state": "active" if active else "inactive",
    }


def _write_version(
    head: Artifact, change: EntryChange, authorship: Authorship
) -> MemoryEntryVersion:
    """A new version row, or the existing one when only the state changes."""
    check_visible_ascii(change.entry_id, "entry_id")
    check_visible_ascii(change.entry_version_id, "entry_version_id")
    content = contents.normalize_content(
        limits.ATOMIC_MEMORY, {"kind": change.kind, "text": change.text}
    )
    digest = contents.digest(contents.canonical_json(content))
    versions = MemoryEntryVersion.objects.filter(artifact=head)
    existing: MemoryEntryVersion | None = versions.filter(
        entry_version_id=change.entry_version_id
    ).first()
    if existing is not None:
        if (existing.entry_id, existing.content_digest) != (change.entry_id, digest):
            raise Conflict("The entry version id already names another text.")
        return existing
    previous = versions.filter(entry_id=change.entry_id).order_by("-version").first()
    version: MemoryEntryVersion = MemoryEntryVersion.objects.create(
        artifact=head,
        entry_id=change.entry_id,
        entry_version_id=change.entry_version_id,
        version=1 if previous is None else previous.version + 1,
        previous=previous,
        kind=content["kind"],
        text=content["text"],
        content_digest=digest,
        created_in_revision=head.revision,
        created_at=authorship.now,
    )
    return version


def _reindex(
    head: Artifact,
    row: ArtifactRevision,
    changes: Sequence[EntryChange],
    versions: Sequence[MemoryEntryVersion],
) -> None:
    changed = [change.entry_id for change in changes]
    index.remove_documents(
        list(SearchDocument.objects.filter(artifact=head, entry_key__in=changed))
    )
    index.move_collection(head, row)
    index.add_documents(
        family=limits.MEMORY_COLLECTION,
        texts=[
            index.IndexedText(
                artifact=head, revision=row, text=version.text, entry_version=version
            )
            for change, version in zip(changes, versions, strict=True)
            if change.active
        ],
    )
