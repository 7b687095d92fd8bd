"""Scopes: what they are called and which others they read (contract B.1, B.2)."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Exists, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from prepare.admin.base import Tool
from prepare.admin.display import (
    admin_url,
    inspector_url,
    link,
    list_url,
    show_links,
    show_text,
)
from prepare.admin.forms import AddScopeForm, ChangeScopeForm, ScopeForm
from prepare.admin.transfer import TransferAdmin
from prepare.models import (
    Artifact,
    Candidate,
    ContextReference,
    Scope,
    ServerState,
    Source,
)
from prepare.services import scopes
from prepare.services.scopes import ExternalReference, ScopeFields


def _count_rows(rows: QuerySet[Any]) -> Coalesce:
    """Rows of one Scope, counted apart: joins would multiply each other."""
    counted = rows.filter(scope=OuterRef("pk")).order_by().values("scope")
    counted = counted.annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def is_used(scope: Scope) -> bool:
    """Whether something is stored in the Scope or points to it."""
    used = Scope.objects.filter(pk=scope.pk).filter(
        Exists(Artifact.objects.filter(scope=OuterRef("pk")))
        | Exists(Source.objects.filter(scope=OuterRef("pk")))
        | Exists(Candidate.objects.filter(scope=OuterRef("pk")))
        | Exists(ContextReference.objects.filter(target=OuterRef("pk")))
        | Exists(Scope.objects.filter(parent=OuterRef("pk")))
        | Exists(ServerState.objects.filter(default_scope=OuterRef("pk")))
    )
    return used.exists()


@admin.register(Scope)
class ScopeAdmin(TransferAdmin):
    list_display = [
        "shown_id",
        "shown_title",
        "reference_count",
        "artifact_count",
        "version",
    ]
    ordering = ["scope_id"]
    search_fields = ["scope_id", "title"]
    search_help_text = "The beginning of a Scope id or title."
    readonly_fields = [
        "shown_id",
        "shown_title",
        "shown_summary",
        "shown_references",
        "version",
        "created",
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        rows = rows.annotate(
            references=_count_rows(ContextReference.objects.all()),
            held_artifacts=_count_rows(Artifact.objects.all()),
        )
        return rows

    @admin.display(description="Scope id", ordering="scope_id")
    def shown_id(self, scope: Scope) -> str:
        return show_text(scope.scope_id)

    @admin.display(description="Title", ordering="title")
    def shown_title(self, scope: Scope) -> str:
        return show_text(scope.title)

    @admin.display(description="Summary")
    def shown_summary(self, scope: Scope) -> str:
        return show_text(scope.summary)

    @admin.display(description="Context references")
    def shown_references(self, scope: Scope) -> str:
        rows = scope.context_references.select_related("target").order_by("position")
        return show_links(
            (admin_url(row.target), show_text(row.target.scope_id)) for row in rows
        )

    @admin.display(description="References")
    def reference_count(self, scope: Any) -> int:
        return int(scope.references)

    @admin.display(description="Artifacts")
    def artifact_count(self, scope: Any) -> str:
        url = list_url("artifact", scope__id__exact=scope.pk)
        return link(url, scope.held_artifacts)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """One empty Scope at a time: what holds data is history."""
        allowed = admin.ModelAdmin.has_delete_permission(self, request, obj)
        return allowed and obj is not None and not is_used(obj)

    def tools(self, request: HttpRequest, row: Any) -> list[Tool]:
        url = list_url("artifact", scope__id__exact=row.pk)
        tools = [Tool(label="Artifacts", url=url)]
        if request.user.has_perm("prepare.add_artifact"):
            url = f"{reverse('admin:prepare_artifact_add')}?scope={row.pk}"
            tools.append(Tool(label="Add artifact", url=url))
        url = inspector_url("scope", scope=row.scope_id)
        tools.append(Tool(label="Inspect", url=url))
        return tools

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = AddScopeForm(request.POST or None)

        def save() -> Scope:
            data = form.cleaned_data
            return scopes.create_scope(
                fields=_scope_fields(form),
                idempotency_key=data["idempotency_key"],
                now=timezone.now(),
                scope_id=data["scope_id"] or None,
            )

        return self.form_page(request, form=form, save=save, title="Add Scope")

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        scope = self.get_object(request, object_id)
        if scope is None or not self.has_change_permission(request, scope):
            return super().change_view(request, object_id, form_url, extra_context)
        form = ChangeScopeForm(
            request.POST or None,
            initial={
                "title": scope.title,
                "summary": scope.summary,
                "references": _reference_ids(scope),
                "expected_version": scope.version,
            },
        )

        def save() -> Scope:
            return scopes.update_scope(
                scope=scope,
                fields=_scope_fields(form, scope),
                expected_version=form.cleaned_data["expected_version"],
            )

        title = f"Change {show_text(scope.scope_id)}"
        return self.form_page(
            request,
            form=form,
            save=save,
            title=title,
            original=scope,
            tools=self.tools(request, scope),
        )


def _reference_ids(scope: Scope) -> list[str]:
    rows = scope.context_references.order_by("position")
    return list(rows.values_list("target__scope_id", flat=True))


def _scope_fields(form: ScopeForm, stored: Scope | None = None) -> ScopeFields:
    """What the form holds; what it does not show stays as stored."""
    parent = stored.parent if stored is not None else None
    external = stored.external_references if stored is not None else []
    return ScopeFields(
        title=form.cleaned_data["title"],
        summary=form.cleaned_data["summary"],
        parent_scope_id=parent.scope_id if parent is not None else None,
        context_references=tuple(form.cleaned_data["references"]),
        external_references=tuple(ExternalReference(**item) for item in external),
    )
