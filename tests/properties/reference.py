"""The naive reference implementation (tests/oracle) as the property tests use it."""

from typing import Any, NamedTuple

from tests.oracle import prepare_oracle as oracle
from tests.properties.strategies import Fixture
from tests.services.building import IdentityTuple


class Reference(NamedTuple):
    content: str | None
    origins: list[IdentityTuple]
    truncated: list[bool]


def prepare(fixture: Fixture) -> Reference:
    """One pass of the reference; its two public functions would take two."""
    content, entries = oracle._build(fixture)
    return Reference(
        content=content,
        origins=[entry.candidate.identity for entry in entries],
        truncated=[entry.truncated for entry in entries],
    )


def settled(fixture: Fixture) -> Fixture:
    """The fixture without blank memories and repetitions inside one Scope's list.

    In the legacy form they go after the pool is cut but before the Scopes take turns
    for the output (contract G.6), where the reference removes them afterwards. It then
    finds nothing to remove.
    """
    candidates = fixture["candidates"]
    kept = {
        name: _settle(candidates[name], cap)
        for name, cap in (("memory", 16), ("experience", 8))
    }
    return {**fixture, "candidates": {**candidates, **kept}}


def _settle(groups: list[Fixture], cap: int) -> list[Fixture]:
    turns = sorted(
        (turn, number)
        for number, group in enumerate(groups)
        for turn in range(len(group["hits"]))
    )
    pooled = set(turns[:cap])
    return [
        group
        | {
            "hits": _first_of_each(
                hit
                for turn, hit in enumerate(group["hits"])
                if (turn, number) in pooled and hit["body"].strip()
            )
        }
        for number, group in enumerate(groups)
    ]


def _first_of_each(hits: Any) -> list[Fixture]:
    names = ("family", "artifact_id", "revision", "entry_id", "entry_version_id")
    first: dict[tuple[Any, ...], Fixture] = {}
    for hit in hits:
        first.setdefault(tuple(hit.get(name) for name in names), hit)
    return list(first.values())


def retrieved(fixture: Fixture) -> dict[str, int]:
    """How many candidates each family brought, before any rule removed one."""
    candidates = fixture["candidates"]
    return {
        "memory": sum(len(group["hits"]) for group in candidates["memory"]),
        "experience": sum(len(group["hits"]) for group in candidates["experience"]),
        "topic-memory": len(candidates["topic_memory"]),
        "profile": len(candidates["profile"]),
    }
