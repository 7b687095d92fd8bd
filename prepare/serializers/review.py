"""Candidates and their review (contract C.7)."""

from typing import Any

from rest_framework import serializers

from prepare import limits
from prepare.fields import (
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    VisibleAsciiField,
)
from prepare.serializers.artifacts import ExperienceContentSerializer
from prepare.serializers.common import (
    ArtifactReferenceSerializer,
    CursorField,
    SourceReferenceSerializer,
)
from prepare.serializers.memory import ScopedRequestSerializer

STATUSES = ["pending", "approved", "rejected"]


class ProposeExperienceRequestSerializer(ScopedRequestSerializer):
    proposal = ExperienceContentSerializer()
    source_refs = StrictListField(
        child=SourceReferenceSerializer(), max_length=limits.CANDIDATE_EVIDENCE
    )
    artifact_refs = StrictListField(
        child=ArtifactReferenceSerializer(), max_length=limits.CANDIDATE_EVIDENCE
    )
    target = ArtifactReferenceSerializer(required=False, allow_null=True)
    reason = StrictCharField(
        max_length=limits.CANDIDATE_REASON_CHARS, required=False, allow_null=True
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """What the service checks again; here it comes before the Scope (J-3)."""
        evidence = len(attrs["source_refs"]) + len(attrs["artifact_refs"])
        if not 1 <= evidence <= limits.CANDIDATE_EVIDENCE:
            raise serializers.ValidationError(
                {"source_refs": ["1 to 32 pieces of evidence in all."]}, code="evidence"
            )
        target = attrs.get("target")
        if target is not None and target["family"] != limits.EXPERIENCE:
            raise serializers.ValidationError(
                {"target": {"family": ["Input should be 'experience'"]}}, code="enum"
            )
        return attrs


class CandidateSerializer(serializers.Serializer[Any]):
    candidate_id = serializers.CharField()
    version = serializers.IntegerField(min_value=1)
    family = serializers.CharField()
    status = serializers.ChoiceField(choices=STATUSES)
    proposal = serializers.DictField()
    source_refs = SourceReferenceSerializer(many=True)
    artifact_refs = ArtifactReferenceSerializer(many=True)
    target = ArtifactReferenceSerializer(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    result_artifact = ArtifactReferenceSerializer(allow_null=True)
    decision_reason = serializers.CharField(allow_null=True)
    candidate_kind = serializers.ChoiceField(choices=["artifact"])


class ListCandidatesRequestSerializer(ScopedRequestSerializer):
    status = StrictChoiceField(
        choices=STATUSES,
        default="pending",
        allow_null=True,
        help_text="null lists every status.",
    )
    family = StrictChoiceField(
        choices=list(limits.STORED_FAMILIES), required=False, allow_null=True
    )
    candidate_kind = StrictChoiceField(
        choices=["artifact"], required=False, allow_null=True
    )
    limit = StrictIntegerField(
        min_value=1, max_value=limits.PAGE_HIGHEST, default=limits.PAGE_DEFAULT
    )
    cursor = CursorField(required=False, allow_null=True)


class CandidateListSerializer(serializers.Serializer[Any]):
    candidates = CandidateSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class GetCandidateRequestSerializer(ScopedRequestSerializer):
    candidate_id = VisibleAsciiField()


class ApproveCandidateRequestSerializer(GetCandidateRequestSerializer):
    expected_version = StrictIntegerField(min_value=1)


class RejectCandidateRequestSerializer(ApproveCandidateRequestSerializer):
    reason = StrictCharField(max_length=limits.CANDIDATE_REASON_CHARS)
