"""Scopes and their bindings (contract B.1, J-27)."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from prepare.errors import Forbidden
from prepare.models import ContextReference, Scope
from prepare.openapi import PAGE_PARAMETERS, responses
from prepare.serializers import scopes as shapes
from prepare.services import access
from prepare.services import scopes as service
from prepare.services.access import Action, Principal
from prepare.services.scopes import BindingKey, ExternalReference, ScopeFields
from prepare.views.base import ContractView, paginate, query_page


def scope_fields(data: Mapping[str, Any]) -> ScopeFields:
    return ScopeFields(
        title=data["title"],
        summary=data["summary"],
        parent_scope_id=data.get("parent_scope_id"),
        context_references=tuple(data.get("context_references", ())),
        external_references=tuple(
            ExternalReference(kind=item["kind"], value=item["value"])
            for item in data.get("external_references", ())
        ),
    )


def descriptors(scopes: Sequence[Scope]) -> list[dict[str, Any]]:
    """Wire form of Scopes; two statements, whatever their number."""
    references: dict[int, list[str]] = {scope.pk: [] for scope in scopes}
    rows = (
        ContextReference.objects.filter(scope__in=scopes)
        .select_related("target")
        .order_by("scope", "position")
    )
    for row in rows:
        references[row.scope_id].append(row.target.scope_id)
    parents = dict(
        Scope.objects.filter(children__in=scopes).values_list("pk", "scope_id")
    )
    return [
        {
            "scope_id": scope.scope_id,
            "title": scope.title,
            "summary": scope.summary,
            "parent_scope_id": parents.get(scope.parent_id or 0),
            "context_references": references[scope.pk],
            "external_references": scope.external_references,
            "version": scope.version,
        }
        for scope in scopes
    ]


def require_descriptor(principal: Principal, scope: Scope) -> None:
    """A descriptor is no content: any role on the Scope, or server.admin, shows it."""
    if principal.is_server_admin:
        return
    if not service.visible_scopes(principal).filter(pk=scope.pk).exists():
        raise Forbidden


class ScopesView(ContractView):
    @extend_schema(
        operation_id="list_scopes",
        parameters=PAGE_PARAMETERS,
        responses=responses({200: shapes.ScopeListSerializer}, 400),
        tags=["scopes"],
    )
    def get(self, request: Request) -> Response:
        rows = service.visible_scopes(self.principal)
        items, cursor = paginate(rows, query_page(request), descriptors)
        return Response({"items": items, "next_cursor": cursor})

    @extend_schema(
        operation_id="create_scope",
        request=shapes.CreateScopeRequestSerializer,
        responses=responses({201: shapes.ScopeDescriptorSerializer}, 404, 409),
        tags=["scopes"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.CreateScopeRequestSerializer)
        access.require_server_admin(self.principal)
        scope = service.create_scope(
            fields=scope_fields(data),
            idempotency_key=data["idempotency_key"],
            now=timezone.now(),
            scope_id=data.get("scope_id"),
        )
        return Response(descriptors([scope])[0], status=201)


class ScopeView(ContractView):
    @extend_schema(
        operation_id="get_scope",
        responses=responses({200: shapes.ScopeDescriptorSerializer}, 404),
        tags=["scopes"],
    )
    def get(self, request: Request, scope_id: str) -> Response:
        scope = find_visible(scope_id, self.principal)
        return Response(descriptors([scope])[0])

    @extend_schema(
        operation_id="update_scope",
        request=shapes.UpdateScopeRequestSerializer,
        responses=responses({200: shapes.ScopeDescriptorSerializer}, 404, 409),
        tags=["scopes"],
    )
    def put(self, request: Request, scope_id: str) -> Response:
        data = self.read(shapes.UpdateScopeRequestSerializer)
        scope = service.authorized_scope(
            scope_id=scope_id, principal=self.principal, action=Action.ADMIN
        )
        scope = service.update_scope(
            scope=scope,
            fields=scope_fields(data),
            expected_version=data["expected_version"],
        )
        return Response(descriptors([scope])[0])


def find_visible(scope_id: str, principal: Principal) -> Scope:
    """A Scope whose descriptor the principal may see; hides the rest (J-3)."""
    if principal.is_server_admin:
        return service.find_scope(scope_id)
    scope = service.visible_scopes(principal).filter(scope_id=scope_id).first()
    # A database that pads would find `a` for `a `.
    if scope is None or scope.scope_id != scope_id:
        raise Forbidden
    return scope


class DefaultScopeView(ContractView):
    @extend_schema(
        operation_id="get_default_scope",
        responses=responses({200: shapes.ScopeDescriptorSerializer}, 404),
        tags=["scopes"],
    )
    def get(self, request: Request) -> Response:
        scope = service.default_scope()
        require_descriptor(self.principal, scope)
        return Response(descriptors([scope])[0])

    @extend_schema(
        operation_id="set_default_scope",
        request=shapes.SetDefaultScopeRequestSerializer,
        responses=responses({200: shapes.ScopeDescriptorSerializer}, 404),
        tags=["scopes"],
    )
    def put(self, request: Request) -> Response:
        data = self.read(shapes.SetDefaultScopeRequestSerializer)
        access.require_server_admin(self.principal)
        scope = service.find_scope(data["scope_id"])
        service.set_default_scope(scope)
        return Response(descriptors([scope])[0])


def binding_key(data: Mapping[str, str]) -> BindingKey:
    return BindingKey(
        integration=data["integration"],
        kind=data["kind"],
        external_id=data["external_id"],
    )


class ScopeBindingsView(ContractView):
    @extend_schema(
        operation_id="set_scope_binding",
        request=shapes.ScopeBindingSerializer,
        responses=responses({200: shapes.ScopeBindingSerializer}, 404),
        tags=["scopes"],
    )
    def put(self, request: Request) -> Response:
        data = self.read(shapes.ScopeBindingSerializer)
        scope = service.authorized_scope(
            scope_id=data["scope_id"], principal=self.principal, action=Action.ADMIN
        )
        key = binding_key(data["key"])
        replaced = service.find_binding(key)
        if replaced is not None:
            # Whoever sends by this key would write to another Scope from now on.
            access.require(self.principal, Action.ADMIN, [replaced.scope])
        service.bind_scope(key=key, scope=scope)
        return Response(data)


class ClearScopeBindingView(ContractView):
    @extend_schema(
        operation_id="clear_scope_binding",
        request=shapes.ClearScopeBindingRequestSerializer,
        responses=responses({200: shapes.ClearedSerializer}),
        tags=["scopes"],
    )
    def post(self, request: Request) -> Response:
        key = binding_key(self.read(shapes.ClearScopeBindingRequestSerializer)["key"])
        binding = service.find_binding(key)
        if binding is not None:
            access.require(self.principal, Action.ADMIN, [binding.scope])
        return Response({"cleared": service.clear_binding(key)})


class ResolveScopeBindingView(ContractView):
    @extend_schema(
        operation_id="resolve_scope_binding",
        request=shapes.ResolveScopeBindingRequestSerializer,
        responses=responses({200: shapes.ScopeDescriptorSerializer}, 404),
        tags=["scopes"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.ResolveScopeBindingRequestSerializer)
        explicit = data.get("explicit_scope_id")
        if explicit is not None:
            find_visible(explicit, self.principal)
        scope = service.resolve_scope(
            explicit_scope_id=explicit,
            keys=[binding_key(key) for key in data.get("binding_keys", ())],
            allow_default=data["allow_default"],
        )
        require_descriptor(self.principal, scope)
        return Response(descriptors([scope])[0])
