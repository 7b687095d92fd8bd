"""One exact revision, entry version or Source, and what surrounds it (R-205, R-211).

Every function takes a Scope the caller was already authorized for. What is asked for
is answered or `NotFound`; what is newer is only named beside it. The number of
statements does not depend on how much there is.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prepare import limits
from prepare.errors import ArtifactNotFound, MemoryNotFound, SourceNotFound
from prepare.models import (
    Artifact,
    ArtifactEvidence,
    ArtifactRevision,
    Candidate,
    MemoryEntryVersion,
    Scope,
    Source,
    SourceEvidence,
)
from prepare.search.vendors import read_snapshot
from prepare.services import contents
from prepare.services.stored import (
    CandidateName,
    EntryLine,
    EntryRecord,
    EntryVersionLine,
    Manifest,
    RevisionLine,
    RevisionRecord,
    Slice,
    SourceRecord,
)
from prepare.values import ArtifactRef, Identity, SourceRef

PAGE_REVISIONS = 25
PAGE_ENTRIES = 50
CITATIONS = 50  # revisions that cite one revision or Source
_CANDIDATES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """`manifest` is of a collection that is shown as a whole, `entry` of one entry.

    Both are None if the stored manifest was changed so that it cannot be read.
    """

    revision: RevisionRecord
    manifest: Manifest | None = None
    entry: EntryRecord | None = None


def inspect(
    *,
    scope: Scope,
    identity: Identity,
    revisions_before: int | None = None,
    entries_after: str | None = None,
) -> Inspected:
    """Exactly what `identity` names; raises `ArtifactNotFound` or `MemoryNotFound`.

    The two keys go on in the list of revisions and in the one of entries.
    """
    artifact = identity.artifact
    with read_snapshot():
        head = _find_head(scope, artifact)
        row = _find_revision(head, artifact.revision)
        record = _record(scope, head, row, revisions_before)
        if artifact.family != limits.MEMORY_COLLECTION:
            if identity.entry_id is not None:
                raise MemoryNotFound
            return Inspected(revision=record)
        lines = _manifest_lines(row.content)
        if identity.entry_id is not None:
            entry = _read_entry(head, lines, identity)
            return Inspected(revision=record, entry=entry)
        manifest = _read_manifest(head, lines, entries_after)
    return Inspected(revision=record, manifest=manifest)


def _find_head(scope: Scope, artifact: ArtifactRef) -> Artifact:
    head = (
        Artifact.objects.filter(
            scope=scope, family=artifact.family, artifact_id=artifact.artifact_id
        )
        .select_related("merged_into")
        .first()
    )
    # A database that pads would find `a` for `a `.
    if head is None or (head.family, head.artifact_id) != (
        artifact.family,
        artifact.artifact_id,
    ):
        raise ArtifactNotFound
    return head


def _find_revision(head: Artifact, revision: int) -> ArtifactRevision:
    row: ArtifactRevision | None = ArtifactRevision.objects.filter(
        artifact=head, revision=revision
    ).first()
    if row is None:
        raise ArtifactNotFound
    return row


def _record(
    scope: Scope, head: Artifact, row: ArtifactRevision, revisions_before: int | None
) -> RevisionRecord:
    target = head.merged_into
    return RevisionRecord(
        scope_id=scope.scope_id,
        artifact=ArtifactRef(
            family=head.family, artifact_id=head.artifact_id, revision=row.revision
        ),
        content=row.content,
        content_digest=row.content_digest,
        is_intact=contents.digest(row.content) == row.content_digest,
        created_at=row.created_at,
        created_by=row.created_by,
        reason=row.reason,
        restored_from=row.restored_from_revision,
        state=head.state,  # type: ignore[arg-type]
        head_revision=head.revision,
        merged_into=None if target is None else target.artifact_id,
        merged_into_revision=None if target is None else target.revision,
        sources=_sources(row),
        artifacts=_made_from(row),
        cited_by=_cited_by(row),
        candidates=_candidates(row),
        revisions=_revisions(head, revisions_before),
    )


def _sources(row: ArtifactRevision) -> tuple[SourceRef, ...]:
    rows = SourceEvidence.objects.filter(revision=row).order_by("position")
    return tuple(
        SourceRef(source_type=source_type, source_id=source_id)
        for source_type, source_id in rows.values_list(
            "source__source_type", "source__source_id"
        )
    )


def _refs(rows: Iterable[Any]) -> tuple[ArtifactRef, ...]:
    return tuple(
        ArtifactRef(family=family, artifact_id=artifact_id, revision=revision)
        for family, artifact_id, revision in rows
    )


def _made_from(row: ArtifactRevision) -> tuple[ArtifactRef, ...]:
    rows = ArtifactEvidence.objects.filter(revision=row).order_by("position")
    return _refs(
        rows.values_list(
            "target__artifact__family",
            "target__artifact__artifact_id",
            "target__revision",
        )
    )


_CITING = (
    "revision__artifact__family",
    "revision__artifact__artifact_id",
    "revision__revision",
)


def _cited_by(row: ArtifactRevision) -> Slice[ArtifactRef, int]:
    rows = ArtifactEvidence.objects.filter(target=row).order_by(*_CITING)
    found = _refs(rows.values_list(*_CITING).distinct()[: CITATIONS + 1])
    return Slice(
        rows=found[:CITATIONS], last=CITATIONS if len(found) > CITATIONS else None
    )


def _candidates(row: ArtifactRevision) -> tuple[CandidateName, ...]:
    """What made this revision, and what proposes another after it, newest first."""
    made = Candidate.objects.filter(result=row).order_by("-created_at", "candidate_id")
    proposed = Candidate.objects.filter(target=row).order_by(
        "-created_at", "candidate_id"
    )
    return tuple(
        CandidateName(
            candidate_id=candidate_id,
            status=status,  # type: ignore[arg-type]
            made_this=made_this,
        )
        for rows, made_this in ((made, True), (proposed, False))
        for candidate_id, status in rows.values_list("candidate_id", "status")[
            :_CANDIDATES
        ]
    )


def _revisions(head: Artifact, before: int | None) -> Slice[RevisionLine, int]:
    rows = ArtifactRevision.objects.filter(artifact=head)
    if before is not None:
        rows = rows.filter(revision__lt=before)
    found = list(
        rows.order_by("-revision").values(
            "revision", "created_at", "created_by", "reason"
        )[: PAGE_REVISIONS + 1]
    )
    shown = tuple(RevisionLine(**row) for row in found[:PAGE_REVISIONS])
    return Slice(
        rows=shown, last=shown[-1].revision if len(found) > len(shown) else None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    entry_id: str
    entry_version_id: str
    is_active: bool


def _manifest_lines(content: str) -> list[_Held] | None:
    """The entries of a collection revision; None if this is nothing we ever wrote."""
    try:
        entries = json.loads(content)["entries"]
        lines = [
            _Held(
                entry_id=_text(entry["entry_id"]),
                entry_version_id=_text(entry["entry_version_id"]),
                is_active=entry["state"] == "active",
            )
            for entry in entries
        ]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return sorted(lines, key=lambda line: line.entry_id)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _read_manifest(
    head: Artifact, lines: list[_Held] | None, after: str | None
) -> Manifest | None:
    if lines is None:
        return None
    rest = lines if after is None else [one for one in lines if one.entry_id > after]
    shown = rest[:PAGE_ENTRIES]
    rows = MemoryEntryVersion.objects.filter(
        artifact=head, entry_version_id__in=[one.entry_version_id for one in shown]
    )
    texts = {
        version_id: (kind, text)
        for version_id, kind, text in rows.values_list(
            "entry_version_id", "kind", "text"
        )
    }
    entries = []
    for one in shown:
        kind, text = texts.get(one.entry_version_id, (None, None))
        entries.append(
            EntryLine(
                entry_id=one.entry_id,
                entry_version_id=one.entry_version_id,
                is_active=one.is_active,
                kind=kind,
                text=text,
            )
        )
    return Manifest(
        total=len(lines),
        active=sum(one.is_active for one in lines),
        entries=Slice(
            rows=tuple(entries),
            last=shown[-1].entry_id if len(rest) > len(shown) else None,
        ),
    )


def _read_entry(
    head: Artifact, lines: list[_Held] | None, identity: Identity
) -> EntryRecord | None:
    """Raises `MemoryNotFound` if this collection revision does not hold it (A-184)."""
    if lines is None:
        return None
    wanted = (identity.entry_id, identity.entry_version_id)
    held = next(
        (one for one in lines if (one.entry_id, one.entry_version_id) == wanted), None
    )
    if held is None:
        raise MemoryNotFound
    versions = list(
        MemoryEntryVersion.objects.filter(
            artifact=head, entry_id=held.entry_id
        ).order_by("version")
    )
    row = next(
        (one for one in versions if one.entry_version_id == held.entry_version_id), None
    )
    if row is None:
        raise MemoryNotFound
    stored = {"schema": limits.ATOMIC_SCHEMA, "kind": row.kind, "text": row.text}
    return EntryRecord(
        entry_id=row.entry_id,
        entry_version_id=row.entry_version_id,
        version=row.version,
        kind=row.kind,
        text=row.text,
        content_digest=row.content_digest,
        is_intact=contents.digest(contents.canonical_json(stored))
        == row.content_digest,
        is_active=held.is_active,
        created_at=row.created_at,
        created_in_revision=row.created_in_revision,
        versions=tuple(
            EntryVersionLine(
                version=one.version,
                entry_version_id=one.entry_version_id,
                revision=one.created_in_revision,
                created_at=one.created_at,
            )
            for one in versions
        ),
    )


def inspect_source(*, scope: Scope, source: SourceRef) -> SourceRecord:
    """Exactly this Source and who cites it; raises `SourceNotFound`."""
    with read_snapshot():
        row: Source | None = Source.objects.filter(
            scope=scope, source_type=source.source_type, source_id=source.source_id
        ).first()
        if row is None or (row.source_type, row.source_id) != (
            source.source_type,
            source.source_id,
        ):
            raise SourceNotFound
        citing = SourceEvidence.objects.filter(source=row)
        citations = citing.values("revision").distinct().count()
        cited_by = _refs(
            citing.order_by(*_CITING).values_list(*_CITING).distinct()[:CITATIONS]
        )
    return SourceRecord(
        source=source,
        content=row.content,
        metadata=row.metadata,
        content_digest=row.content_digest,
        is_intact=contents.digest(row.content) == row.content_digest,
        position=row.position,
        created_at=row.created_at,
        citations=citations,
        cited_by=cited_by,
    )
