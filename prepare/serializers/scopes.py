"""Scopes and their bindings (contract B.1, B.2, J-27)."""

from typing import Any

from rest_framework import serializers

from prepare import limits
from prepare.fields import (
    ScopeIdField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
)


class TrimmedCharField(StrictCharField):
    """Text without surrounding white space (contract B.1)."""

    default_error_messages = {"untrimmed": "Leading or trailing white space."}

    def to_internal_value(self, data: Any) -> str:
        value = super().to_internal_value(data)
        if value != value.strip():
            self.fail("untrimmed")
        return value


class ExternalReferenceSerializer(StrictSerializer):
    kind = TrimmedCharField(max_length=limits.REFERENCE_KIND_CHARS)
    value = TrimmedCharField(max_length=limits.REFERENCE_VALUE_CHARS)


class ScopeFieldsSerializer(StrictSerializer):
    title = TrimmedCharField(max_length=limits.TITLE_CHARS)
    summary = TrimmedCharField(max_length=limits.SUMMARY_CHARS)
    parent_scope_id = ScopeIdField(required=False, allow_null=True)
    context_references = StrictListField(
        child=ScopeIdField(),
        unique=True,
        required=False,
        help_text="Scopes that prepare may read besides this one, in this order.",
    )
    external_references = StrictListField(
        child=ExternalReferenceSerializer(), unique=True, required=False
    )


class NewScopeIdField(ScopeIdField):
    """Not `default`: that path shows and sets the default Scope."""

    default_error_messages = {
        "reserved": "Not available as a Scope id.",
        "untrimmed": TrimmedCharField.default_error_messages["untrimmed"],
    }

    def to_internal_value(self, data: Any) -> str:
        value = super().to_internal_value(data)
        if value != value.strip():
            self.fail("untrimmed")
        if value == "default":
            self.fail("reserved")
        return value


class CreateScopeRequestSerializer(ScopeFieldsSerializer):
    scope_id = NewScopeIdField(
        required=False, help_text="Chosen by the caller; generated if left out."
    )
    idempotency_key = TrimmedCharField(
        max_length=limits.IDEMPOTENCY_KEY_CHARS, allow_nul=False
    )


class UpdateScopeRequestSerializer(ScopeFieldsSerializer):
    expected_version = StrictIntegerField(min_value=1)


class ScopeDescriptorSerializer(serializers.Serializer[Any]):
    scope_id = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField()
    parent_scope_id = serializers.CharField(allow_null=True)
    context_references = serializers.ListField(child=serializers.CharField())
    external_references = ExternalReferenceSerializer(many=True)
    version = serializers.IntegerField(min_value=1)


class ScopeListSerializer(serializers.Serializer[Any]):
    items = ScopeDescriptorSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class SetDefaultScopeRequestSerializer(StrictSerializer):
    scope_id = ScopeIdField()


class BindingKeySerializer(StrictSerializer):
    integration = TrimmedCharField(max_length=128, allow_nul=False)
    kind = TrimmedCharField(max_length=64, allow_nul=False)
    external_id = TrimmedCharField(max_length=256, allow_nul=False)


class ResolveScopeBindingRequestSerializer(StrictSerializer):
    allow_default = StrictBooleanField(default=True)
    explicit_scope_id = ScopeIdField(required=False, allow_null=True)
    binding_keys = StrictListField(
        child=BindingKeySerializer(), required=False, max_length=32
    )


class ScopeBindingSerializer(StrictSerializer):
    key = BindingKeySerializer()
    scope_id = ScopeIdField()


class ClearScopeBindingRequestSerializer(StrictSerializer):
    key = BindingKeySerializer()


class ClearedSerializer(serializers.Serializer[Any]):
    cleared = serializers.BooleanField()
