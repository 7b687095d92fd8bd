"""What verifying found, as values: one report for each receipt or block. Pure."""

from dataclasses import dataclass
from typing import Literal

from prepare.services.checking import Check, Citation
from prepare.values import CodeIdentity, SourceRef

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedBlock:
    """One block of a log; `line` is its first, from 1."""

    line: int
    report: VerificationReport
