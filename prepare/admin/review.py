"""Candidates: propose, approve, reject (contract C.7). A decision is final."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path

from prepare import limits
from prepare.admin.artifacts import FAMILIES
from prepare.admin.base import ContextAdmin, Tool, authorship, is_confirmed
from prepare.admin.display import (
    ABSENT,
    admin_url,
    inspect_revision,
    link,
    revision_label,
    show_json,
    show_labels,
    show_text,
    show_time,
)
from prepare.admin.fields import initial_scope
from prepare.admin.filters import ProposedFamilyFilter
from prepare.admin.forms import ProposeForm, RejectForm
from prepare.models import ArtifactRevision, Candidate
from prepare.services import candidates
from prepare.services.candidates import Proposal

PROPOSED_FAMILIES = (limits.EXPERIENCE, limits.PROFILE)


@admin.register(Candidate)
class CandidateAdmin(ContextAdmin):
    list_display = [
        "candidate_id",
        "family",
        "shown_scope",
        "status",
        "version",
        "created",
    ]
    list_filter = ["status", ProposedFamilyFilter]
    list_select_related = ["scope"]
    ordering = ["-pk"]
    search_fields = ["candidate_id", "scope__scope_id"]
    search_help_text = "The beginning of a Candidate id or Scope id."
    actions = ["approve", "reject"]
    readonly_fields = [
        "shown_scope",
        "candidate_id",
        "family",
        "status",
        "version",
        "shown_proposal",
        "shown_evidence",
        "shown_target",
        "shown_reason",
        "shown_result",
        "shown_decision",
        "created",
        "decided",
    ]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A Candidate is no form: it changes by being approved or rejected."""
        return obj is None and super().has_change_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("proposal", "evidence")

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.add_family_view)
        name = "prepare_candidate_add_family"
        return [path("add/<slug:family>/", view, name=name), *super().get_urls()]

    @admin.display(description="Scope", ordering="scope__scope_id")
    def shown_scope(self, row: Candidate) -> str:
        return show_text(row.scope.scope_id)

    @admin.display(description="Proposal")
    def shown_proposal(self, row: Candidate) -> str:
        return show_json(row.proposal)

    @admin.display(description="Evidence")
    def shown_evidence(self, row: Candidate) -> str:
        lineage = candidates.read_lineage(row)
        return show_labels(
            [f"{item.source_type}/{item.source_id}" for item in lineage.sources]
            + [
                f"{item.family}/{item.artifact_id}@{item.revision}"
                for item in lineage.artifacts
            ]
        )

    @admin.display(description="Replaces")
    def shown_target(self, row: Candidate) -> str:
        return _revision_link(row.target)

    @admin.display(description="Result")
    def shown_result(self, row: Candidate) -> str:
        return _revision_link(row.result)

    @admin.display(description="Reason")
    def shown_reason(self, row: Candidate) -> str:
        return show_text(row.reason) or ABSENT

    @admin.display(description="Rejected because")
    def shown_decision(self, row: Candidate) -> str:
        return show_text(row.decision_reason) or ABSENT

    @admin.display(description="Decided")
    def decided(self, row: Candidate) -> str:
        return show_time(row.decided_at)

    def tools(self, request: HttpRequest, row: Any) -> Sequence[Tool]:
        tools = [
            Tool(label=f"Inspect {name}", url=inspect_revision(revision))
            for name, revision in (("target", row.target), ("result", row.result))
            if revision is not None
        ]
        is_pending = row.status == Candidate.Status.PENDING
        if is_pending and self.has_change_permission(request):
            tools += [
                Tool(label="Approve", action="approve"),
                Tool(label="Reject…", action="reject"),
            ]
        return tools

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": "Propose",
            "opts": self.opts,
            "media": self.media,
            "families": [(name, *FAMILIES[name]) for name in PROPOSED_FAMILIES],
        }
        return TemplateResponse(request, "admin/prepare/choose_family.html", context)

    def add_family_view(self, request: HttpRequest, family: str) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        if family not in PROPOSED_FAMILIES:
            raise Http404
        form = ProposeForm(
            request.POST or None, family=family, initial=initial_scope(request)
        )

        def save() -> Candidate:
            data = form.cleaned_data
            return candidates.propose(
                scope=data["scope"],
                proposal=Proposal(
                    family=family,
                    content=form.content(),
                    lineage=form.lineage(),
                    target=data["target"],
                    reason=data["reason"],
                ),
                authorship=authorship(request),
            )

        title = f"Propose {FAMILIES[family][0].lower()}"
        return self.form_page(request, form=form, save=save, title=title)

    @admin.action(permissions=["change"], description="Approve selected candidates")
    def approve(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        def change(row: Candidate) -> bool:
            if row.status == Candidate.Status.APPROVED:
                return False
            candidates.approve(
                scope=row.scope,
                candidate_id=row.candidate_id,
                expected_version=row.version,
                authorship=authorship(request),
            )
            return True

        self.apply_each(request, queryset.select_related("scope"), change, "Approved")

    @admin.action(permissions=["change"], description="Reject selected candidates…")
    def reject(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponse | None:
        form = RejectForm(request.POST if is_confirmed(request) else None)
        if not form.is_valid():
            return self.confirm_page(
                request,
                queryset,
                action="reject",
                title="Reject candidates",
                warning="A decision is final. The reason is kept with the Candidate.",
                form=form,
            )

        def change(row: Candidate) -> bool:
            candidates.reject(
                scope=row.scope,
                candidate_id=row.candidate_id,
                expected_version=row.version,
                reason=form.cleaned_data["reason"],
                authorship=authorship(request),
            )
            return True

        self.apply_each(request, queryset.select_related("scope"), change, "Rejected")
        return None


def _revision_link(row: ArtifactRevision | None) -> str:
    return ABSENT if row is None else link(admin_url(row), revision_label(row))
