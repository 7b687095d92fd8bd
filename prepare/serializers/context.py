"""The shapes of `POST /v1/context/prepare` (contract A.1, A.2)."""

from typing import Any

from rest_framework import serializers

from prepare import limits
from prepare.fields import (
    ScopeIdField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
    VisibleAsciiField,
)
from prepare.serializers.receipts import PreparedContextReceiptSerializer
from prepare.values import PrepareRequest, parse_prepare_request


class ContextAssemblySectionSerializer(StrictSerializer):
    family = StrictChoiceField(choices=list(limits.SELECTABLE_FAMILIES))
    limit = StrictIntegerField(
        min_value=1,
        max_value=max(limits.SECTION_LIMITS.values()),
        help_text="At most 2 for experience. The sum over the sections is bounded by "
        "the Server's context_assembly_max_entries.",
    )


class ContextAssemblySerializer(StrictSerializer):
    format = StrictChoiceField(
        choices=[limits.ASSEMBLY_FORMAT],
        default=limits.ASSEMBLY_FORMAT,
        help_text="The only text form.",
    )
    sections = StrictListField(
        child=ContextAssemblySectionSerializer(),
        max_length=limits.SECTION_COUNT,
        default=[{"family": f, "limit": n} for f, n in limits.DEFAULT_SECTIONS],
        help_text="Families to recall, in output and budget order; no family twice. "
        "An empty array reads and returns nothing.",
    )
    show = StrictListField(
        child=StrictChoiceField(choices=list(limits.SHOW_NAMES)),
        unique=True,
        max_length=len(limits.SHOW_NAMES),
        default=[],
        help_text="Optional metadata lines; their order in the text is fixed.",
    )


class PrepareContextRequestSerializer(StrictSerializer):
    """Declares the shape; `parse_prepare_request` does the checking (J-26)."""

    scope_id = ScopeIdField()
    query = StrictCharField(max_length=limits.QUERY_CHARS)
    max_bytes = StrictIntegerField(
        min_value=limits.MAX_BYTES_LOWEST,
        max_value=limits.MAX_BYTES_HIGHEST,
        default=limits.MAX_BYTES_DEFAULT,
        help_text="UTF-8 budget of the whole content string.",
    )
    assembly = ContextAssemblySerializer(
        required=False,
        help_text="Selects the text form; omit it for the JSON envelope. "
        "null is refused.",
    )
    include_code = StrictBooleanField(default=False)
    include_receipt = StrictBooleanField(
        default=False,
        allow_null=True,
        help_text="Ask for a receipt of this answer; null is false.",
    )
    bootstrap_receipt_id = VisibleAsciiField(
        max_length=limits.BOOTSTRAP_RECEIPT_ID_CHARS,
        required=False,
        allow_null=True,
        help_text="Accepted for compatibility; has no effect.",
    )

    def run_validation(self, data: Any = serializers.empty) -> PrepareRequest:
        return parse_prepare_request(data)


class PreparedContextSerializer(serializers.Serializer[Any]):
    schema = serializers.ChoiceField(choices=[limits.PREPARED_SCHEMA])
    status = serializers.ChoiceField(choices=["ready", "empty"])
    content = serializers.CharField(allow_null=True)
    content_bytes = serializers.IntegerField(min_value=0)
    receipt = PreparedContextReceiptSerializer(
        required=False,
        help_text="Only when asked for and completely built; never null.",
    )
