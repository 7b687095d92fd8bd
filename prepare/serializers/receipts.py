"""The shape of a receipt, declared for OpenAPI and `openapi/receipt.schema.json`.

`services.receipts` makes the value; tests hold the two together (contract A.8-A.12).
"""

from typing import Any, get_args

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from prepare import evidence, limits
from prepare.values import Reason

ARTIFACT_KINDS = ["atomic-memory", "topic-memory", "experience", "profile"]
FAMILIES = [*ARTIFACT_KINDS, evidence.CODE]
DIGEST = r"^sha256:[0-9a-f]{64}$"
HEX_DIGEST = r"^[0-9a-f]{64}$"
# Parts of identities are complete or the receipt is not given. Not `.+`: a
# Scope id may hold a line feed.
NOT_EMPTY = r"^[\s\S]+$"


class ReceiptArtifactSerializer(serializers.Serializer[Any]):
    family = serializers.RegexField(NOT_EMPTY)
    artifact_id = serializers.RegexField(NOT_EMPTY)
    revision = serializers.IntegerField(min_value=1)


class ArtifactAddressSerializer(serializers.Serializer[Any]):
    scope_id = serializers.RegexField(NOT_EMPTY)
    artifact = ReceiptArtifactSerializer()


class CodeEvidenceSerializer(serializers.Serializer[Any]):
    scope_id = serializers.RegexField(NOT_EMPTY)
    fingerprint = serializers.RegexField(HEX_DIGEST)
    path = serializers.RegexField(NOT_EMPTY)
    file_sha256 = serializers.RegexField(HEX_DIGEST)
    start_line = serializers.IntegerField(min_value=1)
    end_line = serializers.IntegerField(min_value=1)
    snippet_sha256 = serializers.RegexField(HEX_DIGEST)


class SelectedArtifactSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=ARTIFACT_KINDS)
    artifact_address = ArtifactAddressSerializer()
    rendered_bytes = serializers.IntegerField(min_value=0)
    truncated = serializers.BooleanField()


class SelectedCodeSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=[evidence.CODE])
    code_evidence = CodeEvidenceSerializer()
    rendered_bytes = serializers.IntegerField(min_value=0)
    truncated = serializers.BooleanField()


# Exactly one of the two identity fields, by kind.
SELECTED_ITEM = PolymorphicProxySerializer(
    component_name="SelectedItem",
    serializers=[SelectedArtifactSerializer, SelectedCodeSerializer],
    resource_type_field_name=None,
)


class RecallRoundSerializer(serializers.Serializer[Any]):
    round = serializers.IntegerField(min_value=0, max_value=2)
    outcome = serializers.ChoiceField(choices=get_args(evidence.RoundOutcome))
    retained = serializers.BooleanField()


class SearchGroupSerializer(serializers.Serializer[Any]):
    round = serializers.IntegerField(min_value=0, max_value=2)
    family = serializers.ChoiceField(choices=FAMILIES)
    mode = serializers.ChoiceField(choices=get_args(evidence.Mode))
    outcome = serializers.ChoiceField(choices=get_args(evidence.CallOutcome))
    fallback_reason = serializers.ChoiceField(choices=get_args(evidence.FallbackReason))
    count = serializers.IntegerField(min_value=1)


class PromptIdentitySerializer(serializers.Serializer[Any]):
    scope_id = serializers.RegexField(NOT_EMPTY)
    key = serializers.CharField()
    definition_version = serializers.CharField()
    builtin_version = serializers.CharField()
    selection = serializers.ChoiceField(choices=["built_in", "artifact"])
    selected_version = serializers.CharField()
    compiled_digest = serializers.RegexField(HEX_DIGEST)
    artifact_address = ArtifactAddressSerializer(allow_null=True)


class RerankSettingsSerializer(serializers.Serializer[Any]):
    """Allowlist, version 1, of settings that a receipt may show (contract E)."""

    temperature = serializers.FloatField(min_value=0, max_value=2, required=False)
    top_p = serializers.FloatField(min_value=0, max_value=1, required=False)
    max_tokens = serializers.IntegerField(min_value=1, required=False)
    seed = serializers.IntegerField(required=False)
    presence_penalty = serializers.FloatField(required=False)
    frequency_penalty = serializers.FloatField(required=False)
    top_k = serializers.IntegerField(required=False)
    parallel_tool_calls = serializers.BooleanField(required=False)
    service_tier = serializers.ChoiceField(
        choices=["auto", "default", "flex", "priority"], required=False
    )


class RerankConfigSerializer(serializers.Serializer[Any]):
    config_id = serializers.RegexField(DIGEST)
    policy_id = serializers.CharField()
    model = serializers.CharField(allow_null=True)
    effective_settings = RerankSettingsSerializer()
    timeout_seconds = serializers.FloatField(min_value=0)
    max_requests = serializers.IntegerField(min_value=1)
    config_digest = serializers.RegexField(DIGEST)
    prompt = PromptIdentitySerializer(allow_null=True)
    non_deterministic = serializers.BooleanField()


class RerankGroupSerializer(serializers.Serializer[Any]):
    round = serializers.IntegerField(min_value=0, max_value=2)
    config_id = serializers.RegexField(DIGEST)
    outcome = serializers.ChoiceField(choices=get_args(evidence.RerankOutcome))
    fallback_reason = serializers.ChoiceField(choices=get_args(evidence.RerankReason))
    count = serializers.IntegerField(min_value=1)


class OmittedGroupSerializer(serializers.Serializer[Any]):
    family = serializers.ChoiceField(choices=FAMILIES)
    reason = serializers.ChoiceField(choices=get_args(Reason))
    count = serializers.IntegerField(min_value=1)


class StageTimingSerializer(serializers.Serializer[Any]):
    stage = serializers.ChoiceField(choices=get_args(evidence.StageName))
    duration_ms = serializers.FloatField(min_value=0)
    count = serializers.IntegerField(min_value=1)


def _bounded(child: serializers.Serializer[Any], cap: int) -> serializers.ListField:
    return serializers.ListField(child=child, max_length=cap)


class RetrievalSerializer(serializers.Serializer[Any]):
    rounds = _bounded(RecallRoundSerializer(), limits.RECEIPT_ROUNDS)
    searches = _bounded(SearchGroupSerializer(), limits.RECEIPT_SEARCHES)
    rerank_configs = _bounded(RerankConfigSerializer(), limits.RECEIPT_RERANK_CONFIGS)
    reranks = _bounded(RerankGroupSerializer(), limits.RECEIPT_RERANKS)


class PreparedContextReceiptSerializer(serializers.Serializer[Any]):
    """Untrusted metadata about one answer; at most 8192 bytes of compact JSON."""

    schema = serializers.ChoiceField(choices=[limits.RECEIPT_SCHEMA])
    receipt_id = serializers.UUIDField()
    policy_id = serializers.ChoiceField(choices=[limits.RECEIPT_SCHEMA])
    query_digest = serializers.RegexField(DIGEST)
    content_digest = serializers.RegexField(DIGEST, allow_null=True)
    requested_max_bytes = serializers.IntegerField(
        min_value=limits.MAX_BYTES_LOWEST, max_value=limits.MAX_BYTES_HIGHEST
    )
    used_bytes = serializers.IntegerField(
        min_value=0, max_value=limits.MAX_BYTES_HIGHEST
    )
    truncated = serializers.BooleanField()
    non_deterministic = serializers.BooleanField()
    retrieval = RetrievalSerializer()
    selected = _bounded(SELECTED_ITEM, limits.RECEIPT_SELECTED)
    omitted = _bounded(OmittedGroupSerializer(), limits.RECEIPT_OMITTED)
    stages = _bounded(StageTimingSerializer(), limits.RECEIPT_STAGES)
