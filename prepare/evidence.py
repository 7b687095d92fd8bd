"""What really ran during recall, as typed values (contract D.8). Pure.

Every search reports its own call; nothing here is inferred from configuration. Values
travel whether or not a receipt is asked for. No query, body or Scope id is in them.
"""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["fts", "vector", "hybrid", "snapshot", "code", "none"]
CallOutcome = Literal["completed", "not_run", "failed"]
FallbackReason = Literal[
    "none", "inference_unavailable", "inference_timeout", "reused_fts_fallback"
]
RoundOutcome = Literal["completed", "expansion_failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCall:
    """`count` calls alike; `family` is the receipt's word (`atomic-memory`)."""

    round: int
    family: str
    mode: Mode
    outcome: CallOutcome
    fallback_reason: FallbackReason = "none"
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRound:
    """`retained` says whether the round's candidates reached the build (H-13)."""

    round: int
    outcome: RoundOutcome = "completed"
    retained: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallEvidence:
    """Empty rounds mean that no recall took place (`sections: []`, J-9)."""

    rounds: tuple[RecallRound, ...] = ()
    searches: tuple[SearchCall, ...] = ()
