"""Frozen values that travel through prepare, and the one parser that makes a request.

Pure. `parse_prepare_request` is the only way from wire JSON to `PrepareRequest`; HTTP,
the command line and direct calls all use it (J-26), so all refuse the same input.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from prepare import limits
from prepare.errors import InvalidRequest, Violation
from prepare.wirereader import REPORTED_VIOLATIONS, WireReader

Reason = Literal[
    "duplicate",
    "blank",
    "family_limit",
    "entry_limit",
    "below_min_bytes",
    "no_fitting_truncation",
    "rerank_not_selected",
    "not_retrieved",
]
Bound = Literal["pool", "section", "envelope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactRef:
    """One exact revision inside a Scope (contract B.3)."""

    family: str
    artifact_id: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRef:
    """One Source inside a Scope."""

    source_type: str
    source_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """One exact citation: a Scope-qualified revision, and for a Memory collection the
    entry and entry version as well (H-1). Equality is the dedup rule (A-098, A-099)."""

    scope_id: str
    artifact: ArtifactRef
    entry_id: str | None = None
    entry_version_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeIdentity:
    """One exact range of a captured file (contract F.1); never an artifact."""

    scope_id: str
    fingerprint: str
    path: str
    file_sha256: str
    start_line: int
    end_line: int
    snippet_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyCandidate:
    """A memory, experience or profile: `body` is the text to deliver, unescaped."""

    identity: Identity
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCandidate:
    """A topic memory hit; the two output forms write its parts differently (A.4)."""

    identity: Identity
    title: str
    summary: str
    snippet: str | None = None


Candidate = BodyCandidate | TopicCandidate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopePool:
    """What one Scope's search of one family returned, best first."""

    scope_id: str
    candidates: tuple[Candidate, ...]


# Family name -> pools in Scope order (current, then configured references).
Pools = Mapping[str, tuple[ScopePool, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    family: str
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """The effective text options of one request (contract A.2)."""

    sections: tuple[Section, ...]
    show_confidence: bool = False
    show_recall_rank: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareRequest:
    """One validated request; `assembly` None selects the legacy envelope (A.2)."""

    scope_id: str
    query: str
    max_bytes: int = limits.MAX_BYTES_DEFAULT
    assembly: Assembly | None = None
    include_code: bool = False
    include_receipt: bool = False

    @property
    def families(self) -> tuple[str, ...]:
        """The families to recall, in output order."""
        if self.assembly is None:
            return limits.LEGACY_FAMILIES
        return tuple(section.family for section in self.assembly.sections)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedItem:
    """One delivered item. `rendered_bytes` leaves out headings of sections and the
    joints between items (H-14)."""

    identity: Identity | CodeIdentity
    rendered_bytes: int
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """`count` exclusion events of one reason; `family` is the selector (A.11)."""

    family: str
    reason: Reason
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A candidate not delivered; `bound` says whose limit a `family_limit` was."""

    identity: Identity
    reason: Reason
    bound: Bound | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """The packed and rendered result.

    `origins` (and `code_origins`) are the exact identities in output order (A-109);
    `selected` says the same with sizes, and a receipt holds one against the other.
    `dropped` are the candidates that `omissions` count.
    """

    content: str | None
    origins: tuple[Identity, ...] = ()
    code_origins: tuple[CodeIdentity, ...] = ()
    selected: tuple[SelectedItem, ...] = ()
    omissions: tuple[Omission, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    content_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        size = 0 if self.content is None else len(self.content.encode())
        object.__setattr__(self, "content_bytes", size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What the caller gets: four wire fields come from `build` (A-171), and a fifth if
    a receipt was asked for and could be made (R-005); never a null (R-004)."""

    build: Build
    receipt: Mapping[str, Any] | None = None
    receipt_omission: str | None = None  # a closed reason; never on the wire

    def as_wire(self) -> dict[str, Any]:
        build = self.build
        wire: dict[str, Any] = {
            "schema": limits.PREPARED_SCHEMA,
            "status": "empty" if build.content is None else "ready",
            "content": build.content,
            "content_bytes": build.content_bytes,
        }
        if self.receipt is not None:
            wire["receipt"] = dict(self.receipt)
        return wire


_ASSEMBLY_KEYS = frozenset({"format", "sections", "show"})
_SECTION_KEYS = frozenset({"family", "limit"})
_REQUEST_KEYS = frozenset(
    {
        "scope_id",
        "query",
        "max_bytes",
        "assembly",
        "include_code",
        "include_receipt",
        "bootstrap_receipt_id",
    }
)


def parse_prepare_request(data: object) -> PrepareRequest:
    """Turn decoded JSON into a request, or raise `InvalidRequest` with every violation.

    Covers structure, enums, uniqueness and per-family limits (contract A.1, A.2, J-4).
    The total over the sections is the Runtime's to check (A-028).
    """
    reader = WireReader(data, _REQUEST_KEYS, ("body",))
    assembly = None
    if "assembly" in reader.data:
        assembly = _read_assembly(reader)
    request = PrepareRequest(
        scope_id=reader.string("scope_id"),
        query=reader.string("query"),
        max_bytes=reader.integer("max_bytes", limits.MAX_BYTES_DEFAULT),
        assembly=assembly,
        include_code=reader.boolean("include_code"),
        include_receipt=reader.boolean("include_receipt", nullable=True),
    )
    _check_bootstrap_receipt_id(reader)
    violations = reader.violations or semantic_violations(request)
    if violations:
        raise InvalidRequest(violations[:REPORTED_VIOLATIONS])
    return request


def _check_bootstrap_receipt_id(reader: WireReader) -> None:
    """The official client always sends it; it has no effect (J-4)."""
    name = "bootstrap_receipt_id"
    if reader.data.get(name) is None:
        return
    value = reader.string(name)
    visible = value.isascii() and value.isprintable() and " " not in value
    if not visible or not 1 <= len(value) <= limits.BOOTSTRAP_RECEIPT_ID_CHARS:
        reader.refuse("string_pattern_mismatch", "1 to 64 visible ASCII", name)


def _read_assembly(parent: WireReader) -> Assembly:
    reader = WireReader(parent.data["assembly"], _ASSEMBLY_KEYS, ("body", "assembly"))
    if reader.data.get("format", limits.ASSEMBLY_FORMAT) != limits.ASSEMBLY_FORMAT:
        reader.refuse("enum", "Input should be 'markdown'", "format")
    default = [{"family": f, "limit": n} for f, n in limits.DEFAULT_SECTIONS]
    sections = []
    items = reader.items("sections", default, limits.SECTION_COUNT)
    for index, item in enumerate(items):
        section = WireReader(item, _SECTION_KEYS, (*reader.loc, "sections", index))
        sections.append(
            Section(family=section.string("family"), limit=section.integer("limit"))
        )
        reader.violations += section.violations
    show = reader.items("show", [], len(limits.SHOW_NAMES))
    for index, name in enumerate(show):
        if name not in limits.SHOW_NAMES:
            reader.refuse("enum", "'confidence' or 'recall_rank'", "show", index)
        elif name in show[:index]:
            reader.refuse("unique", "Repeated value", "show", index)
    parent.violations += reader.violations
    return Assembly(
        sections=tuple(sections),
        show_confidence="confidence" in show,
        show_recall_rank="recall_rank" in show,
    )


def semantic_violations(request: PrepareRequest) -> list[Violation]:
    """Bounds of a well-shaped request; direct calls are held to them too (A-042)."""
    found: list[Violation] = []

    def refuse(kind: str, msg: str, *loc: str | int) -> None:
        found.append(Violation(type=kind, loc=("body", *loc), msg=msg))

    if not 1 <= len(request.scope_id) <= limits.SCOPE_ID_CHARS:
        refuse("string_length", "1 to 256 characters", "scope_id")
    elif not request.scope_id.strip() or "\0" in request.scope_id:
        refuse("string_pattern_mismatch", "Blank or with NUL", "scope_id")
    if not 1 <= len(request.query) <= limits.QUERY_CHARS:
        refuse("string_length", "1 to 8192 characters", "query")
    elif not request.query.strip():
        refuse("string_pattern_mismatch", "Blank query", "query")
    for name in ("scope_id", "query"):
        if not _is_text(getattr(request, name)):
            refuse("string_unicode", "Holds a lone surrogate", name)
    if not _is_within(
        request.max_bytes, limits.MAX_BYTES_LOWEST, limits.MAX_BYTES_HIGHEST
    ):
        refuse("int_range", "512 to 32768", "max_bytes")
    if request.assembly is not None:
        _check_sections(request.assembly.sections, refuse)
    return found


def _check_sections(sections: tuple[Section, ...], refuse: Callable[..., None]) -> None:
    if len(sections) > limits.SECTION_COUNT:
        refuse("too_long", "At most 4 sections", "assembly", "sections")
    seen: set[str] = set()
    for index, section in enumerate(sections):
        loc = ("assembly", "sections", index)
        highest = limits.SECTION_LIMITS.get(section.family)
        if highest is None:
            names = ", ".join(limits.SELECTABLE_FAMILIES)
            refuse("enum", f"Input should be one of {names}", *loc, "family")
            continue
        if section.family in seen:
            refuse("unique", "Repeated family", *loc, "family")
        seen.add(section.family)
        if not _is_within(section.limit, 1, highest):
            refuse("int_range", f"1 to {highest} for this family", *loc, "limit")


def _is_text(value: str) -> bool:
    """No UTF-8 carries a lone surrogate; the parser refuses it in JSON (J-5)."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_within(value: object, lowest: int, highest: int) -> bool:
    """Strict: True is no integer here, though Python says it is (C-32)."""
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return lowest <= value <= highest
