"""Revisions and entry versions are the record: readable, and nothing else."""

import pytest
from django.db.models import Model

from prepare.models import ArtifactRevision, MemoryEntryVersion
from prepare.services.artifacts import Lineage, SourceRef
from tests.admin.pages import Browser, page_url
from tests.factories import (
    collect,
    make_scope,
    ref,
    remember,
    source,
    topic,
    write,
)


def test_detail_is_readable(admin: Browser) -> None:
    scope = make_scope("project:demo")
    source(scope, "ticket-1")
    fact = remember(scope, "A fact.", artifact_id="mem-1")
    row = write(
        scope,
        "topic-memory",
        topic("Kafka", detail="# Brokers\n\nFive 台."),
        artifact_id="topic-1",
        lineage=Lineage(
            sources=(SourceRef(source_type="content", source_id="ticket-1"),),
            artifacts=(ref(fact),),
        ),
    )

    html = admin.open("artifactrevision_change", row.pk).html

    assert "<pre># Brokers\n\nFive 台.</pre>" in html
    for shown in (
        "project:demo",
        "topic-memory/topic-1",
        row.content_digest,
        "content/ticket-1",
        "atomic-memory/mem-1@1",
    ):
        assert shown in html
    listed = admin.open("artifactrevision_changelist").html
    assert "topic-memory/topic-1@1" in listed


def test_entry_versions(admin: Browser) -> None:
    scope = make_scope("s")
    collect(scope, [("e1", "e1-v1", "First\nline.")])
    collect(scope, [("e1", "e1-v2", "Second.")])
    first, second = MemoryEntryVersion.objects.order_by("pk")

    assert "<pre>First\nline.</pre>" in (
        admin.open("memoryentryversion_change", first.pk).html
    )
    assert "e1/e1-v1" in admin.open("memoryentryversion_change", second.pk).html
    assert "e1-v2" in admin.open("memoryentryversion_changelist").html


@pytest.mark.parametrize("model", [ArtifactRevision, MemoryEntryVersion])
def test_nobody_adds_changes_or_deletes(admin: Browser, model: type[Model]) -> None:
    scope = make_scope("s")
    collect(scope, [("e1", "e1-v1", "One.")])
    row = model._default_manager.get()
    before = model._default_manager.values().get()
    name = str(model._meta.model_name)

    for url in (
        page_url(f"{name}_add"),
        page_url(f"{name}_change", row.pk),
        page_url(f"{name}_delete", row.pk),
    ):
        values = {"content": "{}", "text": "x", "revision": "9", "post": "yes"}
        assert admin.client.post(url, values).status_code == 403
    assert admin.open(f"{name}_add").status == 403
    assert admin.open(f"{name}_delete", row.pk).status == 403
    admin.act(name, "delete_selected", row, post="yes")

    assert model._default_manager.values().get() == before
