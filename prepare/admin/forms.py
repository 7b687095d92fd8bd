"""The forms of the pages that write. They check what a browser can get wrong; the
rules themselves are the services', whose refusals come back as errors of these forms.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from prepare import limits
from prepare.admin.fields import (
    BodyField,
    IdentityField,
    JSONTextField,
    LineField,
    LinesField,
    find_missing,
    find_source_refs,
    parse_revision,
    scope_field,
)
from prepare.errors import InvalidRequest, PowerContextError
from prepare.models import Scope
from prepare.services.artifacts import Lineage, SourceRef
from prepare.services.contents import PROMPT_KEYS
from prepare.values import ArtifactRef

# Django would repeat what was sent.
_UNKNOWN_CHOICE = {"invalid_choice": "Choose one of the listed values."}
# What another writer was faster with; the cure is always to look again.
_STALE = frozenset({"revision_conflict", "scope_version_conflict"})
Fieldsets = list[tuple[Any, dict[str, list[str]]]]


class ServiceForm(forms.Form):
    """A form whose values go to one service call."""

    groups: Mapping[str, str] = {}  # field -> heading; fields without one come first

    def fieldsets(self) -> Fieldsets:
        headings: dict[str | None, list[str]] = {}
        for name in self.fields:
            headings.setdefault(self.groups.get(name), []).append(name)
        return [(heading, {"fields": names}) for heading, names in headings.items()]

    def add_domain_error(self, error: PowerContextError) -> None:
        """Show a refusal at the field it is about, where there is one."""
        if isinstance(error, InvalidRequest) and error.violations:
            for violation in error.violations:
                names = [name for name in violation.loc if name in self.fields]
                self.add_error(str(names[-1]) if names else None, violation.msg)
            return
        message = f"{error.message} ({error.code})"
        if error.code in _STALE:
            message += (
                " Someone saved it after you opened this page. Nothing was written:"
                " copy your text, open the page again, and repeat the change there."
            )
        self.add_error(None, message)


class ScopeForm(ServiceForm):
    """Title, summary and ordered references of a Scope (contract B.1, B.2)."""

    title = LineField(max_length=limits.TITLE_CHARS)
    summary = BodyField(max_length=limits.SUMMARY_CHARS, rows=3, strip=True)
    references = LinesField(
        label="Context references",
        help_text="Ids of the Scopes that prepare also reads, one per line, in"
        " reading order. A line in double quotes is read as a JSON string.",
    )

    def clean_references(self) -> list[str]:
        wanted: list[str] = self.cleaned_data["references"]
        found = Scope.objects.filter(scope_id__in=wanted)
        find_missing(wanted, set(found.values_list("scope_id", flat=True)))
        return wanted


class AddScopeForm(ScopeForm):
    scope_id = LineField(
        required=False,
        max_length=limits.SCOPE_ID_CHARS,
        label="Scope id",
        help_text="Such as project:demo. Left empty, one is generated.",
    )
    # Sent twice by a double click, it makes one Scope.
    idempotency_key = forms.CharField(
        widget=forms.HiddenInput,
        max_length=limits.IDEMPOTENCY_KEY_CHARS,
        initial=lambda: uuid.uuid4().hex,
    )
    field_order = ["scope_id"]


class ChangeScopeForm(ScopeForm):
    expected_version = forms.IntegerField(widget=forms.HiddenInput, min_value=1)


def content_fields(family: str) -> dict[str, forms.Field]:
    """The fields of one family's content, by their names in it (contract C.2 - C.7)."""
    if family == limits.EXPERIENCE:
        names = ("situation", "action", "outcome", "lesson")
        highest = limits.EXPERIENCE_FIELD_CHARS
        return {name: BodyField(max_length=highest, rows=4) for name in names}
    if family == limits.TOPIC_MEMORY:
        return {
            "title": LineField(max_length=limits.TOPIC_TITLE_CHARS),
            "summary": BodyField(max_length=limits.TOPIC_SUMMARY_CHARS, rows=4),
            "detail": BodyField(max_length=limits.TOPIC_DETAIL_CHARS, rows=16),
        }
    if family == limits.PROFILE:
        return {"content": BodyField(label="Markdown", rows=24)}
    if family == limits.PROMPT:
        return _prompt_fields()
    fields: dict[str, forms.Field] = {
        "kind": LineField(
            max_length=limits.KIND_CHARS, help_text="Such as fact or preference."
        ),
        "text": BodyField(help_text="At most 8192 UTF-8 bytes after trimming."),
    }
    if family == limits.MEMORY_COLLECTION:
        return {
            "entry_id": IdentityField(label="Entry id"),
            "entry_version_id": IdentityField(
                label="Entry version id",
                help_text="A version id names one text for ever.",
            ),
            **fields,
            "active": forms.BooleanField(
                required=False,
                initial=True,
                help_text="An inactive entry is not found by search or prepare.",
            ),
        }
    return fields


def _prompt_fields() -> dict[str, forms.Field]:
    return {
        "mode": forms.ChoiceField(
            choices=[("custom", "custom"), ("auto", "auto")],
            error_messages=_UNKNOWN_CHOICE,
            help_text="Mode auto takes no instructions and no demonstrations.",
        ),
        "instructions": BodyField(
            required=False, max_length=limits.PROMPT_INSTRUCTIONS_CHARS, rows=12
        ),
        "demonstrations": JSONTextField(
            required=False,
            initial="[]",
            help_text='JSON: [{"input": ..., "expected_output": ...}]',
        ),
    }


class ContentForm(ServiceForm):
    """The content of one family; subclasses say what becomes of it."""

    source_ids = LinesField(
        highest=limits.CANDIDATE_EVIDENCE,
        label="Sources",
        help_text="Optional. Ids of Sources of this Scope that are the evidence, one"
        " per line; type/id where two types share an id.",
    )
    reason = LineField(required=False, max_length=limits.REASON_CHARS)

    def __init__(self, *args: Any, family: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.family = family
        self.content_names = tuple(content_fields(family))
        self.fields.update(content_fields(family))
        last = ("target", "artifact_refs", "source_ids", "reason")
        self.order_fields([name for name in self.fields if name not in last] + [*last])
        if family == limits.MEMORY_COLLECTION:
            del self.fields["source_ids"]  # a collection revision has no lineage
        self.groups = {
            **dict.fromkeys(self.content_names, "Content"),
            **dict.fromkeys(last, "Evidence and reason"),
        }

    def content(self) -> dict[str, Any]:
        values = {name: self.cleaned_data[name] for name in self.content_names}
        if self.family == limits.PROMPT:
            values["schema_version"] = limits.PROMPT_SCHEMA
            values["demonstrations"] = values["demonstrations"] or []
        return values

    def lineage(self) -> Lineage:
        return Lineage(sources=self.cleaned_data.get("source_refs", ()))

    def target_scope(self) -> Scope | None:
        scope: Scope | None = self.cleaned_data.get("scope")
        return scope

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        scope, lines = self.target_scope(), cleaned.get("source_ids")
        if scope is not None and lines:
            try:
                cleaned["source_refs"] = find_source_refs(scope, lines)
            except ValidationError as error:
                self.add_error("source_ids", error)
        return cleaned


class AddArtifactForm(ContentForm):
    scope = scope_field()
    artifact_id = IdentityField(
        required=False,
        label="Artifact id",
        help_text="Left empty, one is generated.",
    )
    field_order = ["scope", "artifact_id"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.family == limits.PROFILE:
            del self.fields["artifact_id"]  # one per Scope, always `profile`
        elif self.family == limits.PROMPT:
            keys = sorted(PROMPT_KEYS)
            self.fields["artifact_id"] = forms.ChoiceField(
                label="Prompt key",
                choices=[(key, key) for key in keys],
                error_messages=_UNKNOWN_CHOICE,
            )
        elif self.family == limits.MEMORY_COLLECTION:
            self.fields["artifact_id"] = IdentityField(
                label="Collection id",
                initial="memory",
                help_text="A new collection, or one that gets another revision.",
            )


class ReviseArtifactForm(ContentForm):
    expected_revision = forms.IntegerField(widget=forms.HiddenInput, min_value=1)

    def __init__(self, *args: Any, scope: Scope, **kwargs: Any) -> None:
        self.scope = scope
        super().__init__(*args, **kwargs)

    def target_scope(self) -> Scope:
        return self.scope


class ProposeForm(ContentForm):
    """A Candidate for review: content, evidence, and what it would replace (C.7)."""

    scope = scope_field()
    target = LineField(
        required=False,
        help_text="family/artifact_id@revision this proposal replaces; empty for a"
        " new artifact. A Scope that has a profile needs it.",
    )
    artifact_refs = LinesField(
        highest=limits.CANDIDATE_EVIDENCE,
        label="Artifact evidence",
        help_text="family/artifact_id@revision, one per line. A Candidate needs 1 to"
        f" {limits.CANDIDATE_EVIDENCE} pieces of evidence, Sources included.",
    )
    reason = LineField(required=False, max_length=limits.CANDIDATE_REASON_CHARS)
    field_order = ["scope"]

    def clean_target(self) -> ArtifactRef | None:
        target = self.cleaned_data["target"]
        return parse_revision(target) if target else None

    def clean_artifact_refs(self) -> tuple[ArtifactRef, ...]:
        return tuple(
            parse_revision(line) for line in self.cleaned_data["artifact_refs"]
        )

    def lineage(self) -> Lineage:
        sources: tuple[SourceRef, ...] = self.cleaned_data.get("source_refs", ())
        return Lineage(sources=sources, artifacts=self.cleaned_data["artifact_refs"])


class AddSourceForm(ServiceForm):
    scope = scope_field()
    source_type = LineField(
        max_length=limits.SOURCE_TYPE_CHARS, initial="content", label="Source type"
    )
    source_id = LineField(
        required=False,
        max_length=limits.SOURCE_ID_CHARS,
        label="Source id",
        help_text="Left empty, one is generated.",
    )
    content = BodyField(rows=12)
    is_json = forms.BooleanField(
        required=False,
        label="Content is JSON",
        help_text="Otherwise the content is stored as one text.",
    )
    metadata = JSONTextField(
        required=False, rows=3, help_text="Optional. A JSON object."
    )

    def clean_metadata(self) -> dict[str, Any]:
        value = self.cleaned_data["metadata"]
        if value is not None and not isinstance(value, dict):
            raise ValidationError("Metadata is a JSON object.")
        return value or {}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("is_json") and "content" in cleaned:
            try:
                cleaned["content"] = JSONTextField().clean(cleaned["content"])
            except ValidationError as error:
                self.add_error("content", error)
        return cleaned


class RejectForm(forms.Form):
    reason = BodyField(max_length=limits.CANDIDATE_REASON_CHARS, rows=4, strip=True)
