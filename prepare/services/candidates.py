"""Candidates: proposals under review (contract C.7). Never recalled, never artifacts.

Approval writes the next revision through the one writer; a decision is final.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from prepare import limits
from prepare.errors import CandidateNotFound, Conflict, InvalidRequest, RevisionConflict
from prepare.models import ArtifactRevision, Candidate, Scope
from prepare.services import artifacts, contents
from prepare.services.artifacts import Authorship, Lineage, SourceRef
from prepare.services.identifiers import new_identifier
from prepare.services.writing import write_transaction
from prepare.values import ArtifactRef

Status = Candidate.Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A full content for a new artifact, or for the next revision of `target`."""

    family: str
    content: Mapping[str, Any]
    lineage: Lineage
    target: ArtifactRef | None = None
    reason: str = ""


@write_transaction
def propose(*, scope: Scope, proposal: Proposal, authorship: Authorship) -> Candidate:
    """Store a pending Candidate; its evidence must exist in the Scope."""
    evidence = len(proposal.lineage.sources) + len(proposal.lineage.artifacts)
    if not 1 <= evidence <= limits.CANDIDATE_EVIDENCE:
        raise InvalidRequest(message="A Candidate needs 1 to 32 pieces of evidence.")
    content = contents.normalize_content(proposal.family, proposal.content)
    artifacts.find_sources(scope, proposal.lineage.sources)
    artifacts.find_revisions(scope, proposal.lineage.artifacts)
    target = _find_target(scope, proposal)
    return Candidate.objects.create(
        scope=scope,
        candidate_id=new_identifier("cand"),
        family=proposal.family,
        proposal=contents.canonical_json(content),
        evidence=contents.canonical_json(_evidence_json(proposal.lineage)),
        target=target,
        reason=proposal.reason,
        created_at=authorship.now,
    )


def _find_target(scope: Scope, proposal: Proposal) -> ArtifactRevision | None:
    if proposal.target is None:
        return None
    if proposal.target.family != proposal.family:
        raise InvalidRequest(message="The target has another family.")
    [target] = artifacts.find_revisions(scope, [proposal.target])
    return target


@write_transaction
def approve(
    *, scope: Scope, candidate_id: str, expected_version: int, authorship: Authorship
) -> Candidate:
    """Commit the proposal; approving an approved Candidate again changes nothing."""
    candidate = _lock(scope, candidate_id)
    if candidate.status == Status.APPROVED:
        return candidate
    _check_pending(candidate, expected_version)
    try:
        candidate.result = _commit(scope, candidate, authorship)
    except RevisionConflict as error:
        raise Conflict("The target has a newer revision.") from error
    return _decide(candidate, Status.APPROVED, authorship, reason="")


@write_transaction
def reject(
    *,
    scope: Scope,
    candidate_id: str,
    expected_version: int,
    reason: str,
    authorship: Authorship,
) -> Candidate:
    candidate = _lock(scope, candidate_id)
    _check_pending(candidate, expected_version)
    return _decide(candidate, Status.REJECTED, authorship, reason=reason)


def read_candidate(*, scope: Scope, candidate_id: str) -> Candidate:
    """Raises `CandidateNotFound`."""
    candidate = (
        Candidate.objects.filter(scope=scope, candidate_id=candidate_id)
        .select_related("target__artifact", "result__artifact")
        .first()
    )
    if candidate is None:
        raise CandidateNotFound
    return candidate


def read_lineage(candidate: Candidate) -> Lineage:
    evidence = json.loads(candidate.evidence)
    return Lineage(
        sources=tuple(SourceRef(**item) for item in evidence["sources"]),
        artifacts=tuple(ArtifactRef(**item) for item in evidence["artifacts"]),
    )


def _evidence_json(lineage: Lineage) -> dict[str, Any]:
    return {
        "sources": [
            {"source_type": item.source_type, "source_id": item.source_id}
            for item in lineage.sources
        ],
        "artifacts": [
            {
                "family": item.family,
                "artifact_id": item.artifact_id,
                "revision": item.revision,
            }
            for item in lineage.artifacts
        ],
    }


def _lock(scope: Scope, candidate_id: str) -> Candidate:
    candidate = (
        Candidate.objects.select_for_update()
        .filter(scope=scope, candidate_id=candidate_id)
        .first()
    )
    if candidate is None:
        raise CandidateNotFound
    return candidate


def _check_pending(candidate: Candidate, expected_version: int) -> None:
    if candidate.status != Status.PENDING:
        raise Conflict(
            f"The Candidate is {candidate.status}.", code="candidate_terminal"
        )
    if candidate.version != expected_version:
        raise Conflict("The Candidate has another version.", code="candidate_conflict")


def _commit(
    scope: Scope, candidate: Candidate, authorship: Authorship
) -> ArtifactRevision:
    content = json.loads(candidate.proposal)
    lineage = read_lineage(candidate)
    if candidate.target is None:
        return artifacts.create_artifact(
            scope=scope,
            family=candidate.family,
            content=content,
            authorship=authorship,
            lineage=lineage,
        )
    return artifacts.replace_artifact(
        scope=scope,
        family=candidate.family,
        artifact_id=candidate.target.artifact.artifact_id,
        content=content,
        authorship=authorship,
        expected_revision=candidate.target.revision,
        lineage=lineage,
    )


def _decide(
    candidate: Candidate, status: Status, authorship: Authorship, *, reason: str
) -> Candidate:
    candidate.status = status
    candidate.version += 1
    candidate.decision_reason = reason
    candidate.decided_at = authorship.now
    candidate.save(
        update_fields=["status", "version", "decision_reason", "decided_at", "result"]
    )
    return candidate


def list_candidates(
    *, scope: Scope, status: str | None = None, family: str | None = None
) -> QuerySet[Candidate]:
    rows = Candidate.objects.filter(scope=scope).select_related(
        "target__artifact", "result__artifact"
    )
    if status is not None:
        rows = rows.filter(status=status)
    return rows if family is None else rows.filter(family=family)
