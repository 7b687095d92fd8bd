"""Sources: written once, then only read (contract C.1)."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from prepare.admin.base import ContextAdmin, Tool
from prepare.admin.display import (
    admin_url,
    inspector_url,
    revision_label,
    show_json,
    show_links,
    show_text,
)
from prepare.admin.fields import initial_scope
from prepare.admin.forms import AddSourceForm
from prepare.models import Source
from prepare.services import sources
from prepare.services.sources import SourceContent

_SHOWN_CITATIONS = 100


@admin.register(Source)
class SourceAdmin(ContextAdmin):
    list_display = ["shown_id", "shown_type", "shown_scope", "position", "created"]
    list_select_related = ["scope"]
    ordering = ["-pk"]
    search_fields = ["source_id", "scope__scope_id"]
    search_help_text = "The beginning of a Source id or Scope id."
    readonly_fields = [
        "shown_scope",
        "shown_type",
        "shown_id",
        "position",
        "shown_content",
        "shown_metadata",
        "content_digest",
        "shown_citations",
        "created",
    ]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("content", "metadata")

    @admin.display(description="Source id", ordering="source_id")
    def shown_id(self, source: Source) -> str:
        return show_text(source.source_id)

    @admin.display(description="Source type", ordering="source_type")
    def shown_type(self, source: Source) -> str:
        return show_text(source.source_type)

    @admin.display(description="Scope")
    def shown_scope(self, source: Source) -> str:
        return show_text(source.scope.scope_id)

    @admin.display(description="Content")
    def shown_content(self, source: Source) -> str:
        return show_json(source.content)

    @admin.display(description="Metadata")
    def shown_metadata(self, source: Source) -> str:
        return show_json(source.metadata)

    @admin.display(description="Cited by")
    def shown_citations(self, source: Source) -> str:
        links = source.cited_by.select_related("revision__artifact").order_by("pk")
        return show_links(
            (admin_url(row.revision), revision_label(row.revision))
            for row in links[:_SHOWN_CITATIONS]
        )

    def tools(self, request: HttpRequest, row: Any) -> list[Tool]:
        url = inspector_url(
            "source",
            scope=row.scope.scope_id,
            type=row.source_type,
            id=row.source_id,
        )
        return [Tool(label="Inspect", url=url)]

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = AddSourceForm(request.POST or None, initial=initial_scope(request))

        def save() -> Source:
            data = form.cleaned_data
            return sources.create_source(
                scope=data["scope"],
                source=SourceContent(
                    source_type=data["source_type"],
                    source_id=data["source_id"] or None,
                    content=data["content"],
                    metadata=data["metadata"],
                ),
                now=timezone.now(),
            )

        return self.form_page(request, form=form, save=save, title="Add Source")
