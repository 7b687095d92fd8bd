"""Accounts of people: Django's page, with the roles that the Inspector goes by."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from prepare.admin.display import show_time
from prepare.admin.roles import RoleInline
from prepare.models import PersonGrant

if TYPE_CHECKING:
    AccountAdminBase = UserAdmin[User]
else:
    AccountAdminBase = UserAdmin


class PersonGrantInline(RoleInline):
    model = PersonGrant
    verbose_name = "Scope role"
    verbose_name_plural = "Scope roles"
    template = "admin/prepare/person_roles.html"


class AccountAdmin(AccountAdminBase):
    list_display = (
        "username",
        "is_active",
        "is_staff",
        "is_superuser",
        "role_count",
        "last_seen",
    )
    search_help_text = "Part of a user name, name or email address."
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    inlines = [PersonGrantInline]

    class Media:
        css = {"all": ("prepare/admin.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        rows = rows.annotate(roles_held=Count("scope_grants"))
        return rows

    def get_inline_instances(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A new account gets its roles on the page that follows."""
        if obj is None:
            return []
        return list(super().get_inline_instances(request, obj))

    @admin.display(description="Scope roles", ordering="roles_held")
    def role_count(self, person: Any) -> int:
        return int(person.roles_held)

    @admin.display(description="Last sign-in", ordering="last_login")
    def last_seen(self, person: User) -> str:
        return show_time(person.last_login)


admin.site.unregister(User)
admin.site.register(User, AccountAdmin)
