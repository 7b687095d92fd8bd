"""What really ran during recall, as typed values (contract D.8). Pure.

Every search reports its own call; nothing here is inferred from configuration. Values
travel whether or not a receipt is asked for. No query, body or Scope id is in them,
except the Scope of a prompt that was really bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from prepare import limits
from prepare.values import ArtifactRef

Mode = Literal["fts", "vector", "hybrid", "snapshot", "code", "none"]
CallOutcome = Literal["completed", "not_run", "failed"]
FallbackReason = Literal[
    "none", "inference_unavailable", "inference_timeout", "reused_fts_fallback"
]
RoundOutcome = Literal["completed", "expansion_failed"]
RerankOutcome = Literal["selected", "fallback", "failed"]
RerankReason = Literal[
    "none",
    "empty_selection",
    "inference_unavailable",
    "inference_timeout",
    "invalid_output",
]
StageName = Literal[
    "memory.search",
    "memory.rerank",
    "experience.search",
    "topic_memory.search",
    "code.query",
    "context.build",
]


# How a rerank call may end (H-8).
RERANK_REASONS: Final[Mapping[RerankOutcome, frozenset[RerankReason]]] = {
    "selected": frozenset({"none"}),
    "fallback": frozenset(
        {
            "empty_selection",
            "inference_unavailable",
            "inference_timeout",
            "invalid_output",
        }
    ),
    "failed": frozenset(
        {"inference_unavailable", "inference_timeout", "invalid_output"}
    ),
}

# The family word of code evidence; no section selects it.
CODE: Final = "code"

# Selector -> the receipt's family word.
_FAMILIES = {limits.MEMORY: limits.ATOMIC_MEMORY}


def receipt_family(family: str) -> str:
    return _FAMILIES.get(family, family)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCall:
    """`count` calls alike; `family` is the receipt's word (`atomic-memory`).

    `mode` is what the reader reported; None means it did not, and no receipt can be
    made from that (R-089).
    """

    round: int
    family: str
    mode: Mode | None
    outcome: CallOutcome
    fallback_reason: FallbackReason = "none"
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRound:
    """`retained` says whether the round's candidates reached the build (H-13);
    `model_backed` whether a model rewrote the query (H-7)."""

    round: int
    outcome: RoundOutcome = "completed"
    retained: bool = True
    model_backed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEvidence:
    """The prompt bound when a reranker was called, without its text (contract E)."""

    scope_id: str
    key: str
    definition_version: str
    builtin_version: str
    selection: Literal["built_in", "artifact"]
    selected_version: str
    compiled_digest: str
    artifact: ArtifactRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankConfig:
    """The effective configuration of one rerank call; `config_digest` names it."""

    policy_id: str
    model: str | None
    effective_settings: Mapping[str, bool | int | float | str]
    timeout_seconds: float
    max_requests: int
    config_digest: str
    prompt: PromptEvidence | None
    non_deterministic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankCall:
    """One rerank invocation; `config` None means its evidence is missing."""

    round: int
    config: RerankConfig | None
    outcome: RerankOutcome
    fallback_reason: RerankReason = "none"
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTiming:
    """One run of a stage, in milliseconds."""

    stage: StageName
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallEvidence:
    """Empty rounds mean that no recall took place (`sections: []`, J-9)."""

    rounds: tuple[RecallRound, ...] = ()
    searches: tuple[SearchCall, ...] = ()
    reranks: tuple[RerankCall, ...] = ()
