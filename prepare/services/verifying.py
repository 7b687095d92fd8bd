"""Read again what a receipt or a text cites, under one principal's rights (R-205).

Exactly the cited revisions, whatever became of their heads, and never another one in
their place (R-211). Nothing is written, and nothing is logged: findings are the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from django.core.exceptions import ObjectDoesNotExist

from prepare import limits
from prepare.errors import Forbidden, InvalidRequest, NotFound
from prepare.models import Artifact, Scope
from prepare.search.vendors import read_snapshot
from prepare.services import contents, legacy, reading, rendering
from prepare.services.access import Action, Principal
from prepare.services.artifacts import SourceRef
from prepare.services.blocks import (
    Block,
    Claim,
    Form,
    is_text_form,
    parse_text_block,
)
from prepare.services.checking import Check, Citation, check_content
from prepare.services.envelopes import is_envelope, parse_envelope
from prepare.services.scopes import authorized_scope
from prepare.services.text import escape_body
from prepare.values import (
    BodyCandidate,
    Candidate,
    CodeIdentity,
    Identity,
    TopicCandidate,
)

CLAIM_LABEL = "as cited, unproven"

Access = Literal["readable", "denied", "missing", "not supported here", "Scope unknown"]
State = Literal["head", "superseded", "forgotten", "merged", "retired"]
Stored = Literal["intact", "altered"]
Body = Literal["same", "same start", "altered", "not comparable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemReport:
    """What became of one cited revision.

    `state` is the Artifact's now, `head_revision` its newest. `stored` says whether the
    stored content still has its own digest. `label` and `body` are of claims only;
    `sources` are the revision's evidence, and only of a readable one (R-207).
    """

    place: str
    citation: Citation | CodeIdentity
    access: Access
    state: State | None = None
    head_revision: int | None = None
    stored: Stored | None = None
    sources: tuple[SourceRef, ...] = ()
    label: str | None = None
    body: Body | None = None

    @property
    def is_fine(self) -> bool:
        """Read, intact and as shown; a newer head or a forgotten one is no fault."""
        if self.access != "readable" or self.stored != "intact":
            return False
        return self.body in (None, "same", "same start")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReport:
    form: Literal["receipt", "text", "envelope"]
    content_bytes: int
    checks: tuple[Check, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    items: tuple[ItemReport, ...] = ()

    @property
    def is_fine(self) -> bool:
        return (
            not self.problems
            and all(check.outcome == "match" for check in self.checks)
            and all(item.is_fine for item in self.items)
        )


def verify_receipt(
    *, content: bytes, receipt: Mapping[str, Any], principal: Principal
) -> VerificationReport:
    """Digest and length of the injected bytes, then each identity of the receipt.

    `content` is empty for a response of status `empty`. Raises `InvalidRequest` if
    `receipt` is none.
    """
    checked = check_content(content, receipt)
    reader = _Reader(principal)
    with read_snapshot():
        items = tuple(
            reader.read(str(number), citation).report
            for number, citation in enumerate(checked.citations, start=1)
        )
    return VerificationReport(
        form="receipt",
        content_bytes=len(content),
        checks=checked.checks,
        problems=checked.problems,
        notes=checked.notes,
        items=items,
    )


def verify_block(
    *, content: bytes, principal: Principal, scope_id: str | None = None
) -> VerificationReport:
    """A text as an agent's log holds it: its form, and each citation as a claim.

    `scope_id` is the Scope of the request, for the short citations of the envelope.
    Raises `InvalidRequest` for what holds no PowerContext text.
    """
    block = parse_block(content)
    reader = _Reader(principal)
    with read_snapshot():
        items = tuple(
            _verify_claim(reader, block.form, claim, scope_id) for claim in block.claims
        )
    notes = block.notes
    if any(item.access == "Scope unknown" for item in items):
        notes += ("short citations mean the Scope of the request: say which it was",)
    return VerificationReport(
        form=block.form,
        content_bytes=block.content_bytes,
        problems=block.problems,
        notes=notes,
        items=items,
    )


def parse_block(content: bytes) -> Block:
    """Either form, told by its markers; raises `InvalidRequest` for anything else."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InvalidRequest(message="The content is not UTF-8.") from None
    if is_text_form(text):
        return parse_text_block(text)
    if is_envelope(text):
        return parse_envelope(text)
    raise InvalidRequest(
        message="The content holds no PowerContext text: a line with a begin or end"
        " marker is missing."
    )


def _verify_claim(
    reader: "_Reader", form: Form, claim: Claim, scope_id: str | None
) -> ItemReport:
    citation = claim.citation
    if citation.scope_id is None:
        citation = replace(citation, scope_id=scope_id)
    found = reader.read(claim.place, citation)
    body: Body = "not comparable"
    if found.candidate is not None:
        body = compare_body(form, claim, found.candidate)
    return replace(found.report, label=CLAIM_LABEL, body=body)


def compare_body(form: Form, claim: Claim, candidate: Candidate) -> Body:
    """The body as shown beside the exact revision rendered again.

    Of a truncated body, and of a topic memory with a snippet, only the start can be
    compared: `same start`.
    """
    with_snippet = (
        replace(candidate, snippet="")
        if isinstance(candidate, TopicCandidate)
        else None
    )
    goes_on = None
    if form == "text":
        whole = escape_body(rendering.body_text(candidate))
        if with_snippet is not None:
            goes_on = escape_body(rendering.body_text(with_snippet))
    else:
        whole = legacy.item_text(candidate)
        if with_snippet is not None:
            goes_on = legacy.item_text(with_snippet).removesuffix('"}')
    if not claim.truncated and claim.shown == whole:
        return "same"
    start = claim.shown
    if claim.truncated:
        start = start.removesuffix(limits.ELLIPSIS)
        if start != whole and whole.startswith(start):
            return "same start"
    if goes_on is not None and (
        start.startswith(goes_on) or (claim.truncated and goes_on.startswith(start))
    ):
        return "same start"
    return "altered"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """`candidate` is the revision as prepare would offer it, if it can be compared."""

    report: ItemReport
    candidate: Candidate | None = None


@dataclass(slots=True)
class _Reader:
    """Exact reads of one principal; each Scope is decided once."""

    principal: Principal
    scopes: dict[str, Scope | Access] = field(default_factory=dict)

    def read(self, place: str, citation: Citation | CodeIdentity) -> _Found:
        """Never raises for what is not there or not allowed: that is the report."""
        report = ItemReport(place=place, citation=citation, access="readable")
        if isinstance(citation, CodeIdentity):
            return _Found(report=replace(report, access="not supported here"))
        if citation.scope_id is None:
            return _Found(report=replace(report, access="Scope unknown"))
        scope = self._scope(citation.scope_id)
        if not isinstance(scope, Scope):
            return _Found(report=replace(report, access=scope))
        try:
            return _read(report, scope, citation.identity(citation.scope_id))
        except NotFound:
            return _Found(report=replace(report, access="missing"))

    def _scope(self, scope_id: str) -> Scope | Access:
        if scope_id not in self.scopes:
            try:
                self.scopes[scope_id] = authorized_scope(
                    scope_id=scope_id, principal=self.principal, action=Action.READ
                )
            except Forbidden:
                self.scopes[scope_id] = "denied"
            except NotFound:
                self.scopes[scope_id] = "missing"
        return self.scopes[scope_id]


def _read(report: ItemReport, scope: Scope, identity: Identity) -> _Found:
    """Raises `NotFound` if this Scope does not hold exactly this revision."""
    artifact = identity.artifact
    if identity.entry_id is not None and artifact.family != limits.MEMORY_COLLECTION:
        raise NotFound
    rows = reading.list_revisions(
        scope=scope, family=artifact.family, artifact_id=artifact.artifact_id
    )
    row = rows.filter(revision=artifact.revision).first()
    if row is None:
        raise NotFound
    head = row.artifact
    report = replace(
        report,
        state=_state(head, artifact.revision),
        head_revision=head.revision,
        stored="altered",
    )
    # The stored text itself: parsed and written again, a change in it could vanish.
    if contents.digest(row.content) != row.content_digest:
        return _Found(report=report)
    try:
        view = reading.revision_view(scope, row)
        if identity.entry_id is None:
            candidate = _candidate(identity, view.content)
        else:
            candidate = _entry_candidate(scope, head, identity)
    except (ValueError, LookupError, TypeError, AttributeError, ObjectDoesNotExist):
        # Content and digest agree but are nothing that our writer stores.
        return _Found(report=report)
    report = replace(report, sources=view.sources)
    if identity.entry_id is not None and candidate is None:
        return _Found(report=report)
    return _Found(report=replace(report, stored="intact"), candidate=candidate)


def _state(head: Artifact, revision: int) -> State:
    """Lifecycle first: a forgotten Artifact is that at each of its revisions."""
    states: dict[str, State] = {
        "forgotten": "forgotten",
        "merged": "merged",
        "retired": "retired",
    }
    is_head = head.revision == revision
    return states.get(head.state, "head" if is_head else "superseded")


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


def _entry_candidate(
    scope: Scope, head: Artifact, identity: Identity
) -> Candidate | None:
    """The entry version that this collection revision holds; None if it was altered.

    Raises `MemoryNotFound` if the revision does not hold it (A-184).
    """
    entry = reading.read_entry(scope=scope, identity=identity)
    row = head.entry_versions.get(entry_version_id=entry.entry_version_id)
    stored = {"schema": limits.ATOMIC_SCHEMA, "kind": entry.kind, "text": entry.text}
    if contents.digest(contents.canonical_json(stored)) != row.content_digest:
        return None
    return BodyCandidate(identity=identity, body=entry.text)
