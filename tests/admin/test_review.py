"""Candidates in the admin: propose, approve, reject (contract C.7)."""

import json

import pytest
from django.contrib.auth.models import User

from prepare.models import Artifact, ArtifactRevision, Candidate
from prepare.services import candidates
from tests.admin.pages import Browser
from tests.api import Api
from tests.factories import (
    BY_TEST,
    experience,
    make_scope,
    profile,
    propose,
    remember,
    revise,
    source,
)


def test_propose_and_approve_experience(
    admin: Browser, api: Api, operator: User
) -> None:
    scope = make_scope("s")
    source(scope, "ticket-1")
    fact = remember(scope, "A fact.", artifact_id="mem-1")

    page = admin.open("candidate_add_family", "experience").submit(
        scope=str(scope.pk),
        **experience("Regenerate the client first."),
        source_ids="ticket-1",
        artifact_refs="atomic-memory/mem-1@1",
        reason="Seen twice.",
    )
    row = Candidate.objects.get()
    assert (row.status, row.reason) == ("pending", "Seen twice.")
    assert "content/ticket-1" in page.html
    assert "atomic-memory/mem-1@1" in page.html
    assert Artifact.objects.count() == 1

    page = page.press("approve")

    assert page.messages == ["Approved: 1."]
    row.refresh_from_db()
    assert row.result is not None
    assert row.result.created_by == operator.username
    assert [link.target_id for link in row.result.artifact_evidence.all()] == [fact.pk]
    sections = [{"family": "experience", "limit": 1}]
    text = api.content(
        "s",
        "regenerate client",
        assembly={"format": "markdown", "sections": sections},
    )
    assert "Regenerate the client first." in text


def test_profile_proposal_replaces_its_target(admin: Browser) -> None:
    scope = make_scope("s")
    source(scope, "chat")
    current = profile(scope, "# Old")

    page = admin.open("candidate_add_family", "profile").submit(
        scope=str(scope.pk),
        content="# New",
        source_ids="chat",
        target="profile/profile@1",
    )
    page.press("approve")

    head = Artifact.objects.get(pk=current.artifact_id)
    assert head.revision == 2
    assert '"# New\\n"' in ArtifactRevision.objects.get(revision=2).content


@pytest.mark.parametrize(
    ("values", "field", "error"),
    [
        ({}, "__all__", "1 to 32 pieces of evidence"),
        ({"source_ids": "nothing"}, "source_ids", "has no Source nothing"),
        ({"artifact_refs": "mem-1"}, "artifact_refs", "family/artifact_id@revision"),
        ({"artifact_refs": "a/b@99999999999"}, "artifact_refs", "family/artifact_id"),
        ({"artifact_refs": "a/b@1"}, "__all__", "artifact_not_found"),
        ({"target": "experience/e@0", "source_ids": "one"}, "target", "Write family"),
        (
            {"target": "profile/profile@1", "source_ids": "one"},
            "__all__",
            "another family",
        ),
        ({"source_ids": "one", "lesson": " "}, "lesson", "1 to 8000 characters"),
    ],
)
def test_refused_proposals(
    admin: Browser, values: dict[str, str], field: str, error: str
) -> None:
    scope = make_scope("s")
    source(scope, "one")

    page = admin.open("candidate_add_family", "experience").submit(
        scope=str(scope.pk), **experience("x") | values
    )

    assert list(page.errors) == [field]
    assert error in page.errors[field][0]
    assert not Candidate.objects.exists()


def test_reject_needs_a_reason(admin: Browser, api: Api) -> None:
    row = propose(make_scope("s"), "experience", experience("Wrong lesson."))

    page = admin.open("candidate_change", row.pk).press("reject")
    page = page.submit(reason="  ")
    assert "This field is required." in page.html
    row.refresh_from_db()
    assert row.status == "pending"

    page = page.submit(reason="Not true.\nAt all.")
    assert page.messages == ["Rejected: 1."]
    row.refresh_from_db()
    assert (row.status, row.decision_reason) == ("rejected", "Not true.\nAt all.")
    assert not Artifact.objects.exists()
    assert "Not true." in admin.open("candidate_change", row.pk).html


def test_a_decision_is_final(admin: Browser) -> None:
    scope = make_scope("s")
    approved = propose(scope, "experience", experience("One."))
    rejected = propose(scope, "experience", experience("Two."))
    admin.act("candidate", "approve", approved)
    candidates.reject(
        scope=scope,
        candidate_id=rejected.candidate_id,
        expected_version=1,
        reason="No.",
        authorship=BY_TEST,
    )

    page = admin.act("candidate", "approve", approved, rejected)
    assert page.messages == [
        "Nothing to change: 1.",
        f"{rejected.candidate_id} (rejected): The Candidate is rejected.",
    ]
    page = admin.act("candidate", "reject", approved, confirmed="yes", reason="Late.")
    assert page.messages == [
        f"{approved.candidate_id} (approved): The Candidate is approved."
    ]
    assert ArtifactRevision.objects.count() == 1


def test_stale_target_is_a_message(admin: Browser) -> None:
    scope = make_scope("s")
    current = profile(scope, "# One")
    row = propose(scope, "profile", {"content": "# Three"}, target=current)
    revise(current, {"content": "# Two"})
    fresh = propose(scope, "experience", experience("Independent."))

    page = admin.act("candidate", "approve", row, fresh)

    assert page.messages == [
        "Approved: 1.",
        f"{row.candidate_id} (pending): The target has a newer revision.",
    ]
    row.refresh_from_db()
    assert (row.status, row.result) == ("pending", None)


def test_status_filter(admin: Browser) -> None:
    scope = make_scope("s")
    pending = propose(scope, "experience", experience("One."))
    approved = propose(scope, "experience", experience("Two."))
    admin.act("candidate", "approve", approved)

    html = admin.open("candidate_changelist", status__exact="pending").html

    assert pending.candidate_id in html
    assert approved.candidate_id not in html


def test_other_families_are_not_proposed(admin: Browser) -> None:
    assert admin.open("candidate_add_family", "prompt").status == 404


def test_candidates_are_not_edited(admin: Browser) -> None:
    row = propose(make_scope("s"), "experience", experience("One."))
    before = Candidate.objects.values().get()
    page = admin.open("candidate_change", row.pk)

    answer = admin.client.post(page.url, {"status": "approved", "proposal": "{}"})

    assert answer.status_code == 403
    assert Candidate.objects.values().get() == before
    assert json.loads(before["proposal"])["lesson"] == "One."
