"""One prepared context as a page shows it: status, items, bytes, exact content. Pure.

Downloads are `data:` addresses inside the page: nothing is stored and nothing is sent
again to make them.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from inspector.presenting.budget import BarPart, bar_of_build, selector_of
from inspector.presenting.codepoints import (
    Found,
    Segment,
    count_points,
    find_segments,
)
from prepare.compactjson import dump_compact
from prepare.services.receipts import digest_content
from prepare.values import (
    CodeIdentity,
    Identity,
    Prepared,
    PrepareRequest,
    SelectedItem,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One delivered item; `rank` is its recall rank, None if it is not known."""

    number: int
    family: str
    identity: Identity | CodeIdentity
    rank: int | None
    rendered_bytes: int
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """`literal` is byte for byte what a host injects; `segments` spell it again."""

    literal: str
    address: str
    segments: tuple[Segment, ...]
    points: tuple[Found, ...]

    @property
    def passed(self) -> int:
        """Hidden code points that are in the content as they are."""
        return sum(one.count for one in self.points if not one.point.escaped)

    @property
    def escaped(self) -> int:
        return sum(one.count for one in self.points if one.point.escaped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """`content` None is status `empty`. `receipt_address` None goes with an `omission`,
    the closed reason why there is no receipt."""

    status: str
    form: str
    max_bytes: int
    used_bytes: int
    bar: tuple[BarPart, ...]
    items: tuple[Item, ...]
    content: Content | None
    content_digest: str | None
    receipt_address: str | None
    omission: str | None

    @property
    def truncated(self) -> int:
        return sum(item.truncated for item in self.items)


def present_result(
    request: PrepareRequest,
    prepared: Prepared,
    ranks: Mapping[Identity, int] | None = None,
) -> Result:
    build = prepared.build
    is_text = request.assembly is not None
    content = None
    if build.content is not None:
        content = _present_content(build.content, is_text=is_text)
    receipt = None
    if prepared.receipt is not None:
        # The spelling of the API, byte for byte.
        receipt = _address("application/json", dump_compact(dict(prepared.receipt)))
    return Result(
        status="empty" if content is None else "ready",
        form="text" if is_text else "envelope",
        max_bytes=request.max_bytes,
        used_bytes=build.content_bytes,
        bar=bar_of_build(request, build),
        items=tuple(
            _present_item(number, item, ranks or {})
            for number, item in enumerate(build.selected, start=1)
        ),
        content=content,
        content_digest=digest_content(build.content),
        receipt_address=receipt,
        omission=prepared.receipt_omission,
    )


def _present_item(
    number: int, item: SelectedItem, ranks: Mapping[Identity, int]
) -> Item:
    identity = item.identity
    return Item(
        number=number,
        family=selector_of(item),
        identity=identity,
        rank=ranks.get(identity) if isinstance(identity, Identity) else None,
        rendered_bytes=item.rendered_bytes,
        truncated=item.truncated,
    )


def _present_content(content: str, *, is_text: bool) -> Content:
    segments = find_segments(content, is_text=is_text)
    return Content(
        literal=content,
        address=_address("text/plain;charset=utf-8", content.encode()),
        segments=segments,
        points=count_points(segments),
    )


def _address(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"
