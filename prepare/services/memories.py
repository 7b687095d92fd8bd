"""Lifecycle and merge of atomic memories (contract C.2, J-28).

Part of the writer: state lives on the head, never in a revision. A state change takes
the artifact out of search, or back in, in the same transaction.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import StrIndex

from prepare import limits
from prepare.errors import Conflict, InvalidRequest
from prepare.models import Artifact, ArtifactRevision, Scope
from prepare.search import index
from prepare.services import contents
from prepare.services.artifacts import (
    NO_LINEAGE,
    Authorship,
    Lifecycle,
    Lineage,
    create_artifact,
    index_head,
    lock_head,
)
from prepare.services.identifiers import new_identifier
from prepare.services.writing import write_transaction
from prepare.values import ArtifactRef

STATES = ("active", "forgotten", "retired")
_LIFECYCLES = {
    "active": Lifecycle.ACTIVE,
    "forgotten": Lifecycle.DEPRECATED,
    "retired": Lifecycle.RETIRED,
}
STATE_FILTERS = {
    "active": Q(lifecycle=Lifecycle.ACTIVE),
    "forgotten": Q(lifecycle=Lifecycle.DEPRECATED, merged_into=None),
    "merged": Q(merged_into__isnull=False),
    "retired": Q(lifecycle=Lifecycle.RETIRED),
}
# Merged is left only by undoing the merge, retired never (contract C.2).
_ALLOWED = {
    ("active", "forgotten"),
    ("active", "retired"),
    ("forgotten", "active"),
    ("forgotten", "retired"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTarget:
    """What the caller last saw; any difference is a conflict."""

    artifact: ArtifactRef
    state_version: int


@write_transaction
def change_state(
    *, scope: Scope, target: MemoryTarget, state: str, authorship: Authorship
) -> tuple[Artifact, bool]:
    """Forget, restore or retire; returns the head and whether anything changed."""
    head = _lock_expected(scope, target)
    if head.state == state:
        return head, False
    if (head.state, state) not in _ALLOWED:
        raise Conflict(
            f"A {head.state} memory cannot become {state}.",
            code="invalid_memory_state",
        )
    _set_lifecycle(head, _LIFECYCLES[state], authorship)
    index.remove_artifact(head)
    if state == "active":
        row = head.revisions.get(revision=head.revision)
        index_head(head, row, json.loads(row.content))
    return head, True


@write_transaction
def merge_memories(
    *,
    scope: Scope,
    inputs: Sequence[MemoryTarget],
    content: dict[str, Any],
    authorship: Authorship,
    lineage: Lineage = NO_LINEAGE,
) -> tuple[ArtifactRevision, list[Artifact]]:
    """Make one memory out of two or more active ones; the inputs freeze as merged.

    Returns the new revision and the inputs in the caller's order.
    """
    identifiers = [target.artifact.artifact_id for target in inputs]
    if len(set(identifiers)) != len(identifiers):
        raise Conflict("An input is repeated.", code="invalid_memory_relation")
    if len(identifiers) < limits.MERGE_INPUTS_LOWEST:
        raise InvalidRequest(message="A merge takes at least two inputs.")
    # One fixed lock order, whatever the caller's order, so that merges cannot deadlock.
    by_id = {
        target.artifact.artifact_id: _lock_expected(scope, target)
        for target in sorted(inputs, key=lambda item: item.artifact.artifact_id)
    }
    if any(head.state != "active" for head in by_id.values()):
        raise Conflict("Every input must be active.", code="invalid_memory_state")
    creation = {"type": "merge", "input_artifact_ids": identifiers}
    row = create_artifact(
        scope=scope,
        family=limits.ATOMIC_MEMORY,
        content=content | {"creation": creation},
        authorship=authorship,
        artifact_id=new_identifier("art"),
        lineage=Lineage(
            sources=lineage.sources,
            artifacts=tuple(item.artifact for item in inputs) + lineage.artifacts,
        ),
    )
    for head in by_id.values():
        head.merged_into = row.artifact
        _set_lifecycle(head, Lifecycle.DEPRECATED, authorship)
        index.remove_artifact(head)
    return row, [by_id[identifier] for identifier in identifiers]


def _lock_expected(scope: Scope, target: MemoryTarget) -> Artifact:
    if target.artifact.family != limits.ATOMIC_MEMORY:
        raise InvalidRequest(message="Only atomic memories have a state.")
    head = lock_head(
        scope=scope,
        family=limits.ATOMIC_MEMORY,
        artifact_id=target.artifact.artifact_id,
    )
    seen = (target.artifact.revision, target.state_version)
    if seen != (head.revision, head.state_version):
        raise Conflict(
            "The memory has changed since it was read.",
            code="atomic_memory_changed",
            details={"revision": head.revision, "state_version": head.state_version},
        )
    return head


def _set_lifecycle(
    head: Artifact, lifecycle: Lifecycle, authorship: Authorship
) -> None:
    head.lifecycle = lifecycle
    head.state_version += 1
    head.updated_at = authorship.now
    head.save(update_fields=["lifecycle", "state_version", "merged_into", "updated_at"])


def list_memories(
    *, scope: Scope, states: Sequence[str], kind: str | None = None
) -> QuerySet[Artifact]:
    """Atomic memory heads in any of the states, optionally of one kind."""
    wanted = Q(pk=None)
    for state in states:
        wanted |= STATE_FILTERS[state]
    heads = Artifact.objects.filter(
        wanted, scope=scope, family=limits.ATOMIC_MEMORY
    ).select_related("merged_into")
    if kind is not None:
        # Canonical JSON has one spelling; the closing quote makes the match exact.
        # Not `contains`: that is LIKE, for which SQLite takes `Fact` and `fact` as one.
        needle = f'"kind":{contents.canonical_json(kind)},'
        heads = heads.filter(
            Exists(
                ArtifactRevision.objects.alias(
                    found_at=StrIndex("content", Value(needle))
                ).filter(
                    artifact=OuterRef("pk"),
                    revision=OuterRef("revision"),
                    found_at__gt=0,
                )
            )
        )
    return heads
