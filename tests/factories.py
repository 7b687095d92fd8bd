"""Stored things for tests, written by the product's own services."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from prepare import limits
from prepare.models import ArtifactRevision, Candidate, Scope, Source
from prepare.services import access, artifacts, candidates, collections, scopes, sources
from prepare.services.artifacts import Authorship, Lineage, SourceRef
from prepare.services.candidates import Proposal
from prepare.services.collections import EntryChange
from prepare.services.scopes import ScopeFields
from prepare.services.sources import SourceContent
from prepare.values import ArtifactRef

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BY_TEST = Authorship(now=NOW, author="test")


def make_scope(
    scope_id: str | None = None, *, references: Sequence[str] = (), title: str = "Test"
) -> Scope:
    """A Scope; `references` are the ids of existing Scopes, in reading order."""
    return scopes.create_scope(
        fields=ScopeFields(
            title=title, summary="For tests.", context_references=tuple(references)
        ),
        idempotency_key=uuid.uuid4().hex,
        now=NOW,
        scope_id=scope_id,
    )


def remember(
    scope: Scope, text: str, *, artifact_id: str | None = None, kind: str = "fact"
) -> ArtifactRevision:
    """An active atomic memory."""
    return write(
        scope,
        limits.ATOMIC_MEMORY,
        {"kind": kind, "text": text},
        artifact_id=artifact_id,
    )


def write(
    scope: Scope,
    family: str,
    content: dict[str, Any],
    *,
    artifact_id: str | None = None,
    lineage: Lineage = artifacts.NO_LINEAGE,
) -> ArtifactRevision:
    """The first revision of a new artifact."""
    return artifacts.create_artifact(
        scope=scope,
        family=family,
        content=content,
        authorship=BY_TEST,
        artifact_id=artifact_id,
        lineage=lineage,
    )


def revise(row: ArtifactRevision, content: dict[str, Any]) -> ArtifactRevision:
    """The next revision of an artifact."""
    return artifacts.replace_artifact(
        scope=row.artifact.scope,
        family=row.artifact.family,
        artifact_id=row.artifact.artifact_id,
        content=content,
        authorship=BY_TEST,
    )


def experience(lesson: str, **fields: str) -> dict[str, Any]:
    """Content of an experience; words of `lesson` make it findable."""
    return {
        "situation": "A situation.",
        "action": "An action.",
        "outcome": "An outcome.",
        "lesson": lesson,
        **fields,
    }


def topic(title: str, summary: str = "A summary.", detail: str = "Details.") -> Any:
    return {"title": title, "summary": summary, "detail": detail}


def profile(scope: Scope, markdown: str) -> ArtifactRevision:
    return write(scope, limits.PROFILE, {"content": markdown})


def collect(
    scope: Scope,
    entries: Sequence[tuple[str, str, str]],
    *,
    artifact_id: str = "memory",
    revision: int | None = None,
) -> ArtifactRevision:
    """A Memory collection revision from (entry_id, entry_version_id, text)."""
    return collections.write_collection(
        scope=scope,
        artifact_id=artifact_id,
        changes=[
            EntryChange(
                entry_id=entry_id, entry_version_id=version_id, kind="fact", text=text
            )
            for entry_id, version_id, text in entries
        ],
        authorship=BY_TEST,
        revision=revision,
    )


def source(scope: Scope, source_id: str, content: Any = "evidence") -> Source:
    return sources.create_source(
        scope=scope,
        source=SourceContent(
            source_type="content", source_id=source_id, content=content
        ),
        now=NOW,
    )


def propose(
    scope: Scope,
    family: str,
    content: dict[str, Any],
    *,
    target: ArtifactRevision | None = None,
) -> Candidate:
    """A pending Candidate with one source as evidence."""
    evidence = source(scope, f"src-{uuid.uuid4().hex}")
    return candidates.propose(
        scope=scope,
        proposal=Proposal(
            family=family,
            content=content,
            lineage=Lineage(
                sources=(
                    SourceRef(source_type="content", source_id=evidence.source_id),
                )
            ),
            target=ref(target) if target is not None else None,
        ),
        authorship=BY_TEST,
    )


def ref(row: ArtifactRevision) -> ArtifactRef:
    return ArtifactRef(
        family=row.artifact.family,
        artifact_id=row.artifact.artifact_id,
        revision=row.revision,
    )


def token(
    name: str, *readable: Scope, role: str = "viewer", server_admin: bool = False
) -> str:
    """A bearer token with `role` on each Scope."""
    return access.create_token(
        name=name, now=NOW, is_server_admin=server_admin, scopes=readable, role=role
    )
