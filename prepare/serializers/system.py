"""Health, capabilities and identity of the server (wire section 5)."""

from typing import Any

from rest_framework import serializers

from prepare import limits


class LivenessSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["ok"])


class ReadinessSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["ready", "not_ready"])
    checks = serializers.DictField(child=serializers.CharField())


class CapabilitiesSerializer(serializers.Serializer[Any]):
    prompts = serializers.DictField()
    artifact_dreaming = serializers.BooleanField()
    source_types = serializers.ListField(child=serializers.CharField())
    artifact_families = serializers.ListField(child=serializers.CharField())
    memory_extraction = serializers.BooleanField()
    experience_generation = serializers.BooleanField()
    managed_skill_generation = serializers.BooleanField()
    external_skill_registry = serializers.BooleanField()
    handoff_generation = serializers.BooleanField()
    search_modes = serializers.ListField(child=serializers.CharField())
    context_versions = serializers.ListField(
        child=serializers.ChoiceField(choices=[limits.PREPARED_SCHEMA])
    )


class VersionSerializer(serializers.Serializer[Any]):
    major = serializers.IntegerField()
    minor = serializers.IntegerField()


class FeatureContractSerializer(serializers.Serializer[Any]):
    version = VersionSerializer()
    operations = serializers.ListField(child=serializers.CharField(), min_length=1)


class ServerInfoSerializer(serializers.Serializer[Any]):
    schema_version = VersionSerializer()
    product = serializers.ChoiceField(choices=["powercontext"])
    server_id = serializers.CharField()
    package_version = serializers.CharField()
    api_contract_version = VersionSerializer()
    feature_contracts = serializers.DictField(child=FeatureContractSerializer())
