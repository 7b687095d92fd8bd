"""Read decoded JSON objects strictly (J-5), for files rather than requests. Pure."""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from prepare import limits
from prepare.errors import InvalidRequest


class JsonObject:
    """One decoded JSON object: exactly the known keys, each of its JSON type.

    Every refusal is an `InvalidRequest` whose message starts with the key at fault.
    """

    def __init__(
        self,
        data: object,
        required: Collection[str],
        optional: Collection[str] = (),
        *,
        path: str = "",
    ) -> None:
        if not isinstance(data, Mapping):
            raise InvalidRequest(message=f"{path or 'it'}: should be an object")
        self.data = data
        self.path = f"{path}." if path else ""
        for name in data:
            if name not in required and name not in optional:
                raise self.refused(name, "is not a known key")
        for name in required:
            if name not in data:
                raise self.refused(name, "is missing")

    def refused(self, name: str, rule: str) -> InvalidRequest:
        return InvalidRequest(message=f"{self.path}{name}: {rule}")

    def text(self, name: str, highest: int | None = None) -> str:
        value = self.data[name]
        if not isinstance(value, str):
            raise self.refused(name, "should be a string")
        if highest is not None and len(value) > highest:
            raise self.refused(name, f"has more than {highest} characters")
        return value

    def trimmed(self, name: str, highest: int) -> str:
        value = self.text(name, highest)
        if not value or value != value.strip():
            raise self.refused(name, "is blank or has white space around it")
        return value

    def optional_text(self, name: str, highest: int | None = None) -> str | None:
        return None if self.data.get(name) is None else self.text(name, highest)

    def choice(self, name: str, choices: Collection[str]) -> str | None:
        value = self.optional_text(name)
        if value is not None and value not in choices:
            raise self.refused(name, f"should be one of {', '.join(choices)}")
        return value

    def revision(self, name: str) -> int:
        value = self.data[name]
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if not is_integer or not 1 <= value <= limits.HIGHEST_REVISION:
            raise self.refused(name, "should be an integer of at least 1")
        return int(value)

    def objects(
        self, name: str, required: Collection[str], optional: Collection[str] = ()
    ) -> Iterator["JsonObject"]:
        """The objects of an array, none if the key is missing or null."""
        for index, item in enumerate(self._items(name)):
            yield JsonObject(
                item, required, optional, path=f"{self.path}{name}.{index}"
            )

    def texts(self, name: str) -> tuple[str, ...]:
        items = self._items(name)
        if not all(isinstance(item, str) for item in items):
            raise self.refused(name, "should hold strings")
        if len(set(items)) != len(items):
            raise self.refused(name, "holds a string twice")
        return tuple(items)

    def _items(self, name: str) -> list[Any]:
        value = self.data.get(name) or []
        if not isinstance(value, list):
            raise self.refused(name, "should be an array")
        return value

    def object(self, name: str) -> dict[str, Any]:
        value = self.data[name]
        if not isinstance(value, dict):
            raise self.refused(name, "should be an object")
        return value

    def moment(self, name: str) -> datetime | None:
        text = self.optional_text(name)
        try:
            moment = None if text is None else datetime.fromisoformat(text)
        except ValueError:
            raise self.refused(name, "should be an ISO 8601 date and time") from None
        if moment is not None and moment.tzinfo is None:
            raise self.refused(name, "needs a time zone, such as Z")
        return moment and moment.astimezone(UTC)
