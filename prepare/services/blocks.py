"""Take a text of an agent's log apart, and say what is not as we write it. Pure.

For checking only: hosts never parse `content` (RFC 1489). What is found are claims. A
body cannot forge one, each of its lines has a prefix; whoever edited the log can.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.services import rendering
from prepare.services.checking import Citation, check_citation
from prepare.services.text import BODY_PREFIX, escape_body, quote_identity
from prepare.values import ArtifactRef

Form = Literal["text", "envelope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One citation as found, with the body as shown (prefixes removed)."""

    place: str
    citation: Citation
    shown: str
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`content_bytes` is the size without what a log added around the text."""

    form: Form
    content_bytes: int
    claims: tuple[Claim, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


# More than twice what any text holds; each one is read from the database.
CLAIMS_READ = 64


@dataclass(slots=True)
class Findings:
    """What a parser collects while it reads on; it never stops at a problem."""

    claims: list[Claim] = field(default_factory=list)
    more_claims: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_claim(self, claim: Claim, where: str) -> None:
        try:
            check_citation(claim.citation)
        except InvalidRequest:
            self.problems.append(f"{where}: an identity that no Artifact can have")
            return
        if len(self.claims) == CLAIMS_READ:
            self.more_claims += 1
            return
        if any(claim.citation == known.citation for known in self.claims):
            self.problems.append(f"{where}: cites what an earlier item cites")
        self.claims.append(claim)

    def as_block(self, form: Form, text: str) -> Block:
        size = utf8_bytes(text)
        if size > limits.MAX_BYTES_HIGHEST:
            self.problems.append(f"{size} bytes are above every possible budget")
        if not self.claims:
            self.problems.append("no citation could be read")
        if self.more_claims:
            self.problems.append(
                f"{self.more_claims} citations above {CLAIMS_READ} were not read"
            )
        return Block(
            form=form,
            content_bytes=size,
            claims=tuple(self.claims),
            problems=tuple(self.problems),
            notes=tuple(self.notes),
        )


def utf8_bytes(text: str) -> int:
    """A JSON escape in a hostile text may have become a lone surrogate."""
    return len(text.encode("utf-8", "surrogatepass"))


def undo_transport(text: str, findings: Findings) -> str:
    """The text without what storing it may have added, each change reported."""
    if text.startswith("\ufeff"):
        findings.problems.append("a byte order mark comes before the text")
        text = text[1:]
    if "\r" in text:
        findings.problems.append("CR in line ends: what stored the text changed it")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    bare = text.rstrip("\n")
    added = len(text) - len(bare)
    if added == 1:
        findings.notes.append("one line feed after the text, as files and logs add it")
    elif added:
        findings.problems.append(f"{added} line feeds after the text")
    return bare


def check_length(
    shown: str, *, truncated: bool, where: str, findings: Findings
) -> None:
    """The bounds of one body in either form (contract A.4, G.7)."""
    size = utf8_bytes(shown)
    if size > limits.BODY_BYTES:
        findings.problems.append(f"{where}: a body above {limits.BODY_BYTES} bytes")
    if not truncated:
        return
    if not shown.endswith(limits.ELLIPSIS):
        findings.problems.append(f"{where}: truncated, but without the final ellipsis")
    if size < limits.TRUNCATED_BODY_BYTES:
        findings.problems.append(f"{where}: truncated below the smallest size")


def is_text_form(text: str) -> bool:
    """Whether anything of our frame is there; a cut log may lack the rest."""
    frame = {rendering.TITLE, rendering.BEGIN, rendering.END}
    return any(line.rstrip("\r") in frame for line in text.split("\n"))


def parse_text_block(text: str) -> Block:
    findings = Findings()
    text = undo_transport(text, findings)
    _Parser(text, findings).parse()
    return findings.as_block("text", text)


# One identity as `quote_identity` spells it: ASCII, one line.
_LITERAL = r'("(?:[ !#-\[\]-~]|\\["\\/bfnrt]|\\u[0-9a-f]{4})*")'
_NUMBER = r"([1-9][0-9]{0,9})"
_SECTION = re.compile(r"## (.+)")
_ENTRY = re.compile(rf"### (.+) {_NUMBER}")
# Metadata in its fixed order: name, whether it must be there, and the line.
_METADATA = (
    ("Scope", True, re.compile(rf"    Scope: {_LITERAL}")),
    (
        "Artifact",
        True,
        re.compile(
            rf"    Artifact: family={_LITERAL}, id={_LITERAL}, revision={_NUMBER}"
        ),
    ),
    ("Entry", False, re.compile(rf"    Entry: id={_LITERAL}, version={_LITERAL}")),
    ("Confidence", False, re.compile(r"    Confidence: unknown \(not assessed\)")),
    ("Recall rank", False, re.compile(rf"    Recall rank: {_NUMBER}")),
    ("Truncated", True, re.compile(r"    Truncated: (yes|no)")),
)
_FAMILIES = {title: family for family, title in rendering.FAMILY_TITLES.items()}
_STORED_AS = {
    limits.MEMORY: {limits.ATOMIC_MEMORY, limits.MEMORY_COLLECTION},
    limits.EXPERIENCE: {limits.EXPERIENCE},
    limits.PROFILE: {limits.PROFILE},
    limits.TOPIC_MEMORY: {limits.TOPIC_MEMORY},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Lines between blank lines; `number` is that of the first, from 1."""

    number: int
    lines: tuple[str, ...]

    @property
    def is_frame(self) -> bool:
        first = self.lines[0]
        return first.startswith("#") or first in (rendering.BEGIN, rendering.END)


class _Parser:
    """Reads the parts of one text from top to bottom."""

    def __init__(self, text: str, findings: Findings) -> None:
        self.lines = text.split("\n")
        self.findings = findings
        self.parts = list(self._split())
        self.titles: list[str] = []
        self.entries = 0
        self.rank = 0

    def report(self, number: int, message: str) -> None:
        self.findings.problems.append(f"line {number}: {message}")

    def _split(self) -> Iterator[_Part]:
        """Bodies have no blank lines, their prefix sees to that (A-141)."""
        start = 0
        for index, line in enumerate([*self.lines, ""]):
            if line:
                continue
            if index > start:
                lines = tuple(self.lines[start:index])
                yield _Part(number=start + 1, lines=lines)
            elif index < len(self.lines):
                self.report(index + 1, "a blank line too many")
            start = index + 1

    def parse(self) -> None:
        for name, marker in (("begin", rendering.BEGIN), ("end", rendering.END)):
            count = self.lines.count(marker)
            if count != 1:
                self.findings.problems.append(f"{count} {name} markers instead of 1")
        self._parse_parts(self._skip_frame())
        self._close_section(len(self.lines))
        if self.lines[-1] != rendering.END:
            self.findings.problems.append("the end marker is not the last line")

    def _skip_frame(self) -> int:
        """Check title, notice and begin marker; the index of the first part after."""
        frame: tuple[tuple[str, Sequence[str]], ...] = (
            ("title", [rendering.TITLE]),
            ("notice", rendering.NOTICE.split("\n")),
            ("begin marker", [rendering.BEGIN]),
        )
        parts = [part.lines for part in self.parts]
        index = parts.index((rendering.TITLE,)) if (rendering.TITLE,) in parts else 0
        if index:
            self.report(1, "something comes before the title")
        for name, lines in frame:
            if parts[index : index + 1] == [tuple(lines)]:
                index += 1
            else:
                self.findings.problems.append(f"the {name} is not in its place")
        begin = (rendering.BEGIN,)
        return parts.index(begin) + 1 if begin in parts else index

    def _parse_parts(self, index: int) -> None:
        while index < len(self.parts):
            part = self.parts[index]
            line = part.lines[0] if len(part.lines) == 1 else ""
            index += 1
            if line == rendering.END:
                continue  # counted and placed by `parse`
            if entry := _ENTRY.fullmatch(line):
                index = self._parse_entry(part, entry[1], int(entry[2]), index)
            elif section := _SECTION.fullmatch(line):
                self._open_section(part.number, section[1])
            else:
                self.report(part.number, "not a heading, and nothing else fits here")

    def _open_section(self, number: int, title: str) -> None:
        self._close_section(number)
        if title not in _FAMILIES:
            self.report(number, "no section has this title")
        elif title in self.titles:
            self.report(number, "a section for the second time")
        self.titles.append(title)
        self.entries = self.rank = 0

    def _close_section(self, number: int) -> None:
        if self.titles and not self.entries:
            self.report(number, "the section before has no entry")

    def _parse_entry(self, part: _Part, title: str, count: int, index: int) -> int:
        """Heading, metadata, body; the index of what follows."""
        self.entries += 1
        section = self.titles[-1] if self.titles else None
        if title != section:
            self.report(part.number, "an entry outside a section of its title")
        if count != self.entries:
            self.report(part.number, f"number {count} where {self.entries} belongs")
        family = _FAMILIES.get(title)
        if family and self.entries > limits.SECTION_LIMITS[family]:
            self.report(part.number, "more entries than a section may hold")
        parts: list[_Part] = []
        while len(parts) < 2 and index < len(self.parts):
            if self.parts[index].is_frame:
                break
            parts.append(self.parts[index])
            index += 1
        if len(parts) < 2:
            self.report(part.number, "an entry without metadata or body")
        if parts:
            body = parts[1] if len(parts) == 2 else None
            self._read_entry(f"{title} {count}", family, parts[0], body)
        return index

    def _read_entry(
        self, place: str, family: str | None, part: _Part, body: _Part | None
    ) -> None:
        found = self._read_metadata(part)
        shown = "" if body is None else self._read_body(body)
        truncated = found.get("Truncated", ("",))[0] == "yes"
        where = f"line {part.number}"
        if body is not None:
            check_length(
                shown, truncated=truncated, where=where, findings=self.findings
            )
        citation = self._read_citation(part.number, found)
        if citation is None:
            return
        stored_as = citation.artifact.family
        if family and stored_as not in _STORED_AS[family]:
            self.report(part.number, "a family that this section does not hold")
        if (stored_as == limits.MEMORY_COLLECTION) != (citation.entry_id is not None):
            self.report(part.number, "Entry belongs to Memory collections, and only to")
        claim = Claim(place=place, citation=citation, shown=shown, truncated=truncated)
        self.findings.add_claim(claim, where)

    def _read_metadata(self, part: _Part) -> dict[str, tuple[str, ...]]:
        """The values of each line; a line out of its order is reported, not read."""
        found: dict[str, tuple[str, ...]] = {}
        at = 0
        for number, line in enumerate(part.lines, start=part.number):
            for index in range(at, len(_METADATA)):
                name, _, pattern = _METADATA[index]
                if match := pattern.fullmatch(line):
                    found[name] = match.groups()
                    at = index + 1
                    break
            else:
                self.report(number, "not a metadata line in its place")
        for name, is_required, _ in _METADATA:
            if is_required and name not in found:
                self.report(part.number, f"no readable {name} line")
        rank = int(found.get("Recall rank", ("0",))[0])
        if "Recall rank" in found and rank <= self.rank:
            self.report(part.number, "a recall rank that does not ascend")
        self.rank = max(rank, self.rank)
        return found

    def _read_citation(
        self, number: int, found: dict[str, tuple[str, ...]]
    ) -> Citation | None:
        if "Scope" not in found or "Artifact" not in found:
            return None
        family, artifact_id, revision = found["Artifact"]
        entry = found.get("Entry", ())
        literals = [found["Scope"][0], family, artifact_id, *entry]
        values = [json.loads(literal) for literal in literals]
        if [quote_identity(value) for value in values] != literals:
            self.report(number, "an identity that is not spelled as we spell it")
        return Citation(
            scope_id=values[0],
            artifact=ArtifactRef(
                family=values[1], artifact_id=values[2], revision=int(revision)
            ),
            entry_id=values[3] if entry else None,
            entry_version_id=values[4] if entry else None,
        )

    def _read_body(self, part: _Part) -> str:
        bare = [
            number
            for number, line in enumerate(part.lines, start=part.number)
            if not line.startswith(BODY_PREFIX)
        ]
        if bare:
            self.report(bare[0], f"{len(bare)} lines of a body without their prefix")
        shown = "\n".join(line.removeprefix(BODY_PREFIX) for line in part.lines)
        if escape_body(shown) != shown:
            self.report(part.number, "a body with characters that we show escaped")
        return shown
