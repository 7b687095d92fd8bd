"""Tokens: made here, shown once, revoked; only their hash is stored (J-12)."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone

from prepare.admin.base import ContextAdmin, Tool, one_change
from prepare.admin.display import show_text, show_time
from prepare.admin.filters import TokenStateFilter
from prepare.admin.roles import RoleInline
from prepare.errors import PowerContextError
from prepare.models import Grant, Token
from prepare.services import access


class GrantInline(RoleInline):
    model = Grant


@admin.register(Token)
class TokenAdmin(ContextAdmin):
    list_display = [
        "shown_name",
        "is_server_admin",
        "grant_count",
        "created",
        "revoked",
    ]
    list_filter = [TokenStateFilter, "is_server_admin"]
    ordering = ["name"]
    search_fields = ["name"]
    search_help_text = "The beginning of a name."
    actions = ["revoke"]
    inlines = [GrantInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        rows = rows.annotate(grants_given=Count("grants"))
        return rows

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        if obj is None:
            return ["name", "is_server_admin"]
        return ["shown_name", "is_server_admin", "created", "revoked"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [] if obj is None else ["shown_name", "created", "revoked"]

    @admin.display(description="Name", ordering="name")
    def shown_name(self, token: Token) -> str:
        return show_text(token.name)

    @admin.display(description="Grants")
    def grant_count(self, token: Any) -> int:
        return int(token.grants_given)

    @admin.display(description="Revoked", ordering="revoked_at")
    def revoked(self, token: Token) -> str:
        return show_time(token.revoked_at)

    def tools(self, request: HttpRequest, row: Any) -> list[Tool]:
        if row.revoked_at is not None or not self.has_change_permission(request):
            return []
        return [Tool(label="Revoke", action="revoke")]

    def save_model(
        self,
        request: HttpRequest,
        obj: Any,
        form: Any,
        change: bool,  # noqa: FBT001  (Django's signature)
    ) -> None:
        if change:
            obj.save(update_fields=["is_server_admin"])
            return
        request.new_token = access.create_token(  # type: ignore[attr-defined]
            name=obj.name, now=timezone.now(), is_server_admin=obj.is_server_admin
        )
        obj.pk = Token.objects.get(name=obj.name).pk  # the grants belong to this row
        obj.refresh_from_db()

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """A name or grant taken meanwhile is a message, not a failure."""
        try:
            with one_change():
                return super().changeform_view(request, *args, **kwargs)
        except PowerContextError as error:
            self.message_user(request, error.message, messages.ERROR)
            return HttpResponseRedirect(request.path)

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the token in this answer only: no redirect, no cookie, no storage."""
        context = {
            **self.admin_site.each_context(request),
            "title": f"Token {show_text(obj.name)} created",
            "opts": self.opts,
            "media": self.media,
            "token": request.new_token,  # type: ignore[attr-defined]
        }
        return TemplateResponse(request, "admin/prepare/token_created.html", context)

    @admin.action(permissions=["change"], description="Revoke selected tokens")
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        def change(token: Token) -> bool:
            if token.revoked_at is not None:
                return False
            access.revoke_token(name=token.name, now=timezone.now())
            return True

        self.apply_each(request, queryset, change, "Revoked")
