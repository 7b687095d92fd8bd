"""Candidates, pools and packed results for tests of the pure services."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prepare.errors import InvariantViolated
from prepare.services.legacy import pack_legacy
from prepare.services.packing import pack
from prepare.services.replaying import read_recording, replay
from prepare.values import (
    ArtifactRef,
    Assembly,
    BodyCandidate,
    Build,
    Candidate,
    Identity,
    Omission,
    ScopePool,
    Section,
    TopicCandidate,
)
from tests.services.documents import Item, read_text

CURRENT = "project:demo"
LARGEST = 32768


def identity(
    artifact_id: str = "m1",
    *,
    scope_id: str = CURRENT,
    family: str = "atomic-memory",
    revision: int = 1,
    entry: tuple[str, str] | tuple[None, None] = (None, None),
) -> Identity:
    return Identity(
        scope_id=scope_id,
        artifact=ArtifactRef(family=family, artifact_id=artifact_id, revision=revision),
        entry_id=entry[0],
        entry_version_id=entry[1],
    )


def memory(
    artifact_id: str, body: str = "A fact.", scope_id: str = CURRENT, **fields: Any
) -> BodyCandidate:
    """An atomic memory; `entry=(id, version)` makes it one of a Memory collection."""
    if "entry" in fields:
        fields.setdefault("family", "memory")
    return BodyCandidate(
        identity=identity(artifact_id, scope_id=scope_id, **fields), body=body
    )


def experience(
    artifact_id: str, body: str = "Situation: A.", scope_id: str = CURRENT
) -> BodyCandidate:
    return memory(artifact_id, body, scope_id, family="experience")


def profile(scope_id: str = CURRENT, body: str = "Likes rye.\n") -> BodyCandidate:
    return memory("profile", body, scope_id, family="profile")


def topic(
    artifact_id: str,
    title: str = "Ovens",
    summary: str = "About ovens.",
    snippet: str | None = None,
) -> TopicCandidate:
    return TopicCandidate(
        identity=identity(artifact_id, family="topic-memory"),
        title=title,
        summary=summary,
        snippet=snippet,
    )


def in_scopes(candidates: Iterable[Candidate]) -> tuple[ScopePool, ...]:
    """One pool for each Scope, Scopes in the order of their first candidate."""
    by_scope: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_scope.setdefault(candidate.identity.scope_id, []).append(candidate)
    return tuple(
        ScopePool(scope_id=scope_id, candidates=tuple(found))
        for scope_id, found in by_scope.items()
    )


def pack_text(
    *sections: tuple[str, int, Sequence[Candidate]],
    show: Sequence[str] = (),
    max_bytes: int = LARGEST,
) -> Build:
    """Pack (family, limit, candidates) sections into the text form."""
    return pack(
        {family: in_scopes(found) for family, _, found in sections},
        assembly=Assembly(
            sections=tuple(
                Section(family=family, limit=limit) for family, limit, _ in sections
            ),
            show_confidence="confidence" in show,
            show_recall_rank="recall_rank" in show,
        ),
        max_bytes=max_bytes,
    )


def pack_memories(
    *bodies: str, show: Sequence[str] = (), max_bytes: int = LARGEST
) -> Build:
    """One memory section with these bodies, ids m1, m2, ..."""
    found = [memory(f"m{number}", body) for number, body in enumerate(bodies, 1)]
    return pack_text(("memory", 8, found), show=show, max_bytes=max_bytes)


def pack_envelope(
    memories: Sequence[Candidate] = (),
    experiences: Sequence[Candidate] = (),
    topics: Sequence[Candidate] = (),
    *,
    max_bytes: int = LARGEST,
) -> Build:
    """Pack candidates into the legacy envelope."""
    pools = {
        "memory": in_scopes(memories),
        "experience": in_scopes(experiences),
        "topic-memory": in_scopes(topics),
    }
    return pack_legacy(pools, current_scope_id=CURRENT, max_bytes=max_bytes)


def content_of(build: Build) -> str:
    assert build.content is not None
    return build.content


def items_of(build: Build) -> list[Item]:
    """The items of a text as a reader finds them; none of an empty result."""
    return [] if build.content is None else read_text(build.content)


def ids(build: Build) -> list[str]:
    """Artifact ids (of an entry: its entry id) in output order."""
    return [one.entry_id or one.artifact.artifact_id for one in build.origins]


def as_counts(omissions: Iterable[Omission]) -> dict[tuple[str, str], int]:
    return {(one.family, one.reason): one.count for one in omissions}


def omitted(build: Build) -> dict[tuple[str, str], int]:
    return as_counts(build.omissions)


def size(text: str) -> int:
    return len(text.encode())


# --- fixtures in the form of tests/goldens ----------------------------------------

Fixture = Mapping[str, Any]


def build_of(fixture: Fixture) -> Build:
    """What the product makes of a fixture; `InvariantViolated` as packing raises it."""
    replayed = replay(read_recording(fixture))
    if replayed.build is None:
        raise InvariantViolated(replayed.response["exception"])
    return replayed.build


IdentityTuple = tuple[str, str, str, int, str | None, str | None]


def origins(build: Build) -> list[IdentityTuple]:
    """The selected identities in the form of the reference implementation."""
    assert [item.identity for item in build.selected] == list(build.origins)
    return [
        (
            found.scope_id,
            found.artifact.family,
            found.artifact.artifact_id,
            found.artifact.revision,
            found.entry_id,
            found.entry_version_id,
        )
        for found in build.origins
    ]


def delivered_origins(fixture: Fixture) -> list[IdentityTuple]:
    """`delivered_origins` of a golden file; a bare reference is the current Scope."""
    return [
        (
            origin.get("scope_id", fixture["current_scope_id"]),
            ref["family"],
            ref["artifact_id"],
            ref["revision"],
            origin.get("entry_id"),
            origin.get("entry_version_id"),
        )
        for origin in fixture["delivered_origins"]
        for ref in [origin.get("artifact", origin)]
    ]
