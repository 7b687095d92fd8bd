"""What ran, as values, comes out grouped and complete (contract D.8, H-7..H-25).

Rounds after the first, other modes, fallbacks, rerank and code belong to capabilities
that do not exist yet. Their evidence values do, and they must pass unchanged.
"""

import random
import typing
from collections.abc import Sequence
from typing import Any

import pytest

from prepare import evidence
from prepare.evidence import (
    RERANK_REASONS,
    RecallEvidence,
    RecallRound,
    RerankCall,
    RerankOutcome,
    RerankReason,
    SearchCall,
)
from prepare.values import ArtifactRef
from tests.receipts.making import (
    EVIDENCE,
    LEGACY_CALLS,
    build,
    call,
    code_identity,
    make,
    omission,
    prompt,
    reason_of,
    request,
    rerank_config,
    rounds,
    schema,
    with_evidence,
)
from tests.services.building import identity


def grouped(calls: Sequence[SearchCall], count: int = 1) -> list[tuple[Any, ...]]:
    """The search groups of the memory family, as tuples."""
    rest = (call("topic-memory"), call("experience"))
    found = make(
        evidence=RecallEvidence(rounds=rounds(count), searches=(*calls, *rest))
    )
    return [
        tuple(group.values())
        for group in found["retrieval"]["searches"]
        if group["family"] == "atomic-memory"
    ]


# Rounds.


@pytest.mark.clause("R-070")
def test_rounds_are_copied_in_order() -> None:
    ran = (
        RecallRound(round=1),
        RecallRound(round=0),
        RecallRound(round=2, outcome="expansion_failed", retained=False),
    )
    found = make(evidence=with_evidence(rounds=ran))["retrieval"]["rounds"]
    assert found == [
        {"round": 0, "outcome": "completed", "retained": True},
        {"round": 1, "outcome": "completed", "retained": True},
        {"round": 2, "outcome": "expansion_failed", "retained": False},
    ]


@pytest.mark.clause("R-076", "R-181")
def test_at_most_three_rounds() -> None:
    assert make(evidence=with_evidence(rounds=rounds(3)))
    reason = reason_of(lambda: make(evidence=with_evidence(rounds=rounds(4))))
    assert reason == "count_overflow"


@pytest.mark.clause("R-074", "R-107")
def test_calls_of_an_abandoned_round_count_and_stay_failed() -> None:
    """H-12: a completed call of that round is completed, the failing one failed."""
    ran = (RecallRound(round=0), RecallRound(round=1, outcome="expansion_failed"))
    calls = (
        *LEGACY_CALLS,
        call(round_number=1, count=2),
        call(mode="hybrid", outcome="failed", round_number=1),
        call("experience", "none", "failed", round_number=1),
    )
    found = make(evidence=RecallEvidence(rounds=ran, searches=calls))["retrieval"]
    assert found["rounds"][1]["outcome"] == "expansion_failed"
    later = [tuple(group.values()) for group in found["searches"] if group["round"]]
    assert later == [
        (1, "atomic-memory", "fts", "completed", "none", 2),
        (1, "atomic-memory", "hybrid", "failed", "none", 1),
        (1, "experience", "none", "failed", "none", 1),
    ]


@pytest.mark.clause("R-160")
def test_rounds_do_not_touch_the_omissions() -> None:
    """They come from the final build alone."""
    packed = build(omissions=[omission("memory", "family_limit", 3)])
    abandoned = with_evidence(
        rounds=(RecallRound(round=0), RecallRound(round=1, retained=False)),
        searches=(*LEGACY_CALLS, call(round_number=1, count=9)),
    )
    with_round, without = make(packed, abandoned), make(packed)
    assert with_round["omitted"] == without["omitted"]
    assert with_round["selected"] == without["selected"]


@pytest.mark.clause("R-027")
def test_model_backed_expansion_shows_as_a_flag_only() -> None:
    ran = (RecallRound(round=0), RecallRound(round=1, model_backed=True))
    found = make(evidence=with_evidence(rounds=ran))
    assert found["non_deterministic"] is True
    plain = make(evidence=with_evidence(rounds=rounds(2)))
    assert plain["non_deterministic"] is False
    assert found["query_digest"] == plain["query_digest"]
    assert list(found["retrieval"]["rounds"][1]) == ["round", "outcome", "retained"]


# Search groups.


@pytest.mark.clause("R-080", "R-106")
def test_equal_calls_are_one_group() -> None:
    assert grouped([call(), call(count=2), call()]) == [
        (0, "atomic-memory", "fts", "completed", "none", 4)
    ]


@pytest.mark.clause("R-080", "R-108")
def test_calls_that_differ_in_anything_stay_apart() -> None:
    """The example of RFC 1435 and all its neighbours, in the order of the fields."""
    calls = [
        call(mode="hybrid"),
        call(fallback_reason="inference_timeout"),
        call(fallback_reason="inference_unavailable"),
        call(),
        call(mode="vector"),
        call(mode="none", outcome="not_run"),
        call(outcome="failed"),
        call(fallback_reason="reused_fts_fallback", round_number=1),
    ]
    expected = sorted(
        (one.round, one.family, one.mode, one.outcome, one.fallback_reason, 1)
        for one in calls
    )
    for seed in range(20):
        random.Random(seed).shuffle(calls)
        assert grouped(calls, 2) == expected
    assert (0, "atomic-memory", "hybrid", "completed", "none", 1) in expected


@pytest.mark.clause("R-081", "R-082", "R-098", "R-099", "R-151")
def test_the_closed_lists_are_those_of_the_rfc() -> None:
    """In the types, and in the published schema, which is made from them."""
    lists = {
        evidence.Mode: ["fts", "vector", "hybrid", "snapshot", "code", "none"],
        evidence.CallOutcome: ["completed", "not_run", "failed"],
        evidence.FallbackReason: [
            *("none", "inference_unavailable", "inference_timeout"),
            "reused_fts_fallback",
        ],
    }
    for kind, words in lists.items():
        assert list(typing.get_args(kind)) == words
    properties = schema()["$defs"]["SearchGroup"]["properties"]
    families = ["atomic-memory", "topic-memory", "experience", "profile", "code"]
    assert properties["family"]["enum"] == families
    assert properties["mode"]["enum"] == lists[evidence.Mode]
    assert properties["outcome"]["enum"] == lists[evidence.CallOutcome]
    assert properties["fallback_reason"]["enum"] == lists[evidence.FallbackReason]
    omitted = schema()["$defs"]["OmittedGroup"]["properties"]
    assert omitted["family"]["enum"] == families
    assert omitted["reason"]["enum"] == [
        *("duplicate", "blank", "family_limit", "entry_limit", "below_min_bytes"),
        *("no_fitting_truncation", "rerank_not_selected", "not_retrieved"),
    ]


def test_every_mode_family_and_cause_passes() -> None:
    calls = [
        call(family, mode, outcome, reason, round_number=number)
        for number in range(3)
        for family, mode, outcome, reason in [
            ("atomic-memory", "hybrid", "completed", "none"),
            ("atomic-memory", "vector", "completed", "none"),
            ("atomic-memory", "fts", "completed", "reused_fts_fallback"),
            ("topic-memory", "hybrid", "completed", "none"),
            ("topic-memory", "fts", "completed", "inference_unavailable"),
            ("experience", "fts", "failed", "none"),
            ("profile", "snapshot", "completed", "none"),
            ("code", "code", "completed", "none"),
        ]
    ]
    ran = RecallEvidence(rounds=rounds(3), searches=tuple(calls))
    asked = request(include_code=True)
    found = make(build(identity(), code=[code_identity()]), ran, asked=asked)
    assert len(found["retrieval"]["searches"]) == 24


# Missing evidence.


@pytest.mark.clause("R-184")
@pytest.mark.parametrize(
    "broken",
    [
        with_evidence(searches=LEGACY_CALLS[1:]),
        with_evidence(searches=()),
        with_evidence(rounds=()),
        RecallEvidence(),
        with_evidence(searches=(*LEGACY_CALLS, call(mode=None))),
        with_evidence(searches=(*LEGACY_CALLS, call(round_number=1))),
        with_evidence(rounds=(RecallRound(round=1),)),
        with_evidence(rounds=(RecallRound(round=0), RecallRound(round=0))),
        with_evidence(rounds=(RecallRound(round=0), RecallRound(round=2))),
        with_evidence(searches=(*LEGACY_CALLS, call(count=0))),
    ],
    ids=repr,
)
def test_missing_execution_evidence_drops_the_receipt(broken) -> None:
    assert reason_of(lambda: make(evidence=broken)) == "missing_evidence"


@pytest.mark.clause("R-184")
def test_code_that_was_asked_for_must_report() -> None:
    asked = request(include_code=True)
    assert reason_of(lambda: make(asked=asked)) == "missing_evidence"
    searches = (*LEGACY_CALLS, call("code", "none", "not_run"))
    assert make(evidence=with_evidence(searches=searches), asked=asked)


@pytest.mark.clause("R-089")
def test_an_experience_search_that_does_not_report_drops_the_receipt() -> None:
    silent = (call(), call("topic-memory"), call("experience", None))
    reason = reason_of(lambda: make(evidence=with_evidence(searches=silent)))
    assert reason == "missing_evidence"


# Rerank.


def reranked(*calls: RerankCall, count: int = 1) -> RecallEvidence:
    return with_evidence(rounds=rounds(count), reranks=calls)


def rerank(
    config: Any,
    outcome: RerankOutcome = "selected",
    reason: RerankReason = "none",
    **changes: Any,
) -> RerankCall:
    values = {"round": 0, "config": config, "outcome": outcome} | changes
    return RerankCall(fallback_reason=reason, **values)


def test_rerank_configurations_are_shown_whole() -> None:
    custom = prompt(
        "项目:甲",
        selection="artifact",
        selected_version="3",
        artifact=ArtifactRef(family="prompt", artifact_id="memory.rerank", revision=3),
    )
    settings = {"temperature": 0, "top_p": 0.5, "seed": 7, "parallel_tool_calls": False}
    config = rerank_config(7, prompt=custom, effective_settings=settings)
    found = make(evidence=reranked(rerank(config)))
    assert found["non_deterministic"] is True
    assert found["retrieval"]["rerank_configs"] == [
        {
            "config_id": config.config_digest,
            "policy_id": "powercontext.memory.rerank.listwise.v1",
            "model": "provider:model",
            "effective_settings": settings,
            "timeout_seconds": 30.0,
            "max_requests": 2,
            "config_digest": config.config_digest,
            "prompt": {
                "scope_id": "项目:甲",
                "key": "memory.rerank",
                "definition_version": "powercontext.prompt.memory.rerank.v1",
                "builtin_version": "powercontext.memory.rerank.listwise.v1",
                "selection": "artifact",
                "selected_version": "3",
                "compiled_digest": "d" * 64,
                "artifact_address": {
                    "scope_id": "项目:甲",
                    "artifact": {
                        "family": "prompt",
                        "artifact_id": "memory.rerank",
                        "revision": 3,
                    },
                },
            },
            "non_deterministic": True,
        }
    ]


def test_rerank_calls_are_grouped_and_share_their_configuration() -> None:
    first, second = rerank_config(1), rerank_config(2)
    calls = [
        rerank(second, "failed", "inference_timeout", round=1),
        rerank(first),
        rerank(second, "fallback", "empty_selection", count=2),
        rerank(first, count=3),
    ]
    found = make(evidence=reranked(*calls, count=2))["retrieval"]
    ids = [first.config_digest, second.config_digest]
    assert [one["config_id"] for one in found["rerank_configs"]] == ids
    assert [tuple(one.values()) for one in found["reranks"]] == [
        (0, ids[0], "selected", "none", 4),
        (0, ids[1], "fallback", "empty_selection", 2),
        (1, ids[1], "failed", "inference_timeout", 1),
    ]


def test_a_declared_deterministic_reranker_sets_no_flag() -> None:
    config = rerank_config(
        model=None, prompt=None, effective_settings={}, non_deterministic=False
    )
    found = make(evidence=reranked(rerank(config)))
    assert found["non_deterministic"] is False
    assert found["retrieval"]["rerank_configs"][0]["prompt"] is None
    failed = rerank(rerank_config(2), "failed", "invalid_output")
    assert make(evidence=reranked(rerank(config), failed))["non_deterministic"] is True
    assert make(evidence=EVIDENCE)["non_deterministic"] is False


@pytest.mark.clause("R-185")
def test_a_call_without_its_configuration_drops_the_receipt() -> None:
    """Neither is the call left out nor does a policy id stand for the rest."""
    known = rerank(rerank_config())
    missing = reranked(known, rerank(None))
    assert reason_of(lambda: make(evidence=missing)) == "missing_evidence"
    ambiguous = reranked(known, rerank(rerank_config(timeout_seconds=1.0)))
    assert reason_of(lambda: make(evidence=ambiguous)) == "missing_evidence"


@pytest.mark.parametrize("reason", typing.get_args(RerankReason))
@pytest.mark.parametrize("outcome", typing.get_args(RerankOutcome))
def test_only_the_legal_endings_pass(outcome, reason) -> None:
    """H-8; an impossible pair is no evidence."""
    ran = reranked(rerank(rerank_config(), outcome, reason))
    legal = {
        ("selected", "none"),
        ("fallback", "empty_selection"),
        *(
            (one, cause)
            for one in ("fallback", "failed")
            for cause in (
                "inference_unavailable",
                "inference_timeout",
                "invalid_output",
            )
        ),
    }
    assert (reason in RERANK_REASONS[outcome]) == ((outcome, reason) in legal)
    if (outcome, reason) in legal:
        assert make(evidence=ran)
    else:
        assert reason_of(lambda: make(evidence=ran)) == "missing_evidence"
