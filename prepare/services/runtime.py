"""The runtime settings that prepare obeys, as one value (J-29)."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from django.conf import settings

from prepare import limits
from prepare.search.ranking import Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """`readers` are the configured families; the gate and cap steer search only."""

    assembly_max_entries: int = limits.ASSEMBLY_ENTRIES_DEFAULT
    readers: AbstractSet[str] = frozenset(limits.SELECTABLE_FAMILIES)
    gate: Gate = field(default_factory=Gate)
    postings_cap: int = 5000


def configured_runtime() -> Runtime:
    return Runtime(
        assembly_max_entries=settings.CONTEXT_ASSEMBLY_MAX_ENTRIES,
        readers=settings.READERS,
        gate=Gate(
            latin_mass=settings.RECALL_GATE_LATIN,
            han_mass=settings.RECALL_GATE_HAN,
            item_mass=settings.RECALL_ITEM_FLOOR,
        ),
        postings_cap=settings.RECALL_POSTINGS_CAP,
    )
