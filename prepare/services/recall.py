"""Find the candidates of the selected families in the Scopes to read (contract D).

Only selected families are read (A-050). Every body comes from the authoritative
revision; the search projection only says where to look (C-12). A failing search raises:
it is never an empty pool (A-079).
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import F

from prepare import limits
from prepare.errors import NotReady
from prepare.evidence import (
    CallOutcome,
    Mode,
    RecallEvidence,
    RecallRound,
    SearchCall,
    StageName,
    receipt_family,
)
from prepare.models import ArtifactRevision, MemoryEntryVersion, Scope, SearchChunk
from prepare.search import lookup
from prepare.search.index import unpack_terms
from prepare.search.lookup import Hit, PoolKey
from prepare.search.snippets import make_snippet
from prepare.services import collections, contents
from prepare.services.runtime import Runtime
from prepare.stopwatch import Stopwatch
from prepare.values import (
    ArtifactRef,
    BodyCandidate,
    Candidate,
    Identity,
    Pools,
    ScopePool,
    TopicCandidate,
)

_STAGES: dict[str, StageName] = {
    limits.MEMORY: "memory.search",
    limits.EXPERIENCE: "experience.search",
    limits.TOPIC_MEMORY: "topic_memory.search",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    pools: Pools = field(default_factory=dict)
    evidence: RecallEvidence = field(default_factory=RecallEvidence)

    def only(self, families: Collection[str]) -> "Recalled":
        """What asking for just these families would have found and reported."""
        if not families:
            return Recalled()
        named = {receipt_family(family) for family in families}
        searches = [one for one in self.evidence.searches if one.family in named]
        return Recalled(
            pools={key: self.pools[key] for key in families if key in self.pools},
            evidence=replace(self.evidence, searches=tuple(searches)),
        )


def search_stages(families: Collection[str]) -> frozenset[StageName]:
    """The stages in which these families are searched."""
    return frozenset(_STAGES[family] for family in families if family in _STAGES)


def recall(
    *,
    query: str,
    families: Sequence[str],
    scopes: Sequence[Scope],
    runtime: Runtime,
    stopwatch: Stopwatch,
) -> Recalled:
    """Pools per family in Scope order; `scopes[0]` is the current Scope.

    The number of statements depends on the families and Scopes, not on what is stored.
    """
    if not families:
        return Recalled()
    targets = {family: _scopes_read(family, scopes) for family in families}
    calls = []
    profiles: dict[str, tuple[ScopePool, ...]] = {}
    searched: dict[str, Sequence[Scope]] = {}
    for family, found_in in targets.items():
        if family not in runtime.readers:
            calls.append(_call(family, "none", "not_run", len(found_in)))
        elif family == limits.PROFILE:
            profiles[family] = _read_profiles(found_in)
            # One statement reads every Scope's head: one call.
            calls.append(_call(family, "snapshot", "completed", 1))
        else:
            searched[family] = found_in
    pools, search_calls = _search(query, searched, runtime, stopwatch)
    evidence = RecallEvidence(
        rounds=(RecallRound(round=0),), searches=(*calls, *search_calls)
    )
    return Recalled(pools=pools | profiles, evidence=evidence)


def _scopes_read(family: str, scopes: Sequence[Scope]) -> Sequence[Scope]:
    """Topic memories stay in the current Scope (contract B.2)."""
    return scopes if family in limits.CROSSING_FAMILIES else scopes[:1]


def _call(family: str, mode: Mode, outcome: CallOutcome, count: int) -> SearchCall:
    return SearchCall(
        round=0,
        family=receipt_family(family),
        mode=mode,
        outcome=outcome,
        count=count,
    )


def _search(
    query: str,
    wanted: dict[str, Sequence[Scope]],
    runtime: Runtime,
    stopwatch: Stopwatch,
) -> tuple[dict[str, tuple[ScopePool, ...]], list[SearchCall]]:
    """One ranked, bounded list per family and Scope; each ranking reports its call.

    Statistics before and bodies after are read for all families at once, so a stage
    times its ranking statements only.
    """
    plan = lookup.plan_search(
        query=query,
        pools=[
            PoolKey(scope_id=scope.pk, family=family)
            for family, scopes in wanted.items()
            for scope in scopes
        ],
        gate=runtime.gate,
        postings_cap=runtime.postings_cap,
    )
    ranked: dict[PoolKey, tuple[Hit, ...]] = {}
    calls = []
    for family, scopes in wanted.items():
        for scope in scopes:
            key = PoolKey(scope_id=scope.pk, family=family)
            with stopwatch.stage(_STAGES[family]):
                ranked[key] = plan.rank(key)[: limits.POOL_CAPS[family]]
            calls.append(_call(family, "fts", "completed", 1))
    bodies = load_bodies([hit for hits in ranked.values() for hit in hits], query)
    pools = {
        family: tuple(
            ScopePool(
                scope_id=scope.scope_id,
                candidates=tuple(
                    bodies.candidate(scope, hit)
                    for hit in ranked[PoolKey(scope_id=scope.pk, family=family)]
                ),
            )
            for scope in scopes
        )
        for family, scopes in wanted.items()
    }
    return pools, calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Bodies:
    """The authoritative rows behind a set of hits."""

    revisions: dict[int, ArtifactRevision]
    entries: dict[int, MemoryEntryVersion]
    snippets: dict[int, str | None]

    def current_revision(self, scope: Scope, hit: Hit) -> ArtifactRevision:
        """A hit is the active head of its Scope, or the projection is broken (D.4)."""
        row = self.revisions[hit.revision_id]
        head = row.artifact
        is_head = head.scope_id == scope.pk and head.revision == row.revision
        if not is_head or head.lifecycle != "active":
            raise _stale_projection()
        return row

    def candidate(self, scope: Scope, hit: Hit) -> Candidate:
        """The hit as a candidate; raises `NotReady` if projection and head differ."""
        row = self.current_revision(scope, hit)
        artifact = ArtifactRef(
            family=row.artifact.family,
            artifact_id=row.artifact.artifact_id,
            revision=row.revision,
        )
        if hit.entry_version_id is not None:
            entry = self.entries[hit.entry_version_id]
            _check_held(row, entry)
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
    body = contents.experience_text(content) if is_experience else content["text"]
    return BodyCandidate(identity=identity, body=body)


def _check_held(row: ArtifactRevision, entry: MemoryEntryVersion) -> None:
    """A cited entry version is active in the cited collection revision (A-184).

    Canonical JSON has one spelling, so the manifest need not be parsed.
    """
    line = contents.canonical_json(
        collections.manifest_entry(entry.entry_id, entry.entry_version_id, active=True)
    )
    if entry.artifact_id != row.artifact_id or line not in row.content:
        raise _stale_projection()


def _stale_projection() -> NotReady:
    return NotReady(
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
