"""Two prepared contexts beside each other: what came, what went, what it cost. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.presenting.budget import section_bytes
from inspector.presenting.content import Item, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One exact identity that both deliver, perhaps at another place or length."""

    left: Item
    right: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionBytes:
    """`around` is the heading of the section and its joints."""

    family: str
    items: int
    rendered_bytes: int
    around: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionPair:
    family: str
    left: SectionBytes
    right: SectionBytes

    @property
    def difference(self) -> str:
        """Bytes of the items, right over left, with its sign."""
        return f"{self.right.rendered_bytes - self.left.rendered_bytes:+,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """`gained` is only in the second, `lost` only in the first."""

    gained: tuple[Item, ...]
    lost: tuple[Item, ...]
    kept: tuple[Kept, ...]
    sections: tuple[SectionPair, ...]


def compare_results(left: Result, right: Result) -> Changes:
    before = {item.identity: item for item in left.items}
    after = {item.identity: item for item in right.items}
    return Changes(
        gained=tuple(item for item in right.items if item.identity not in before),
        lost=tuple(item for item in left.items if item.identity not in after),
        kept=tuple(
            Kept(left=item, right=after[item.identity])
            for item in left.items
            if item.identity in after
        ),
        sections=tuple(
            SectionPair(
                family=family,
                left=_section(left, family),
                right=_section(right, family),
            )
            for family in _families([left, right])
        ),
    )


def _families(results: Sequence[Result]) -> Iterable[str]:
    """In the order of the first, then what only the second has."""
    return dict.fromkeys(item.family for result in results for item in result.items)


def _section(result: Result, family: str) -> SectionBytes:
    items = [item for item in result.items if item.family == family]
    return SectionBytes(
        family=family,
        items=len(items),
        rendered_bytes=sum(item.rendered_bytes for item in items),
        around=section_bytes(family, len(items)) if result.form == "text" else 0,
    )
