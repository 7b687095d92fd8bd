"""The naive reference implementation (tests/oracle) as the property tests use it."""

from typing import NamedTuple

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


def retrieved(fixture: Fixture) -> dict[str, int]:
    """How many candidates each family brought, before any rule removed one."""
    candidates = fixture["candidates"]
    return {
        "memory": sum(len(group["hits"]) for group in candidates["memory"]),
        "experience": sum(len(group["hits"]) for group in candidates["experience"]),
        "topic-memory": len(candidates["topic_memory"]),
        "profile": len(candidates["profile"]),
    }
