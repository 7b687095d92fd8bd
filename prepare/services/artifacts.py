"""The only writer of artifacts: revision, head and search projection in one step.

Every public function runs in one transaction and is all or nothing. Callers pass the
clock. Conflicts raise `Conflict`/`RevisionConflict`; nothing is lost or half written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prepare import limits
from prepare.errors import (
    ArtifactNotFound,
    Conflict,
    InvalidRequest,
    RevisionConflict,
    SourceNotFound,
)
from prepare.models import (
    Artifact,
    ArtifactEvidence,
    ArtifactRevision,
    Scope,
    Source,
    SourceEvidence,
)
from prepare.search import index
from prepare.services import contents
from prepare.services.identifiers import check_visible_ascii, new_identifier
from prepare.services.writing import write_transaction
from prepare.values import ArtifactRef
from prepare.values import SourceRef as SourceRef

Lifecycle = Artifact.Lifecycle


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What a revision was made from, all in its own Scope (contract C.1)."""

    sources: tuple[SourceRef, ...] = ()
    artifacts: tuple[ArtifactRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorship:
    """When, by whom and why a revision is written."""

    now: datetime
    author: str = ""
    reason: str = ""
    restored_from_revision: int | None = None


NO_LINEAGE = Lineage()


@write_transaction
def create_artifact(
    *,
    scope: Scope,
    family: str,
    content: Mapping[str, Any],
    authorship: Authorship,
    artifact_id: str | None = None,
    revision: int = 1,
    lineage: Lineage = NO_LINEAGE,
) -> ArtifactRevision:
    """Write the first revision of a new artifact; 409 if the id is taken."""
    stored = contents.normalize_content(family, content)
    stored = _with_generation(family, stored, "manual_create", authorship)
    artifact_id = check_visible_ascii(artifact_id or new_artifact_id(family))
    if family == limits.PROFILE and artifact_id != limits.PROFILE_ARTIFACT_ID:
        raise InvalidRequest(message="A profile's artifact_id is always 'profile'.")
    if family == limits.PROMPT and artifact_id not in contents.PROMPT_KEYS:
        raise InvalidRequest(message="A prompt's artifact_id is its prompt key.")
    if Artifact.objects.filter(
        scope=scope, family=family, artifact_id=artifact_id
    ).exists():
        raise Conflict(
            "The Artifact already exists.",
            code="idempotency_conflict",
            details={"kind": "artifact"},
        )
    head = Artifact.objects.create(
        scope=scope,
        family=family,
        artifact_id=artifact_id,
        revision=revision,
        created_at=authorship.now,
        updated_at=authorship.now,
    )
    row = append_revision(head, stored, authorship=authorship, lineage=lineage)
    index_head(head, row, stored)
    return row


@write_transaction
def replace_artifact(
    *,
    scope: Scope,
    family: str,
    artifact_id: str,
    content: Mapping[str, Any],
    authorship: Authorship,
    expected_revision: int | None = None,
    revision: int | None = None,
    lineage: Lineage = NO_LINEAGE,
) -> ArtifactRevision:
    """Write the next revision; earlier ones stay as they are.

    `expected_revision` is the caller's If-Match; a stale one raises `RevisionConflict`.
    `revision` is for imports, whose numbers ascend but may leave gaps.
    """
    head = lock_head(scope=scope, family=family, artifact_id=artifact_id)
    if expected_revision is not None and expected_revision != head.revision:
        raise RevisionConflict(
            details={
                "provided_etag": etag(expected_revision),
                "current_etag": etag(head.revision),
            }
        )
    if head.merged_into_id is not None or head.lifecycle == Lifecycle.RETIRED:
        raise Conflict(
            f"A {head.state} Artifact cannot be edited.", code="invalid_memory_state"
        )
    stored = contents.normalize_content(family, content)
    stored = _with_generation(family, stored, "manual_replace", authorship)
    number = head.revision + 1 if revision is None else revision
    if number <= head.revision:
        raise Conflict(f"Revision {number} is not above {head.revision}.")
    head.revision = number
    head.updated_at = authorship.now
    head.save(update_fields=["revision", "updated_at"])
    row = append_revision(head, stored, authorship=authorship, lineage=lineage)
    index.remove_artifact(head)
    index_head(head, row, stored)
    return row


def new_artifact_id(family: str) -> str:
    if family == limits.PROFILE:
        return limits.PROFILE_ARTIFACT_ID
    return new_identifier("exp" if family == limits.EXPERIENCE else "art")


def etag(revision: int) -> str:
    return f'"revision:{revision}"'


def lock_head(*, scope: Scope, family: str, artifact_id: str) -> Artifact:
    """The head, locked until the transaction ends; raises `ArtifactNotFound`."""
    head = (
        Artifact.objects.select_for_update()
        .filter(scope=scope, family=family, artifact_id=artifact_id)
        .first()
    )
    # A database that pads would find `a` for `a `.
    if head is None or head.artifact_id != artifact_id:
        raise ArtifactNotFound
    return head


def append_revision(
    head: Artifact,
    stored: Mapping[str, Any],
    *,
    authorship: Authorship,
    lineage: Lineage,
) -> ArtifactRevision:
    """Insert the revision the head already names, with its evidence links."""
    content = contents.canonical_json(stored)
    row = ArtifactRevision.objects.create(
        artifact=head,
        revision=head.revision,
        content=content,
        content_digest=contents.digest(content),
        created_at=authorship.now,
        created_by=authorship.author,
        restored_from_revision=authorship.restored_from_revision,
        reason=authorship.reason,
    )
    _link_evidence(head, row, lineage)
    return row


def _link_evidence(head: Artifact, row: ArtifactRevision, lineage: Lineage) -> None:
    for position, source in enumerate(find_sources(head.scope, lineage.sources)):
        SourceEvidence.objects.create(revision=row, source=source, position=position)
    for position, target in enumerate(find_revisions(head.scope, lineage.artifacts)):
        ArtifactEvidence.objects.create(revision=row, target=target, position=position)


def find_sources(scope: Scope, references: Sequence[SourceRef]) -> list[Source]:
    """The cited Sources of this Scope, in order; raises `SourceNotFound`."""
    found = []
    for reference in references:
        source = Source.objects.filter(
            scope=scope,
            source_type=reference.source_type,
            source_id=reference.source_id,
        ).first()
        # A database that pads would find `a` for `a `.
        if source is None or reference != SourceRef(
            source_type=source.source_type, source_id=source.source_id
        ):
            raise SourceNotFound
        found.append(source)
    return found


def find_revisions(
    scope: Scope, references: Sequence[ArtifactRef]
) -> list[ArtifactRevision]:
    """The exact revisions of this Scope, in order; raises `ArtifactNotFound`."""
    found = []
    for reference in references:
        row = ArtifactRevision.objects.filter(
            artifact__scope=scope,
            artifact__family=reference.family,
            artifact__artifact_id=reference.artifact_id,
            revision=reference.revision,
        ).first()
        if row is None:
            raise ArtifactNotFound
        found.append(row)
    return found


def index_head(
    head: Artifact, row: ArtifactRevision, stored: Mapping[str, Any]
) -> None:
    """Make an active head findable; profiles and prompts never are (C.5, C.7)."""
    if head.family not in index.POOL_FAMILIES or head.lifecycle != Lifecycle.ACTIVE:
        return
    is_topic = head.family == limits.TOPIC_MEMORY
    text = index.IndexedText(
        artifact=head,
        revision=row,
        text=contents.searchable_text(head.family, stored),
        detail=stored["detail"] if is_topic else None,
    )
    index.add_documents(family=head.family, texts=[text])


def _with_generation(
    family: str, stored: dict[str, Any], mode: str, authorship: Authorship
) -> dict[str, Any]:
    """Profiles record how they came to be; an import keeps what it carries (C.5)."""
    if family != limits.PROFILE or "generation" in stored:
        return stored
    restored = authorship.restored_from_revision
    return stored | {
        "generation": {
            "mode": mode if restored is None else "rollback",
            "created_at": authorship.now.isoformat().replace("+00:00", "Z"),
            "generator_id": None,
            "generator_version": None,
            "source_window": None,
            "restored_from_revision": restored,
        }
    }
