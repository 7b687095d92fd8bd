"""Find the candidates of the selected families in the Scopes to read (contract D).

Only selected families are read (A-050). Every body comes from the authoritative
revision; the search projection only says where to look (C-12). A failing search raises:
it is never an empty pool (A-079).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F

from prepare import limits
from prepare.errors import NotReady
from prepare.evidence import Mode, RecallEvidence, RecallRound, SearchCall
from prepare.models import ArtifactRevision, MemoryEntryVersion, Scope, SearchChunk
from prepare.search import lookup
from prepare.search.index import unpack_terms
from prepare.search.lookup import Hit, PoolKey
from prepare.search.snippets import make_snippet
from prepare.services.contents import experience_text
from prepare.services.runtime import Runtime
from prepare.values import (
    ArtifactRef,
    BodyCandidate,
    Candidate,
    Identity,
    Pools,
    ScopePool,
    TopicCandidate,
)

# Selector -> the receipt's family word.
_EVIDENCE_FAMILIES = {limits.MEMORY: limits.ATOMIC_MEMORY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    pools: Pools = field(default_factory=dict)
    evidence: RecallEvidence = field(default_factory=RecallEvidence)


def recall(
    *, query: str, families: Sequence[str], scopes: Sequence[Scope], runtime: Runtime
) -> Recalled:
    """Pools per family in Scope order; `scopes[0]` is the current Scope.

    The number of statements depends on the families and Scopes, not on what is stored.
    """
    if not families:
        return Recalled()
    wanted = {
        family: _scopes_read(family, scopes)
        for family in families
        if family in runtime.readers
    }
    searched = {
        family: targets
        for family, targets in wanted.items()
        if family != limits.PROFILE
    }
    pools = _search(query, searched, runtime)
    if limits.PROFILE in wanted:
        pools[limits.PROFILE] = _read_profiles(wanted[limits.PROFILE])
    calls = [
        _search_call(family, len(_scopes_read(family, scopes)), runtime)
        for family in families
    ]
    evidence = RecallEvidence(rounds=(RecallRound(round=0),), searches=tuple(calls))
    return Recalled(pools=pools, evidence=evidence)


def _scopes_read(family: str, scopes: Sequence[Scope]) -> Sequence[Scope]:
    """Topic memories stay in the current Scope (contract B.2)."""
    return scopes if family in limits.CROSSING_FAMILIES else scopes[:1]


def _search_call(family: str, count: int, runtime: Runtime) -> SearchCall:
    name = _EVIDENCE_FAMILIES.get(family, family)
    if family not in runtime.readers:
        return SearchCall(
            round=0, family=name, mode="none", outcome="not_run", count=count
        )
    mode: Mode = "snapshot" if family == limits.PROFILE else "fts"
    return SearchCall(round=0, family=name, mode=mode, outcome="completed", count=count)


def _search(
    query: str, wanted: dict[str, Sequence[Scope]], runtime: Runtime
) -> dict[str, tuple[ScopePool, ...]]:
    found = lookup.search(
        query=query,
        pools=[
            PoolKey(scope_id=scope.pk, family=family)
            for family, scopes in wanted.items()
            for scope in scopes
        ],
        gate=runtime.gate,
        postings_cap=runtime.postings_cap,
    )
    bounded = {key: hits[: limits.POOL_CAPS[key.family]] for key, hits in found.items()}
    bodies = load_bodies([hit for hits in bounded.values() for hit in hits], query)
    return {
        family: tuple(
            ScopePool(
                scope_id=scope.scope_id,
                candidates=tuple(
                    bodies.candidate(scope, hit)
                    for hit in bounded[PoolKey(scope_id=scope.pk, family=family)]
                ),
            )
            for scope in scopes
        )
        for family, scopes in wanted.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Bodies:
    """The authoritative rows behind a set of hits."""

    revisions: dict[int, ArtifactRevision]
    entries: dict[int, MemoryEntryVersion]
    snippets: dict[int, str | None]

    def candidate(self, scope: Scope, hit: Hit) -> Candidate:
        """The hit as a candidate; raises `NotReady` if projection and head differ."""
        row = self.revisions[hit.revision_id]
        _check_current(scope, row)
        artifact = ArtifactRef(
            family=row.artifact.family,
            artifact_id=row.artifact.artifact_id,
            revision=row.revision,
        )
        if hit.entry_version_id is not None:
            entry = self.entries[hit.entry_version_id]
            identity = Identity(
                scope_id=scope.scope_id,
                artifact=artifact,
                entry_id=entry.entry_id,
                entry_version_id=entry.entry_version_id,
            )
            return BodyCandidate(identity=identity, body=entry.text)
        identity = Identity(scope_id=scope.scope_id, artifact=artifact)
        return _as_candidate(identity, json.loads(row.content), self.snippets, hit)


def _as_candidate(
    identity: Identity,
    content: dict[str, Any],
    snippets: dict[int, str | None],
    hit: Hit,
) -> Candidate:
    family = identity.artifact.family
    if family == limits.TOPIC_MEMORY:
        return TopicCandidate(
            identity=identity,
            title=content["title"],
            summary=content["summary"],
            snippet=snippets[hit.document_id],
        )
    is_experience = family == limits.EXPERIENCE
    body = experience_text(content) if is_experience else content["text"]
    return BodyCandidate(identity=identity, body=body)


def _check_current(scope: Scope, row: ArtifactRevision) -> None:
    """A hit is the active head of its Scope, or the projection is broken (D.4)."""
    head = row.artifact
    is_head = head.scope_id == scope.pk and head.revision == row.revision
    if not is_head or head.lifecycle != "active":
        raise NotReady(
            "The search projection does not match the stored Artifacts;"
            " run `manage.py rebuild_search`.",
            code="stale-projection",
        )


def load_bodies(hits: Sequence[Hit], query: str) -> Bodies:
    """Read what the hits stand for; three statements, whatever the number of hits."""
    revisions = ArtifactRevision.objects.select_related("artifact").in_bulk(
        [hit.revision_id for hit in hits]
    )
    entries = MemoryEntryVersion.objects.in_bulk(
        [hit.entry_version_id for hit in hits if hit.entry_version_id is not None]
    )
    topics = [
        hit
        for hit in hits
        if revisions[hit.revision_id].artifact.family == limits.TOPIC_MEMORY
    ]
    return Bodies(
        revisions=revisions,
        entries=entries,
        snippets=_make_snippets(topics, revisions, query),
    )


def _make_snippets(
    topics: Sequence[Hit], revisions: dict[int, ArtifactRevision], query: str
) -> dict[int, str | None]:
    """One snippet per topic: the earliest chunk holding most query terms (C.6)."""
    terms = lookup.query_keys(query)
    best: dict[int, tuple[int, SearchChunk]] = {}
    chunks = SearchChunk.objects.filter(
        document__in=[hit.document_id for hit in topics]
    ).order_by("document", "position")
    for chunk in chunks:
        held = len(terms.keys() & set(unpack_terms(bytes(chunk.terms))))
        if held > best.get(chunk.document_id, (0, None))[0]:
            best[chunk.document_id] = (held, chunk)
    snippets: dict[int, str | None] = {}
    for hit in topics:
        snippets[hit.document_id] = None
        if hit.document_id in best:
            chunk = best[hit.document_id][1]
            detail = json.loads(revisions[hit.revision_id].content)["detail"]
            text = detail[chunk.start : chunk.end]
            snippets[hit.document_id] = make_snippet(text, terms.values())
    return snippets


def _read_profiles(scopes: Sequence[Scope]) -> tuple[ScopePool, ...]:
    """The committed profile head of each Scope that has one, in order (A-063)."""
    rows = ArtifactRevision.objects.filter(
        artifact__scope__in=scopes,
        artifact__family=limits.PROFILE,
        artifact__artifact_id=limits.PROFILE_ARTIFACT_ID,
        artifact__lifecycle="active",
        revision=F("artifact__revision"),
    ).select_related("artifact")
    by_scope = {row.artifact.scope_id: row for row in rows}
    return tuple(
        ScopePool(
            scope_id=scope.scope_id,
            candidates=tuple(
                _profile_candidate(scope, by_scope[key])
                for key in [scope.pk]
                if key in by_scope
            ),
        )
        for scope in scopes
    )


def _profile_candidate(scope: Scope, row: ArtifactRevision) -> Candidate:
    return BodyCandidate(
        identity=Identity(
            scope_id=scope.scope_id,
            artifact=ArtifactRef(
                family=limits.PROFILE,
                artifact_id=limits.PROFILE_ARTIFACT_ID,
                revision=row.revision,
            ),
        ),
        body=json.loads(row.content)["content"],
    )
