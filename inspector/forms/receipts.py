"""A receipt with its content, and a block of a log."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import ParseError

from inspector.forms.fields import PastedField, UploadedField, read_either, source_field
from inspector.presenting.words import N_
from prepare import limits
from prepare.errors import InvalidRequest, Violation
from prepare.parsers import parse_json
from prepare.services.checking import check_receipt
from prepare.services.identifiers import check_name

# What the strict parser says, of a text instead of a body.
_REASONS = {
    "The body is not UTF-8.": N_("It is not UTF-8."),
    "The body is not valid JSON.": N_("It is not valid JSON."),
    "The body is nested too deeply.": N_("It is nested too deeply."),
    "An object repeats a key.": N_("An object repeats a key."),
    "NaN and Infinity are not JSON.": N_("NaN and Infinity are not JSON."),
    "A number is out of range.": N_("A number is out of range."),
    "A string holds a lone surrogate.": N_("A string holds a lone surrogate."),
}


class ReceiptForm(forms.Form):
    """`receipt_value`, `content_value` and `problems` once it is valid.

    `content_value` is None if nobody gave the content. `problems` are contradictions of
    a stored response with itself. `violations` say why something is no receipt.
    """

    receipt = PastedField(
        label=gettext_lazy("Receipt"),
        help_text=gettext_lazy(
            "JSON: the receipt, or the whole answer that it came with."
        ),
    )
    receipt_file = UploadedField(label=gettext_lazy("Or the file of the receipt"))
    content = PastedField(
        label=gettext_lazy("Content, if it was stored apart"),
        help_text=gettext_lazy("Its digest and length are compared with the receipt."),
    )
    content_file = UploadedField(
        label=gettext_lazy("Or the file of the content"),
        help_text=gettext_lazy("Every byte of it counts."),
    )

    violations: tuple[Violation, ...] = ()
    problems: tuple[str, ...] = ()
    receipt_value: Mapping[str, Any]
    content_value: bytes | None = None

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        raw = read_either(values, "receipt")
        self.content_value = read_either(values, "content")
        if self.errors:
            return values
        if raw is None:
            raise ValidationError({"receipt": _("Paste a receipt or choose its file.")})
        try:
            self._read(raw)
        except ValidationError as error:
            self.add_error(source_field(values, "receipt"), error)
        return values

    def _read(self, raw: bytes) -> None:
        value = _parse(raw)
        if _is_response(value):
            value = self._open_response(value)
        try:
            check_receipt(value)
        except InvalidRequest as error:
            self.violations = error.violations
            raise ValidationError(_why_refused(value)) from None
        self.receipt_value = value

    def _open_response(self, response: Mapping[str, Any]) -> Any:
        content = response.get("content")
        if "receipt" not in response:
            raise ValidationError(
                _(
                    "This answer has no receipt: none was asked for, or it was dropped,"
                    " and the server's log says why. Its content can be verified as a"
                    " block."
                )
            )
        if "content" not in response or not isinstance(content, str | None):
            raise ValidationError(_("This answer has no content as answers have it."))
        if self.content_value is not None:
            raise ValidationError(
                _("The answer holds its content. Leave the content field empty.")
            )
        self.content_value = (content or "").encode()
        self.problems = tuple(_contradictions(response, self.content_value))
        return response["receipt"]


def _parse(raw: bytes) -> Any:
    try:
        return parse_json(raw)
    except ParseError as error:
        reason = str(error.detail)
        raise ValidationError(_(_REASONS.get(reason, reason))) from None


def _is_response(value: object) -> bool:
    return isinstance(value, dict) and (
        value.get("schema") == limits.PREPARED_SCHEMA
        or {"content", "receipt"} <= value.keys()
    )


def _why_refused(value: object) -> str:
    is_other = not isinstance(value, dict) or value.get("schema") not in (
        None,
        limits.RECEIPT_SCHEMA,
    )
    if is_other:
        return _(
            "This is no prepared-context receipt. Receipts of a Handoff and other JSON"
            " are something else and have no page here."
        )
    return _("This is no valid receipt. What breaks its schema is listed below.")


def _contradictions(response: Mapping[str, Any], content: bytes) -> list[str]:
    found = []
    if response.get("content_bytes") != len(content):
        found.append("content_bytes of the answer is not the length of its content")
    if response.get("status") != ("ready" if content else "empty"):
        found.append("status of the answer does not fit its content")
    return found


class BlockForm(forms.Form):
    """`log`, the text, once it is valid."""

    text = PastedField(
        label=gettext_lazy("Text from a log"),
        help_text=gettext_lazy(
            "One block or several, with whatever the log put around them."
        ),
    )
    text_file = UploadedField(label=gettext_lazy("Or the file of the log"))
    scope = forms.CharField(
        label=gettext_lazy("Scope of the request"),
        help_text=gettext_lazy(
            "Only for the JSON envelope: its short citations do not name their Scope."
        ),
        required=False,
    )

    log: str

    def clean_scope(self) -> str:
        scope: str = self.cleaned_data["scope"]
        if scope:
            try:
                check_name(scope, limits.SCOPE_ID_CHARS)
            except InvalidRequest:
                raise ValidationError(_("No Scope can have this id.")) from None
        return scope

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        raw = read_either(values, "text")
        if self.errors:
            return values
        if raw is None:
            raise ValidationError({"text": _("Paste a text or choose its file.")})
        try:
            self.log = raw.decode()
        except UnicodeDecodeError:
            raise ValidationError({"text_file": _("It is not UTF-8.")}) from None
        return values
