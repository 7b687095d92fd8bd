"""Import and export of context files, as `load_context` and `export_context` do it:
all of a file or nothing of it, and the same revisions elsewhere.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.files.uploadedfile import InMemoryUploadedFile
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from prepare.admin.base import ContextAdmin
from prepare.admin.display import show_text
from prepare.contextfile import ContextFile, format_line
from prepare.errors import PowerContextError, describe
from prepare.services.exporting import export_context
from prepare.services.importing import RefusedLine, import_context

# A file may hold any kind of line, and a further revision of what is there.
_IMPORTING = (
    "prepare.add_scope",
    "prepare.add_source",
    "prepare.add_artifact",
    "prepare.change_artifact",
    "prepare.add_candidate",
)
_EXPORTING = tuple(
    f"prepare.view_{model}"
    for model in (
        *("scope", "source", "artifact", "artifactrevision"),
        *("memoryentryversion", "candidate"),
    )
)


def _may_import(request: HttpRequest) -> bool:
    return request.user.has_perms(_IMPORTING)


def _may_export(request: HttpRequest) -> bool:
    return request.user.has_perms(_EXPORTING)


class ImportForm(forms.Form):
    file = forms.FileField(
        label="Context file",
        help_text="JSON Lines, as an export or manage.py export_context writes them.",
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson"}),
    )


class TransferAdmin(ContextAdmin):
    """The list of Scopes with import, export of the selected ones, and of all."""

    actions = ["export_selected"]

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        # The check of its CSRF token reads the body, which may be too large.
        importing = csrf_exempt(self.import_view)
        return [
            path("import/", view(importing), name="prepare_scope_import"),
            path("export/", view(self.export_view), name="prepare_scope_export"),
            *super().get_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: Mapping[str, Any] | None = None
    ) -> HttpResponse:
        may = {"may_import": _may_import(request), "may_export": _may_export(request)}
        return super().changelist_view(request, may | dict(extra_context or {}))

    def has_export_permission(self, request: HttpRequest) -> bool:
        return _may_export(request)

    @admin.action(permissions=["export"], description="Export selected Scopes")
    def export_selected(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponseBase | None:
        """With the Scopes they refer to, without which no file could be loaded."""
        scope_ids = list(queryset.values_list("scope_id", flat=True))
        return _download(scope_ids) if scope_ids else None

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        if not _may_export(request):
            raise PermissionDenied
        return _download()

    def import_view(self, request: HttpRequest) -> HttpResponse:
        if not _may_import(request):
            raise PermissionDenied
        if request.method != "POST":
            return self._import_page(request, ImportForm())
        try:
            return csrf_protect(self._import_sent)(request)
        except RequestDataTooBig:
            form = ImportForm({})
            form.errors["file"] = form.error_class([_too_large()])
            return self._import_page(request, form, status=413)

    def _import_sent(self, request: HttpRequest) -> HttpResponse:
        form = ImportForm(request.POST, request.FILES)
        if not form.is_valid() or not self._import(request, form):
            return self._import_page(request, form, status=422)
        return redirect("admin:prepare_scope_changelist")

    def _import(self, request: HttpRequest, form: ImportForm) -> bool:
        """Store the file, or add to the form which line is refused and why."""
        file: InMemoryUploadedFile = form.cleaned_data["file"]
        try:
            counts = import_context(
                lines=ContextFile(BytesIO(file.read())), now=timezone.now()
            )
        except RefusedLine as error:
            form.add_error("file", f"Line {error.number}: {describe(error.cause)}")
            return False
        except PowerContextError as error:
            form.add_error("file", describe(error))
            return False
        name = show_text(str(file.name))
        text = f"Imported {name}: {counts.new} new, {counts.present} already there."
        self.message_user(request, text, messages.SUCCESS)
        return True

    def _import_page(
        self, request: HttpRequest, form: ImportForm, status: int = 200
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": "Import context",
            "opts": self.opts,
            "media": self.media,
            "form": form,
            "problems": [show_text(str(item)) for item in form.errors.get("file", ())],
            "highest": f"{settings.MAX_BODY_BYTES:,}",
        }
        template = "admin/prepare/import.html"
        return TemplateResponse(request, template, context, status=status)


def _too_large() -> str:
    return (
        f"What was sent has more than {settings.MAX_BODY_BYTES:,} bytes. Load the file"
        " with manage.py load_context, or raise POWERCONTEXT_SERVER_MAX_BODY_BYTES."
    )


def _download(scope_ids: Sequence[str] = ()) -> StreamingHttpResponse:
    """One line at a time, in one read snapshot that ends with the answer."""
    lines = map(format_line, export_context(scope_ids=scope_ids))
    name = f"context-{timezone.now():%Y%m%dT%H%M%SZ}.jsonl"
    return StreamingHttpResponse(
        lines,
        content_type="application/x-ndjson",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
