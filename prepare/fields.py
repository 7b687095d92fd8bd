"""Strict scalars and objects: a wrong JSON type is refused, never converted.

DRF turns `"8000"`, `8000.0` and `true` into integers, and drops unknown keys; a
selection or bound that is silently changed is a wrong answer here (A-040, J-5).
"""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.settings import api_settings

from prepare import limits
from prepare.wirereader import REPORTED_VIOLATIONS


class StrictCharField(serializers.CharField):
    """A JSON string, kept as it came: not trimmed, NUL allowed unless refused."""

    default_error_messages = {"string_type": "Input should be a valid string"}

    def __init__(self, *, allow_nul: bool = True, **kwargs: Any) -> None:
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)
        if allow_nul:
            # CharField refuses NUL; bodies may hold it (J-30, C-36).
            self.validators = [
                validator
                for validator in self.validators
                if type(validator).__name__ != "ProhibitNullCharactersValidator"
            ]

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("string_type")
        return data

    def run_validation(self, data: Any = serializers.empty) -> Any:
        # CharField answers blank input before validators run, and only when trimming.
        if isinstance(data, str) and not self.allow_blank and not data.strip():
            self.fail("blank")
        return super(serializers.CharField, self).run_validation(data)


class StrictIntegerField(serializers.IntegerField):
    """A JSON integer: no bool, no string, no 8000.0 (C-32, C-33)."""

    default_error_messages = {"int_type": "Input should be a valid integer"}

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("int_type")
        return data


class StrictBooleanField(serializers.BooleanField):
    """A JSON boolean."""

    default_error_messages = {"bool_type": "Input should be a valid boolean"}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("bool_type")
        return data


class StrictChoiceField(serializers.ChoiceField):
    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice", input="the value")
        return data


class StrictListField(serializers.ListField):
    """A JSON array; `unique` refuses repeated items."""

    default_error_messages = {"unique": "Items must be unique."}

    def __init__(self, *, unique: bool = False, **kwargs: Any) -> None:
        self.unique = unique
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        if self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        items: list[Any] = super().to_internal_value(data)
        if self.unique and len({json.dumps(item) for item in items}) < len(items):
            self.fail("unique")
        return items

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        """Like the library's, but a list of a hundred thousand faults ends early."""
        items = []
        faults: dict[int, Any] = {}
        for index, item in enumerate(data):
            try:
                items.append(self.child.run_validation(item))
            except serializers.ValidationError as error:
                faults[index] = error.detail
            if len(faults) == REPORTED_VIOLATIONS:
                break
        if faults:
            raise serializers.ValidationError(faults)  # type: ignore[arg-type]
        return items


class StrictSerializer(serializers.Serializer[Any]):
    """A JSON object with exactly the declared keys."""

    default_error_messages = {
        "extra_forbidden": "Extra inputs are not permitted",
        "object_type": "Input should be an object",
    }

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            # A bare message would become a list, which DRF cannot report for an object.
            message = self.error_messages["object_type"]
            raise serializers.ValidationError(
                {api_settings.NON_FIELD_ERRORS_KEY: [message]}, code="object_type"
            )
        code = "extra_forbidden"
        unknown = ErrorDetail(str(self.error_messages[code]), code=code)
        names = (key for key in data if key not in self.fields)
        faults: dict[str, Any] = {
            key: [unknown] for key in islice(names, REPORTED_VIOLATIONS)
        }
        value = None
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            faults |= error.detail  # type: ignore[arg-type]  # always a dict here
        if faults:
            raise serializers.ValidationError(faults)
        return value


class JSONValueField(serializers.JSONField):
    """Any JSON value, null included."""

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        # `allow_null` is published as a choice of two schemas, and null fits both.
        return (True, None) if data is None else super().validate_empty_values(data)


class ScopeIdField(StrictCharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=limits.SCOPE_ID_CHARS, allow_nul=False, **kwargs)


class VisibleAsciiField(serializers.RegexField):
    """Families, artifact, entry and candidate ids (contract B.3)."""

    default_error_messages = {"string_type": "Input should be a valid string"}

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", limits.IDENTITY_CHARS)
        # `$` would let a final newline pass.
        super().__init__(r"^[\x21-\x7E]+\Z", trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("string_type")
        return data


class RevisionField(StrictIntegerField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=1, max_value=limits.HIGHEST_REVISION, **kwargs)
