"""Scopes as a person sees them: only the readable ones, with counts (C-48).

A Scope that the asker may not read has no name, number or place in any answer here.
The number of statements never depends on how many Scopes there are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Value
from django.db.models.functions import Lower, StrIndex

from prepare import limits
from prepare.models import (
    Artifact,
    Candidate,
    ContextReference,
    Scope,
    SearchDocument,
    Source,
)
from prepare.search.vendors import read_snapshot
from prepare.services import access, memories
from prepare.services.access import Action, Principal
from prepare.services.scopes import authorized_scope
from prepare.services.stored import (
    FamilyCount,
    FamilyStates,
    Reference,
    ScopeCard,
    ScopeName,
    ScopeOverview,
    Slice,
)

PAGE_SCOPES = 40  # as many as one drawing shows
NEIGHBOURS = 30  # children, and Scopes that read this one


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeListing:
    """`references` are those between the Scopes of this page."""

    cards: Slice[ScopeCard, str]
    total: int
    references: tuple[Reference, ...]


def list_scopes(
    *,
    principal: Principal,
    beginning: str = "",
    after: str | None = None,
    size: int = PAGE_SCOPES,
) -> ScopeListing:
    """Readable Scopes by id, those whose id or title begins so.

    `%` and `_` mean themselves (C-49); capitals do not matter. `total` counts all
    pages.
    """
    with read_snapshot():
        readable = access.scopes_with(principal, Action.READ)
        rows = _beginning_with(readable, beginning)
        total = rows.count()
        if after is not None:
            rows = rows.filter(scope_id__gt=after)
        found = list(rows.order_by("scope_id")[: size + 1])
        shown = found[:size]
        cards = _cards(shown, readable)
        references = _references_among(shown)
    return ScopeListing(
        cards=Slice(rows=cards, last=shown[-1].scope_id if len(found) > size else None),
        total=total,
        references=references,
    )


def _beginning_with(rows: QuerySet[Scope], beginning: str) -> QuerySet[Scope]:
    """Not LIKE: its wildcards, and what it folds, differ between databases."""
    if not beginning:
        return rows
    needle = Lower(Value(beginning))
    return rows.alias(
        in_id=StrIndex(Lower("scope_id"), needle),
        in_title=StrIndex(Lower("title"), needle),
    ).filter(Q(in_id=1) | Q(in_title=1))


def _cards(scopes: Iterable[Scope], readable: QuerySet[Scope]) -> tuple[ScopeCard, ...]:
    keys = [scope.pk for scope in scopes]
    families: dict[int, list[FamilyCount]] = {key: [] for key in keys}
    counted = (
        Artifact.objects.filter(scope_id__in=keys)
        .values_list("scope_id", "family")
        .annotate(count=Count("pk"))
    )
    by_family = {(key, family): count for key, family, count in counted}
    for key in keys:
        families[key] = [
            FamilyCount(family=family, count=by_family[key, family])
            for family in limits.STORED_FAMILIES
            if (key, family) in by_family
        ]
    references = dict(
        ContextReference.objects.filter(scope_id__in=keys, target__in=readable)
        .values_list("scope_id")
        .annotate(count=Count("pk"))
    )
    return tuple(
        ScopeCard(
            scope_id=scope.scope_id,
            title=scope.title,
            summary=scope.summary,
            families=tuple(families[scope.pk]),
            references=references.get(scope.pk, 0),
        )
        for scope in scopes
    )


def _references_among(scopes: Iterable[Scope]) -> tuple[Reference, ...]:
    names = {scope.pk: scope.scope_id for scope in scopes}
    rows = (
        ContextReference.objects.filter(scope_id__in=names, target_id__in=names)
        .order_by("scope__scope_id", "position")
        .values_list("scope_id", "target_id")
    )
    return tuple(
        Reference(reader=names[reader], target=names[target]) for reader, target in rows
    )


def read_scope(*, principal: Principal, scope_id: str) -> ScopeOverview:
    """Raises what `authorized_scope` raises."""
    with read_snapshot():
        scope = authorized_scope(
            scope_id=scope_id, principal=principal, action=Action.READ
        )
        readable = access.scopes_with(principal, Action.READ)
        targets = _targets(scope)
        allowed = access.allowed_scopes(
            principal, Action.READ, {target.pk for target in targets} | {scope.pk}
        )
        reads = [target for target in targets if target.pk in allowed]
        readers = _first(readable.filter(context_references__target=scope))
        neighbours = {row.pk: row for row in (scope, *reads, *readers[:NEIGHBOURS])}
        parent = readable.filter(children=scope).first()
        return ScopeOverview(
            scope_id=scope.scope_id,
            title=scope.title,
            summary=scope.summary,
            created_at=scope.created_at,
            external=_external(scope.external_references),
            parent=None if parent is None else _name(parent),
            children=_slice(_first(readable.filter(parent=scope))),
            reads=tuple(_name(row) for row in reads),
            hides_reference=len(reads) < len(targets),
            read_by=_slice(readers),
            references=_references_among(neighbours.values()),
            **_holdings(scope),
        )


def _targets(scope: Scope) -> list[Scope]:
    """What the Scope reads, in configured order, readable to the asker or not."""
    rows = ContextReference.objects.filter(scope=scope).order_by("position")
    return [row.target for row in rows.select_related("target")]


def _holdings(scope: Scope) -> dict[str, Any]:
    """What is stored in the Scope, in numbers; four statements."""
    families = _families(scope)
    sources = Source.objects.filter(scope=scope).aggregate(
        count=Count("pk"), newest=Max("created_at")
    )
    candidates = Candidate.objects.filter(scope=scope).aggregate(
        count=Count("pk"),
        pending=Count("pk", filter=Q(status=Candidate.Status.PENDING)),
        created=Max("created_at"),
        decided=Max("decided_at"),
    )
    return {
        "families": families,
        "sources": sources["count"],
        "pending": candidates["pending"],
        "decided": candidates["count"] - candidates["pending"],
        "newest": _newest(
            *(family.newest for family in families),
            sources["newest"],
            candidates["created"],
            candidates["decided"],
        ),
    }


def _first(rows: QuerySet[Scope]) -> list[Scope]:
    return list(rows.order_by("scope_id")[: NEIGHBOURS + 1])


def _slice(rows: list[Scope]) -> Slice[ScopeName, str]:
    shown = rows[:NEIGHBOURS]
    return Slice(
        rows=tuple(_name(row) for row in shown),
        last=shown[-1].scope_id if len(rows) > NEIGHBOURS else None,
    )


def _name(scope: Scope) -> ScopeName:
    return ScopeName(scope_id=scope.scope_id, title=scope.title)


def _external(references: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(item["kind"]), str(item["value"])) for item in references)


def _families(scope: Scope) -> tuple[FamilyStates, ...]:
    """Every family of the server, those without an artifact too; two statements."""
    in_state = {
        state: Count("pk", filter=condition)
        for state, condition in memories.STATE_FILTERS.items()
    }
    rows = (
        Artifact.objects.filter(scope=scope)
        .values("family")
        .annotate(newest=Max("updated_at"), **in_state)
        .order_by("family")
    )
    counted = {row["family"]: row for row in rows}
    entries = SearchDocument.objects.filter(
        artifact__scope=scope, artifact__family=limits.MEMORY_COLLECTION
    ).count()
    return tuple(
        FamilyStates(
            **(counted.get(family) or {"family": family}),
            entries=entries if family == limits.MEMORY_COLLECTION else 0,
        )
        for family in limits.STORED_FAMILIES
    )


def _newest(*moments: datetime | None) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)
