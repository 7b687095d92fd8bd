"""What became of cited revisions, as pages show it. Pure.

The cited revision and the head stay apart: no row ever shows another one (R-211).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from inspector.presenting.words import N_
from prepare.services.checking import Check, Citation
from prepare.services.reports import (
    ItemReport,
    LoggedBlock,
    VerificationReport,
)
from prepare.services.text import escape_body
from prepare.values import ArtifactRef, CodeIdentity, Identity, SourceRef

Tone = Literal["", "good", "warn", "bad"]

# A hostile text has a problem in each of its lines; nobody reads all of them.
PROBLEMS_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """One finding: its word, how grave it is, and why, to be translated."""

    word: str
    tone: Tone
    why: str


# What could not be read; with the status that an exact read answers.
_ACCESS = {
    "denied": Badge(
        word=N_("denied"),
        tone="bad",
        why=N_(
            "403: you may not read its Scope, or there is none of this name. Which of"
            " the two is not told."
        ),
    ),
    "missing": Badge(
        word=N_("missing"),
        tone="bad",
        why=N_("404: this server holds no such revision."),
    ),
    "not supported here": Badge(
        word=N_("not supported here"),
        tone="warn",
        why=N_("Code evidence is not stored on this server."),
    ),
    "Scope unknown": Badge(
        word=N_("Scope unknown"),
        tone="warn",
        why=N_("A short citation means the Scope of the request. Say which it was."),
    ),
}

_STATES = {
    "head": Badge(
        word=N_("current"),
        tone="good",
        why=N_("The cited revision is the head."),
    ),
    "superseded": Badge(
        word=N_("superseded"),
        tone="warn",
        why=N_("A newer revision is the head; the cited one stays readable."),
    ),
    "forgotten": Badge(
        word=N_("forgotten"),
        tone="warn",
        why=N_("Not recalled any more; the cited revision stays readable."),
    ),
    "merged": Badge(
        word=N_("merged"),
        tone="warn",
        why=N_("Another memory stands for it; the cited revision stays readable."),
    ),
    "retired": Badge(
        word=N_("retired"),
        tone="warn",
        why=N_("Out of use; the cited revision stays readable."),
    ),
}

_ALTERED = Badge(
    word=N_("altered"),
    tone="bad",
    why=N_("The stored content does not have its own digest any more."),
)

_BODIES = {
    "same": Badge(
        word=N_("same"),
        tone="good",
        why=N_("The text is what the cited revision says."),
    ),
    "same start": Badge(
        word=N_("same start"),
        tone="good",
        why=N_("As far as it goes; the rest was cut, or is a snippet."),
    ),
    "altered": Badge(
        word=N_("altered"),
        tone="bad",
        why=N_("The text is not what the cited revision says."),
    ),
    "not comparable": Badge(
        word=N_("not comparable"),
        tone="",
        why=N_("There is nothing to compare the text with."),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """One cited revision: exactly one of `identity`, `code`, and `short`, a citation
    without its Scope. `head` is set if another revision is the head now."""

    place: str
    identity: Identity | None
    code: CodeIdentity | None
    short: Citation | None
    badges: tuple[Badge, ...]
    head: Identity | None
    sources: tuple[SourceRef, ...]
    body: Badge | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownReport:
    """`line` is where a block began in what was pasted; 0 for a receipt. `counts`
    says how often each finding about a cited revision occurs."""

    form: str
    line: int
    is_fine: bool
    content_bytes: int
    checks: tuple[Check, ...]
    problems: tuple[str, ...]
    more_problems: int
    notes: tuple[str, ...]
    counts: tuple[tuple[Badge, int], ...]
    body_counts: tuple[tuple[Badge, int], ...]
    findings: tuple[ShownFinding, ...]


def present_report(report: VerificationReport) -> ShownReport:
    findings = tuple(_finding(item) for item in report.items)
    badges = Counter(badge for finding in findings for badge in finding.badges)
    bodies = Counter(finding.body for finding in findings if finding.body)
    return ShownReport(
        form=report.form,
        line=0,
        is_fine=report.is_fine,
        content_bytes=report.content_bytes,
        checks=report.checks,
        problems=report.problems[:PROBLEMS_SHOWN],
        more_problems=len(report.problems[PROBLEMS_SHOWN:]),
        notes=report.notes,
        counts=tuple(badges.most_common()),
        body_counts=tuple(bodies.most_common()),
        findings=findings,
    )


def present_blocks(blocks: Sequence[LoggedBlock]) -> tuple[ShownReport, ...]:
    return tuple(
        replace(present_report(block.report), line=block.line) for block in blocks
    )


def _finding(item: ItemReport) -> ShownFinding:
    citation, code, short, identity = item.citation, None, None, None
    if isinstance(citation, CodeIdentity):
        code = citation
    elif citation.scope_id is None:
        short = citation
    else:
        identity = citation.identity(citation.scope_id)
    return ShownFinding(
        place=item.place,
        identity=identity,
        code=code,
        short=short,
        badges=tuple(_badges(item)),
        head=None if identity is None else _head(identity, item.head_revision),
        sources=item.sources,
        body=None if item.body is None else _BODIES[item.body],
    )


def _badges(item: ItemReport) -> Iterator[Badge]:
    if item.access != "readable":
        yield _ACCESS[item.access]
        return
    if item.state is not None:
        yield _STATES[item.state]
    if item.stored == "altered":
        yield _ALTERED


def _head(cited: Identity, revision: int | None) -> Identity | None:
    """The newest revision of the same Artifact, never a merge target."""
    if revision is None or revision == cited.artifact.revision:
        return None
    artifact = ArtifactRef(
        family=cited.artifact.family,
        artifact_id=cited.artifact.artifact_id,
        revision=revision,
    )
    return Identity(scope_id=cited.scope_id, artifact=artifact)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownContent:
    """What was injected. `is_exact`: `text` can be shown as it is, nothing hides."""

    text: str
    size: int
    is_text: bool
    is_exact: bool


def present_content(content: bytes) -> ShownContent:
    """Of bytes that are no UTF-8 the rest is shown."""
    text = content.decode(errors="replace")
    return ShownContent(
        text=text,
        size=len(content),
        is_text=text.encode() == content,
        is_exact=escape_body(text) == text,
    )
