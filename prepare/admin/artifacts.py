"""Artifacts: one form per family, the next revision, and the state of memories.

Everything goes through the writers (`services.artifacts`, `collections`, `memories`).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from prepare import limits
from prepare.admin.base import ContextAdmin, Tool, authorship, is_confirmed
from prepare.admin.display import (
    ABSENT,
    admin_url,
    inspect_revision,
    link,
    list_url,
    show_json,
    show_lineage,
    show_text,
    show_time,
)
from prepare.admin.fields import initial_scope
from prepare.admin.filters import FamilyFilter, StateFilter
from prepare.admin.forms import (
    AddArtifactForm,
    ContentForm,
    ReviseArtifactForm,
    content_fields,
)
from prepare.errors import RevisionConflict
from prepare.models import Artifact, ArtifactRevision, Scope
from prepare.services import artifacts, collections, memories, reading
from prepare.services.artifacts import Authorship
from prepare.services.collections import EntryChange
from prepare.services.memories import MemoryTarget

FAMILIES = {
    limits.ATOMIC_MEMORY: ("Memory", "One remembered fact: a kind and a text."),
    limits.EXPERIENCE: ("Experience", "Situation, action, outcome and lesson."),
    limits.PROFILE: ("Profile", "One Markdown document per Scope."),
    limits.TOPIC_MEMORY: ("Topic memory", "A title, a summary and a long detail."),
    limits.PROMPT: ("Prompt", "Instructions for one prompt key of a Scope."),
    limits.MEMORY_COLLECTION: (
        "Memory collection entry",
        "One entry of a collection, with its own entry and version ids.",
    ),
}
_ACTIONS = {
    "active": ["forget", "retire"],
    "forgotten": ["restore", "retire"],
}
_UNSENDABLE = (
    "The stored text holds NUL or carriage return characters, which a browser cannot"
    " send back: saving this form replaces them."
)


@admin.register(Artifact)
class ArtifactAdmin(ContextAdmin):
    list_display = [
        "artifact_id",
        "family",
        "shown_scope",
        "revision",
        "state",
        "updated",
    ]
    list_filter = [FamilyFilter, StateFilter]
    list_select_related = ["scope"]
    ordering = ["-pk"]
    search_fields = ["artifact_id", "scope__scope_id"]
    search_help_text = "The beginning of an artifact id or Scope id."
    actions = ["forget", "restore", "retire"]
    readonly_fields = [
        "shown_scope",
        "family",
        "artifact_id",
        "shown_revision",
        "state",
        "shown_content",
        "shown_lineage",
        "shown_merge",
        "state_version",
        "created",
        "updated",
    ]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A head is no form: it changes by a new revision or an action."""
        return obj is None and super().has_change_permission(request)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path(
                "add/<slug:family>/",
                view(self.add_family_view),
                name="prepare_artifact_add_family",
            ),
            path(
                "<int:key>/revise/",
                view(self.revise_view),
                name="prepare_artifact_revise",
            ),
            *super().get_urls(),
        ]

    @admin.display(description="Updated", ordering="updated_at")
    def updated(self, head: Artifact) -> str:
        return show_time(head.updated_at)

    @admin.display(description="Scope", ordering="scope__scope_id")
    def shown_scope(self, head: Artifact) -> str:
        return show_text(head.scope.scope_id)

    @admin.display(description="Current revision")
    def shown_revision(self, head: Artifact) -> str:
        return link(admin_url(_current(head)), head.revision)

    @admin.display(description="Content")
    def shown_content(self, head: Artifact) -> str:
        return show_json(_current(head).content)

    @admin.display(description="Made from")
    def shown_lineage(self, head: Artifact) -> str:
        return show_lineage(_current(head))

    @admin.display(description="Merged into")
    def shown_merge(self, head: Artifact) -> str:
        target = head.merged_into
        return ABSENT if target is None else link(admin_url(target), target)

    def tools(self, request: HttpRequest, row: Any) -> Sequence[Tool]:
        revisions = list_url("artifactrevision", artifact__id__exact=row.pk)
        tools = [Tool(label="All revisions", url=revisions)]
        if row.family == limits.MEMORY_COLLECTION:
            entries = list_url("memoryentryversion", artifact__id__exact=row.pk)
            tools.append(Tool(label="Entry versions", url=entries))
        tools.append(Tool(label="Inspect", url=inspect_revision(_current(row))))
        if not self.has_change_permission(request):
            return tools
        if _is_editable(row):
            url = reverse("admin:prepare_artifact_revise", args=[row.pk])
            tools.insert(0, Tool(label="New revision", url=url))
        if row.family == limits.ATOMIC_MEMORY:
            for action in _ACTIONS.get(row.state, ()):
                label = action.capitalize() + ("…" if action == "retire" else "")
                tools.append(Tool(label=label, action=action))
        return tools

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        """Choose a family; each has its own form."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": "Add artifact",
            "opts": self.opts,
            "media": self.media,
            "families": [(family, *words) for family, words in FAMILIES.items()],
        }
        return TemplateResponse(request, "admin/prepare/choose_family.html", context)

    def add_family_view(self, request: HttpRequest, family: str) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        if family not in FAMILIES:
            raise Http404
        form = AddArtifactForm(
            request.POST or None, family=family, initial=initial_scope(request)
        )

        def save() -> Artifact:
            data = form.cleaned_data
            author = authorship(request, data["reason"])
            return _write_first(form, data["scope"], author).artifact

        title = f"Add {FAMILIES[family][0].lower()}"
        return self.form_page(request, form=form, save=save, title=title)

    def revise_view(self, request: HttpRequest, key: int) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        head = self.get_object(request, str(key))
        if head is None:
            raise Http404
        if not _is_editable(head):
            text = f"A {head.state} artifact gets no new revision."
            self.message_user(request, text, messages.ERROR)
            return HttpResponseRedirect(admin_url(head))
        if request.method == "GET" and _holds_unsendable(head):
            self.message_user(request, _UNSENDABLE, messages.WARNING)
        form = ReviseArtifactForm(
            request.POST or None,
            family=head.family,
            scope=head.scope,
            initial=_revision_initial(head),
        )

        def save() -> Artifact:
            author = authorship(request, form.cleaned_data["reason"])
            return _write_next(form, head, author).artifact

        title = f"New revision of {head.family}/{head.artifact_id}"
        return self.form_page(request, form=form, save=save, title=title, original=head)

    @admin.action(permissions=["change"], description="Forget selected memories")
    def forget(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._change_states(request, queryset, "forgotten")

    @admin.action(permissions=["change"], description="Restore selected memories")
    def restore(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._change_states(request, queryset, "active", verb="Restored")

    @admin.action(permissions=["change"], description="Retire selected memories…")
    def retire(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponse | None:
        if not is_confirmed(request):
            return self.confirm_page(
                request,
                queryset,
                action="retire",
                title="Retire memories",
                warning="A retired memory is never found and never restored.",
            )
        self._change_states(request, queryset, "retired")
        return None

    def _change_states(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        state: str,
        verb: str | None = None,
    ) -> None:
        def change(head: Artifact) -> bool:
            _, changed = memories.change_state(
                scope=head.scope,
                target=MemoryTarget(
                    artifact=reading.head_ref(head), state_version=head.state_version
                ),
                state=state,
                authorship=authorship(request),
            )
            return changed

        rows = queryset.select_related("scope")
        self.apply_each(request, rows, change, verb or state.capitalize())


def _current(head: Artifact) -> ArtifactRevision:
    row: ArtifactRevision = head.revisions.get(revision=head.revision)
    return row


def _holds_unsendable(head: Artifact) -> bool:
    """Whether a text area would change one of the stored texts."""
    values = json.loads(_current(head).content).values()
    return any("\0" in text or "\r" in text for text in values if isinstance(text, str))


def _is_editable(head: Artifact) -> bool:
    return head.state in ("active", "forgotten") or (
        head.family != limits.ATOMIC_MEMORY and head.merged_into_id is None
    )


def _write_first(
    form: ContentForm, scope: Scope, author: Authorship
) -> ArtifactRevision:
    artifact_id = form.cleaned_data.get("artifact_id") or None
    if form.family == limits.MEMORY_COLLECTION:
        return collections.write_collection(
            scope=scope,
            artifact_id=str(artifact_id),
            changes=[EntryChange(**form.content())],
            authorship=author,
        )
    return artifacts.create_artifact(
        scope=scope,
        family=form.family,
        content=form.content(),
        authorship=author,
        artifact_id=artifact_id,
        lineage=form.lineage(),
    )


def _write_next(
    form: ContentForm, head: Artifact, author: Authorship
) -> ArtifactRevision:
    """The next revision, unless the head moved since the form was opened."""
    expected: int = form.cleaned_data["expected_revision"]
    if form.family == limits.MEMORY_COLLECTION:
        if head.revision != expected:
            raise RevisionConflict
        return collections.write_collection(
            scope=head.scope,
            artifact_id=head.artifact_id,
            changes=[EntryChange(**form.content())],
            authorship=author,
            revision=expected + 1,
        )
    return artifacts.replace_artifact(
        scope=head.scope,
        family=head.family,
        artifact_id=head.artifact_id,
        content={**_unshown_content(head), **form.content()},
        authorship=author,
        expected_revision=expected,
        lineage=form.lineage(),
    )


def _unshown_content(head: Artifact) -> dict[str, Any]:
    """What the form does not show and the next revision keeps: an experience's failure
    record, the mark of a merge. A profile's `generation` is about one revision only."""
    stored = json.loads(_current(head).content)
    shown = content_fields(head.family).keys() | {"generation"}
    return {name: value for name, value in stored.items() if name not in shown}


def _revision_initial(head: Artifact) -> dict[str, Any]:
    initial: dict[str, Any] = {"expected_revision": head.revision}
    if head.family == limits.MEMORY_COLLECTION:
        return initial
    row = _current(head)
    content = json.loads(row.content)
    if "demonstrations" in content:
        content["demonstrations"] = json.dumps(
            content["demonstrations"], indent=2, ensure_ascii=False
        )
    links = row.source_evidence.select_related("source").order_by("position")
    cited = [f"{link.source.source_type}/{link.source.source_id}" for link in links]
    return {**content, **initial, "source_ids": cited}
