"""Read one decoded JSON object strictly, and say everything that is wrong. Pure."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from prepare.errors import Violation

Wire = Mapping[str, Any]

# A body may break a rule a hundred thousand times; nobody needs to read all of it, and
# nothing below looks further.
REPORTED_VIOLATIONS: Final = 100


class WireReader:
    """Reads one JSON object strictly and collects every violation with its path."""

    def __init__(
        self, data: object, known: frozenset[str], loc: tuple[str | int, ...]
    ) -> None:
        self.violations: list[Violation] = []
        self.loc = loc
        self.is_object = isinstance(data, Mapping)
        self.data: Wire = data if isinstance(data, Mapping) else {}
        if not self.is_object:
            self.refuse("object_type", "Input should be an object")
        unknown = (key for key in self.data if key not in known)
        for key in islice(unknown, REPORTED_VIOLATIONS):
            self.refuse("extra_forbidden", "Extra inputs are not permitted", key)

    def refuse(self, kind: str, msg: str, *path: str | int) -> None:
        self.violations.append(Violation(type=kind, loc=(*self.loc, *path), msg=msg))

    def string(self, name: str) -> str:
        value = self.data.get(name)
        if isinstance(value, str):
            return value
        self._refuse_type(name, "string_type", "Input should be a valid string")
        return ""

    def integer(self, name: str, default: int | None = None) -> int:
        value = self.data.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self._refuse_type(name, "int_type", "Input should be a valid integer")
        return 0

    def _refuse_type(self, name: str, kind: str, msg: str) -> None:
        if name in self.data:
            self.refuse(kind, msg, name)
        elif self.is_object:
            self.refuse("missing", "Field required", name)

    def boolean(self, name: str, *, nullable: bool = False) -> bool:
        value = self.data.get(name, False)
        if isinstance(value, bool):
            return value
        if value is not None or not nullable:
            self.refuse("bool_type", "Input should be a valid boolean", name)
        return False

    def items(self, name: str, default: list[Any], highest: int) -> list[Any]:
        value = self.data.get(name, default)
        if not isinstance(value, list):
            self.refuse("list_type", "Input should be a valid array", name)
        elif len(value) > highest:
            self.refuse("too_long", f"At most {highest} items", name)
        else:
            return value
        return []
