"""`POST /v1/context/prepare`: the one call a host makes before a turn."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from prepare.metrics import RECEIPTS_OMITTED
from prepare.openapi import responses
from prepare.serializers.context import (
    PrepareContextRequestSerializer,
    PreparedContextSerializer,
)
from prepare.services.prepare import prepare_context
from prepare.services.runtime import configured_runtime
from prepare.views.base import ContractView


class PrepareContextView(ContractView):
    @extend_schema(
        operation_id="prepare_context",
        request=PrepareContextRequestSerializer,
        responses=responses({200: PreparedContextSerializer}, 404, 413, 415),
        tags=["context"],
    )
    def post(self, request: Request) -> Response:
        prepared = prepare_context(
            self.read(PrepareContextRequestSerializer),
            principal=self.principal,
            runtime=configured_runtime(),
        )
        if prepared.receipt_omission is not None:
            RECEIPTS_OMITTED.labels(prepared.receipt_omission).inc()
        return Response(prepared.as_wire())
