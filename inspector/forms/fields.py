"""Long texts that may be pasted or uploaded."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _


class PastedField(forms.CharField):
    """A long text, kept as it is."""

    def __init__(self, **options: Any) -> None:
        attrs = {"class": "mono", "rows": 12, "spellcheck": "false"}
        super().__init__(
            required=False, strip=False, widget=forms.Textarea(attrs=attrs), **options
        )


class UploadedField(forms.FileField):
    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, allow_empty_file=True, **options)


def read_either(values: dict[str, Any], name: str) -> bytes | None:
    """The bytes of field `name` or of `name_file`; None if neither is filled in.

    A file stays as it is. Of a pasted text the line ends are LF again: a form sends
    them as CRLF. Raises `ValidationError` if there are both.
    """
    text: str = values.get(name) or ""
    file = values.get(f"{name}_file")
    if text and file is not None:
        raise ValidationError({name: _("Paste it or choose a file, not both.")})
    if file is not None:
        return bytes(file.read())
    return text.replace("\r\n", "\n").encode() if text else None


def source_field(values: dict[str, Any], name: str) -> str:
    """Which of the two was filled in, to hang an error on."""
    return f"{name}_file" if values.get(f"{name}_file") is not None else name
