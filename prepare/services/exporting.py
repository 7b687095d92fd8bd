"""Write stored context as the lines that `importing` reads (design section 4).

Loaded into an empty database, the lines give the same identities, revisions, digests,
states and search results. Not written: tokens and grants, bindings, the choice of the
default Scope, and approved Candidates (the artifact they became is).
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from prepare import limits
from prepare.models import (
    Artifact,
    ArtifactRevision,
    Candidate,
    ContextReference,
    MemoryEntryVersion,
    Scope,
    Source,
)
from prepare.search.vendors import read_snapshot
from prepare.services import candidates, reading, scopes
from prepare.services.artifacts import Lineage
from prepare.services.candidates import Proposal
from prepare.services.collections import EntryChange
from prepare.services.lines import (
    CANDIDATE_STATUSES,
    ArtifactLine,
    CandidateLine,
    EntryLine,
    Line,
    Origin,
    ScopeLine,
    SourceLine,
)
from prepare.services.scopes import ExternalReference, ScopeFields
from prepare.services.sources import SourceContent

_ROWS_PER_READ = 500
# Beyond it a JSON number is a float to every reader, RFC 8785 included.
_LARGEST_INTEGER = 2**53 - 1

# entry_id -> (entry_version_id, state)
Manifest = dict[str, tuple[str, str]]


def export_context(*, scope_ids: Sequence[str] = ()) -> Iterator[Line]:
    """The lines of these Scopes and all they refer to; of every Scope without ids.

    One read snapshot. Raises `ScopeNotFound` before the first line.
    """
    with read_snapshot():
        named = [scopes.find_scope(scope_id) for scope_id in scope_ids]
        roots = named or list(Scope.objects.order_by("scope_id"))
        ordered = _with_referenced(roots)
        for scope in ordered:
            yield scope_line(scope)
        for scope in ordered:
            yield from _scope_contents(scope)


def scope_line(scope: Scope) -> ScopeLine:
    return ScopeLine(
        scope_id=scope.scope_id,
        fields=ScopeFields(
            title=scope.title,
            summary=scope.summary,
            parent_scope_id=scope.parent.scope_id if scope.parent else None,
            context_references=tuple(target.scope_id for target in _referenced(scope)),
            external_references=tuple(
                ExternalReference(kind=item["kind"], value=item["value"])
                for item in scope.external_references
            ),
        ),
        created_at=scope.created_at,
    )


def _referenced(scope: Scope) -> list[Scope]:
    rows = ContextReference.objects.filter(scope=scope).select_related("target")
    return [row.target for row in rows.order_by("position")]


def _with_referenced(roots: Sequence[Scope]) -> list[Scope]:
    """The Scopes and what they refer to, referenced ones first where there is no loop.

    No recursion: chains of parents may be long.
    """
    ordered: dict[int, Scope] = {}
    seen: set[int] = set()
    stack = [(scope, False) for scope in reversed(roots)]
    while stack:
        scope, is_expanded = stack.pop()
        if is_expanded:
            ordered[scope.pk] = scope
        elif scope.pk not in seen:
            seen.add(scope.pk)
            stack.append((scope, True))
            parents = [scope.parent] if scope.parent else []
            stack += [(other, False) for other in [*_referenced(scope), *parents]]
    return list(ordered.values())


def _scope_contents(scope: Scope) -> Iterator[Line]:
    sources = Source.objects.filter(scope=scope).order_by("position")
    for source in sources.iterator(chunk_size=_ROWS_PER_READ):
        yield _source_line(scope, source)
    # Evidence is older than what cites it, so the order of writing is a good order.
    rows = (
        ArtifactRevision.objects.filter(artifact__scope=scope)
        .order_by("pk")
        .select_related("artifact__merged_into")
        .prefetch_related(
            "source_evidence__source", "artifact_evidence__target__artifact"
        )
    )
    manifests: dict[int, Manifest] = {}
    for row in rows.iterator(chunk_size=_ROWS_PER_READ):
        if row.artifact.family == limits.MEMORY_COLLECTION:
            yield from _entry_lines(scope, row, manifests)
        else:
            yield _artifact_line(scope, row)
    proposals = Candidate.objects.filter(
        scope=scope, status__in=CANDIDATE_STATUSES
    ).select_related("target__artifact")
    for candidate in proposals.order_by("pk").iterator(chunk_size=_ROWS_PER_READ):
        yield _candidate_line(scope, candidate)


def _source_line(scope: Scope, source: Source) -> SourceLine:
    return SourceLine(
        scope_id=scope.scope_id,
        source_type=source.source_type,
        source_id=source.source_id,
        source=SourceContent(
            source_type=source.source_type,
            source_id=source.source_id,
            content=_load(source.content),
            metadata=_load(source.metadata) or None,
        ),
        created_at=source.created_at,
    )


def _artifact_line(scope: Scope, row: ArtifactRevision) -> ArtifactLine:
    view = reading.revision_view(scope, row)
    state, merged_into = _head_state(row.artifact, row)
    return ArtifactLine(
        scope_id=scope.scope_id,
        artifact=view.artifact,
        content=_load(row.content),
        lineage=Lineage(sources=view.sources, artifacts=view.artifacts),
        state=state,
        merged_into=merged_into,
        origin=_origin(row),
    )


def _head_state(head: Artifact, row: ArtifactRevision) -> tuple[str | None, str | None]:
    """State and merge target for the line of the head revision, where not active."""
    if head.revision != row.revision or head.state == "active":
        return None, None
    return head.state, head.merged_into.artifact_id if head.merged_into else None


def _entry_lines(
    scope: Scope, row: ArtifactRevision, manifests: dict[int, Manifest]
) -> Iterator[EntryLine]:
    """The entries that this collection revision changed; one if it changed none."""
    manifest: Manifest = {
        entry["entry_id"]: (entry["entry_version_id"], entry["state"])
        for entry in json.loads(row.content)["entries"]
    }
    before = manifests.get(row.artifact_id, {})
    manifests[row.artifact_id] = manifest
    changed = {
        entry_id: held
        for entry_id, held in manifest.items()
        if before.get(entry_id) != held
    } or dict(list(manifest.items())[:1])
    versions = MemoryEntryVersion.objects.filter(
        artifact=row.artifact,
        entry_version_id__in=[version_id for version_id, _ in changed.values()],
    )
    for version in versions.order_by("pk"):
        _, state = changed[version.entry_id]
        yield EntryLine(
            scope_id=scope.scope_id,
            artifact_id=row.artifact.artifact_id,
            revision=row.revision,
            entry=EntryChange(
                entry_id=version.entry_id,
                entry_version_id=version.entry_version_id,
                kind=version.kind,
                text=version.text,
                active=state == "active",
            ),
            origin=_origin(row),
        )


def _origin(row: ArtifactRevision) -> Origin:
    return Origin(
        created_at=row.created_at,
        created_by=row.created_by,
        reason=row.reason,
        restored_from_revision=row.restored_from_revision,
    )


def _candidate_line(scope: Scope, candidate: Candidate) -> CandidateLine:
    target = candidate.target
    return CandidateLine(
        scope_id=scope.scope_id,
        proposal=Proposal(
            family=candidate.family,
            content=_load(candidate.proposal),
            lineage=candidates.read_lineage(candidate),
            target=None if target is None else reading.revision_ref(target),
            reason=candidate.reason,
        ),
        status=candidate.status,
        decision_reason=candidate.decision_reason,
        created_at=candidate.created_at,
    )


def _load(canonical: str) -> Any:
    """Stored JSON, with numbers that come back as the same canonical text.

    RFC 8785 writes the float 1e17 as 100000000000000000, which read as an integer
    would be refused.
    """
    return json.loads(canonical, parse_int=_number)


def _number(digits: str) -> int | float:
    number = int(digits)
    return number if abs(number) <= _LARGEST_INTEGER else float(digits)
