"""Fit the selected families into one text under a byte budget (RFC 1489). Pure.

The size of a document is additive: frame + section headings + entries + joints. A
running counter is therefore exact, and fitting one candidate costs one pass over its
body; the document is rendered once, at the end, and must have the counted size.
"""

from dataclasses import dataclass, field

from prepare import limits
from prepare.errors import InvariantViolated
from prepare.services import rendering
from prepare.services.merging import (
    Omissions,
    check_pools,
    cut,
    drop_blank,
    drop_repeated,
    interleave,
)
from prepare.services.text import (
    BODY_PREFIX,
    escape_body,
    longest_prefix,
    normalize_newlines,
    text_unit,
)
from prepare.values import (
    Assembly,
    Build,
    Candidate,
    Identity,
    Pools,
    Reason,
    ScopePool,
    Section,
    SelectedItem,
)

_JOINT_BYTES = len(rendering.JOINT)
_PREFIX_BYTES = len(BODY_PREFIX)


@dataclass(slots=True)
class _Packing:
    """The document so far: blocks, their exact size, and what was selected."""

    assembly: Assembly
    max_bytes: int
    size: int = rendering.FRAME_BYTES
    blocks: list[str] = field(default_factory=list)
    origins: list[Identity] = field(default_factory=list)
    selected: list[SelectedItem] = field(default_factory=list)
    omissions: Omissions = field(default_factory=Omissions)

    def append(self, block: str) -> None:
        self.blocks.append(block)
        self.size += _JOINT_BYTES + len(block.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    shown: str
    truncated: bool


def pack(pools: Pools, *, assembly: Assembly, max_bytes: int) -> Build:
    """Select, fit and render; raise `InvariantViolated` if a promise would break.

    Sections are filled in request order, which is also the order in which they use up
    the budget (A-104, A-107). The result is empty if no cited item fits (A-170).
    """
    packing = _Packing(assembly=assembly, max_bytes=max_bytes)
    for section in assembly.sections:
        _pack_section(packing, section, pools.get(section.family, ()))
    omissions = packing.omissions.as_omissions()
    dropped = packing.omissions.dropped
    if not packing.selected:
        return Build(content=None, omissions=omissions, dropped=dropped)
    build = Build(
        content=rendering.document(packing.blocks),
        origins=tuple(packing.origins),
        selected=tuple(packing.selected),
        omissions=omissions,
        dropped=dropped,
    )
    if build.content_bytes != packing.size or build.content_bytes > max_bytes:
        raise InvariantViolated("output-budget")
    return build


def bounded_candidates(
    family: str, pools: tuple[ScopePool, ...], omissions: Omissions
) -> list[Candidate]:
    """The family's candidates in recall-rank order (RFC 1489 steps 4-6)."""
    check_pools(family, pools)
    merged = list(interleave(pool.candidates for pool in pools))
    bounded = cut(merged, limits.POOL_CAPS.get(family), family, omissions)
    if not bounded:
        omissions.note_empty(family)
    return drop_repeated(drop_blank(bounded, family, omissions), family, omissions)


def _pack_section(
    packing: _Packing, section: Section, pools: tuple[ScopePool, ...]
) -> None:
    candidates = bounded_candidates(section.family, pools, packing.omissions)
    included = 0
    for rank, candidate in enumerate(candidates, start=1):
        if included == section.limit:
            left = candidates[rank - 1 :]
            packing.omissions.drop(
                section.family, "family_limit", *left, bound="section"
            )
            break
        included += _pack_entry(packing, section.family, included + 1, rank, candidate)


def _pack_entry(
    packing: _Packing, family: str, number: int, rank: int, candidate: Candidate
) -> bool:
    """Try one candidate with its real number and citation (A-160); True if included."""
    heading = rendering.entry_heading(family, number)
    section = rendering.section_heading(family) if number == 1 else None

    def metadata(*, truncated: bool) -> str:
        return rendering.metadata_block(
            candidate.identity,
            assembly=packing.assembly,
            recall_rank=rank,
            truncated=truncated,
        )

    fixed = len(heading) + len(metadata(truncated=False)) + 3 * _JOINT_BYTES
    if section is not None:
        fixed += len(section) + _JOINT_BYTES
    # "yes" is one byte longer than "no"; _fit is told the room for an untruncated body.
    room = packing.max_bytes - packing.size - fixed
    fitted = _fit(rendering.body_text(candidate), room)
    if not isinstance(fitted, _Fitted):
        packing.omissions.drop(family, fitted, candidate)
        return False
    if section is not None:
        packing.append(section)
    before = packing.size + _JOINT_BYTES
    packing.origins.append(candidate.identity)
    packing.append(heading)
    packing.append(metadata(truncated=fitted.truncated))
    packing.append(rendering.body_block(fitted.shown))
    packing.selected.append(
        SelectedItem(
            identity=candidate.identity,
            rendered_bytes=packing.size - before,
            truncated=fitted.truncated,
        )
    )
    return True


def _fit(body: str, room: int) -> _Fitted | Reason:
    """The whole body, its longest prefix, or why neither (A.4 budget steps 1-4).

    `room` is what is left for the body block, prefixes included, after "Truncated: no".
    """
    normalized = normalize_newlines(body)
    # Escaping never shortens, so a body far over its bound need not be escaped whole.
    if len(normalized) <= limits.BODY_BYTES:
        shown = escape_body(normalized)
        size = len(shown.encode())
        if size <= limits.BODY_BYTES and _block_bytes(shown, size) <= room:
            return _Fitted(shown=shown, truncated=False)
    prefix = longest_prefix(
        normalized, text_unit, output_budget=room - 1 - _PREFIX_BYTES
    )
    if prefix is None:
        return "no_fitting_truncation"
    if prefix.body_bytes < limits.TRUNCATED_BODY_BYTES:
        return "below_min_bytes"
    return _Fitted(shown=prefix.shown, truncated=True)


def _block_bytes(shown: str, size: int) -> int:
    return size + _PREFIX_BYTES * (shown.count("\n") + 1)
