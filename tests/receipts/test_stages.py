"""Which stages a receipt times (R-170..R-175)."""

import logging
import typing

import pytest

from prepare.evidence import StageName, StageTiming
from prepare.stopwatch import Stopwatch
from tests.api import Api
from tests.factories import experience, make_scope, profile, remember, topic, write
from tests.receipts.making import (
    FAMILIES,
    ask,
    make,
    raw,
    searches,
    sections,
    stages,
)

SEARCHES = {
    "memory": "memory.search",
    "experience": "experience.search",
    "topic-memory": "topic_memory.search",
}


@pytest.fixture
def three(db: None) -> None:
    for name in ("first", "second"):
        make_scope(name)
    scope = make_scope("s", references=["first", "second"])
    remember(scope, "zebra")
    write(scope, "experience", experience("zebra"))
    write(scope, "topic-memory", topic("zebra"))
    profile(scope, "Zebras.")


@pytest.mark.clause("R-170", "R-171", "R-172", "R-173", "R-174")
def test_a_stage_counts_its_searches(api: Api, three) -> None:
    """One entry per stage, no Scope in it; reading profiles is no stage (D.9)."""
    receipt = ask(api, "s", "zebra", **sections(*FAMILIES)).receipt
    assert stages(receipt) == {
        "context.build": 1,
        "experience.search": 3,
        "memory.search": 3,
        "topic_memory.search": 1,
    }
    for (family, _, outcome), count in searches(receipt).items():
        stage = SEARCHES.get({"atomic-memory": "memory"}.get(family, family))
        assert stage is None or stages(receipt)[stage] == count
        assert outcome == "completed"
    for entry in receipt["stages"]:
        assert list(entry) == ["stage", "duration_ms", "count"]
        assert entry["duration_ms"] >= 0
        assert round(entry["duration_ms"], 3) == entry["duration_ms"]


@pytest.mark.clause("R-172")
@pytest.mark.parametrize("family", FAMILIES)
def test_only_stages_that_ran(api: Api, three, settings, family) -> None:
    """Not those of unselected families, nor those of a reader that is missing."""
    expected = {"context.build", *([SEARCHES[family]] if family in SEARCHES else [])}
    for query in ("zebra", "nothing like it"):
        assert set(stages(ask(api, "s", query, **sections(family)).receipt)) == expected
    settings.READERS = frozenset()
    receipt = ask(api, "s", "zebra", **sections(family)).receipt
    assert set(stages(receipt)) == {"context.build"}


@pytest.mark.clause("R-170", "R-171", "R-174")
def test_durations_are_summed_and_the_order_is_by_name() -> None:
    names: list[StageName] = ["memory.search", "context.build", "memory.search"]
    timings = [
        StageTiming(stage=name, duration_ms=spent)
        for name, spent in zip(names, (0.1234, 7.0, 0.1234), strict=True)
    ]
    assert make(timings=timings)["stages"] == [
        {"stage": "context.build", "duration_ms": 7.0, "count": 1},
        {"stage": "memory.search", "duration_ms": 0.247, "count": 2},
    ]


@pytest.mark.clause("R-172")
def test_a_stage_that_failed_was_run() -> None:
    """As in an abandoned round; a clock that goes back adds nothing."""
    stopwatch = Stopwatch(iter([1.0, 1.5, 9.0, 8.0]).__next__)
    with pytest.raises(ZeroDivisionError), stopwatch.stage("memory.search"):
        _ = 1 // 0
    with stopwatch.stage("memory.search"):
        pass
    [entry] = make(timings=stopwatch.timings)["stages"]
    assert entry == {"stage": "memory.search", "duration_ms": 500.0, "count": 2}


@pytest.mark.clause("R-173", "R-174")
def test_the_names_are_those_of_the_runtime() -> None:
    names = typing.get_args(StageName)
    assert sorted(names) == [
        "code.query",
        "context.build",
        "experience.search",
        "memory.rerank",
        "memory.search",
        "topic_memory.search",
    ]
    timings = [StageTiming(stage=name, duration_ms=1) for name in names * 3]
    assert [one["count"] for one in make(timings=timings)["stages"]] == [3] * 6


@pytest.mark.clause("R-175")
def test_receipts_need_neither_tracing_nor_logging(api: Api, three) -> None:
    """Stages are timed by the request itself; nothing that exports them takes part."""
    logging.disable(logging.CRITICAL)
    try:
        receipt = ask(api, "s", "zebra").receipt
        assert stages(receipt)
        assert raw(api, "s", "zebra")
    finally:
        logging.disable(logging.NOTSET)
