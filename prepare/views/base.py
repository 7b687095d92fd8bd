"""What every view shares: reading strict input and paging."""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.views import APIView

from prepare import limits
from prepare.errors import InvalidCursor, InvalidQueryString, Violation
from prepare.fields import StrictSerializer
from prepare.services.access import Principal

Row = TypeVar("Row", bound=Model)


class ContractView(APIView):
    """A view of the contract: typed principal, strict input."""

    # OPTIONS is a wrong method like any other; DRF would answer with our docstrings.
    http_method_names = [
        name for name in APIView.http_method_names if name != "options"
    ]

    @property
    def principal(self) -> Principal:
        principal = self.request.user
        if not isinstance(principal, Principal):
            raise TypeError("HasPrincipal guards every view")
        return principal

    def read(self, serializer_class: type[StrictSerializer]) -> Any:
        """The validated body; raises what the error envelope shows.

        DRF reads a body without Content-Length (chunked) as `{}`: an operation whose
        fields are all optional would answer a question that was not asked.
        """
        if self.request.stream is None:
            raise ParseError("The body is empty or has no Content-Length.")
        serializer = serializer_class(data=self.request.data)
        serializer.is_valid(raise_exception=True)
        return serializer.validated_data


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    limit: int = limits.PAGE_DEFAULT
    cursor: str | None = None


def query_page(request: Request, extra: frozenset[str] = frozenset()) -> Page:
    """`limit` and `cursor` of a query string; faults are 400 (contract B.5)."""
    parameters = request.query_params
    for name, values in parameters.lists():
        if name not in {"limit", "cursor"} | extra:
            raise _refused("extra_forbidden", name, "Extra inputs are not permitted")
        if len(values) > 1:
            raise _refused("repeated", name, "Given more than once")
    raw = parameters.get("limit", str(limits.PAGE_DEFAULT))
    is_number = raw.isascii() and raw.isdigit() and len(raw) < 5
    if not is_number or not 1 <= int(raw) <= limits.PAGE_HIGHEST:
        raise _refused("int_range", "limit", f"1 to {limits.PAGE_HIGHEST}")
    return Page(limit=int(raw), cursor=parameters.get("cursor"))


def _refused(kind: str, name: str, msg: str) -> InvalidQueryString:
    return InvalidQueryString([Violation(type=kind, loc=("query", name), msg=msg)])


def paginate(
    rows: QuerySet[Row], page: Page, shape: Callable[[Sequence[Row]], list[Any]]
) -> tuple[list[Any], str | None]:
    """One page in primary-key order, and the cursor of the next page if any."""
    if page.cursor is not None:
        rows = rows.filter(pk__gt=_decode_cursor(page.cursor))
    found = list(rows.order_by("pk")[: page.limit + 1])
    shown = found[: page.limit]
    cursor = _encode_cursor(shown[-1].pk) if len(found) > page.limit else None
    return shape(shown), cursor


def _encode_cursor(key: int) -> str:
    return base64.urlsafe_b64encode(f"v1:{key}".encode()).decode()


def _decode_cursor(cursor: str) -> int:
    try:
        text = base64.urlsafe_b64decode(cursor.encode()).decode()
    except (binascii.Error, UnicodeError) as error:
        raise InvalidCursor from error
    version, _, key = text.partition(":")
    if version != "v1" or not key.isascii() or not key.isdigit() or len(key) > 18:
        raise InvalidCursor
    return int(key)
