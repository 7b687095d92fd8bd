"""What the admin pages share: a form that ends in one service call, read-only pages,
actions that report each refusal, and search by the beginning of an identity.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db import IntegrityError, transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Left
from django.db.models.lookups import Exact
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from prepare import limits
from prepare.admin.display import admin_url, show_text, show_time
from prepare.admin.fields import is_key
from prepare.admin.forms import ServiceForm
from prepare.errors import Conflict, PowerContextError
from prepare.services.artifacts import Authorship

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin = admin.ModelAdmin
    TabularInline = admin.TabularInline

AUTHOR_CHARS = 128  # ArtifactRevision.created_by
_SHOWN_FAILURES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A button of a detail page: a link, or an action on this one row."""

    label: str
    url: str = ""
    action: str = ""


def authorship(request: HttpRequest, reason: str = "") -> Authorship:
    author = request.user.get_username()[:AUTHOR_CHARS]
    return Authorship(now=timezone.now(), author=author, reason=reason)


@contextmanager
def one_change() -> Iterator[None]:
    """All or nothing; a lost race is a `Conflict` like any other stale state."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise Conflict("Someone else wrote the same thing just now.") from error


class ContextAdmin(ModelAdmin):
    """Lists that stay fast with many rows, and no deletion unless a page allows it."""

    list_per_page = 50
    list_max_show_all = 200
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each facet counts the whole table

    class Media:
        css = {"all": ("prepare/admin.css",)}

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="Created", ordering="created_at")
    def created(self, row: Any) -> str:
        return show_time(row.created_at)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The whole term as one prefix: ids hold spaces, `%` and `_` (no wildcards).

        By LEFT(), since LIKE takes `a` for `A` on SQLite and not on OceanBase.
        """
        term = search_term.strip()
        if not term:
            return queryset, False
        if len(term) > limits.SCOPE_ID_CHARS:
            return queryset.none(), False
        wanted = Q()
        for name in self.search_fields:
            wanted |= Q(Exact(Left(name, len(term)), term))
        return queryset.filter(wanted), False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A detail page shows what is listed for it and offers nothing to edit."""
        return list(self.readonly_fields)

    def response_action(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        # Django would fail on a key that is no number.
        selected = request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)
        if not all(map(is_key, selected)):
            self.message_user(request, "Nothing was selected.", messages.WARNING)
            return None
        return super().response_action(request, *args, **kwargs)

    def heading(self, row: Any) -> str:
        """What a detail page is about."""
        return show_text(str(row))

    def tools(self, request: HttpRequest, row: Any) -> Sequence[Tool]:
        """Buttons of the detail page."""
        return ()

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if row is not None:
            context["tools"] = self.tools(request, row)
            context["subtitle"] = self.heading(row)
        return super().change_view(request, object_id, form_url, context)

    def form_page(
        self,
        request: HttpRequest,
        *,
        form: ServiceForm,
        save: Callable[[], Model],
        title: str,
        original: Model | None = None,
        tools: Sequence[Tool] = (),
    ) -> HttpResponse:
        """Show `form`; when it is sent and `save` accepts it, go to what was written.

        A domain error becomes an error of the form, and nothing is half written.
        """
        if request.method == "POST" and form.is_valid():
            response = self._save(request, form, save, is_new=original is None)
            if response is not None:
                return response
        page: Any = form  # the stubs know model forms only
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "original": original,
            "tools": tools,
            "change": original is not None,
            "adminform": helpers.AdminForm(
                page, form.fieldsets(), {}, (), model_admin=self
            ),
            "errors": helpers.AdminErrorList(page, ()),
            "media": self.media + form.media,
            "has_view_permission": self.has_view_permission(request),
            "can_delete": original is not None
            and self.has_delete_permission(request, original),
        }
        return TemplateResponse(request, "admin/prepare/service_form.html", context)

    def _save(
        self,
        request: HttpRequest,
        form: ServiceForm,
        save: Callable[[], Model],
        *,
        is_new: bool,
    ) -> HttpResponse | None:
        try:
            with one_change():
                row = save()
                if is_new:
                    self.log_addition(request, row, [{"added": {}}])
                else:
                    changed = {"fields": form.changed_data}
                    self.log_change(request, row, [{"changed": changed}])
        except PowerContextError as error:
            form.add_domain_error(error)
            return None
        self.message_user(request, f"Saved {show_text(str(row))}.", messages.SUCCESS)
        if "_addanother" in request.POST:
            return HttpResponseRedirect(request.get_full_path())
        if not self.has_view_or_change_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        return HttpResponseRedirect(admin_url(row))

    def apply_each(
        self,
        request: HttpRequest,
        rows: QuerySet[Any],
        change: Callable[[Any], bool],
        verb: str,
    ) -> None:
        """Apply `change` to each row by itself; say how many changed, and which not."""
        done, unchanged, failures = 0, 0, []
        for row in rows:
            try:
                with one_change():
                    if change(row):
                        self.log_change(request, row, verb)
                        done += 1
                    else:
                        unchanged += 1
            except PowerContextError as error:
                failures.append(f"{show_text(str(row))}: {error.message}")
        if done:
            self.message_user(request, f"{verb}: {done}.", messages.SUCCESS)
        if unchanged:
            text = f"Nothing to change: {unchanged}."
            self.message_user(request, text, messages.WARNING)
        for failure in failures[:_SHOWN_FAILURES]:
            self.message_user(request, failure, messages.ERROR)
        if len(failures) > _SHOWN_FAILURES:
            more = f"{len(failures) - _SHOWN_FAILURES} more were refused."
            self.message_user(request, more, messages.ERROR)

    def confirm_page(
        self,
        request: HttpRequest,
        rows: QuerySet[Any],
        *,
        action: str,
        title: str,
        warning: str,
        form: forms.Form | None = None,
    ) -> HttpResponse:
        """Ask before an action; the answer comes back as the same action, confirmed."""
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "media": self.media,
            "warning": warning,
            "count": rows.count(),
            "labels": [show_text(str(row)) for row in rows[:_SHOWN_FAILURES]],
            "action": action,
            "selected": request.POST.getlist(helpers.ACTION_CHECKBOX_NAME),
            "select_across": request.POST.get("select_across", "0"),
            "form": form,
        }
        return TemplateResponse(request, "admin/prepare/confirm.html", context)


def is_confirmed(request: HttpRequest) -> bool:
    return request.POST.get("confirmed") == "yes"


class ReadOnlyAdmin(ContextAdmin):
    """Rows that are shown and never changed here, not even by a superuser."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
