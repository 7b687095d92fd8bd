"""Read many exact citations again, in a number of statements that does not grow.

Scopes, grants, heads, revisions, Sources and entry versions are one statement each,
for one citation or 32. What a database returns is held against the citation by code
point: one that pads or folds must not answer with another identity (C-41, C-49).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any, TypeVar

from django.db.models import Model, Prefetch, Q, QuerySet

from prepare import limits
from prepare.models import (
    Artifact,
    ArtifactRevision,
    MemoryEntryVersion,
    Scope,
    SourceEvidence,
)
from prepare.services import contents
from prepare.services.access import Action, Principal, allowed_scopes
from prepare.services.checking import Citation
from prepare.services.reports import Access, State, Stored
from prepare.values import (
    BodyCandidate,
    Candidate,
    CodeIdentity,
    Identity,
    SourceRef,
    TopicCandidate,
)

# What content raises that has its digest but is nothing that our writer stores.
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """One cited revision today; `candidate` is what prepare would offer of it.

    `candidate` is None if it was not read or cannot be compared. All but `access` is
    set for a readable one only (R-207).
    """

    access: Access
    state: State | None = None
    head_revision: int | None = None
    stored: Stored | None = None
    sources: tuple[SourceRef, ...] = ()
    candidate: Candidate | None = None


_MISSING = Reread(access="missing")


def reread(
    citations: Sequence[Citation | CodeIdentity], principal: Principal
) -> tuple[Reread, ...]:
    """What each citation names, under the rights of `principal` now (R-213).

    Never raises for what is not there or not allowed: that is the answer.
    """
    named = [
        (one, one.identity(one.scope_id))
        for one in citations
        if isinstance(one, Citation) and one.scope_id is not None
    ]
    scopes = _read_scopes({identity.scope_id for _, identity in named}, principal)
    wanted = {identity for _, identity in named if identity.scope_id in scopes.readable}
    rows = _read_rows(scopes.readable, wanted)
    return tuple(_answer(one, scopes, rows) for one in citations)


def _answer(
    citation: Citation | CodeIdentity, scopes: "_Scopes", rows: "_Rows"
) -> Reread:
    if isinstance(citation, CodeIdentity):
        return Reread(access="not supported here")
    if citation.scope_id is None:
        return Reread(access="Scope unknown")
    scope = scopes.readable.get(citation.scope_id)
    if scope is None:
        return Reread(access=scopes.refusal(citation.scope_id))
    return rows.read(scope, citation.identity(citation.scope_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scopes:
    """By id. Without rights a missing Scope looks like a denied one (J-3)."""

    readable: Mapping[str, Scope]
    denied: frozenset[str]
    tells_missing: bool

    def refusal(self, scope_id: str) -> Access:
        is_missing = self.tells_missing and scope_id not in self.denied
        return "missing" if is_missing else "denied"


def _read_scopes(scope_ids: set[str], principal: Principal) -> _Scopes:
    rows = Scope.objects.filter(scope_id__in=scope_ids) if scope_ids else ()
    found = {row.scope_id: row for row in rows if row.scope_id in scope_ids}
    keys = [row.pk for row in found.values()]
    allowed = allowed_scopes(principal, Action.READ, keys)
    readable = {name: row for name, row in found.items() if row.pk in allowed}
    return _Scopes(
        readable=readable,
        denied=frozenset(found.keys() - readable.keys()),
        tells_missing=principal.unrestricted,
    )


_HeadKey = tuple[int, str, str]  # Scope row, family, artifact id
_RevisionKey = tuple[int, int]  # head row, number
_EntryKey = tuple[int, str]  # head row, entry version id


@dataclass(frozen=True, kw_only=True)
class _Stored:
    """One revision row; its content is parsed once, however many entries cite it."""

    row: ArtifactRevision

    @cached_property
    def is_intact(self) -> bool:
        # The text itself: parsed and written again, a change in it could vanish.
        return bool(contents.digest(self.row.content) == self.row.content_digest)

    @cached_property
    def content(self) -> Any:
        return json.loads(self.row.content)

    def sources(self) -> tuple[SourceRef, ...]:
        links = sorted(self.row.source_evidence.all(), key=lambda link: link.position)
        return tuple(
            SourceRef(
                source_type=link.source.source_type, source_id=link.source.source_id
            )
            for link in links
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    heads: Mapping[_HeadKey, Artifact] = field(default_factory=dict)
    revisions: Mapping[_RevisionKey, _Stored] = field(default_factory=dict)
    entries: Mapping[_EntryKey, MemoryEntryVersion] = field(default_factory=dict)

    def read(self, scope: Scope, identity: Identity) -> Reread:
        artifact = identity.artifact
        is_collection = artifact.family == limits.MEMORY_COLLECTION
        if identity.entry_id is not None and not is_collection:
            return _MISSING
        head = self.heads.get((scope.pk, artifact.family, artifact.artifact_id))
        if head is None:
            return _MISSING
        stored = self.revisions.get((head.pk, artifact.revision))
        if stored is None:
            return _MISSING
        found = Reread(
            access="readable",
            state=_state(head, artifact.revision),
            head_revision=head.revision,
            stored="altered",
        )
        return self._read_content(found, head, stored, identity)

    def _read_content(
        self, found: Reread, head: Artifact, stored: _Stored, identity: Identity
    ) -> Reread:
        if not stored.is_intact:
            return found
        try:
            if identity.entry_id is None:
                candidate = _candidate(identity, stored.content)
            elif not _holds_entry(stored.content, identity):
                return _MISSING
            else:
                candidate = self._entry(head, identity)
        except _UNREADABLE:
            return found
        found = replace(found, sources=stored.sources())
        if identity.entry_id is not None and candidate is None:
            return found
        return replace(found, stored="intact", candidate=candidate)

    def _entry(self, head: Artifact, identity: Identity) -> Candidate | None:
        """The entry version's own text; None if it was altered.

        Raises `LookupError` if the collection names a version that is not there.
        """
        row = self.entries[(head.pk, identity.entry_version_id or "")]
        content = {"schema": limits.ATOMIC_SCHEMA, "kind": row.kind, "text": row.text}
        if contents.digest(contents.canonical_json(content)) != row.content_digest:
            return None
        return BodyCandidate(identity=identity, body=row.text)


def _read_rows(scopes: Mapping[str, Scope], wanted: set[Identity]) -> _Rows:
    """Heads, then exactly the cited revisions, then the cited entry versions."""
    keys = {_head_key(scopes, identity) for identity in wanted}
    heads = {
        (row.scope_id, row.family, row.artifact_id): row
        for row in _matching(
            Artifact.objects.all(),
            (
                Q(scope=scope, family=family, artifact_id=artifact_id)
                for scope, family, artifact_id in sorted(keys)
            ),
        )
    }
    cited = [
        (heads[key], identity)
        for identity in wanted
        if (key := _head_key(scopes, identity)) in heads
    ]
    return _Rows(
        heads=heads, revisions=_read_revisions(cited), entries=_read_entries(cited)
    )


def _head_key(scopes: Mapping[str, Scope], identity: Identity) -> _HeadKey:
    artifact = identity.artifact
    return scopes[identity.scope_id].pk, artifact.family, artifact.artifact_id


_Cited = Sequence[tuple[Artifact, Identity]]


def _read_revisions(cited: _Cited) -> dict[_RevisionKey, _Stored]:
    # Of a Source its name is enough; its content may be long.
    evidence = SourceEvidence.objects.select_related("source").only(
        "revision", "position", "source__source_type", "source__source_id"
    )
    rows = _matching(
        ArtifactRevision.objects.prefetch_related(
            Prefetch("source_evidence", queryset=evidence)
        ),
        (
            Q(artifact=head, revision=number)
            for head, number in sorted(
                {(head.pk, identity.artifact.revision) for head, identity in cited}
            )
        ),
    )
    return {(row.artifact_id, row.revision): _Stored(row=row) for row in rows}


def _read_entries(cited: _Cited) -> dict[_EntryKey, MemoryEntryVersion]:
    rows = _matching(
        MemoryEntryVersion.objects.all(),
        (
            Q(artifact=head, entry_version_id=version)
            for head, version in sorted(
                {
                    (head.pk, identity.entry_version_id)
                    for head, identity in cited
                    if identity.entry_version_id is not None
                }
            )
        ),
    )
    return {(row.artifact_id, row.entry_version_id): row for row in rows}


def _matching(rows: QuerySet[Row], conditions: Iterable[Q]) -> Iterable[Row]:
    """The rows that meet any of the conditions; no statement if there is none."""
    found = list(conditions)
    return rows.filter(reduce(or_, found)) if found else ()


def _state(head: Artifact, revision: int) -> State:
    """Lifecycle first: a forgotten Artifact is that at each of its revisions."""
    states: dict[str, State] = {
        "forgotten": "forgotten",
        "merged": "merged",
        "retired": "retired",
    }
    is_head = head.revision == revision
    return states.get(head.state, "head" if is_head else "superseded")


def _holds_entry(content: Mapping[str, Any], identity: Identity) -> bool:
    """Whether this collection revision holds exactly this entry version (A-184)."""
    wanted = (identity.entry_id, identity.entry_version_id)
    return any(
        (entry["entry_id"], entry["entry_version_id"]) == wanted
        for entry in content["entries"]
    )


def _candidate(identity: Identity, content: Mapping[str, Any]) -> Candidate | None:
    """What prepare would offer of this revision, without a snippet."""
    family = identity.artifact.family
    if family == limits.TOPIC_MEMORY:
        title, summary = _text(content["title"]), _text(content["summary"])
        return TopicCandidate(identity=identity, title=title, summary=summary)
    if family == limits.EXPERIENCE:
        body = contents.experience_text(content)
    elif family == limits.PROFILE:
        body = _text(content["content"])
    elif family == limits.ATOMIC_MEMORY:
        body = _text(content["text"])
    else:
        return None
    return BodyCandidate(identity=identity, body=body)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
