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

# Host and peer checks come before any view, so every operation may answer these.
_OPEN_STATUSES = (400, 403)
# Operations that need a principal may answer these too; the rest is named where it
# applies.
_COMMON_STATUSES = (*_OPEN_STATUSES, 401, 422, 500, 503)
# What the parser refuses; added to every operation that takes a body.
_BODY_STATUSES = ("413", "415")


class ViolationSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    loc = serializers.ListField(child=serializers.JSONField())
    msg = serializers.CharField()


class ErrorSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    details = serializers.DictField(allow_null=True)


class ErrorEnvelopeSerializer(serializers.Serializer[Any]):
    error = ErrorSerializer()


def responses(success: Mapping[int, Any], *errors: int) -> dict[int, Any]:
    """The success shapes plus the error envelope for every status that can occur."""
    statuses = sorted({*_COMMON_STATUSES, *errors})
    return dict(success) | dict.fromkeys(statuses, ErrorEnvelopeSerializer)


def open_responses(success: Mapping[int, Any]) -> dict[int, Any]:
    """The same for operations without authentication."""
    return dict(success) | dict.fromkeys(_OPEN_STATUSES, ErrorEnvelopeSerializer)


class OperationSchema(AutoSchema):
    """Operations name themselves; docstrings of views are for readers of the code."""

    def get_description(self) -> str:  # type: ignore[override]  # the library's own
        return ""

    def get_serializer_name(self, serializer: Any, direction: str) -> str:
        """The library adds `Request` to what is sent; ours may be called that."""
        name = type(serializer).__name__.removesuffix("Serializer")
        return name.removesuffix("Request") if direction == "request" else name

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation and "requestBody" in operation:
            operation["requestBody"]["required"] = True
            answers = operation["responses"]
            answers |= dict.fromkeys(_BODY_STATUSES, answers["422"])
            operation["responses"] = dict(sorted(answers.items()))
        return operation


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # library has no stubs
    target_class = "prepare.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


def _map_field(field: Any, auto_schema: Any, direction: str) -> dict[str, Any]:
    """The library's schema of a field, without the null that it adds afterwards."""
    schema: dict[str, Any] = auto_schema._map_serializer_field(
        field, direction, bypass_extensions=True
    )
    if isinstance(schema["type"], list):
        schema["type"] = schema["type"][0]
    return schema


class StrictCharScheme(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # library has no stubs
    """Strings state that white space alone is not enough."""

    target_class = "prepare.fields.StrictCharField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema = _map_field(self.target, auto_schema, direction)
        if not self.target.allow_blank:
            schema["pattern"] = r"\S"
        return schema


class StrictListScheme(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # library has no stubs
    """Arrays state that their items are unique."""

    target_class = "prepare.fields.StrictListField"

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema = _map_field(self.target, auto_schema, direction)
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
        for described in schema.get("properties", {}).values():
            for part in (described, described.get("items", {})):
                part.pop("x-spec-enum-id", None)  # the library's own bookkeeping
    return result
