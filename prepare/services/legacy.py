"""The JSON envelope of requests without `assembly` (contract section G). Pure.

Its selection, its floor for short texts and its escapes differ from the text form on
purpose: hosts in the field rely on these bytes (A-190).
"""

import json
from dataclasses import dataclass, field
from typing import Any

from prepare import limits
from prepare.errors import InvariantViolated
from prepare.services.merging import (
    Omissions,
    check_pools,
    cut,
    drop_blank,
    drop_repeated,
    interleave,
)
from prepare.services.rendering import NOTICE
from prepare.services.text import dump_legacy, legacy_unit, longest_prefix
from prepare.values import (
    ArtifactRef,
    Build,
    Candidate,
    Identity,
    Pools,
    Reason,
    ScopePool,
    SelectedItem,
    TopicCandidate,
)

_BEFORE = f"{NOTICE}\n\nBEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1\n"
_OPEN = '{"trust":"untrusted_history","items":['
_CLOSE = "]}"
_AFTER = "\nEND_POWERCONTEXT_PREPARED_CONTEXT_V1"
FRAME_BYTES = len((_BEFORE + _OPEN + _CLOSE + _AFTER).encode())


@dataclass(slots=True)
class _Envelope:
    current_scope_id: str
    max_bytes: int
    size: int = FRAME_BYTES
    items: list[str] = field(default_factory=list)
    origins: list[Identity] = field(default_factory=list)
    selected: list[SelectedItem] = field(default_factory=list)
    omissions: Omissions = field(default_factory=Omissions)


def pack_legacy(pools: Pools, *, current_scope_id: str, max_bytes: int) -> Build:
    """Rotate the families, fit each item, write the envelope (G.1-G.9)."""
    envelope = _Envelope(current_scope_id=current_scope_id, max_bytes=max_bytes)
    queue = _rotate(pools, envelope.omissions)
    for index, (family, candidate) in enumerate(queue):
        if len(envelope.items) == limits.LEGACY_ENTRIES:
            for left_family, left in queue[index:]:
                envelope.omissions.drop(left_family, "entry_limit", left)
            break
        _pack_item(envelope, family, candidate)
    omissions = envelope.omissions.as_omissions()
    dropped = envelope.omissions.dropped
    if not envelope.items:
        return Build(content=None, omissions=omissions, dropped=dropped)
    build = Build(
        content=_BEFORE + _OPEN + ",".join(envelope.items) + _CLOSE + _AFTER,
        origins=tuple(envelope.origins),
        selected=tuple(envelope.selected),
        omissions=omissions,
        dropped=dropped,
    )
    if build.content_bytes != envelope.size or build.content_bytes > max_bytes:
        raise InvariantViolated("output-budget")
    return build


def _rotate(pools: Pools, omissions: Omissions) -> list[tuple[str, Candidate]]:
    """Memory, Topic Memory, Experience, one each per turn (H-5)."""
    lists = {
        family: bounded_candidates(family, pools.get(family, ()), omissions)
        for family in limits.LEGACY_FAMILIES
    }
    turns = max(len(candidates) for candidates in lists.values())
    return [
        (family, candidates[turn])
        for turn in range(turns)
        for family, candidates in lists.items()
        if turn < len(candidates)
    ]


def bounded_candidates(
    family: str, pools: tuple[ScopePool, ...], omissions: Omissions
) -> list[Candidate]:
    """The pool is cut as in the text form, but blank memories and repetitions go per
    Scope, before the Scopes take turns for the output (G.5, G.6)."""
    check_pools(family, pools)
    merged = list(interleave(pool.candidates for pool in pools))
    pooled = cut(merged, limits.POOL_CAPS[family], family, omissions)
    if not pooled:
        omissions.note_empty(family)
    if family == limits.MEMORY:
        pooled = drop_blank(pooled, family, omissions)
    pooled = drop_repeated(pooled, family, omissions)
    lists = (
        [item for item in pooled if item.identity.scope_id == pool.scope_id]
        for pool in pools
    )
    cap = limits.LEGACY_EXPERIENCES if family == limits.EXPERIENCE else None
    return cut(list(interleave(lists)), cap, family, omissions, "envelope")


def _pack_item(envelope: _Envelope, family: str, candidate: Candidate) -> None:
    text = item_text(candidate)
    citation = dump_legacy(_citation(candidate.identity, envelope.current_scope_id))
    kind = candidate.identity.artifact.family
    tail = "}" if candidate.identity.entry_id is not None else f',"kind":"{kind}"}}'

    def write(content: str, *, truncated: bool) -> str:
        flag = "true" if truncated else "false"
        body = dump_legacy(content)
        return f'{{"citation":{citation},"content":{body},"truncated":{flag}{tail}'

    comma = 1 if envelope.items else 0
    room = envelope.max_bytes - envelope.size - comma
    item = write(text, truncated=False)
    truncated = len(text.encode()) > limits.BODY_BYTES or len(item.encode()) > room
    if truncated:
        fixed = len(write("", truncated=True).encode())
        shortened = _shorten(text, room - fixed)
        if shortened is None:
            too_short = len(text.encode()) < limits.TRUNCATED_BODY_BYTES
            reason: Reason = "below_min_bytes" if too_short else "no_fitting_truncation"
            envelope.omissions.drop(family, reason, candidate)
            return
        item = write(shortened, truncated=True)
    size = len(item.encode())
    envelope.origins.append(candidate.identity)
    envelope.items.append(item)
    envelope.size += size + comma
    envelope.selected.append(
        SelectedItem(
            identity=candidate.identity, rendered_bytes=size, truncated=truncated
        )
    )


def _shorten(text: str, room: int) -> str | None:
    """The longest truncation of at least 64 bytes whose JSON form fits `room` (G.8).

    A truncation is shorter in bytes than its text, ellipsis included.
    """
    prefix = longest_prefix(
        text,
        legacy_unit,
        output_budget=room,
        body_budget=min(limits.BODY_BYTES, len(text.encode()) - 1),
    )
    if prefix is None or prefix.body_bytes < limits.TRUNCATED_BODY_BYTES:
        return None
    return prefix.shown


def item_text(candidate: Candidate) -> str:
    """The raw text of one item; a topic memory is itself compact JSON (G.6)."""
    if not isinstance(candidate, TopicCandidate):
        return candidate.body
    topic = {"title": candidate.title, "summary": candidate.summary}
    if candidate.snippet is not None:
        topic["snippet"] = candidate.snippet
    return json.dumps(topic, ensure_ascii=False, separators=(",", ":"))


def _citation(identity: Identity, current_scope_id: str) -> dict[str, Any]:
    """Short form inside the current Scope, Scope-qualified otherwise (G.4, J-2)."""
    reference = _reference(identity.artifact)
    is_current = identity.scope_id == current_scope_id
    address = {"scope_id": identity.scope_id, "artifact": reference}
    if identity.entry_id is None:
        return {"artifact_ref": reference} if is_current else {"artifact": address}
    memory = {"memory_ref": reference} if is_current else {"memory": address}
    return memory | {
        "entry_id": identity.entry_id,
        "entry_version_id": identity.entry_version_id,
    }


def _reference(artifact: ArtifactRef) -> dict[str, Any]:
    return {
        "family": artifact.family,
        "artifact_id": artifact.artifact_id,
        "revision": artifact.revision,
    }
