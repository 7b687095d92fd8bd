"""Roles on Scopes, as tables on the pages of those who hold them (contract B.4)."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from prepare.admin.base import TabularInline
from prepare.admin.fields import ScopeSelect


class RoleInline(TabularInline):
    """A role is added or removed, never altered. Subclasses name the model."""

    extra = 0
    fields = ["scope", "role"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("scope")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "scope" and field is not None:
            field.widget = ScopeSelect()
            field.widget.choices = field.choices  # type: ignore[attr-defined]
        return field
