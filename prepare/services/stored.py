"""What the reads for people return: Scopes, heads, revisions, Sources, Candidates.

Pure values. A list is one `Slice`: its rows, and the key of the last one if more
follow. Keys are of what is shown, never row numbers of the database.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

from prepare.values import ArtifactRef, Candidate, SourceRef

Row = TypeVar("Row")
Key = TypeVar("Key")

State = Literal["active", "forgotten", "merged", "retired"]
Status = Literal["pending", "approved", "rejected"]
STATES: tuple[State, ...] = ("active", "forgotten", "merged", "retired")
STATUSES: tuple[Status, ...] = ("pending", "approved", "rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice(Generic[Row, Key]):
    """`last` is the key to go on after, None at the end of the list."""

    rows: tuple[Row, ...] = ()
    last: Key | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeName:
    scope_id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """`reader` reads `target` in prepare; both are Scope ids."""

    reader: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyCount:
    family: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeCard:
    """`references` counts the readable ones only."""

    scope_id: str
    title: str
    summary: str
    families: tuple[FamilyCount, ...]
    references: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyStates:
    """Artifacts of one family by state; `entries` are the ones of collection heads that
    can be found."""

    family: str
    active: int = 0
    forgotten: int = 0
    merged: int = 0
    retired: int = 0
    entries: int = 0
    newest: datetime | None = None

    @property
    def total(self) -> int:
        return self.active + self.forgotten + self.merged + self.retired


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeOverview:
    """One Scope and what of its surroundings the asker may read.

    `hides_reference` says that at least one reference leads to a Scope that the asker
    may not read: then prepare refuses every request that crosses references (A-181).
    How many there are, and in which place, stays unsaid. `references` are those among
    the Scope and its readable neighbours.
    """

    scope_id: str
    title: str
    summary: str
    created_at: datetime
    external: tuple[tuple[str, str], ...]
    parent: ScopeName | None
    children: Slice[ScopeName, str]
    reads: tuple[ScopeName, ...]
    hides_reference: bool
    read_by: Slice[ScopeName, str]
    references: tuple[Reference, ...]
    families: tuple[FamilyStates, ...]
    sources: int
    pending: int
    decided: int
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadKey:
    updated_at: datetime
    family: str
    artifact_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRow:
    """An artifact as its head has it; `content` is the stored JSON text."""

    artifact: ArtifactRef
    state: State
    updated_at: datetime
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """`start` is the beginning of the stored JSON text, `chars` its whole length."""

    source: SourceRef
    position: int
    created_at: datetime
    start: str
    chars: int
    citations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateKey:
    is_decided: bool
    created_at: datetime
    candidate_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRow:
    """A proposal under review; `proposal` is the stored JSON text."""

    candidate_id: str
    family: str
    status: Status
    proposal: str
    target: ArtifactRef | None
    created_at: datetime
    decided_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRecord:
    """`target_head` is the newest revision of what the proposal would replace; `key`
    is the row of the database, for the page that decides."""

    key: int
    row: CandidateRow
    version: int
    reason: str
    decision_reason: str
    result: ArtifactRef | None
    target_head: int | None
    sources: tuple[SourceRef, ...]
    artifacts: tuple[ArtifactRef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionLine:
    revision: int
    created_at: datetime
    created_by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateName:
    candidate_id: str
    status: Status
    made_this: bool  # else it proposes the next revision after this one


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRecord:
    """One exact revision, and what its artifact is now.

    `is_intact`: the stored text still has the digest that was written with it.
    """

    scope_id: str
    artifact: ArtifactRef
    content: str
    content_digest: str
    is_intact: bool
    created_at: datetime
    created_by: str
    reason: str
    restored_from: int | None
    state: State
    head_revision: int
    merged_into: str | None
    merged_into_revision: int | None
    sources: tuple[SourceRef, ...]
    artifacts: tuple[ArtifactRef, ...]
    cited_by: Slice[ArtifactRef, int]
    candidates: tuple[CandidateName, ...]
    revisions: Slice[RevisionLine, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLine:
    """One entry of a collection revision; `text` is None if its version is missing."""

    entry_id: str
    entry_version_id: str
    is_active: bool
    kind: str | None
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The entries of one collection revision, one page of them."""

    total: int
    active: int
    entries: Slice[EntryLine, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryVersionLine:
    """One version of an entry; `revision` is the collection's that brought it."""

    version: int
    entry_version_id: str
    revision: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRecord:
    """One exact entry version as one collection revision holds it."""

    entry_id: str
    entry_version_id: str
    version: int
    kind: str
    text: str
    content_digest: str
    is_intact: bool
    is_active: bool
    created_at: datetime
    created_in_revision: int
    versions: tuple[EntryVersionLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """`content` and `metadata` are stored JSON texts; `is_intact` is of the content."""

    source: SourceRef
    content: str
    metadata: str
    content_digest: str
    is_intact: bool
    position: int
    created_at: datetime
    citations: int
    cited_by: tuple[ArtifactRef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedHit:
    """`rank` counts from 1 over the whole result."""

    rank: int
    candidate: Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """`documents` is how many of the family the Scope holds for a search to find."""

    hits: tuple[RankedHit, ...]
    has_more: bool
    documents: int
