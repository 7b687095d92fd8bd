"""Scopes: create, update, find, bind, and the ordered list that prepare reads.

Contract B.1, B.2, J-11, J-27. References are direct only and keep their order.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError
from django.db.models import QuerySet

from prepare import limits
from prepare.errors import Conflict, Forbidden, ScopeNotFound, Unsupported
from prepare.models import ContextReference, Scope, ScopeBinding, ServerState
from prepare.services import access, contents
from prepare.services.access import Action, Principal
from prepare.services.identifiers import check_name, new_scope_id
from prepare.services.writing import write_transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalReference:
    kind: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeFields:
    """What a caller configures; references in reading order."""

    title: str
    summary: str
    parent_scope_id: str | None = None
    context_references: tuple[str, ...] = ()
    external_references: tuple[ExternalReference, ...] = ()

    def as_json(self) -> dict[str, object]:
        return {
            "title": self.title,
            "summary": self.summary,
            "parent_scope_id": self.parent_scope_id,
            "context_references": list(self.context_references),
            "external_references": self.external_json(),
        }

    def external_json(self) -> list[dict[str, str]]:
        return [
            {"kind": item.kind, "value": item.value}
            for item in self.external_references
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingKey:
    integration: str
    kind: str
    external_id: str


def find_scope(scope_id: str) -> Scope:
    """The Scope of this exact id; raises `ScopeNotFound`."""
    scope = Scope.objects.filter(scope_id=scope_id).first()
    # A database that pads would find `a` for `a `.
    if scope is None or scope.scope_id != scope_id:
        raise ScopeNotFound
    return scope


def authorized_scope(*, scope_id: str, principal: Principal, action: Action) -> Scope:
    """Find and check; without rights a missing Scope is `Forbidden` as well (J-3)."""
    try:
        scope = find_scope(scope_id)
    except ScopeNotFound:
        if principal.unrestricted:
            raise
        raise Forbidden from None
    access.require(principal, action, [scope])
    return scope


def readable_scopes(
    *, scope_id: str, crosses_references: bool, principal: Principal
) -> tuple[Scope, ...]:
    """The current Scope, then its references in configured order, all readable.

    One decision for exactly the Scopes that will be read (A-180, H-23).
    """
    current = authorized_scope(
        scope_id=scope_id, principal=principal, action=Action.READ
    )
    if not crosses_references:
        return (current,)
    targets = [
        reference.target
        for reference in ContextReference.objects.filter(scope=current)
        .select_related("target")
        .order_by("position")
    ]
    access.require(principal, Action.READ, targets)
    return (current, *targets)


def create_scope(
    *,
    fields: ScopeFields,
    idempotency_key: str,
    now: datetime,
    scope_id: str | None = None,
) -> Scope:
    """Create, or return the Scope that this key made before (contract B.1).

    Raises `Conflict` for the same key with another payload or a taken `scope_id`.
    """
    try:
        return _create_scope(fields, idempotency_key, now, scope_id)
    except IntegrityError:
        # Another caller was faster between look and write; now its Scope is there.
        return _create_scope(fields, idempotency_key, now, scope_id)


@write_transaction
def _create_scope(
    fields: ScopeFields, idempotency_key: str, now: datetime, scope_id: str | None
) -> Scope:
    if scope_id is not None:
        check_name(scope_id, limits.SCOPE_ID_CHARS, "scope_id")
    check_name(idempotency_key, limits.IDEMPOTENCY_KEY_CHARS, "idempotency_key")
    payload = fields.as_json() | {"scope_id": scope_id}
    digest = contents.digest(contents.canonical_json(payload))
    existing = Scope.objects.filter(idempotency_key=idempotency_key).first()
    if existing is not None:
        if existing.idempotency_digest != digest:
            raise Conflict(
                "The idempotency key was used with another payload.",
                code="scope_idempotency_conflict",
            )
        return existing
    if scope_id is not None and Scope.objects.filter(scope_id=scope_id).exists():
        raise Conflict(f"Scope {scope_id!r} exists already.", code="scope_conflict")
    scope = Scope.objects.create(
        scope_id=scope_id or new_scope_id(),
        title=fields.title,
        summary=fields.summary,
        parent=_find_parent(fields, None),
        external_references=fields.external_json(),
        idempotency_key=idempotency_key,
        idempotency_digest=digest,
        created_at=now,
    )
    _write_references(scope, fields.context_references)
    return scope


@write_transaction
def update_scope(*, scope: Scope, fields: ScopeFields, expected_version: int) -> Scope:
    """Replace the configured fields; a stale version is a `Conflict`."""
    row = Scope.objects.select_for_update().get(pk=scope.pk)
    if row.version != expected_version:
        raise Conflict(
            "The Scope has another version.",
            code="scope_version_conflict",
            details={
                "expected_version": expected_version,
                "current_version": row.version,
            },
        )
    row.title = fields.title
    row.summary = fields.summary
    row.parent = _find_parent(fields, row)
    row.external_references = fields.external_json()
    row.version += 1
    row.save(
        update_fields=["title", "summary", "parent", "external_references", "version"]
    )
    row.context_references.all().delete()
    _write_references(row, fields.context_references)
    return row


def _find_parent(fields: ScopeFields, scope: Scope | None) -> Scope | None:
    """The parent row; a parent chain never comes back to the Scope itself (B.2)."""
    if fields.parent_scope_id is None:
        return None
    parent = ancestor = find_scope(fields.parent_scope_id)
    while scope is not None and ancestor is not None:
        if ancestor.pk == scope.pk:
            raise _invalid_relationship("Parent")
        ancestor = ancestor.parent  # type: ignore[assignment]
    return parent


def _write_references(scope: Scope, target_ids: Sequence[str]) -> None:
    if scope.scope_id in target_ids:
        raise _invalid_relationship("Context Reference")
    rows = {row.scope_id: row for row in Scope.objects.filter(scope_id__in=target_ids)}
    if set(rows) != set(target_ids):
        raise ScopeNotFound
    ContextReference.objects.bulk_create(
        ContextReference(scope=scope, target=rows[target_id], position=position)
        for position, target_id in enumerate(target_ids)
    )


def _invalid_relationship(relationship: str) -> Unsupported:
    return Unsupported(
        "A Scope cannot relate to itself.",
        code="invalid_scope_relationship",
        details={"relationship": relationship},
    )


def visible_scopes(principal: Principal) -> QuerySet[Scope]:
    """Descriptors the principal may list: its own Scopes; all for a server admin."""
    if principal.is_server_admin:
        return Scope.objects.all()
    if principal.token_id is None:
        return Scope.objects.none()
    return Scope.objects.filter(grants__token_id=principal.token_id).distinct()


def server_state() -> ServerState:
    """The one row about this server; made on first use."""
    state, _ = ServerState.objects.select_related("default_scope").get_or_create(
        pk=1, defaults={"server_id": uuid.uuid4()}
    )
    return state


def default_scope() -> Scope:
    scope = server_state().default_scope
    if scope is None:
        raise ScopeNotFound
    return scope


def set_default_scope(scope: Scope) -> None:
    server_state()
    ServerState.objects.filter(pk=1).update(default_scope=scope)


def bind_scope(*, key: BindingKey, scope: Scope) -> None:
    """Bind an external key to a Scope, in place of an earlier binding."""
    ScopeBinding.objects.update_or_create(
        integration=key.integration,
        kind=key.kind,
        external_id=key.external_id,
        defaults={"scope": scope},
    )


def clear_binding(key: BindingKey) -> bool:
    deleted, _ = _bindings_of(key).delete()
    return deleted > 0


def find_binding(key: BindingKey) -> ScopeBinding | None:
    return _bindings_of(key).select_related("scope").first()


def _bindings_of(key: BindingKey) -> QuerySet[ScopeBinding]:
    return ScopeBinding.objects.filter(
        integration=key.integration, kind=key.kind, external_id=key.external_id
    )


def resolve_scope(
    *, explicit_scope_id: str | None, keys: Sequence[BindingKey], allow_default: bool
) -> Scope:
    """Explicit id, then the first bound key, then the default Scope (J-27)."""
    if explicit_scope_id is not None:
        return find_scope(explicit_scope_id)
    for key in keys:
        binding = find_binding(key)
        if binding is not None:
            return binding.scope
    if not allow_default:
        raise ScopeNotFound
    return default_scope()
