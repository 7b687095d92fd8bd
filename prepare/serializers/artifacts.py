"""Artifacts, their revisions, and prompts (wire section 6)."""

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from prepare import limits
from prepare.fields import (
    JSONValueField,
    RevisionField,
    StrictCharField,
    StrictChoiceField,
    StrictListField,
    StrictSerializer,
)
from prepare.serializers.common import (
    ArtifactReferenceSerializer,
    SourceTypeReferenceSerializer,
)
from prepare.services.contents import PROMPT_KEYS, REPAIR_SURFACES

# Content shapes are declared here for OpenAPI; `services.contents` checks them, for
# every way in (HTTP, admin, imports).


class AtomicMemoryContentSerializer(StrictSerializer):
    schema = StrictChoiceField(choices=[limits.ATOMIC_SCHEMA], required=False)
    kind = StrictCharField(max_length=limits.KIND_CHARS)
    text = StrictCharField(help_text="At most 8192 UTF-8 bytes after NFC and trimming.")


class FailureSignatureSerializer(StrictSerializer):
    recall_cue = StrictCharField(max_length=limits.FAILURE_CUE_CHARS)
    symptom = StrictCharField(
        max_length=limits.EXPERIENCE_FIELD_CHARS, required=False, allow_null=True
    )


class FailureVerificationSerializer(StrictSerializer):
    condition = StrictCharField(max_length=limits.EXPERIENCE_FIELD_CHARS)
    check_subject = StrictCharField(max_length=limits.FAILURE_CUE_CHARS)


class FailureRecordSerializer(StrictSerializer):
    signature = FailureSignatureSerializer()
    repair_surface = StrictChoiceField(choices=list(REPAIR_SURFACES))
    verification = FailureVerificationSerializer()


class ExperienceContentSerializer(StrictSerializer):
    situation = StrictCharField(max_length=limits.EXPERIENCE_FIELD_CHARS)
    action = StrictCharField(max_length=limits.EXPERIENCE_FIELD_CHARS)
    outcome = StrictCharField(max_length=limits.EXPERIENCE_FIELD_CHARS)
    lesson = StrictCharField(max_length=limits.EXPERIENCE_FIELD_CHARS)
    failure = FailureRecordSerializer(required=False, allow_null=True)


class TopicMemoryContentSerializer(StrictSerializer):
    title = StrictCharField(max_length=limits.TOPIC_TITLE_CHARS)
    summary = StrictCharField(max_length=limits.TOPIC_SUMMARY_CHARS)
    detail = StrictCharField(max_length=limits.TOPIC_DETAIL_CHARS)


class ProfileContentSerializer(StrictSerializer):
    content = StrictCharField(help_text="Markdown, at most 262144 UTF-8 bytes.")


class PromptDemonstrationSerializer(StrictSerializer):
    input = JSONValueField()
    expected_output = JSONValueField()


class PromptContentSerializer(StrictSerializer):
    schema_version = StrictChoiceField(choices=[limits.PROMPT_SCHEMA])
    mode = StrictChoiceField(choices=["auto", "custom"])
    instructions = StrictCharField(
        max_length=limits.PROMPT_INSTRUCTIONS_CHARS, allow_blank=True
    )
    demonstrations = StrictListField(
        child=PromptDemonstrationSerializer(), max_length=limits.PROMPT_DEMONSTRATIONS
    )


_CONTENT_SERIALIZERS = {
    limits.ATOMIC_MEMORY: AtomicMemoryContentSerializer,
    limits.EXPERIENCE: ExperienceContentSerializer,
    limits.TOPIC_MEMORY: TopicMemoryContentSerializer,
    limits.PROFILE: ProfileContentSerializer,
    limits.PROMPT: PromptContentSerializer,
}


class ContentField(serializers.DictField):
    """A JSON object; its family decides what is in it."""

    default_error_messages = {"not_a_dict": "Input should be an object"}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("not_a_dict", input_type=type(data).__name__)
        return data


class CreateArtifactRequestSerializer(StrictSerializer):
    family = StrictChoiceField(choices=list(limits.STORED_FAMILIES))
    content = ContentField()
    prompt_key = StrictChoiceField(
        choices=sorted(PROMPT_KEYS),
        required=False,
        help_text="Required for family `prompt`, refused for all others.",
    )


class ReplaceArtifactRequestSerializer(StrictSerializer):
    content = ContentField()
    restored_from_revision = RevisionField(required=False, allow_null=True)
    reason = StrictCharField(
        max_length=limits.REASON_CHARS, required=False, allow_null=True
    )


def _one_of(name: str, base: type[StrictSerializer]) -> PolymorphicProxySerializer:
    """For OpenAPI: the request of each family, with that family's content."""
    variants: list[Any] = []
    for family, content in _CONTENT_SERIALIZERS.items():
        title = family.title().replace("-", "")
        fields: dict[str, Any] = {"content": content()}
        if "family" in base._declared_fields:
            fields["family"] = StrictChoiceField(choices=[family])
            is_prompt = family == limits.PROMPT
            keys = StrictChoiceField(choices=sorted(PROMPT_KEYS))
            fields["prompt_key"] = keys if is_prompt else None
        variants.append(type(f"{name}{title}Serializer", (base,), fields))
    return PolymorphicProxySerializer(
        component_name=name, serializers=variants, resource_type_field_name=None
    )


CREATE_SCHEMA = _one_of("CreateArtifact", CreateArtifactRequestSerializer)
REPLACE_SCHEMA = _one_of("ReplaceArtifact", ReplaceArtifactRequestSerializer)


class ArtifactCreatedSerializer(serializers.Serializer[Any]):
    scope_id = serializers.CharField()
    family = serializers.CharField()
    artifact_id = serializers.CharField()
    revision = serializers.IntegerField(min_value=1)
    sources = SourceTypeReferenceSerializer(many=True)
    artifacts = ArtifactReferenceSerializer(many=True)


class ArtifactRevisionSerializer(ArtifactCreatedSerializer):
    content = serializers.DictField()
    content_digest = serializers.RegexField(r"^sha256:[0-9a-f]{64}$")
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    restored_from_revision = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class ArtifactSummarySerializer(ArtifactCreatedSerializer):
    content_digest = serializers.RegexField(r"^sha256:[0-9a-f]{64}$")
    title = serializers.CharField(allow_null=True)
    summary = serializers.CharField(allow_null=True)
    published_at = serializers.DateTimeField(allow_null=True)
    source_count = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    restored_from_revision = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class ArtifactListSerializer(serializers.Serializer[Any]):
    items = ArtifactSummarySerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class PromptTextSerializer(serializers.Serializer[Any]):
    instructions = serializers.CharField(allow_blank=True)
    demonstrations = PromptDemonstrationSerializer(many=True)


class BuiltinPromptSerializer(serializers.Serializer[Any]):
    version = serializers.CharField()
    profile = serializers.CharField(allow_null=True)
    instructions = serializers.CharField()


class PromptConfigurationSerializer(serializers.Serializer[Any]):
    scope_id = serializers.CharField()
    prompt_key = serializers.ChoiceField(choices=sorted(PROMPT_KEYS))
    status = serializers.ChoiceField(choices=["supported", "disabled", "unsupported"])
    reason = serializers.ChoiceField(
        choices=["operation_disabled", "provider_not_configured", "injected_component"],
        allow_null=True,
    )
    mode = serializers.ChoiceField(choices=["auto", "custom"])
    artifact = ArtifactReferenceSerializer(allow_null=True)
    artifact_etag = serializers.CharField(allow_null=True)
    effective = PromptTextSerializer(allow_null=True)
    builtin = BuiltinPromptSerializer(allow_null=True)
