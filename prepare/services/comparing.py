"""Is what a line describes there already? Equal is fine, different is a `Conflict`.

Part of importing. Digests are compared, not texts: two spellings that are stored alike
are equal. Times and authors are not compared.
"""

from collections.abc import Iterable

from prepare import limits
from prepare.errors import ArtifactNotFound, Conflict
from prepare.models import Artifact, Candidate, MemoryEntryVersion, Scope, Source
from prepare.services import candidates, contents, exporting, reading
from prepare.services.identifiers import check_visible_ascii
from prepare.services.lines import (
    ArtifactLine,
    CandidateLine,
    EntryLine,
    ScopeLine,
    SourceLine,
)
from prepare.values import ArtifactRef


def find_head(*, scope: Scope, artifact: ArtifactRef) -> Artifact | None:
    return Artifact.objects.filter(
        scope=scope, family=artifact.family, artifact_id=artifact.artifact_id
    ).first()


def missing_scopes(line: ScopeLine) -> list[str]:
    """The Scopes that the line refers to and that are not stored, sorted."""
    wanted = set(line.fields.context_references)
    if line.fields.parent_scope_id is not None:
        wanted.add(line.fields.parent_scope_id)
    found = Scope.objects.filter(scope_id__in=wanted)
    return sorted(wanted - set(found.values_list("scope_id", flat=True)))


def check_same_scope(held: Scope | ScopeLine, line: ScopeLine) -> None:
    if isinstance(held, Scope):
        held = exporting.scope_line(held)
    there, wanted = held.fields.as_json(), line.fields.as_json()
    different = [name for name in wanted if wanted[name] != there[name]]
    if different:
        names = ", ".join(different)
        raise Conflict(f"Scope {line.scope_id!r} is there with another {names}")


def check_same_source(held: Source, line: SourceLine) -> None:
    content = contents.canonical_json(line.source.content)
    metadata = contents.canonical_json(line.source.metadata or {})
    if (held.content_digest, held.metadata) != (contents.digest(content), metadata):
        raise Conflict("this Source is there with another content or metadata")


def check_same_revision(*, scope: Scope, line: ArtifactLine) -> None:
    """Content and evidence, in order. A revision below the head must be there."""
    try:
        held = reading.read_revision(scope=scope, artifact=line.artifact)
    except ArtifactNotFound:
        raise Conflict("revisions ascend, and a later one is there") from None
    stored = contents.normalize_content(line.artifact.family, line.content)
    content, digest = held.content, held.content_digest
    if line.artifact.family == limits.PROFILE and "generation" not in stored:
        # The writer added how the revision came to be (contract C.5).
        content = {name: content[name] for name in content if name != "generation"}
        digest = contents.digest(contents.canonical_json(content))
    if digest != contents.digest(contents.canonical_json(stored)):
        raise Conflict("this revision is there with another content")
    if (held.sources, held.artifacts) != (line.lineage.sources, line.lineage.artifacts):
        raise Conflict("this revision is there with other evidence")


def entry_digest(line: EntryLine) -> str:
    """The digest of the entry's text as it is stored; raises `InvalidRequest`."""
    check_visible_ascii(line.entry.entry_id, "entry_id")
    check_visible_ascii(line.entry.entry_version_id, "entry_version_id")
    content = contents.normalize_content(
        limits.ATOMIC_MEMORY, {"kind": line.entry.kind, "text": line.entry.text}
    )
    return contents.digest(contents.canonical_json(content))


def held_versions(
    head: Artifact | None, lines: Iterable[EntryLine]
) -> dict[str, MemoryEntryVersion]:
    """The stored entry versions that the lines name, by version id."""
    if head is None:
        return {}
    rows = MemoryEntryVersion.objects.filter(
        artifact=head,
        entry_version_id__in=[line.entry.entry_version_id for line in lines],
    )
    return {row.entry_version_id: row for row in rows}


def check_same_text(held: MemoryEntryVersion, line: EntryLine) -> None:
    """A version id names one text of one entry for ever."""
    there = (held.entry_id, held.content_digest)
    if there != (line.entry.entry_id, entry_digest(line)):
        raise Conflict("entry_version_id: it is there with another text or entry")


def read_manifest(*, scope: Scope, artifact: ArtifactRef) -> dict[str, tuple[str, str]]:
    """entry_id -> (entry_version_id, state) of one exact collection revision."""
    try:
        held = reading.read_revision(scope=scope, artifact=artifact)
    except ArtifactNotFound:
        raise Conflict("revisions ascend, and a later one is there") from None
    return {
        entry["entry_id"]: (entry["entry_version_id"], entry["state"])
        for entry in held.content["entries"]
    }


def check_same_entry(manifest: dict[str, tuple[str, str]], line: EntryLine) -> None:
    state = "active" if line.entry.active else "inactive"
    wanted = (line.entry.entry_version_id, state)
    if manifest.get(line.entry.entry_id) != wanted:
        raise Conflict("this collection revision is there with another entry")


def holds_candidate(*, scope: Scope, line: CandidateLine) -> bool:
    """Whether an equal proposal with the same status is there; ids are not compared."""
    proposal = line.proposal
    content = contents.normalize_content(proposal.family, proposal.content)
    rows = Candidate.objects.filter(
        scope=scope,
        family=proposal.family,
        status=line.status,
        proposal=contents.canonical_json(content),
        reason=proposal.reason,
        decision_reason=line.decision_reason,
    ).select_related("target__artifact")
    return any(
        candidates.read_lineage(row) == proposal.lineage
        and (row.target and reading.revision_ref(row.target)) == proposal.target
        for row in rows
    )
