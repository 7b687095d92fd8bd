"""Revisions and Memory entry versions: the append-only record, to read (C.1, C.3)."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from prepare.admin.base import ReadOnlyAdmin, Tool
from prepare.admin.display import (
    ABSENT,
    admin_url,
    inspect_revision,
    link,
    revision_label,
    show_body,
    show_json,
    show_lineage,
    show_text,
)
from prepare.admin.filters import RevisionFamilyFilter
from prepare.models import ArtifactRevision, MemoryEntryVersion


class OfArtifactAdmin(ReadOnlyAdmin):
    """Rows that belong to one artifact."""

    list_select_related = ["artifact__scope"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("artifact__scope")

    @admin.display(description="Scope")
    def shown_scope(self, row: Any) -> str:
        return show_text(row.artifact.scope.scope_id)

    @admin.display(description="Artifact")
    def shown_artifact(self, row: Any) -> str:
        head = row.artifact
        return link(admin_url(head), f"{head.family}/{head.artifact_id}")

    def tools(self, request: HttpRequest, row: Any) -> list[Tool]:
        return [Tool(label="Artifact", url=admin_url(row.artifact))]


@admin.register(ArtifactRevision)
class ArtifactRevisionAdmin(OfArtifactAdmin):
    list_display = [
        "shown_revision",
        "shown_scope",
        "created",
        "shown_author",
    ]
    list_filter = [RevisionFamilyFilter]
    search_fields = ["artifact__artifact_id", "artifact__scope__scope_id"]
    search_help_text = "The beginning of an artifact id or Scope id."
    ordering = ["-pk"]
    readonly_fields = [
        "shown_scope",
        "shown_artifact",
        "revision",
        "shown_content",
        "content_digest",
        "shown_lineage",
        "created",
        "shown_author",
        "restored_from_revision",
        "shown_reason",
    ]

    def heading(self, row: ArtifactRevision) -> str:
        return revision_label(row)

    def tools(self, request: HttpRequest, row: Any) -> list[Tool]:
        inspect = Tool(label="Inspect", url=inspect_revision(row))
        return [*super().tools(request, row), inspect]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # A list of profiles would otherwise read 256 KiB a row.
        return super().get_queryset(request).defer("content")

    @admin.display(description="Revision", ordering="pk")
    def shown_revision(self, row: ArtifactRevision) -> str:
        return revision_label(row)

    @admin.display(description="Content")
    def shown_content(self, row: ArtifactRevision) -> str:
        return show_json(row.content)

    @admin.display(description="Made from")
    def shown_lineage(self, row: ArtifactRevision) -> str:
        return show_lineage(row)

    @admin.display(description="Created by")
    def shown_author(self, row: ArtifactRevision) -> str:
        return show_text(row.created_by) or ABSENT

    @admin.display(description="Reason")
    def shown_reason(self, row: ArtifactRevision) -> str:
        return show_text(row.reason) or ABSENT


@admin.register(MemoryEntryVersion)
class MemoryEntryVersionAdmin(OfArtifactAdmin):
    list_display = [
        "entry_id",
        "entry_version_id",
        "version",
        "shown_kind",
        "shown_artifact",
        "shown_scope",
        "created",
    ]
    search_fields = ["entry_id", "entry_version_id", "artifact__scope__scope_id"]
    search_help_text = "The beginning of an entry id, version id or Scope id."
    ordering = ["-pk"]
    readonly_fields = [
        "shown_scope",
        "shown_artifact",
        "entry_id",
        "entry_version_id",
        "version",
        "shown_previous",
        "shown_kind",
        "shown_text",
        "content_digest",
        "created_in_revision",
        "created",
    ]

    def tools(self, request: HttpRequest, row: Any) -> list[Tool]:
        revision = row.artifact.revisions.get(revision=row.created_in_revision)
        url = inspect_revision(
            revision, entry=row.entry_id, entry_version=row.entry_version_id
        )
        return [*super().tools(request, row), Tool(label="Inspect", url=url)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("text")

    @admin.display(description="Kind")
    def shown_kind(self, row: MemoryEntryVersion) -> str:
        return show_text(row.kind)

    @admin.display(description="Text")
    def shown_text(self, row: MemoryEntryVersion) -> str:
        return show_body(row.text)

    @admin.display(description="Previous version")
    def shown_previous(self, row: MemoryEntryVersion) -> str:
        previous = row.previous
        return link(admin_url(previous), previous) if previous is not None else ABSENT
