"""Filters of the lists, by known words: asking a table for them reads all of it."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from prepare import limits
from prepare.models import Artifact


class WordFilter(admin.SimpleListFilter):
    """Each word stands for one condition; any other word finds nothing."""

    conditions: Mapping[str, Q]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(word, word) for word in self.conditions]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        word = self.value()
        if not word:
            return queryset
        condition = self.conditions.get(word)
        return queryset.none() if condition is None else queryset.filter(condition)


class FamilyFilter(WordFilter):
    title = "family"
    parameter_name = "family"
    conditions = {name: Q(family=name) for name in limits.STORED_FAMILIES}


class RevisionFamilyFilter(WordFilter):
    title = "family"
    parameter_name = "family"
    conditions = {name: Q(artifact__family=name) for name in limits.STORED_FAMILIES}


class ProposedFamilyFilter(WordFilter):
    title = "family"
    parameter_name = "family"
    conditions = {name: Q(family=name) for name in (limits.EXPERIENCE, limits.PROFILE)}


class StateFilter(WordFilter):
    """The words that lists show (`Artifact.state`)."""

    title = "state"
    parameter_name = "state"
    conditions = {
        "active": Q(lifecycle=Artifact.Lifecycle.ACTIVE),
        "forgotten": Q(lifecycle=Artifact.Lifecycle.DEPRECATED, merged_into=None),
        "merged": Q(merged_into__isnull=False),
        "retired": Q(lifecycle=Artifact.Lifecycle.RETIRED),
    }


class TokenStateFilter(WordFilter):
    title = "state"
    parameter_name = "state"
    conditions = {
        "valid": Q(revoked_at=None),
        "revoked": Q(revoked_at__isnull=False),
    }
