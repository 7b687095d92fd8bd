"""The next revision of an artifact, written at the revision the form was opened at."""

import pytest
from django.contrib.auth.models import User

from prepare.models import Artifact, ArtifactRevision
from prepare.services import memories
from prepare.services.artifacts import Lineage, SourceRef
from prepare.services.memories import MemoryTarget
from tests.admin.pages import Browser, latest_content, page_url
from tests.api import Api
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    profile,
    ref,
    remember,
    revise,
    source,
    topic,
    write,
)


def test_new_revision(admin: Browser, api: Api, operator: User) -> None:
    scope = make_scope("s")
    source(scope, "one")
    lineage = Lineage(sources=(SourceRef(source_type="content", source_id="one"),))
    first = write(
        scope,
        "atomic-memory",
        {"kind": "fact", "text": "Lunch is at noon.\nSharp."},
        lineage=lineage,
    )

    page = admin.open("artifact_change", first.artifact_id)
    assert page_url("artifact_revise", first.artifact_id) in page.html
    page = admin.open("artifact_revise", first.artifact_id)
    assert page.fields()["text"] == ["Lunch is at noon.\r\nSharp."]
    page.submit(text="Lunch is at one.\nSharp.", reason="Moved.")

    second = ArtifactRevision.objects.get(revision=2)
    assert latest_content()["text"] == "Lunch is at one.\nSharp."
    assert (second.created_by, second.reason) == (operator.username, "Moved.")
    assert second.source_evidence.count() == 1
    assert ArtifactRevision.objects.get(revision=1).content == first.content
    assert "Lunch is at one." in api.content("s", "lunch")


def test_unchanged_text_has_the_same_digest(admin: Browser) -> None:
    scope = make_scope("s")
    first = write(scope, "topic-memory", topic("T", "\n two \n", "\n\n# D\n\ttab\n\n"))

    admin.open("artifact_revise", first.artifact_id).submit()

    second = ArtifactRevision.objects.get(revision=2)
    assert second.content_digest == first.content_digest


def test_stale_revision_form_writes_nothing(admin: Browser) -> None:
    scope = make_scope("s")
    first = remember(scope, "first")
    stale = admin.open("artifact_revise", first.artifact_id)
    revise(first, {"kind": "fact", "text": "second"})

    page = stale.submit(text="third")

    assert "newer revision" in page.errors["__all__"][0]
    assert "third" in page.html
    assert ArtifactRevision.objects.count() == 2


def test_stale_collection_form_writes_nothing(admin: Browser) -> None:
    scope = make_scope("s")
    row = collect(scope, [("e1", "e1-v1", "one")])
    stale = admin.open("artifact_revise", row.artifact_id)
    collect(scope, [("e2", "e2-v1", "two")])
    entry = {"entry_id": "e3", "entry_version_id": "e3-v1", "kind": "k", "text": "x"}

    page = stale.submit(**entry)
    assert "newer revision" in page.errors["__all__"][0]
    admin.open("artifact_revise", row.artifact_id).submit(**entry)

    entries = [entry["entry_id"] for entry in latest_content()["entries"]]
    assert entries == ["e1", "e2", "e3"]
    assert Artifact.objects.get().revision == 3


def test_revision_keeps_what_the_form_does_not_show(admin: Browser) -> None:
    scope = make_scope("s")
    failure = {
        "signature": {"recall_cue": "cue"},
        "repair_surface": "working_state",
        "verification": {"condition": "c", "check_subject": "s"},
    }
    told = write(scope, "experience", {**experience("old"), "failure": failure})
    described = profile(scope, "# Old")

    admin.open("artifact_revise", told.artifact_id).submit(lesson="new")
    assert latest_content() == {**experience("new"), "failure": failure}
    admin.open("artifact_revise", described.artifact_id).submit(content="# New")
    content = latest_content()
    assert content["content"] == "# New\n"
    assert content["generation"]["mode"] == "manual_replace"


def test_merge_result_keeps_its_mark(admin: Browser) -> None:
    scope = make_scope("s")
    inputs = [remember(scope, "one"), remember(scope, "two")]
    row, _ = memories.merge_memories(
        scope=scope,
        inputs=[MemoryTarget(artifact=ref(item), state_version=0) for item in inputs],
        content={"kind": "fact", "text": "both"},
        authorship=BY_TEST,
    )

    page = admin.open("artifact_revise", inputs[0].artifact_id)
    assert page.messages == ["A merged artifact gets no new revision."]
    detail = admin.open("artifact_change", inputs[0].artifact_id)
    assert f"atomic-memory/{row.artifact.artifact_id}@1" in detail.html
    admin.open("artifact_revise", row.artifact_id).submit(text="all")

    expected = [item.artifact.artifact_id for item in inputs]
    assert latest_content()["creation"]["input_artifact_ids"] == expected


@pytest.mark.parametrize("text", ["a\0b", "a\rb"])
def test_text_that_no_browser_returns_is_announced(admin: Browser, text: str) -> None:
    row = write(make_scope("s"), "topic-memory", topic("T", detail=text))

    page = admin.open("artifact_revise", row.artifact_id)

    assert "a browser cannot send back" in page.messages[0]
    assert admin.open("artifact_change", row.artifact_id).messages == []


def test_ordinary_text_is_not_announced(admin: Browser) -> None:
    row = write(make_scope("s"), "topic-memory", topic("T", detail="C:\\run\n\\u0000"))

    assert admin.open("artifact_revise", row.artifact_id).messages == []
