"""Staff see and do what they were permitted; everyone else is turned away."""

import pytest
from django.contrib import admin as django_admin
from django.test import Client

from prepare.models import (
    Artifact,
    Candidate,
    Posting,
    Scope,
    SearchChunk,
    SearchDocument,
    SearchPool,
    Source,
    Term,
    Token,
)
from tests.admin.pages import Browser, page_url
from tests.factories import experience, make_scope, propose, remember, source, token

MODELS = [
    "artifact",
    "artifactrevision",
    "candidate",
    "memoryentryversion",
    "scope",
    "source",
    "token",
]


@pytest.fixture
def rows(db: None) -> dict[str, int]:
    scope = make_scope("s")
    remember(scope, "A fact.")
    propose(scope, "experience", experience("A lesson."))
    token("ci")
    return {
        "artifact": Artifact.objects.get().pk,
        "candidate": Candidate.objects.get().pk,
        "scope": scope.pk,
        "source": source(scope, "one").pk,
        "token": Token.objects.get().pk,
    }


@pytest.mark.parametrize("model", MODELS)
def test_strangers_are_sent_to_the_login(client: Client, db: None, model: str) -> None:
    answer = client.get(page_url(f"{model}_changelist"))

    assert (answer.status_code, answer["Location"][:13]) == (302, "/admin/login/")


@pytest.mark.parametrize("model", MODELS)
def test_staff_without_permissions(staff, rows: dict[str, int], model: str) -> None:
    browser = staff()

    assert browser.open(f"{model}_changelist").status == 403
    assert browser.open(f"{model}_add").status == 403
    if model in rows:
        assert browser.open(f"{model}_change", rows[model]).status == 403


@pytest.mark.parametrize("model", ["artifact", "candidate", "scope", "source", "token"])
def test_viewers_only_look(staff, rows: dict[str, int], model: str) -> None:
    browser = staff(f"view_{model}")

    page = browser.open(f"{model}_change", rows[model])
    assert page.status == 200
    assert '<input type="submit" value="Save"' not in page.html
    assert browser.post(page.url, {"title": "x"}).status == 403
    assert browser.open(f"{model}_add").status == 403
    listed = browser.open(f"{model}_changelist")
    assert 'name="action"' not in listed.html


def test_viewers_do_not_act(staff, rows: dict[str, int]) -> None:
    browser = staff("view_artifact", "view_candidate", "view_token")

    for model, action in (
        ("artifact", "forget"),
        ("candidate", "approve"),
        ("token", "revoke"),
    ):
        values = {"action": action, "_selected_action": [rows[model]]}
        browser.post(page_url(f"{model}_changelist"), values)
    for name, key in (
        ("artifact_revise", rows["artifact"]),
        ("artifact_add_family", "profile"),
        ("candidate_add_family", "profile"),
    ):
        assert browser.open(name, key).status == 403
        assert browser.post(page_url(name, key), {}).status == 403

    assert Artifact.objects.get().state == "active"
    assert Candidate.objects.get().status == "pending"
    assert Token.objects.get().revoked_at is None


def test_adding_without_viewing(staff) -> None:
    scope = make_scope("s")
    browser = staff("add_source")

    page = browser.open("source_add").submit(scope=str(scope.pk), content="x")

    assert page.url == "/admin/"
    assert Source.objects.count() == 1


def test_every_form_needs_a_csrf_token(admin: Browser) -> None:
    scope = make_scope("s")
    before = Scope.objects.count()

    for name, args in (
        ("scope_add", ()),
        ("scope_change", (scope.pk,)),
        ("source_add", ()),
        ("token_add", ()),
        ("artifact_add_family", ("profile",)),
        ("candidate_add_family", ("profile",)),
    ):
        page = admin.open(name, *args)
        assert page.submit(csrfmiddlewaretoken="x" * 64).status == 403

    assert Scope.objects.count() == before


def test_the_search_projection_is_not_in_the_admin() -> None:
    for model in (SearchPool, SearchDocument, SearchChunk, Posting, Term):
        assert not django_admin.site.is_registered(model)
