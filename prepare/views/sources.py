"""Sources: capture, list and exact reads (wire section 6)."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from prepare.models import Scope, Source
from prepare.openapi import PAGE_PARAMETERS, responses
from prepare.serializers import sources as shapes
from prepare.services import sources as service
from prepare.services.access import Action
from prepare.services.sources import SourceContent
from prepare.views.artifacts import ScopedView
from prepare.views.base import paginate, query_page


def source_body(scope: Scope, source: Source) -> dict[str, Any]:
    return {
        "receipt_identity": None,
        "scope_id": scope.scope_id,
        "source_type": source.source_type,
        "source_id": source.source_id,
        "content": service.source_value(source),
        "position": source.position,
        "content_digest": source.content_digest,
    }


class SourcesView(ScopedView):
    @extend_schema(
        operation_id="list_sources",
        parameters=PAGE_PARAMETERS,
        responses=responses({200: shapes.SourceListSerializer}, 400, 404),
        tags=["sources"],
    )
    def get(self, request: Request, scope_id: str) -> Response:
        page = query_page(request)
        scope = self.scope(scope_id, Action.READ)

        def shape(rows: Sequence[Source]) -> list[Any]:
            return [source_body(scope, row) for row in rows]

        rows = Source.objects.filter(scope=scope)
        items, cursor = paginate(rows, page, shape)
        return Response({"items": items, "next_cursor": cursor})

    @extend_schema(
        operation_id="create_source",
        request=shapes.CreateSourceRequestSerializer,
        responses=responses({201: shapes.SourceSerializer}, 404, 409),
        tags=["sources"],
    )
    def post(self, request: Request, scope_id: str) -> Response:
        data = self.read(shapes.CreateSourceRequestSerializer)
        scope = self.scope(scope_id, Action.CONTRIBUTE)
        source = service.create_source(
            scope=scope,
            source=SourceContent(
                source_type=data["source_type"],
                source_id=None,
                content=data["content"],
            ),
            now=timezone.now(),
        )
        return Response(source_body(scope, source), status=201)


class SourceView(ScopedView):
    @extend_schema(
        operation_id="get_source",
        responses=responses({200: shapes.SourceSerializer}, 404),
        tags=["sources"],
    )
    def get(
        self, request: Request, scope_id: str, source_type: str, source_id: str
    ) -> Response:
        scope = self.scope(scope_id, Action.READ)
        source = service.read_source(
            scope=scope, source_type=source_type, source_id=source_id
        )
        return Response(source_body(scope, source))


class CaptureContentSourceView(ScopedView):
    @extend_schema(
        operation_id="capture_content_source",
        request=shapes.CaptureContentSourceRequestSerializer,
        responses=responses({202: shapes.SourceAcceptedSerializer}, 404, 409),
        tags=["sources"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.CaptureContentSourceRequestSerializer)
        source = service.create_source(
            scope=self.scope(data["scope_id"], Action.CONTRIBUTE),
            source=SourceContent(
                source_type="content",
                source_id=data["source_id"],
                content=data["content"],
                metadata=data.get("metadata"),
            ),
            now=timezone.now(),
        )
        body = {
            "status": "accepted",
            "source": {"name": source.source_type, "source_id": source.source_id},
            "position": source.position,
        }
        return Response(body, status=202)
