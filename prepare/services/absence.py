"""Why is this one not in the context? One exact identity, one answer.

A receipt counts omissions and names nothing that was left out. An operator may ask for
one identity that the operator may read; the answer comes from the same candidates and
the same build. Whatever may not be read is answered as if it were not there (J-3).
"""

from dataclasses import dataclass, field
from typing import Literal

from prepare import limits
from prepare.models import Artifact, Scope
from prepare.search.lookup import PoolKey, plan_search
from prepare.search.verdicts import PoolVerdict, Verdict, judge_document
from prepare.services import access
from prepare.services.access import Action, Principal
from prepare.services.legacy import bounded_candidates as bounded_in_envelope
from prepare.services.merging import Omissions, interleave
from prepare.services.packing import bounded_candidates as bounded_in_text
from prepare.services.recall import Recalled
from prepare.services.runtime import Runtime
from prepare.values import Build, Dropped, Identity, PrepareRequest, Reason

# Of causes that are no reason of an omission: why it never was in a bounded list.
Absence = Literal[
    "unknown_scope",
    "scope_not_read",
    "family_not_recalled",
    "family_not_selected",
    "reader_not_configured",
    "not_stored",
    "not_head",
    "forgotten",
    "merged",
    "retired",
    "not_offered",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The Artifact that was asked for as it is now: its newest revision, its state."""

    head_revision: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`cause` None means that it was selected, at `position` counted from 1.

    `rank` of `list_length` is its place among the family's merged candidates, before
    any rule dropped one; None if it was in no list. `stored` None means that this
    Scope holds no such Artifact, or that it may not be read. `search` is there if the
    family's search could have offered it.
    """

    identity: Identity
    cause: Reason | Absence | Verdict | None
    position: int | None = None
    truncated: bool = False
    family: str | None = None
    rank: int | None = None
    list_length: int = 0
    cut_by_pool: bool = False
    stored: Stored | None = None
    search: PoolVerdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One run: what was asked, found and built, and who wants to know."""

    request: PrepareRequest
    recalled: Recalled
    build: Build
    principal: Principal
    runtime: Runtime = field(default_factory=Runtime)


def selector_of(stored_family: str) -> str | None:
    """The family word of a request that recalls this stored family."""
    if stored_family in (limits.ATOMIC_MEMORY, limits.MEMORY_COLLECTION):
        return limits.MEMORY
    return stored_family if stored_family in limits.SELECTABLE_FAMILIES else None


def recall_ranks(request: PrepareRequest, recalled: Recalled) -> dict[Identity, int]:
    """Each bounded candidate's rank within its family, as the text form shows it."""
    bounded = bounded_in_envelope if request.assembly is None else bounded_in_text
    return {
        candidate.identity: rank
        for family in request.families
        for rank, candidate in enumerate(
            bounded(family, recalled.pools.get(family, ()), Omissions()), start=1
        )
    }


def explain_absence(question: Question, identity: Identity) -> Answer:
    """Selected, dropped from a bounded list, or never in one; and why.

    A constant number of reads; call it inside the snapshot of the recall.
    """
    family = selector_of(identity.artifact.family)
    scope = _readable_scope(question.principal, identity.scope_id)
    if scope is None:
        return Answer(identity=identity, cause="unknown_scope", family=family)
    head = Artifact.objects.filter(
        scope=scope,
        family=identity.artifact.family,
        artifact_id=identity.artifact.artifact_id,
    ).first()
    if head is not None and head.artifact_id != identity.artifact.artifact_id:
        head = None
    stored = None
    if head is not None:
        stored = Stored(head_revision=head.revision, state=head.state)
    found = _find_in_lists(question, identity, family, stored)
    if found is not None:
        return found
    cause = _refusal(question, identity, family)
    if cause is not None or family is None:
        return Answer(identity=identity, cause=cause, family=family, stored=stored)
    verdict = None
    if head is not None and family != limits.PROFILE:
        verdict = _ask_search(question, scope, family, head, identity)
    return Answer(
        identity=identity,
        cause=_state_cause(identity, head) or _verdict_cause(verdict),
        family=family,
        stored=stored,
        search=verdict,
    )


def _readable_scope(principal: Principal, scope_id: str) -> Scope | None:
    scope = Scope.objects.filter(scope_id=scope_id).first()
    # A database that pads would find `a` for `a `.
    if scope is None or scope.scope_id != scope_id:
        return None
    allowed = access.allowed_scopes(principal, Action.READ, [scope.pk])
    return scope if scope.pk in allowed else None


def _find_in_lists(
    question: Question, identity: Identity, family: str | None, stored: Stored | None
) -> Answer | None:
    """The answer for a candidate of this run; None if it was not one."""
    build = question.build
    if family is None:
        return None
    pools = question.recalled.pools.get(family, ())
    merged = [one.identity for one in interleave(pool.candidates for pool in pools)]
    if family not in question.request.families or identity not in merged:
        return None
    rank = merged.index(identity) + 1
    origins = list(build.origins)
    position = origins.index(identity) + 1 if identity in origins else None
    truncated = any(
        item.identity == identity and item.truncated for item in build.selected
    )
    reason = None if position else _reason(build.dropped, identity)
    cap = limits.POOL_CAPS.get(family)
    return Answer(
        identity=identity,
        cause=reason,
        position=position,
        truncated=truncated,
        family=family,
        rank=rank,
        list_length=len(merged),
        cut_by_pool=reason == "family_limit" and cap is not None and rank > cap,
        stored=stored,
    )


def _reason(dropped: tuple[Dropped, ...], identity: Identity) -> Reason | None:
    return next((one.reason for one in dropped if one.identity == identity), None)


def _refusal(
    question: Question, identity: Identity, family: str | None
) -> Absence | None:
    """Why this request does not look where the identity is."""
    request = question.request
    if family is None:
        return "family_not_recalled"
    if family not in request.families:
        return "family_not_selected"
    if family not in question.runtime.readers:
        return "reader_not_configured"
    read = {pool.scope_id for pool in question.recalled.pools.get(family, ())}
    return None if identity.scope_id in read else "scope_not_read"


def _state_cause(identity: Identity, head: Artifact | None) -> Absence | None:
    """Recall offers active heads only."""
    if head is None or identity.artifact.revision > head.revision:
        return "not_stored"
    if head.state == "forgotten":
        return "forgotten"
    if head.state == "merged":
        return "merged"
    if head.state == "retired":
        return "retired"
    return None if identity.artifact.revision == head.revision else "not_head"


def _verdict_cause(verdict: PoolVerdict | None) -> Absence | Verdict:
    if verdict is None:
        return "not_offered"
    # The head was offered, so it holds another version of this entry.
    return "not_head" if verdict.verdict == "offered" else verdict.verdict


def _ask_search(
    question: Question, scope: Scope, family: str, head: Artifact, identity: Identity
) -> PoolVerdict:
    key = PoolKey(scope_id=scope.pk, family=family)
    plan = plan_search(
        query=question.request.query,
        pools=[key],
        gate=question.runtime.gate,
        postings_cap=question.runtime.postings_cap,
    )
    return judge_document(plan, key, artifact_key=head.pk, entry_id=identity.entry_id)
