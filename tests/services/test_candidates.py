"""Candidates: one decision, through the one writer (contract C.7)."""

import json

import pytest

from prepare.errors import (
    CandidateNotFound,
    Conflict,
    InvalidRequest,
    PowerContextError,
    SourceNotFound,
)
from prepare.models import Artifact, Candidate, Scope
from prepare.services import candidates
from prepare.services.artifacts import NO_LINEAGE, Lineage, SourceRef
from prepare.services.candidates import Proposal
from tests.factories import (
    BY_TEST,
    experience,
    make_scope,
    propose,
    ref,
    remember,
    revise,
    source,
    write,
)


@pytest.fixture
def scope(db) -> Scope:
    return make_scope("s")


def approve(row: Candidate, *, version: int = 1) -> Candidate:
    return candidates.approve(
        scope=row.scope,
        candidate_id=row.candidate_id,
        expected_version=version,
        authorship=BY_TEST,
    )


def reject(row: Candidate, *, version: int = 1) -> Candidate:
    return candidates.reject(
        scope=row.scope,
        candidate_id=row.candidate_id,
        expected_version=version,
        reason="No.",
        authorship=BY_TEST,
    )


def read(row: Candidate) -> Candidate:
    return candidates.read_candidate(scope=row.scope, candidate_id=row.candidate_id)


def test_approval_commits_the_proposal_with_its_evidence(scope) -> None:
    row = propose(scope, "experience", experience("zebra"))
    assert not Artifact.objects.exists()
    approve(row)
    result = read(row).result
    assert result is not None
    assert json.loads(result.content)["lesson"] == "zebra"
    assert result.source_evidence.count() == 1
    assert (read(row).status, read(row).version) == ("approved", 2)
    assert approve(row).result == result
    assert Artifact.objects.count() == 1


def test_replacement_waits_for_approval(scope) -> None:
    head = write(scope, "experience", experience("old"))
    row = propose(scope, "experience", experience("new"), target=head)
    assert Artifact.objects.get().revision == 1
    approve(row)
    result = read(row).result
    assert result is not None
    assert (result.artifact_id, result.revision) == (head.artifact_id, 2)


def test_decisions_are_final(scope) -> None:
    row = propose(scope, "experience", experience("zebra"))
    with pytest.raises(Conflict) as stale:
        reject(row, version=2)
    reject(row)
    attempts = [stale]
    for decide in (approve, reject):
        with pytest.raises(Conflict) as terminal:
            decide(row, version=2)
        attempts.append(terminal)
    codes = [caught.value.code for caught in attempts]
    assert codes == ["candidate_conflict", "candidate_terminal", "candidate_terminal"]
    assert (read(row).status, read(row).decision_reason) == ("rejected", "No.")
    assert not Artifact.objects.exists()


def test_stale_target_stays_pending(scope) -> None:
    head = write(scope, "experience", experience("old"))
    row = propose(scope, "experience", experience("new"), target=head)
    revise(head, experience("newer"))
    with pytest.raises(Conflict) as caught:
        approve(row)
    assert caught.value.code == "artifact_conflict"
    assert read(row).status == "pending"
    assert Artifact.objects.get().revision == 2


def test_second_profile_proposal_cannot_replace_the_first(scope) -> None:
    rows = [propose(scope, "profile", {"content": text}) for text in ("One.", "Two.")]
    approve(rows[0])
    with pytest.raises(Conflict):
        approve(rows[1])
    assert read(rows[1]).status == "pending"


def test_proposals_are_checked_when_made(scope) -> None:
    source(scope, "src")
    cited = Lineage(sources=(SourceRef(source_type="content", source_id="src"),))
    missing = Lineage(sources=(SourceRef(source_type="content", source_id="nope"),))
    good = experience("zebra")
    other = ref(remember(scope, "zebra"))
    refused = [
        ("experience", good, NO_LINEAGE, None, InvalidRequest),
        ("experience", good, missing, None, SourceNotFound),
        ("experience", {"lesson": "zebra"}, cited, None, InvalidRequest),
        ("experience", good, cited, other, InvalidRequest),
        ("skill", good, cited, None, PowerContextError),
    ]
    for family, content, lineage, target, error in refused:
        proposal = Proposal(
            family=family, content=content, lineage=lineage, target=target
        )
        with pytest.raises(error):
            candidates.propose(scope=scope, proposal=proposal, authorship=BY_TEST)
    assert not Candidate.objects.exists()


def test_candidates_stay_in_their_scope(scope) -> None:
    row = propose(scope, "experience", experience("zebra"))
    other = make_scope("other")
    with pytest.raises(CandidateNotFound):
        candidates.read_candidate(scope=other, candidate_id=row.candidate_id)
    assert not candidates.list_candidates(scope=other).exists()
    listed = candidates.list_candidates(scope=scope, status="pending", family="profile")
    assert not listed.exists()
