"""Memory, atomic memory, topic memory and experience operations (wire section 6)."""

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from prepare import limits
from prepare.fields import (
    RevisionField,
    ScopeIdField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
    VisibleAsciiField,
)
from prepare.serializers.artifacts import (
    AtomicMemoryContentSerializer,
    ExperienceContentSerializer,
)
from prepare.serializers.common import (
    ArtifactReferenceSerializer,
    CursorField,
    SourceReferenceSerializer,
)
from prepare.services.memories import STATES

ALL_STATES = ["active", "forgotten", "merged", "retired"]


class ScopedRequestSerializer(StrictSerializer):
    scope_id = ScopeIdField()


class RememberRequestSerializer(ScopedRequestSerializer):
    kind = StrictCharField(max_length=limits.KIND_CHARS)
    text = StrictCharField()
    reason = StrictCharField(
        max_length=limits.MEMORY_REASON_CHARS,
        required=False,
        allow_null=True,
        allow_blank=True,
    )
    expected_revision = StrictIntegerField(min_value=1, required=False, allow_null=True)


class MemoryRecordSerializer(serializers.Serializer[Any]):
    artifact = ArtifactReferenceSerializer()
    kind = serializers.CharField()
    text = serializers.CharField()
    state = serializers.ChoiceField(choices=ALL_STATES)
    state_version = serializers.IntegerField(min_value=0)
    merged_into_id = serializers.CharField(allow_null=True)


class MemoryChangeSerializer(serializers.Serializer[Any]):
    changed = serializers.BooleanField()
    records = MemoryRecordSerializer(many=True)


class MemorySearchRequestSerializer(ScopedRequestSerializer):
    query = StrictCharField(max_length=limits.QUERY_CHARS)
    limit = StrictIntegerField(min_value=1, max_value=50, default=10)
    mode = StrictChoiceField(
        choices=["auto", "fts", "vector", "hybrid"], default="auto"
    )
    tag_filter = serializers.DictField(
        required=False, allow_null=True, help_text="Not supported; null only."
    )


class AtomicMemorySearchRequestSerializer(ScopedRequestSerializer):
    query = StrictCharField(max_length=limits.QUERY_CHARS)
    mode = StrictChoiceField(choices=["text", "vector", "hybrid"], default="text")
    kind = StrictCharField(
        max_length=limits.KIND_CHARS, required=False, allow_null=True
    )
    tags = StrictListField(
        child=StrictCharField(), required=False, allow_null=True, max_length=16
    )
    tag_match = StrictChoiceField(
        choices=["all", "any"], default="all", allow_null=True
    )
    limit = StrictIntegerField(min_value=1, max_value=100, default=20)


class MemoryHitSerializer(serializers.Serializer[Any]):
    memory = MemoryRecordSerializer()
    score = serializers.FloatField(help_text="Made from the rank; no relevance score.")
    matched_by = serializers.ListField(
        child=serializers.ChoiceField(choices=["text", "vector"])
    )


class MemorySearchSerializer(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=["text", "vector", "hybrid"])
    hits = MemoryHitSerializer(many=True)


class ListEntriesRequestSerializer(ScopedRequestSerializer):
    include_inactive = StrictBooleanField(default=False)
    limit = StrictIntegerField(
        min_value=1, max_value=limits.PAGE_HIGHEST, default=limits.PAGE_DEFAULT
    )
    cursor = CursorField(required=False, allow_null=True)
    tag_filter = serializers.DictField(
        required=False, allow_null=True, help_text="Not supported; null only."
    )


class EntryListSerializer(serializers.Serializer[Any]):
    entries = MemoryRecordSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ListAtomicMemoriesRequestSerializer(ScopedRequestSerializer):
    states = StrictListField(
        child=StrictChoiceField(choices=ALL_STATES), required=False, allow_null=True
    )
    kind = StrictCharField(
        max_length=limits.KIND_CHARS, required=False, allow_null=True
    )
    tags = StrictListField(
        child=StrictCharField(), required=False, allow_null=True, max_length=16
    )
    tag_match = StrictChoiceField(
        choices=["all", "any"], default="all", allow_null=True
    )
    limit = StrictIntegerField(
        min_value=1, max_value=limits.PAGE_HIGHEST, default=limits.PAGE_DEFAULT
    )
    cursor = CursorField(required=False, allow_null=True)


class AtomicMemoryListSerializer(serializers.Serializer[Any]):
    items = MemoryRecordSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class EntryCitationSerializer(StrictSerializer):
    memory_ref = ArtifactReferenceSerializer()
    entry_id = VisibleAsciiField()
    entry_version_id = VisibleAsciiField()


class EntryTargetSerializer(StrictSerializer):
    type = StrictChoiceField(choices=["memory_entry"])
    family = StrictChoiceField(choices=[limits.MEMORY_COLLECTION])
    artifact_id = VisibleAsciiField()
    entry_id = VisibleAsciiField()


class GetEntryRequestSerializer(ScopedRequestSerializer):
    """Exactly one of `citation` (an exact version) and `target` (the current one)."""

    citation = EntryCitationSerializer(required=False, allow_null=True)
    target = EntryTargetSerializer(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs.get("citation") is None) == (attrs.get("target") is None):
            raise serializers.ValidationError(
                "Exactly one of citation and target.", code="one_of"
            )
        return attrs


class EntryVersionSerializer(serializers.Serializer[Any]):
    artifact = ArtifactReferenceSerializer()
    entry_id = serializers.CharField()
    entry_version_id = serializers.CharField()
    version = serializers.IntegerField(min_value=1)
    kind = serializers.CharField()
    text = serializers.CharField()
    state = serializers.ChoiceField(choices=["active", "inactive"])


ENTRY_SCHEMA = PolymorphicProxySerializer(
    component_name="MemoryEntry",
    serializers=[EntryVersionSerializer, MemoryRecordSerializer],
    resource_type_field_name=None,
)


class MemoryStateSerializer(serializers.Serializer[Any]):
    artifact = ArtifactReferenceSerializer()
    state = serializers.ChoiceField(choices=ALL_STATES)
    state_version = serializers.IntegerField(min_value=0)
    merged_into_id = serializers.CharField(allow_null=True)


class AtomicMemoryReferenceSerializer(StrictSerializer):
    family = StrictChoiceField(choices=[limits.ATOMIC_MEMORY])
    artifact_id = VisibleAsciiField()
    revision = RevisionField()


class MemoryTargetSerializer(StrictSerializer):
    artifact = AtomicMemoryReferenceSerializer()
    state_version = StrictIntegerField(min_value=0)


class LifecycleRequestSerializer(ScopedRequestSerializer):
    target = MemoryTargetSerializer()
    state = StrictChoiceField(choices=list(STATES))


class MergeRequestSerializer(ScopedRequestSerializer):
    inputs = StrictListField(
        child=MemoryTargetSerializer(), min_length=limits.MERGE_INPUTS_LOWEST
    )
    content = AtomicMemoryContentSerializer()
    source_refs = StrictListField(
        child=SourceReferenceSerializer(), required=False, allow_null=True
    )
    artifact_refs = StrictListField(
        child=ArtifactReferenceSerializer(), required=False, allow_null=True
    )


class GetExactRequestSerializer(ScopedRequestSerializer):
    artifact = ArtifactReferenceSerializer()


class ExperienceSerializer(serializers.Serializer[Any]):
    artifact = ArtifactReferenceSerializer()
    content = ExperienceContentSerializer()
    source_refs = SourceReferenceSerializer(many=True)
    artifact_refs = ArtifactReferenceSerializer(many=True)


class TopicMemorySerializer(serializers.Serializer[Any]):
    artifact = ArtifactReferenceSerializer()
    title = serializers.CharField()
    summary = serializers.CharField()
    detail = serializers.CharField()
    source_refs = SourceReferenceSerializer(many=True)


class TopicSearchRequestSerializer(ScopedRequestSerializer):
    query = StrictCharField(max_length=limits.QUERY_CHARS)
    limit = StrictIntegerField(min_value=1, max_value=20, default=10)


class TopicHitSerializer(serializers.Serializer[Any]):
    artifact = ArtifactReferenceSerializer()
    title = serializers.CharField()
    summary = serializers.CharField()
    snippet = serializers.CharField(allow_null=True)
    score = serializers.FloatField(min_value=0, max_value=100)
    matched_by = serializers.ListField(child=serializers.CharField())


class TopicSearchSerializer(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=["fts", "hybrid"])
    hits = TopicHitSerializer(many=True)
