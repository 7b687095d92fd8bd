"""Generated evidence: what the capabilities of today and of later can report."""

import typing
from typing import Any

from hypothesis import strategies as st

from prepare import evidence as values
from prepare.evidence import (
    RecallEvidence,
    RecallRound,
    RerankCall,
    SearchCall,
    StageTiming,
)
from prepare.values import Build, Omission, Reason
from tests.properties.strategies import scope_ids
from tests.receipts.making import (
    LEGACY_CALLS,
    build,
    call,
    code_identity,
    prompt,
    rerank_config,
)
from tests.services.building import identity


def _words(kind: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(typing.get_args(kind))


_FAMILIES = ("atomic-memory", "topic-memory", "experience", "profile", "code")
_SELECTORS = ("memory", "topic-memory", "experience", "profile", "code")
_counts = st.integers(1, 40)


def _calls(last_round: int) -> st.SearchStrategy[SearchCall]:
    return st.builds(
        SearchCall,
        round=st.integers(0, last_round),
        family=st.sampled_from(_FAMILIES),
        mode=_words(values.Mode),
        outcome=_words(values.CallOutcome),
        fallback_reason=_words(values.FallbackReason),
        count=_counts,
    )


_settings = st.fixed_dictionaries(
    {"temperature": st.just(0)},
    optional={
        "top_p": st.floats(0, 1),
        "max_tokens": st.integers(1, 100_000),
        "seed": st.integers(-(2**31), 2**31),
        "presence_penalty": st.floats(-2, 2),
        "top_k": st.integers(0, 100),
        "parallel_tool_calls": st.booleans(),
        "service_tier": st.sampled_from(["auto", "default", "flex", "priority"]),
    },
)
_configs = st.builds(
    rerank_config,
    st.integers(0, 9),
    model=st.one_of(st.none(), st.text(max_size=20)),
    effective_settings=_settings,
    timeout_seconds=st.floats(0, 600),
    max_requests=st.integers(1, 5),
    prompt=st.one_of(st.none(), st.builds(prompt, scope_ids)),
    non_deterministic=st.booleans(),
)


@st.composite
def _reranks(
    draw: st.DrawFn, configs: st.SearchStrategy[Any], last_round: int
) -> RerankCall:
    outcome = draw(_words(values.RerankOutcome))
    reasons = sorted(values.RERANK_REASONS[outcome])
    return RerankCall(
        round=draw(st.integers(0, last_round)),
        config=draw(configs),
        outcome=outcome,
        fallback_reason=draw(st.sampled_from(reasons)),
        count=draw(_counts),
    )


_FAULTS: list[tuple[SearchCall, ...]] = [
    (call(mode=None),),
    (call(round_number=3),),
    (call(count=0),),
]


@st.composite
def evidence(draw: st.DrawFn) -> RecallEvidence:
    """Sound in most draws; sometimes one call is silent, or of no round, or of none."""
    last_round = draw(st.integers(0, 2))
    ran = tuple(
        RecallRound(
            round=number,
            outcome=draw(_words(values.RoundOutcome)),
            retained=draw(st.booleans()),
            model_backed=draw(st.booleans()),
        )
        for number in range(last_round + 1)
    )
    # One configuration per digest, as a digest has by definition.
    pool = {one.config_digest: one for one in draw(st.lists(_configs, max_size=3))}
    reranks: tuple[RerankCall, ...] = ()
    if pool:
        configs = st.sampled_from([pool[digest] for digest in sorted(pool)])
        reranks = tuple(draw(st.lists(_reranks(configs, last_round), max_size=12)))
    calls = draw(st.lists(_calls(last_round), max_size=36))
    faults = draw(st.sampled_from([(), (), (), (), *_FAULTS]))
    return RecallEvidence(
        rounds=ran, searches=(*LEGACY_CALLS, *calls, *faults), reranks=reranks
    )


@st.composite
def builds(draw: st.DrawFn) -> Build:
    """Identities of all five kinds, each once."""
    families = st.sampled_from(_FAMILIES[:-1])
    scopes = st.sampled_from(draw(st.lists(scope_ids, min_size=1, max_size=3)))
    addresses = st.tuples(families, scopes, st.integers(1, 3))
    items = [
        identity(f"a{number}", family=family, scope_id=scope_id, revision=revision)
        for number, (family, scope_id, revision) in enumerate(
            draw(st.lists(addresses, max_size=30))
        )
    ]
    lines = draw(st.lists(st.integers(1, 200), max_size=4))
    code = [
        code_identity(f"src/{number}.py", end_line=end)
        for number, end in enumerate(lines)
    ]
    omissions = st.builds(
        Omission,
        family=st.sampled_from(_SELECTORS),
        reason=_words(Reason),
        count=_counts,
    )
    return build(*items, code=code, omissions=draw(st.lists(omissions, max_size=18)))


def timings() -> st.SearchStrategy[list[StageTiming]]:
    one = st.builds(
        StageTiming,
        stage=_words(values.StageName),
        duration_ms=st.floats(0, 1e6, allow_nan=False),
    )
    return st.lists(one, max_size=30)
