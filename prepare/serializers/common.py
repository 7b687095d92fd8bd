"""Shapes that several operations share (contract B.3)."""

from typing import Any

from rest_framework import serializers

from prepare import limits
from prepare.fields import (
    RevisionField,
    StrictCharField,
    StrictSerializer,
    VisibleAsciiField,
)


class ArtifactReferenceSerializer(StrictSerializer):
    family = VisibleAsciiField()
    artifact_id = VisibleAsciiField()
    revision = RevisionField()


class SourceReferenceSerializer(StrictSerializer):
    """The older spelling of a source: its type is called `name`."""

    name = StrictCharField(max_length=limits.SOURCE_TYPE_CHARS, allow_nul=False)
    source_id = StrictCharField(max_length=limits.SOURCE_ID_CHARS, allow_nul=False)


class SourceTypeReferenceSerializer(serializers.Serializer[Any]):
    source_type = serializers.CharField()
    source_id = serializers.CharField()


class CursorField(StrictCharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=limits.CURSOR_CHARS, **kwargs)
