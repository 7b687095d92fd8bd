"""Hostile text in every field is inert, whatever page shows it, and never a 500."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from prepare.models import Artifact, Candidate, Scope, Source, Token
from tests.admin.pages import Browser, Page
from tests.factories import make_scope, source

SCRIPT = "<img src=x onerror=alert(1)>"
TEXTS = [
    SCRIPT + "{{ request.user.password }}{% now 'Y' %}",
    "'\"--; DROP TABLE x</textarea></script><script>alert(1)</script>",
    "bidi \u202eevil\u2066 \u200bzero \ufeffwidth \x01\x1b[31m\x85\u2028\u2029end",
    "%s %(x)s %_\\ \U0001f600\U000e0041 \ud7ff\uffff\ufffd",
]
WITH_NUL = "a\0b"

# One filled form for each page that writes; every text field gets the hostile text.
FORMS: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    ("scope_add", (), ("scope_id", "title", "summary", "references")),
    ("token_add", (), ("name",)),
    ("source_add", (), ("source_type", "source_id", "content", "metadata")),
    (
        "artifact_add_family",
        ("atomic-memory",),
        ("artifact_id", "kind", "text", "source_ids", "reason"),
    ),
    (
        "artifact_add_family",
        ("experience",),
        ("situation", "action", "outcome", "lesson", "reason"),
    ),
    ("artifact_add_family", ("topic-memory",), ("title", "summary", "detail")),
    ("artifact_add_family", ("profile",), ("content",)),
    (
        "artifact_add_family",
        ("prompt",),
        ("artifact_id", "mode", "instructions", "demonstrations"),
    ),
    (
        "artifact_add_family",
        ("memory",),
        ("artifact_id", "entry_id", "entry_version_id", "kind", "text"),
    ),
    (
        "candidate_add_family",
        ("experience",),
        ("situation", "lesson", "target", "artifact_refs", "source_ids", "reason"),
    ),
]
# What makes the rest of the form acceptable.
FILLED: dict[str, str] = {
    "title": "T",
    "summary": "S",
    "kind": "fact",
    "text": "x",
    "situation": "x",
    "action": "x",
    "outcome": "x",
    "lesson": "x",
    "detail": "x",
    "content": "x",
    "entry_id": "e",
    "entry_version_id": "v",
    "name": "token",
    "source_type": "content",
    "instructions": "x",
}


def assert_inert(page: Page) -> None:
    assert page.status in (200, 400)
    assert SCRIPT not in page.html
    assert "<script>alert(1)" not in page.html
    assert not any("alert(1)" in script for script in page.scripts)
    assert not set("\u202e\u2066\x01\x1b") & set(_content(page))


def _content(page: Page) -> str:
    """What our pages show. Left out: the text areas and inputs in which the operator
    edits the text itself, and Django's own breadcrumbs, history and chosen options."""
    if page.url.endswith("/history/") or page.url == "/admin/":
        return ""
    html = page.html.split('<div id="content"', 1)[-1]
    for tag in ("textarea", "option"):
        html = re.sub(f"<{tag}.*?</{tag}>", "", html, flags=re.DOTALL)
    return re.sub("<input[^>]*>", "", html)


def every_page(admin: Browser) -> Iterator[Page]:
    for model in ("scope", "token", "source", "artifact", "candidate"):
        yield admin.open(f"{model}_changelist")
    for model in ("artifactrevision", "memoryentryversion"):
        yield admin.open(f"{model}_changelist")
    for rows in (Scope, Token, Source, Artifact, Candidate):
        for row in rows.objects.all():
            name = str(rows._meta.model_name)
            yield admin.open(f"{name}_change", row.pk)
            yield admin.open(f"{name}_history", row.pk)
    for head in Artifact.objects.all():
        yield admin.open("artifact_revise", head.pk)
        for revision in head.revisions.all():
            yield admin.open("artifactrevision_change", revision.pk)
        for entry in head.entry_versions.all():
            yield admin.open("memoryentryversion_change", entry.pk)
    yield admin.get("/admin/")


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_is_inert_everywhere(admin: Browser, text: str) -> None:
    scope = make_scope("s")
    source(scope, "one")
    for name, args, fields in FORMS:
        for field in fields:
            page = admin.open(name, *args)
            values = {key: FILLED[key] for key in FILLED if key in page.fields()}
            if "scope" in page.fields() or name != "scope_add":
                values["scope"] = str(scope.pk)
            if name == "candidate_add_family":
                values["source_ids"] = "one"
            values[field] = text
            assert_inert(page.submit(**values))
    stored: list[Any] = [Scope, Token, Source, Artifact, Candidate]
    assert all(model.objects.exists() for model in stored)
    for page in every_page(admin):
        assert_inert(page)


@pytest.mark.parametrize(("name", "args", "fields"), FORMS)
def test_nul_is_refused(
    admin: Browser, name: str, args: tuple[str, ...], fields: tuple[str, ...]
) -> None:
    scope = make_scope("s")
    for field in fields:
        page = admin.open(name, *args)
        values = {key: FILLED[key] for key in FILLED if key in page.fields()}
        page = page.submit(**{"scope": str(scope.pk), **values, field: WITH_NUL})
        assert (page.status, list(page.errors)) == (200, [field])


@pytest.mark.parametrize("model", ["scope", "artifact", "source", "token", "candidate"])
@pytest.mark.parametrize("text", [*TEXTS, WITH_NUL, "x" * 60000, "[" * 300])
def test_hostile_searches(admin: Browser, model: str, text: str) -> None:
    assert_inert(admin.open(f"{model}_changelist", q=text))


@pytest.mark.parametrize(
    "query",
    [
        {"family": SCRIPT},
        {"family": WITH_NUL},
        {"state": SCRIPT},
        {"scope__id__exact": "abc"},
        {"scope__id__exact": "9" * 40},
        {"scope__scope_id__regex": "(a+)+$"},
        {"nothing": SCRIPT},
        {"o": "-99.x"},
        {"p": "9" * 40},
        {"p": "x"},
        {"all": "", "e": "1"},
    ],
)
def test_hostile_list_queries(admin: Browser, query: dict[str, str]) -> None:
    assert_inert(admin.open("artifact_changelist", **query))


@pytest.mark.parametrize("scope", ["abc", "²", "9" * 40, "-1", SCRIPT, WITH_NUL])
def test_hostile_preselected_scope(admin: Browser, scope: str) -> None:
    for name, args in (
        ("source_add", ()),
        ("artifact_add", ()),
        ("artifact_add_family", ("profile",)),
    ):
        page = admin.open(name, *args, scope=scope)
        assert_inert(page)
        if page.fields():
            assert "selected" not in str(page.fields().get("scope"))


@pytest.mark.parametrize("key", ["abc", "9" * 40, "-1", "%3Cb%3E", "_3C"])
def test_hostile_keys(admin: Browser, key: str) -> None:
    for model in ("scope", "artifact", "artifactrevision", "candidate", "token"):
        for page in ("change", "delete", "history"):
            answer = admin.get(f"/admin/prepare/{model}/{key}/{page}/")
            assert answer.status in (200, 403, 404)
    assert admin.get(f"/admin/prepare/artifact/{key}/revise/").status in (200, 404)
