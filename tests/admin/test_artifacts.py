"""Artifacts in the admin: one form per family."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError

from prepare import limits
from prepare.models import (
    Artifact,
    ArtifactRevision,
    MemoryEntryVersion,
    SearchDocument,
)
from prepare.services import contents, reading
from tests.admin.pages import Browser, add_artifact, latest_content, page_url
from tests.api import Api
from tests.factories import (
    BY_TEST,
    experience,
    make_scope,
    ref,
    remember,
    source,
    topic,
    write,
)


def test_add_offers_every_stored_family(admin: Browser) -> None:
    page = admin.open("artifact_add", scope="7")

    for family in limits.STORED_FAMILIES:
        assert page_url("artifact_add_family", family) + "?scope=7" in page.html
    assert admin.open("artifact_add_family", "skill").status == 404


def test_memory_is_written_and_found(admin: Browser, api: Api, operator: User) -> None:
    scope = make_scope("project:demo")

    page = add_artifact(
        admin,
        "atomic-memory",
        scope=str(scope.pk),
        artifact_id="mem-1",
        kind="fact",
        text="  Deploys run on Tuesday.\nAsk <first>.  ",
        reason="From the wiki.",
    )

    row = ArtifactRevision.objects.get()
    assert page.messages == ["Saved atomic-memory/mem-1@1."]
    assert (row.created_by, row.reason) == (operator.username, "From the wiki.")
    assert latest_content()["text"] == "Deploys run on Tuesday.\nAsk <first>."
    assert "Deploys run on Tuesday." in api.content("project:demo", "deploys Tuesday")


def test_generated_id(admin: Browser) -> None:
    scope = make_scope("s")

    add_artifact(admin, "atomic-memory", scope=str(scope.pk), kind="fact", text="x")

    assert Artifact.objects.get().artifact_id.startswith("art_")


@pytest.mark.parametrize(
    ("family", "values", "stored"),
    [
        (
            "experience",
            experience(" Spaces stay. "),
            experience(" Spaces stay. "),
        ),
        ("topic-memory", topic("Kafka", "One.\nTwo."), topic("Kafka", "One.\nTwo.")),
        (
            "prompt",
            {
                "artifact_id": "memory.rerank",
                "mode": "custom",
                "instructions": "Prefer fresh facts.",
                "demonstrations": '[{"input": 1, "expected_output": [2]}]',
            },
            {
                "schema_version": "powercontext.prompt.v1",
                "mode": "custom",
                "instructions": "Prefer fresh facts.",
                "demonstrations": [{"input": 1, "expected_output": [2]}],
            },
        ),
    ],
)
def test_family_forms(
    admin: Browser, family: str, values: dict[str, Any], stored: dict[str, Any]
) -> None:
    scope = make_scope("s")

    add_artifact(admin, family, scope=str(scope.pk), **values)

    assert latest_content() == stored
    assert Artifact.objects.get().family == family


def test_profile(admin: Browser) -> None:
    scope = make_scope("s")

    add_artifact(admin, "profile", scope=str(scope.pk), content="# Olga\n\n- tea")

    assert Artifact.objects.get().artifact_id == "profile"
    content = latest_content()
    assert content["content"] == "# Olga\n\n- tea\n"
    assert content["generation"]["mode"] == "manual_create"

    again = add_artifact(admin, "profile", scope=str(scope.pk), content="other")
    assert "already exists" in again.errors["__all__"][0]
    assert ArtifactRevision.objects.count() == 1


def test_collection_entries(admin: Browser, api: Api) -> None:
    scope = make_scope("s")
    values = {"scope": str(scope.pk), "artifact_id": "memory", "kind": "fact"}

    add_artifact(
        admin,
        "memory",
        **values,
        entry_id="e1",
        entry_version_id="e1-v1",
        text="Lunch is at noon.",
    )
    add_artifact(
        admin,
        "memory",
        **values,
        entry_id="e2",
        entry_version_id="e2-v1",
        text="Dinner is late.",
        active=None,
    )

    head = Artifact.objects.get()
    states = [entry["state"] for entry in latest_content()["entries"]]
    assert (head.family, head.revision, states) == ("memory", 2, ["active", "inactive"])
    assert MemoryEntryVersion.objects.count() == 2
    assert "Lunch is at noon." in api.content("s", "when is lunch")
    clash = add_artifact(
        admin, "memory", **values, entry_id="e1", entry_version_id="e1-v1", text="No."
    )
    assert "already names another text" in clash.errors["__all__"][0]
    assert Artifact.objects.get().revision == 2


def test_sources_are_linked_in_order(admin: Browser) -> None:
    scope, other = make_scope("s"), make_scope("other")
    source(scope, "one")
    source(scope, "two words")
    source(other, "elsewhere")
    values = {"scope": str(scope.pk), "kind": "fact", "text": "x"}

    bad = add_artifact(admin, "atomic-memory", **values, source_ids="one\nelsewhere")
    assert bad.errors == {"source_ids": ["The Scope has no Source elsewhere."]}
    assert not Artifact.objects.exists()

    add_artifact(admin, "atomic-memory", **values, source_ids="content/two words\none")
    row = ArtifactRevision.objects.get()
    view = reading.read_revision(scope=scope, artifact=ref(row))
    assert [item.source_id for item in view.sources] == ["two words", "one"]


@pytest.mark.parametrize(
    ("family", "values", "field"),
    [
        ("atomic-memory", {"kind": "fact", "text": "   "}, "text"),
        ("atomic-memory", {"kind": "fact", "text": "é" * 4097}, "text"),
        ("atomic-memory", {"kind": "fact", "text": "a\0b"}, "text"),
        ("atomic-memory", {"kind": "", "text": "x"}, "kind"),
        (
            "atomic-memory",
            {"kind": "fact", "text": "x", "artifact_id": "a b"},
            "artifact_id",
        ),
        ("experience", experience("x") | {"action": ""}, "action"),
        ("profile", {"content": "\n\n"}, "content"),
        ("profile", {"content": "x" * 262145}, "content"),
        (
            "prompt",
            {"artifact_id": "nope", "mode": "custom", "instructions": "x"},
            "artifact_id",
        ),
        (
            "prompt",
            {"artifact_id": "memory.rerank", "mode": "auto", "instructions": "x"},
            "mode",
        ),
        (
            "prompt",
            {
                "artifact_id": "memory.rerank",
                "mode": "custom",
                "demonstrations": "[" * 20000,
            },
            "demonstrations",
        ),
        (
            "prompt",
            {
                "artifact_id": "memory.rerank",
                "mode": "custom",
                "demonstrations": '[{"input": 1}]',
            },
            "demonstrations",
        ),
        (
            "memory",
            {"entry_id": "é", "entry_version_id": "v", "kind": "k", "text": "x"},
            "entry_id",
        ),
    ],
)
def test_refused_content_is_an_error_at_its_field(
    admin: Browser, family: str, values: dict[str, Any], field: str
) -> None:
    scope = make_scope("s")

    page = add_artifact(admin, family, scope=str(scope.pk), **values)

    assert (page.status, list(page.errors)) == (200, [field])
    assert not Artifact.objects.exists()


def test_taken_id_is_a_form_error(admin: Browser) -> None:
    scope = make_scope("s")
    remember(scope, "first", artifact_id="mem-1")

    page = add_artifact(
        admin,
        "atomic-memory",
        scope=str(scope.pk),
        artifact_id="mem-1",
        kind="fact",
        text="second",
    )

    assert "already exists" in page.errors["__all__"][0]
    assert ArtifactRevision.objects.count() == 1


def test_save_and_add_another_keeps_the_scope(admin: Browser) -> None:
    scope = make_scope("s")
    url = page_url("artifact_add_family", "atomic-memory") + f"?scope={scope.pk}"
    page = admin.get(url)
    assert page.fields()["scope"] == [str(scope.pk)]

    values = {name: value[0] for name, value in page.fields().items()}
    values |= {"kind": "fact", "text": "x", "_addanother": "yes"}
    after = admin.post(url, values)

    assert after.fields()["scope"] == [str(scope.pk)]
    assert after.fields()["text"] == [""]
    assert Artifact.objects.count() == 1


def test_detail_shows_content_and_nothing_to_edit(admin: Browser) -> None:
    scope = make_scope("s")
    row = write(scope, "topic-memory", topic("Kafka", detail="# D\n\nline"))

    page = admin.open("artifact_change", row.artifact_id)

    assert "<pre># D\n\nline</pre>" in page.html
    assert all("revision" not in values for _, values in page.forms)
    assert admin.client.post(page.url, {"revision": "9"}).status_code == 403
    assert contents.digest(row.content) == row.content_digest


def test_lost_race_is_a_form_error(
    admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two operators save the same id at once: the checks of both had passed."""
    scope = make_scope("s")
    remember(scope, "first", artifact_id="mem-1")

    def insert(**values: Any) -> None:
        Artifact.objects.create(
            scope=scope,
            family="atomic-memory",
            artifact_id="mem-1",
            revision=1,
            created_at=BY_TEST.now,
            updated_at=BY_TEST.now,
        )

    monkeypatch.setattr("prepare.services.artifacts.create_artifact", insert)
    page = add_artifact(
        admin, "atomic-memory", scope=str(scope.pk), kind="fact", text="x"
    )

    assert "Someone else wrote the same thing" in page.errors["__all__"][0]
    assert Artifact.objects.count() == 1


def test_long_user_name_fits(admin: Browser, operator: User) -> None:
    scope = make_scope("s")
    User.objects.filter(pk=operator.pk).update(username="o" * 150)

    add_artifact(admin, "atomic-memory", scope=str(scope.pk), kind="fact", text="x")

    assert ArtifactRevision.objects.get().created_by == "o" * 128


def test_failed_log_entry_writes_nothing(
    admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = make_scope("s")

    def fail(*args: Any, **values: Any) -> None:
        raise IntegrityError

    monkeypatch.setattr("django.contrib.admin.options.ModelAdmin.log_addition", fail)
    page = add_artifact(
        admin, "atomic-memory", scope=str(scope.pk), kind="fact", text="x"
    )

    assert page.errors
    assert not Artifact.objects.exists()
    assert not SearchDocument.objects.exists()
