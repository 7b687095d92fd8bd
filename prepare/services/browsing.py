"""Lists of what one Scope holds, newest first, one page at a time.

Every function takes a Scope the caller was already authorized for. A page goes on
after the last row shown, so nothing is shown twice or left out when rows come or go in
between; only an artifact written in between moves to the front.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from django.db.models import Case, Count, F, Q, QuerySet, When
from django.db.models.functions import Length, Substr

from prepare.errors import CandidateNotFound
from prepare.models import (
    Artifact,
    ArtifactRevision,
    Candidate,
    Scope,
    Source,
    SourceEvidence,
)
from prepare.search.vendors import read_snapshot
from prepare.services import memories
from prepare.services.candidates import list_candidates, read_candidate, read_lineage
from prepare.services.reading import head_ref, revision_ref
from prepare.services.stored import (
    CandidateKey,
    CandidateRecord,
    CandidateRow,
    HeadKey,
    HeadRow,
    Slice,
    SourceRow,
)
from prepare.values import SourceRef

PAGE_ROWS = 50
_IS_DECIDED = Case(When(status=Candidate.Status.PENDING, then=0), default=1)
_SOURCE_START = 600  # characters of stored JSON; enough for a first line


def list_heads(
    *,
    scope: Scope,
    family: str | None = None,
    state: str | None = None,
    day: date | None = None,
    after: HeadKey | None = None,
    size: int = PAGE_ROWS,
) -> Slice[HeadRow, HeadKey]:
    """Heads by time of their last change; `day` is a day of UTC (C-62)."""
    heads = Artifact.objects.filter(scope=scope)
    if family is not None:
        heads = heads.filter(family=family)
    if state is not None:
        heads = heads.filter(memories.STATE_FILTERS[state])
    if day is not None:
        heads = heads.filter(_within(day, "updated_at"))
    if after is not None:
        heads = heads.filter(_beyond_head(after))
    with read_snapshot():
        found = list(heads.order_by("-updated_at", "family", "artifact_id")[: size + 1])
        contents = _head_contents(found[:size])
    rows = tuple(
        HeadRow(
            artifact=head_ref(head),
            state=head.state,  # type: ignore[arg-type]
            updated_at=head.updated_at,
            content=contents.get(head.pk, ""),
        )
        for head in found[:size]
    )
    if len(found) <= size:
        return Slice(rows=rows)
    last = rows[-1]
    return Slice(
        rows=rows,
        last=HeadKey(
            updated_at=last.updated_at,
            family=last.artifact.family,
            artifact_id=last.artifact.artifact_id,
        ),
    )


def _within(day: date, column: str) -> Q:
    start = datetime.combine(day, time(), tzinfo=UTC)
    wanted = Q(**{f"{column}__gte": start})
    if day < date.max:
        wanted &= Q(**{f"{column}__lt": start + timedelta(days=1)})
    return wanted


def _beyond_head(key: HeadKey) -> Q:
    same_family = Q(family=key.family, artifact_id__gt=key.artifact_id)
    later_name = Q(family__gt=key.family) | same_family
    return Q(updated_at__lt=key.updated_at) | (
        Q(updated_at=key.updated_at) & later_name
    )


def _head_contents(heads: Sequence[Artifact]) -> dict[int, str]:
    """Stored content of each head, by the head's key; one statement."""
    rows = ArtifactRevision.objects.filter(
        artifact__in=[head.pk for head in heads], revision=F("artifact__revision")
    )
    return dict(rows.values_list("artifact_id", "content"))


def list_sources(
    *, scope: Scope, before: int | None = None, size: int = PAGE_ROWS
) -> Slice[SourceRow, int]:
    """Sources by position, the newest first."""
    rows = Source.objects.filter(scope=scope)
    if before is not None:
        rows = rows.filter(position__lt=before)
    shown = rows.order_by("-position").annotate(
        start=Substr("content", 1, _SOURCE_START), chars=Length("content")
    )
    with read_snapshot():
        found = list(shown.defer("content", "metadata")[: size + 1])
        counted = dict(
            SourceEvidence.objects.filter(source__in=[row.pk for row in found])
            .values_list("source")
            .annotate(Count("revision", distinct=True))
        )
    lines = tuple(
        SourceRow(
            source=SourceRef(source_type=row.source_type, source_id=row.source_id),
            position=row.position,
            created_at=row.created_at,
            start=row.start,
            chars=row.chars,
            citations=counted.get(row.pk, 0),
        )
        for row in found[:size]
    )
    return Slice(rows=lines, last=lines[-1].position if len(found) > size else None)


def list_proposals(
    *,
    scope: Scope,
    status: str | None = None,
    after: CandidateKey | None = None,
    size: int = PAGE_ROWS,
) -> Slice[CandidateRow, CandidateKey]:
    """Candidates, those awaiting review first, then the newest."""
    rows = list_candidates(scope=scope, status=status)
    if after is not None:
        rows = rows.filter(_beyond_candidate(after))
    found = list(
        _light(rows).order_by(_IS_DECIDED, "-created_at", "candidate_id")[: size + 1]
    )
    shown = found[:size]
    if len(found) <= size:
        return Slice(rows=tuple(_candidate_row(row) for row in shown))
    last = shown[-1]
    return Slice(
        rows=tuple(_candidate_row(row) for row in shown),
        last=CandidateKey(
            is_decided=last.status != Candidate.Status.PENDING,
            created_at=last.created_at,
            candidate_id=last.candidate_id,
        ),
    )


def _light(rows: QuerySet[Candidate]) -> QuerySet[Candidate]:
    """The contents of targets and results may be large, and are not shown here."""
    return rows.defer("target__content", "result__content")


def _beyond_candidate(key: CandidateKey) -> Q:
    older = Q(created_at__lt=key.created_at) | Q(
        created_at=key.created_at, candidate_id__gt=key.candidate_id
    )
    pending = Q(status=Candidate.Status.PENDING)
    return ~pending & older if key.is_decided else ~pending | older


def _candidate_row(row: Candidate) -> CandidateRow:
    return CandidateRow(
        candidate_id=row.candidate_id,
        family=row.family,
        status=row.status,  # type: ignore[arg-type]
        proposal=row.proposal,
        target=None if row.target is None else revision_ref(row.target),
        created_at=row.created_at,
        decided_at=row.decided_at,
    )


def inspect_candidate(*, scope: Scope, candidate_id: str) -> CandidateRecord:
    """Raises `CandidateNotFound`."""
    row = read_candidate(scope=scope, candidate_id=candidate_id)
    if row.candidate_id != candidate_id:  # a database that pads
        raise CandidateNotFound
    lineage = read_lineage(row)
    return CandidateRecord(
        key=row.pk,
        row=_candidate_row(row),
        version=row.version,
        reason=row.reason,
        decision_reason=row.decision_reason,
        result=None if row.result is None else revision_ref(row.result),
        target_head=None if row.target is None else row.target.artifact.revision,
        sources=lineage.sources,
        artifacts=lineage.artifacts,
    )
