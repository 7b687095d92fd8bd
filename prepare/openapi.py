"""How drf-spectacular describes us: closed objects, one error envelope, exact ids."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from prepare import limits

PAGE_PARAMETERS = [
    OpenApiParameter(
        "limit",
        {
            "type": "integer",
            "minimum": 1,
            "maximum": limits.PAGE_HIGHEST,
            "default": limits.PAGE_DEFAULT,
        },
    ),
    OpenApiParameter("cursor", {"type": "string", "maxLength": limits.CURSOR_CHARS}),
]

# Every operation may answer these; the rest is named where it applies.
_COMMON_STATUSES = (401, 403, 422, 500, 503)


class ViolationSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    loc = serializers.ListField(child=serializers.JSONField())
    msg = serializers.CharField()


class ErrorSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    details = serializers.JSONField(allow_null=True)


class ErrorEnvelopeSerializer(serializers.Serializer[Any]):
    error = ErrorSerializer()


def responses(success: Mapping[int, Any], *errors: int) -> dict[int, Any]:
    """The success shapes plus the error envelope for every status that can occur."""
    statuses = sorted({*_COMMON_STATUSES, *errors})
    return dict(success) | dict.fromkeys(statuses, ErrorEnvelopeSerializer)


class OperationSchema(AutoSchema):
    """Default schema class; operations name themselves."""


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # library has no stubs
    target_class = "prepare.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


class StrictListScheme(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # library has no stubs
    """Arrays state that their items are unique."""

    target_class = "prepare.fields.StrictListField"

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer_field(
            self.target, direction, bypass_extensions=True
        )
        if self.target.unique:
            schema["uniqueItems"] = True
        return schema


def close_objects(
    result: dict[str, Any], generator: Any, request: Any, public: Any
) -> dict[str, Any]:
    """Postprocessing hook: objects with named properties take no others (A-041)."""
    for schema in result.get("components", {}).get("schemas", {}).values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return result
