"""Every cap at and over, and the byte cap to the byte (R-180..R-189)."""

import functools
import json
import typing
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from prepare.evidence import RERANK_REASONS, RecallEvidence, RerankCall, StageTiming
from prepare.services.prepare import prepare_context
from prepare.services.receipts import build_receipt
from prepare.values import Build, Reason
from prepare.views import context as context_view
from tests.api import Api
from tests.factories import experience, make_scope, profile, remember, topic, write
from tests.receipts.making import (
    EVIDENCE,
    FOUR_KEYS,
    LEGACY_CALLS,
    RECEIPT_ID,
    ask,
    build,
    call,
    code_identity,
    compact,
    make,
    memories,
    omission,
    prompt,
    raw,
    reason_of,
    request,
    rerank_config,
    rounds,
    sections,
    with_evidence,
)
from tests.services.building import identity

CHINESE_SCOPE = "项目：支付平台的第一阶段" * 5


# Counts.


def with_selected(count: int) -> Any:
    return make(build(*memories(count, scope_id="s")))


def with_rounds(count: int) -> Any:
    return make(evidence=with_evidence(rounds=rounds(count)))


def with_searches(count: int) -> Any:
    """That many distinct groups, the three needed ones among them."""
    families = ["atomic-memory", "topic-memory", "experience", "profile", "code"]
    more = [
        call(family, mode, outcome, round_number=number)
        for number in (1, 2)
        for family in families
        for mode in ("fts", "hybrid")
        for outcome in ("completed", "failed")
    ]
    calls = (*LEGACY_CALLS, *more[: count - 3])
    assert len(calls) == count
    return make(evidence=RecallEvidence(rounds=rounds(3), searches=calls))


def with_configs(count: int) -> Any:
    calls = tuple(
        RerankCall(round=0, config=_bare_config(number), outcome="selected")
        for number in range(count)
    )
    return make(evidence=with_evidence(reranks=calls))


def with_reranks(count: int) -> Any:
    """Groups of two configurations over three rounds: 48 are possible."""
    calls = [
        RerankCall(
            round=number, config=_bare_config(config), outcome=end, fallback_reason=why
        )
        for number in range(3)
        for config in range(2)
        for end, reasons in RERANK_REASONS.items()
        for why in sorted(reasons)
    ]
    ran = with_evidence(rounds=rounds(3), reranks=tuple(calls[:count]))
    return make(evidence=ran)


def _bare_config(number: int) -> Any:
    return rerank_config(
        number, model=None, prompt=None, effective_settings={}, non_deterministic=False
    )


def with_omitted(count: int) -> Any:
    pairs = [
        omission(family, reason)
        for family in ("memory", "topic-memory", "experience")
        for reason in typing.get_args(Reason)
    ]
    return make(build(omissions=pairs[:count]))


def with_stages(count: int) -> Any:
    """Only six names exist, so the cap itself is tried with made-up ones."""
    timings = [
        StageTiming(stage=f"stage.{number}", duration_ms=1)  # type: ignore[arg-type]
        for number in range(count)
    ]
    return build_receipt(
        request=request(),
        evidence=EVIDENCE,
        build=build(),
        stages=timings,
        receipt_id=RECEIPT_ID,
    ).wire


CAPS: list[tuple[Callable[[int], Any], int, tuple[str, ...]]] = [
    (with_selected, 32, ("selected",)),
    (with_rounds, 3, ("retrieval", "rounds")),
    (with_searches, 32, ("retrieval", "searches")),
    (with_configs, 8, ("retrieval", "rerank_configs")),
    (with_reranks, 32, ("retrieval", "reranks")),
    (with_omitted, 16, ("omitted",)),
    (with_stages, 8, ("stages",)),
]


@pytest.mark.clause("R-076", "R-109", "R-165", "R-181", "R-185")
@pytest.mark.parametrize(("made", "cap", "path"), CAPS)
def test_count_caps(made, cap, path) -> None:
    """At the cap everything is there; one more, and the whole receipt goes."""
    found = made(cap)
    assert len(compact(found)) <= 8192
    for name in path:
        found = found[name]
    assert len(found) == cap
    assert reason_of(lambda: made(cap + 1)) == "count_overflow"


# Bytes, on values.


def padded(size: int, unit: str = "x") -> Build:
    """A result whose receipt has exactly this size: one Scope id is made longer."""
    items = memories(20, scope_id="s" * 40)
    base = len(compact(make(build(*items))))
    first = replace(items[0], scope_id="s" * 40 + unit * (size - base))
    assert len(unit.encode()) == 1
    return build(first, *items[1:])


@pytest.mark.clause("R-180", "R-182")
@pytest.mark.parametrize("size", [8190, 8191, 8192, 8193, 8194])
def test_the_byte_cap_to_the_byte(size) -> None:
    packed = padded(size)
    if size <= 8192:
        found = make(packed)
        assert len(compact(found)) == size
        assert len(found["selected"]) == 20
        whole = found["selected"][0]["artifact_address"]["scope_id"]
        assert whole == packed.origins[0].scope_id
    else:
        assert reason_of(lambda: make(packed)) == "byte_overflow"


@pytest.mark.clause("R-180")
def test_bytes_are_counted_not_characters() -> None:
    """Ten Scope ids of 250 characters: of one byte each they fit, of three not."""
    fits = build(*[identity(str(n), scope_id="s" * 250) for n in range(10)])
    assert len(compact(make(fits))) < 8192
    over = build(*[identity(str(n), scope_id="界" * 250) for n in range(10)])
    assert reason_of(lambda: make(over)) == "byte_overflow"


@pytest.mark.clause("R-181")
def test_counts_are_reported_before_bytes() -> None:
    over_both = build(*memories(33, scope_id="s" * 256))
    assert reason_of(lambda: make(over_both)) == "count_overflow"


# C-75: what an ordinary, rich request would have.


def rich(scope_id: str, *, code: int, configs: int, groups: int) -> Any:
    """26 items over three Scopes, with code, rerank configurations and groups."""
    scopes = [f"{scope_id}{number}" for number in range(3)]
    kinds = ["atomic-memory"] * 8 + ["topic-memory"] * 8 + ["profile"] * 8
    items = [
        identity(
            f"art_{number:032x}",
            family=kind,
            scope_id=scopes[number % (1 if kind == "topic-memory" else 3)],
        )
        for number, kind in enumerate([*kinds, "experience", "experience"])
    ]
    reranks = tuple(
        RerankCall(
            round=0,
            config=rerank_config(number, prompt=prompt(scopes[number])),
            outcome="selected",
        )
        for number in range(configs)
    )
    modes = ["fts", "hybrid", "vector", "none"][: groups - 4]
    calls = [
        *LEGACY_CALLS,
        call("profile", "snapshot"),
        *(call(mode=mode, outcome="failed") for mode in modes),
    ]
    return make(
        build(*items, code=[code_identity(f"src/{n}.py") for n in range(code)]),
        RecallEvidence(rounds=rounds(1), searches=tuple(calls), reranks=reranks),
    )


@pytest.mark.clause("R-182", "R-189")
@pytest.mark.parametrize("scope_id", ["project:demo", CHINESE_SCOPE])
def test_c_75_a_rich_request_is_whole_or_absent(scope_id) -> None:
    """26 items, four code items, two configurations and eight groups are too much for
    8192 bytes; the cap stays (J-8), and nothing is left out to get below it."""
    everything = {"code": 4, "configs": 2, "groups": 8}
    assert reason_of(lambda: rich(scope_id, **everything)) == "byte_overflow"
    if scope_id == "project:demo":
        found = rich(scope_id, code=0, configs=1, groups=8)
        assert len(found["selected"]) == 26
        assert len(found["retrieval"]["searches"]) == 8
    else:
        reason = reason_of(lambda: rich(scope_id, code=0, configs=0, groups=4))
        assert reason == "byte_overflow"


# Bytes, over HTTP.

FAMILIES_26 = sections(
    ("memory", 8), ("topic-memory", 8), ("profile", 8), ("experience", 2)
)


@pytest.fixture
def frozen_clock(monkeypatch) -> None:
    """Durations of 0.0, so that two receipts of equal identities have equal sizes."""
    frozen = functools.partial(prepare_context, clock=lambda: 0.0)
    monkeypatch.setattr(context_view, "prepare_context", frozen)


def eighteen(scope_id: str, id_length: int, last: int) -> None:
    """18 items in one Scope; the last experience's id has `last` characters."""
    scope = make_scope(scope_id)
    for number in range(8):
        artifact_id = f"{number}".ljust(id_length, "~")
        remember(scope, "zebra", artifact_id=artifact_id)
        write(scope, "topic-memory", topic("zebra"), artifact_id=artifact_id)
    write(scope, "experience", experience("zebra"), artifact_id="0" * id_length)
    write(scope, "experience", experience("zebra"), artifact_id="1" * last)


@pytest.mark.clause("R-180", "R-182", "R-186", "R-189")
def test_the_byte_cap_to_the_byte_over_http(
    api: Api, db, settings, frozen_clock, caplog
) -> None:
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 18
    chosen = sections(("memory", 8), ("topic-memory", 8), ("experience", 2))
    options = {**chosen, "max_bytes": 32768}
    eighteen("measure".ljust(129, "-"), 100, 1)
    receipt = ask(api, "measure".ljust(129, "-"), "zebra", **options).receipt
    missing = 8192 - len(compact(receipt))
    assert 2 <= missing <= 126
    for size in (8191, 8192, 8193):
        scope_id = f"size-{size}".ljust(129, "-")
        eighteen(scope_id, 100, 1 + missing + size - 8192)
        without = raw(api, scope_id, "zebra", **options)
        caplog.clear()
        answer = raw(api, scope_id, "zebra", include_receipt=True, **options)
        if size <= 8192:
            sent = answer.partition(b',"receipt":')[2].removesuffix(b"}")
            assert len(sent) == size
            assert len(json.loads(sent)["selected"]) == 18
        else:
            assert answer == without
            [record] = [one for one in caplog.records if "receipt" in one.message]
            assert "reason=byte_overflow" in record.message


@pytest.mark.clause("R-059", "R-061", "R-182", "R-186", "R-189")
@pytest.mark.parametrize("scope_id", ["s" * 256, CHINESE_SCOPE])
def test_26_long_identities_have_no_receipt(
    api, db, settings, caplog, scope_id
) -> None:
    """The content is that of the flag-less request: the receipt drops no item of it."""
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 26
    scope = make_scope(scope_id)
    for number in range(8):
        artifact_id = f"{number}" + "~" * 127
        remember(scope, "zebra", artifact_id=artifact_id)
        write(scope, "topic-memory", topic("zebra"), artifact_id=artifact_id)
        write(scope, "experience", experience("zebra"), artifact_id=artifact_id)
    profile(scope, "Zebras.")
    options = {**FAMILIES_26, "max_bytes": 32768}
    without = raw(api, scope_id, "zebra", **options)
    caplog.clear()
    assert raw(api, scope_id, "zebra", include_receipt=True, **options) == without
    assert list(json.loads(without)) == FOUR_KEYS
    assert json.loads(without)["content"].count("\n### ") == 19
    [record] = [one for one in caplog.records if "receipt" in one.message]
    assert "reason=byte_overflow" in record.message
