"""Health, capabilities, server identity, the OpenAPI document and its page."""

from typing import Any, NoReturn

from django.http import HttpRequest, HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerView
from rest_framework.request import Request
from rest_framework.response import Response

from prepare import limits
from prepare.authentication import HasPrincipal
from prepare.errors import NotFound
from prepare.metrics import CONTENT_TYPE, collect_metrics
from prepare.openapi import open_responses, responses
from prepare.renderers import EnvelopeRenderer
from prepare.serializers import system as shapes
from prepare.services.health import check_health
from prepare.services.scopes import server_state
from prepare.version import API_CONTRACT, VERSION
from prepare.views.base import ContractView

# Contracts of the public client that this server answers, with their operations.
FEATURE_CONTRACTS = {
    "scope.selection": ["list_scopes", "get_scope", "get_default_scope"],
    "memory.explicit": ["remember_memory", "search_memory", "get_memory_entry"],
}


class LivenessView(ContractView):
    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="get_liveness",
        responses=open_responses({200: shapes.LivenessSerializer}),
        tags=["system"],
    )
    def get(self, request: Request) -> Response:
        return Response({"status": "ok"})


class ReadinessView(ContractView):
    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="get_readiness",
        responses=open_responses(
            {200: shapes.ReadinessSerializer, 503: shapes.ReadinessSerializer}
        ),
        tags=["system"],
    )
    def get(self, request: Request) -> Response:
        health = check_health()
        status = "ready" if health.is_ready else "not_ready"
        return Response(
            {"status": status, "checks": health.checks},
            status=200 if health.is_ready else 503,
        )


class CapabilitiesView(ContractView):
    @extend_schema(
        operation_id="get_capabilities",
        responses=responses({200: shapes.CapabilitiesSerializer}),
        tags=["system"],
    )
    def get(self, request: Request) -> Response:
        return Response(
            {
                "prompts": {},
                "artifact_dreaming": False,
                "source_types": ["content"],
                "artifact_families": list(limits.STORED_FAMILIES),
                "memory_extraction": False,
                "experience_generation": False,
                "managed_skill_generation": False,
                "external_skill_registry": False,
                "handoff_generation": False,
                "search_modes": ["auto", "fts"],
                "context_versions": [limits.PREPARED_SCHEMA],
            }
        )


class ServerInfoView(ContractView):
    @extend_schema(
        operation_id="get_server_info",
        responses=responses({200: shapes.ServerInfoSerializer}),
        tags=["system"],
    )
    def get(self, request: Request) -> Response:
        major, minor = API_CONTRACT
        return Response(
            {
                "schema_version": {"major": 1, "minor": 0},
                "product": "powercontext",
                "server_id": str(server_state().server_id),
                "package_version": VERSION,
                "api_contract_version": {"major": major, "minor": minor},
                "feature_contracts": {
                    name: {
                        "version": {"major": 1, "minor": 0},
                        "operations": operations,
                    }
                    for name, operations in FEATURE_CONTRACTS.items()
                },
            }
        )


class OpenAPIView(ContractView):
    """`/openapi.json`, under the same authentication as everything else."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        generator = SchemaGenerator()  # type: ignore[no-untyped-call]  # no stubs
        return Response(generator.get_schema(public=True))  # type: ignore[no-untyped-call]


class MetricsView(ContractView):
    """`/metrics` in the Prometheus text format, under the same authentication."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(collect_metrics(), content_type=CONTENT_TYPE)


class DocsView(SpectacularSwaggerView):
    """`/docs`: the document as a page; its assets are served from here."""

    url_name = "openapi"
    permission_classes = (HasPrincipal,)
    http_method_names = ContractView.http_method_names

    def handle_exception(self, exc: Exception) -> Response:
        # The page is HTML, an error is the envelope like everywhere else.
        self.request.accepted_renderer = EnvelopeRenderer()
        self.request.accepted_media_type = EnvelopeRenderer.media_type
        return super().handle_exception(exc)


class UnknownPathView(ContractView):
    """Every other path: 401 or 404 in the envelope, with DEBUG on as well (C-61)."""

    schema = None

    def http_method_not_allowed(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> NoReturn:
        raise NotFound("The path was not found.")
