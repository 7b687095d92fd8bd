"""Read again what a receipt or a text cites, under one principal's rights (R-205).

Exactly the cited revisions, whatever became of their heads, and never another one in
their place (R-211). Nothing is written, and nothing is logged: findings are the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.search.vendors import read_snapshot
from prepare.services import legacy, rendering
from prepare.services.access import Principal
from prepare.services.blocks import (
    Block,
    Claim,
    Form,
    is_text_form,
    parse_text_block,
)
from prepare.services.checking import Citation, check_content
from prepare.services.envelopes import is_envelope, parse_envelope
from prepare.services.excerpts import cut_excerpts
from prepare.services.reports import (
    CLAIM_LABEL,
    Body,
    ItemReport,
    LoggedBlock,
    VerificationReport,
)
from prepare.services.rereading import Reread, reread
from prepare.services.text import escape_body
from prepare.values import Candidate, CodeIdentity, TopicCandidate


def verify_receipt(
    *, content: bytes | None, receipt: Mapping[str, Any], principal: Principal
) -> VerificationReport:
    """Digest and length of the injected bytes, then each identity of the receipt.

    `content` is empty for a response of status `empty`, and None if nobody has it: then
    nothing is compared. Raises `InvalidRequest` if `receipt` is none.
    """
    checked = check_content(content, receipt)
    with read_snapshot():
        found = reread(checked.citations, principal)
    return VerificationReport(
        form="receipt",
        content_bytes=len(content or b""),
        checks=checked.checks,
        problems=checked.problems,
        notes=checked.notes,
        items=tuple(
            _report(str(number), citation, one)
            for number, (citation, one) in enumerate(
                zip(checked.citations, found, strict=True), start=1
            )
        ),
    )


def verify_block(
    *, content: bytes, principal: Principal, scope_id: str | None = None
) -> VerificationReport:
    """A text as an agent's log holds it: its form, and each citation as a claim.

    `scope_id` is the Scope of the request, for the short citations of the envelope.
    Raises `InvalidRequest` for what holds no PowerContext text.
    """
    (report,) = _verify_blocks([parse_block(content)], principal, scope_id)
    return report


def verify_log(
    *, text: str, principal: Principal, scope_id: str | None = None
) -> tuple[LoggedBlock, ...]:
    """Every block in a piece of log, as `verify_block`, whatever stands around them.

    All of them are read in one go. Raises `InvalidRequest` if there is none.
    """
    excerpts = cut_excerpts(text)
    blocks = [
        replace(block, notes=(*excerpt.notes, *block.notes))
        for excerpt in excerpts
        for block in [_parse_text(excerpt.text)]
    ]
    reports = _verify_blocks(blocks, principal, scope_id)
    return tuple(
        LoggedBlock(line=excerpt.line, report=report)
        for excerpt, report in zip(excerpts, reports, strict=True)
    )


def parse_block(content: bytes) -> Block:
    """Either form, told by its markers; raises `InvalidRequest` for anything else."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InvalidRequest(message="The content is not UTF-8.") from None
    return _parse_text(text)


def _parse_text(text: str) -> Block:
    if is_text_form(text):
        return parse_text_block(text)
    if is_envelope(text):
        return parse_envelope(text)
    raise InvalidRequest(
        message="The content holds no PowerContext text: a line with a begin or end"
        " marker is missing."
    )


def _verify_blocks(
    blocks: Sequence[Block], principal: Principal, scope_id: str | None
) -> list[VerificationReport]:
    """One report for each block; the claims of all are read together."""
    citations = [
        _in_scope(claim.citation, scope_id)
        for block in blocks
        for claim in block.claims
    ]
    with read_snapshot():
        found = iter(zip(citations, reread(citations, principal), strict=True))
    return [
        _report_block(block, list(islice(found, len(block.claims)))) for block in blocks
    ]


def _in_scope(citation: Citation, scope_id: str | None) -> Citation:
    """A short citation means the Scope of the request."""
    if citation.scope_id is not None:
        return citation
    return replace(citation, scope_id=scope_id)


def _report_block(
    block: Block, found: Sequence[tuple[Citation, Reread]]
) -> VerificationReport:
    items = tuple(
        _report_claim(block.form, claim, citation, one)
        for claim, (citation, one) in zip(block.claims, found, strict=True)
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


def _report_claim(
    form: Form, claim: Claim, citation: Citation, found: Reread
) -> ItemReport:
    body: Body = "not comparable"
    if found.candidate is not None:
        body = compare_body(form, claim, found.candidate)
    report = _report(claim.place, citation, found)
    return replace(report, label=CLAIM_LABEL, body=body)


def _report(place: str, citation: Citation | CodeIdentity, found: Reread) -> ItemReport:
    return ItemReport(
        place=place,
        citation=citation,
        access=found.access,
        state=found.state,
        head_revision=found.head_revision,
        stored=found.stored,
        sources=found.sources,
    )


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
