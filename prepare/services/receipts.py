"""Explain one injected byte string: evidence in, a receipt or a closed reason out.

Pure (RFC 1435, contract A.8-A.12, H-3..H-28). A receipt is complete or absent: no cap
cuts it, no identity is shortened, nothing unknown is guessed. It holds identities,
counts, modes and digests; never bodies, queries or scores.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from prepare import limits
from prepare.compactjson import dump_compact
from prepare.evidence import (
    CODE,
    RERANK_REASONS,
    PromptEvidence,
    RecallEvidence,
    RerankCall,
    RerankConfig,
    SearchCall,
    StageTiming,
    receipt_family,
)
from prepare.services.contents import normalize_query
from prepare.values import (
    ArtifactRef,
    Build,
    CodeIdentity,
    Identity,
    PrepareRequest,
    SelectedItem,
)

OmissionReason = Literal[
    "count_overflow",
    "byte_overflow",
    "identity_mismatch",
    "missing_evidence",
    "unsupported_identity",
    "internal_error",
]
OMISSION_REASONS: tuple[OmissionReason, ...] = (
    "count_overflow",
    "byte_overflow",
    "identity_mismatch",
    "missing_evidence",
    "unsupported_identity",
    "internal_error",
)

_ARTIFACT_KINDS = frozenset(
    {limits.ATOMIC_MEMORY, limits.TOPIC_MEMORY, limits.EXPERIENCE, limits.PROFILE}
)
_HEX_DIGEST = re.compile(r"[0-9a-f]{64}")


class ReceiptOmitted(Exception):
    """No receipt can be given; `reason` is closed and content-free (H-27)."""

    def __init__(self, reason: OmissionReason) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A finished receipt: its wire form, already within every bound."""

    receipt_id: str
    wire: dict[str, Any]


def build_receipt(
    *,
    request: PrepareRequest,
    evidence: RecallEvidence,
    build: Build,
    stages: Sequence[StageTiming],
    receipt_id: str,
) -> Receipt:
    """The receipt of this build; raises `ReceiptOmitted`.

    Keys and their order follow RFC 1435 "Receipt schema". Runs no search and reads
    nothing (R-164, R-192).
    """
    _check_identities(build)
    _check_evidence(request, evidence)
    wire = {
        "schema": limits.RECEIPT_SCHEMA,
        "receipt_id": receipt_id,
        "policy_id": limits.RECEIPT_SCHEMA,
        "query_digest": digest_query(request.query),
        "content_digest": digest_content(build.content),
        "requested_max_bytes": request.max_bytes,
        "used_bytes": build.content_bytes,
        "truncated": any(item.truncated for item in build.selected),
        "non_deterministic": _is_non_deterministic(evidence),
        "retrieval": {
            "rounds": _rounds(evidence),
            "searches": _searches(evidence),
            "rerank_configs": _rerank_configs(evidence),
            "reranks": _reranks(evidence),
        },
        "selected": [_selected(item) for item in build.selected],
        "omitted": _omitted(build),
        "stages": _stages(stages),
    }
    _check_counts(wire)
    if len(dump_compact(wire)) > limits.RECEIPT_BYTES:
        raise ReceiptOmitted("byte_overflow")
    return Receipt(receipt_id=receipt_id, wire=wire)


def digest_query(query: str) -> str:
    """Of the original query, normalized as search does it (R-024, R-027)."""
    return _sha256(normalize_query(query).encode())


def digest_content(content: str | None) -> str | None:
    """Of the injected bytes; None when nothing was injected (R-028)."""
    return None if content is None else _sha256(content.encode())


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _check_identities(build: Build) -> None:
    """Selected identities equal the build's origins, in order (R-051..R-055).

    A set comparison would miss a swap and a repetition; a repeated identity is
    ambiguous even where both lists agree.
    """
    origins: list[Identity | CodeIdentity] = [*build.origins, *build.code_origins]
    selected = [item.identity for item in build.selected]
    if selected != origins or len(set(selected)) != len(selected):
        raise ReceiptOmitted("identity_mismatch")
    if bool(selected) != (build.content is not None):
        raise ReceiptOmitted("identity_mismatch")
    for identity in selected:
        if isinstance(identity, CodeIdentity):
            is_complete = _is_complete_code(identity)
        else:
            is_complete = _is_complete_artifact(identity)
        if not is_complete:
            raise ReceiptOmitted("missing_evidence")


def _is_complete_artifact(identity: Identity) -> bool:
    """Raises for what has no kind here: an entry is never mislabelled (H-3)."""
    artifact = identity.artifact
    is_entry = (identity.entry_id, identity.entry_version_id) != (None, None)
    if is_entry or artifact.family not in _ARTIFACT_KINDS:
        raise ReceiptOmitted("unsupported_identity")
    return bool(identity.scope_id and artifact.artifact_id and artifact.revision >= 1)


def _is_complete_code(identity: CodeIdentity) -> bool:
    digests = (identity.fingerprint, identity.file_sha256, identity.snippet_sha256)
    return (
        bool(identity.scope_id and identity.path)
        and 1 <= identity.start_line <= identity.end_line
        and all(_HEX_DIGEST.fullmatch(digest) for digest in digests)
    )


def _check_evidence(request: PrepareRequest, evidence: RecallEvidence) -> None:
    """Every requested family says what ran for it, in a round that took place; every
    rerank names its configuration and how it ended."""
    wanted = {receipt_family(family) for family in request.families}
    if request.include_code:
        wanted.add(CODE)
    rounds = [item.round for item in evidence.rounds]
    calls: list[SearchCall | RerankCall] = [*evidence.searches, *evidence.reranks]
    is_complete = (
        wanted <= {call.family for call in evidence.searches}
        and bool(evidence.searches) == bool(rounds)
        and sorted(rounds) == list(range(len(rounds)))
        and {call.round for call in calls} <= set(rounds)
        and all(call.count >= 1 for call in calls)
        and all(call.mode is not None for call in evidence.searches)
        and all(_is_complete_rerank(call) for call in evidence.reranks)
    )
    if not is_complete:
        raise ReceiptOmitted("missing_evidence")


def _is_complete_rerank(call: RerankCall) -> bool:
    is_legal = call.fallback_reason in RERANK_REASONS[call.outcome]
    return call.config is not None and is_legal


def _is_non_deterministic(evidence: RecallEvidence) -> bool:
    """What ran, not what is configured; a failed model call counts (R-032..R-034)."""
    return any(item.model_backed for item in evidence.rounds) or any(
        call.config is not None and call.config.non_deterministic
        for call in evidence.reranks
    )


def _rounds(evidence: RecallEvidence) -> list[dict[str, Any]]:
    return [
        {"round": item.round, "outcome": item.outcome, "retained": item.retained}
        for item in sorted(evidence.rounds, key=lambda item: item.round)
    ]


def _grouped(
    calls: Iterable[tuple[tuple[Any, ...], int]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Counts by the grouping fields, sorted by them as plain strings (H-25)."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for key, count in calls:
        counts[key] += count
    return [
        {**dict(zip(names, key, strict=True)), "count": count}
        for key, count in sorted(counts.items())
    ]


def _searches(evidence: RecallEvidence) -> list[dict[str, Any]]:
    return _grouped(
        (
            (
                (
                    call.round,
                    call.family,
                    call.mode,
                    call.outcome,
                    call.fallback_reason,
                ),
                call.count,
            )
            for call in evidence.searches
        ),
        ("round", "family", "mode", "outcome", "fallback_reason"),
    )


def _reranks(evidence: RecallEvidence) -> list[dict[str, Any]]:
    return _grouped(
        (
            (
                (
                    call.round,
                    call.config.config_digest,
                    call.outcome,
                    call.fallback_reason,
                ),
                call.count,
            )
            for call in evidence.reranks
            if call.config is not None
        ),
        ("round", "config_id", "outcome", "fallback_reason"),
    )


def _rerank_configs(evidence: RecallEvidence) -> list[dict[str, Any]]:
    """Sorted by digest; one digest that names two configurations names none (R-140)."""
    configs: dict[str, RerankConfig] = {}
    for call in evidence.reranks:
        config = call.config
        if config is None:
            continue
        if configs.setdefault(config.config_digest, config) != config:
            raise ReceiptOmitted("missing_evidence")
    return [_rerank_config(configs[name]) for name in sorted(configs)]


def _rerank_config(config: RerankConfig) -> dict[str, Any]:
    return {
        "config_id": config.config_digest,
        "policy_id": config.policy_id,
        "model": config.model,
        "effective_settings": dict(config.effective_settings),
        "timeout_seconds": config.timeout_seconds,
        "max_requests": config.max_requests,
        "config_digest": config.config_digest,
        "prompt": None if config.prompt is None else _prompt(config.prompt),
        "non_deterministic": config.non_deterministic,
    }


def _prompt(prompt: PromptEvidence) -> dict[str, Any]:
    address = None
    if prompt.artifact is not None:
        address = _address(prompt.scope_id, prompt.artifact)
    return {
        "scope_id": prompt.scope_id,
        "key": prompt.key,
        "definition_version": prompt.definition_version,
        "builtin_version": prompt.builtin_version,
        "selection": prompt.selection,
        "selected_version": prompt.selected_version,
        "compiled_digest": prompt.compiled_digest,
        "artifact_address": address,
    }


def _address(scope_id: str, artifact: ArtifactRef) -> dict[str, Any]:
    return {
        "scope_id": scope_id,
        "artifact": {
            "family": artifact.family,
            "artifact_id": artifact.artifact_id,
            "revision": artifact.revision,
        },
    }


def _selected(item: SelectedItem) -> dict[str, Any]:
    """Kind, exactly one identity field, size and truncation (R-042, H-14)."""
    identity = item.identity
    if isinstance(identity, CodeIdentity):
        named: dict[str, Any] = {
            "kind": "code",
            "code_evidence": {
                "scope_id": identity.scope_id,
                "fingerprint": identity.fingerprint,
                "path": identity.path,
                "file_sha256": identity.file_sha256,
                "start_line": identity.start_line,
                "end_line": identity.end_line,
                "snippet_sha256": identity.snippet_sha256,
            },
        }
    else:
        named = {
            "kind": identity.artifact.family,
            "artifact_address": _address(identity.scope_id, identity.artifact),
        }
    return named | {
        "rendered_bytes": item.rendered_bytes,
        "truncated": item.truncated,
    }


def _omitted(build: Build) -> list[dict[str, Any]]:
    return _grouped(
        (
            ((receipt_family(item.family), item.reason), item.count)
            for item in build.omissions
        ),
        ("family", "reason"),
    )


def _stages(timings: Sequence[StageTiming]) -> list[dict[str, Any]]:
    """One entry per stage that ran, durations summed (R-170..R-172, H-24)."""
    runs: dict[str, list[float]] = defaultdict(list)
    for timing in timings:
        runs[timing.stage].append(timing.duration_ms)
    return [
        {"stage": name, "duration_ms": round(sum(spent), 3), "count": len(spent)}
        for name, spent in sorted(runs.items())
    ]


def _check_counts(wire: dict[str, Any]) -> None:
    """Every cap of contract A.9: at the cap is fine, above it not (R-181)."""
    retrieval = wire["retrieval"]
    bounded = (
        (wire["selected"], limits.RECEIPT_SELECTED),
        (retrieval["rounds"], limits.RECEIPT_ROUNDS),
        (retrieval["searches"], limits.RECEIPT_SEARCHES),
        (retrieval["rerank_configs"], limits.RECEIPT_RERANK_CONFIGS),
        (retrieval["reranks"], limits.RECEIPT_RERANKS),
        (wire["omitted"], limits.RECEIPT_OMITTED),
        (wire["stages"], limits.RECEIPT_STAGES),
    )
    if any(len(items) > cap for items, cap in bounded):
        raise ReceiptOmitted("count_overflow")
