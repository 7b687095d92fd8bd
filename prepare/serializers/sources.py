"""Sources (wire section 6)."""

from typing import Any

from rest_framework import serializers

from prepare import limits
from prepare.fields import (
    JSONValueField,
    StrictCharField,
    StrictChoiceField,
    StrictSerializer,
)
from prepare.serializers.memory import ScopedRequestSerializer

SOURCE_TYPES = ["content"]


class CreateSourceRequestSerializer(StrictSerializer):
    source_type = StrictChoiceField(choices=SOURCE_TYPES, default="content")
    content = JSONValueField(help_text="Any JSON value, at most 200000 characters.")


class CaptureContentSourceRequestSerializer(ScopedRequestSerializer):
    source_id = StrictCharField(max_length=limits.SOURCE_ID_CHARS, allow_nul=False)
    content = StrictCharField(max_length=limits.SOURCE_CONTENT_CHARS)
    metadata = serializers.DictField(required=False, allow_null=True)


class SourceSerializer(serializers.Serializer[Any]):
    receipt_identity = serializers.DictField(
        allow_null=True, help_text="Kept for the public client; always null."
    )
    scope_id = serializers.CharField()
    source_type = serializers.CharField()
    source_id = serializers.CharField()
    content = JSONValueField()
    position = serializers.IntegerField(min_value=1)
    content_digest = serializers.RegexField(r"^sha256:[0-9a-f]{64}$")


class SourceListSerializer(serializers.Serializer[Any]):
    items = SourceSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class SourceNameSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    source_id = serializers.CharField()


class SourceAcceptedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["accepted"])
    source = SourceNameSerializer()  # type: ignore[assignment]  # a wire name
    position = serializers.IntegerField(min_value=1)
