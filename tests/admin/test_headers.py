"""Headers of the admin, and its ways to the Inspector."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from prepare.middleware import ADMIN_POLICY
from prepare.models import Artifact, ArtifactRevision, Candidate, MemoryEntryVersion
from prepare.services import candidates
from tests.admin.pages import Browser, Page
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    propose,
    remember,
    source,
)


@pytest.mark.parametrize(
    "url",
    ["/admin/", "/admin/login/", "/admin/jsi18n/", "/admin/prepare/scope/", "/admin/x"],
)
def test_nothing_is_kept_or_loaded_from_elsewhere(
    admin: Browser, client: Client, url: str
) -> None:
    for visitor in (admin.client, client):
        headers = visitor.get(url).headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["Content-Security-Policy"] == ADMIN_POLICY
        assert headers["X-Frame-Options"] == "DENY"


def test_other_paths_have_their_own_headers(client: Client, db: None) -> None:
    assert "Content-Security-Policy" not in client.get("/v1/capabilities").headers
    assert "Content-Security-Policy" not in client.get("/administer").headers


def test_the_admin_leads_to_the_inspector(admin: Browser) -> None:
    assert f'<a href="{reverse("inspector:scopes")}">Inspector</a>' in (
        admin.get("/admin/").html
    )


def inspected(page: Page, label: str = "Inspect") -> tuple[str, dict[str, str]]:
    """Path and query of the button's link."""
    [tool] = [tool for tool in page.context["tools"] if tool.label == label]
    parts = urlsplit(tool.url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return parts.path, query


def test_detail_pages_lead_to_the_exact_revision(admin: Browser) -> None:
    scope = make_scope("a/b %&'\"")
    row = remember(scope, "Fact.", artifact_id="odd/id?#")
    expected = {
        "scope": scope.scope_id,
        "family": "atomic-memory",
        "id": "odd/id?#",
        "revision": "1",
    }
    for name, key in (
        ("artifact", row.artifact.pk),
        ("artifactrevision", row.pk),
    ):
        page = admin.open(f"{name}_change", key)
        assert inspected(page) == ("/inspector/revision", expected)


def test_other_detail_pages_lead_to_their_own(admin: Browser) -> None:
    scope = make_scope("s")
    held = source(scope, "dir/one")
    page = admin.open("source_change", held.pk)
    expected = {"scope": "s", "type": "content", "id": "dir/one"}
    assert inspected(page) == ("/inspector/source", expected)
    page = admin.open("scope_change", scope.pk)
    assert inspected(page) == ("/inspector/scope", {"scope": "s"})

    collect(scope, [("e", "v", "Entry.")])
    entry = MemoryEntryVersion.objects.get()
    _, query = inspected(admin.open("memoryentryversion_change", entry.pk))
    assert (query["entry"], query["entry_version"]) == ("e", "v")


def test_a_candidate_leads_to_its_result(admin: Browser) -> None:
    scope = make_scope("s")
    row = propose(scope, "experience", experience("A lesson."))
    tools = admin.open("candidate_change", row.pk).context["tools"]
    assert [tool.label for tool in tools] == ["Approve", "Reject…"]
    candidates.approve(
        scope=scope,
        candidate_id=row.candidate_id,
        expected_version=row.version,
        authorship=BY_TEST,
    )
    page = admin.open("candidate_change", row.pk)
    path, query = inspected(page, "Inspect result")
    made = Artifact.objects.get(family="experience")
    assert (path, query["id"]) == ("/inspector/revision", made.artifact_id)
    assert Candidate.objects.get().result == ArtifactRevision.objects.get()


def test_a_revision_is_named_by_what_it_is(admin: Browser) -> None:
    row = remember(make_scope("s"), "Fact.", artifact_id="mem")
    page = admin.open("artifactrevision_change", row.pk)
    assert page.html.count("atomic-memory/mem@1") >= 2
