"""A receipt as values of its page: every part, from the receipt alone."""

import copy
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from inspector.presenting import causes
from inspector.presenting.budget import FRAME, UNUSED, bar_of_receipt
from inspector.presenting.receipts import present_receipt
from prepare.compactjson import dump_compact
from prepare.services.checking import SCHEMA_FILE, check_content
from tests.inspector.receipts import CONTENT, full_receipt
from tests.services.test_checking import receipt_of

SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def enum(definition: str, name: str) -> set[str]:
    return set(SCHEMA["$defs"][definition]["properties"][name]["enum"])


def test_the_full_receipt_is_valid_and_within_its_bound() -> None:
    receipt = full_receipt()
    validator = Draft202012Validator(SCHEMA, format_checker=FormatChecker())
    assert list(validator.iter_errors(receipt)) == []
    assert len(dump_compact(receipt)) <= 8192
    checked = check_content(CONTENT, receipt)
    assert (checked.problems, checked.notes) == ((), ())
    kinds = [item["kind"] for item in receipt["selected"]]
    assert (len(kinds), kinds.count("code")) == (30, 4)
    assert len(receipt["retrieval"]["rerank_configs"]) == 2
    assert len(receipt["retrieval"]["rounds"]) == 3


@pytest.mark.parametrize(
    ("meanings", "definition", "name"),
    [
        (causes.OMISSIONS, "OmittedGroup", "reason"),
        (causes.ROUNDS, "RecallRound", "outcome"),
        (causes.MODES, "SearchGroup", "mode"),
        (causes.SEARCHES, "SearchGroup", "outcome"),
        (causes.RERANKS, "RerankGroup", "outcome"),
        (causes.STAGES, "StageTiming", "stage"),
    ],
)
def test_each_closed_word_has_its_meaning(
    meanings: causes.Meanings, definition: str, name: str
) -> None:
    assert meanings.keys() == enum(definition, name)


def test_each_fallback_has_its_meaning() -> None:
    words = enum("SearchGroup", "fallback_reason") | enum(
        "RerankGroup", "fallback_reason"
    )
    assert causes.FALLBACKS.keys() == words


@pytest.mark.clause("R-204")
def test_the_bar_adds_up_to_the_budget() -> None:
    receipt = full_receipt()
    parts = bar_of_receipt(receipt)
    assert sum(part.size for part in parts) == 8000
    assert [part.start for part in parts] == [
        sum(part.size for part in parts[:number]) for number in range(len(parts))
    ]
    sizes = {part.label: part.size for part in parts}
    assert sizes[FRAME] == len(CONTENT) - 26 * 90 - 4 * 60
    assert sizes[UNUSED] == 8000 - len(CONTENT)
    assert (parts[0].css_class, parts[29].css_class) == ("of-atomic-memory", "of-code")


@pytest.mark.parametrize(
    "fields", [{"used_bytes": 8001}, {"used_bytes": 5}, {"requested_max_bytes": 512}]
)
def test_of_a_receipt_that_contradicts_itself_no_bar_is_drawn(
    fields: dict[str, int],
) -> None:
    assert bar_of_receipt(full_receipt() | fields) == ()


def test_an_empty_receipt_is_all_unused() -> None:
    receipt = receipt_of(b"", selected=[], content_digest=None)
    (part,) = bar_of_receipt(receipt)
    assert (part.label, part.size) == (UNUSED, 8000)


def test_stages_follow_each_other_in_the_order_of_a_request() -> None:
    build, search = present_receipt(full_receipt()).stages[::-1]
    assert (search.stage.word, search.start) == ("memory.search", 0)
    assert (build.stage.word, build.start) == ("context.build", search.width)
    assert search.width + build.width == 1000
    assert (search.duration_ms, build.duration_ms) == ("12.250", "0.750")
    assert present_receipt(full_receipt()).stages_total_ms == "13.000"


@pytest.mark.parametrize("duration", [0, 0.0, 1e308, 10**19])
def test_no_duration_breaks_the_drawing(duration: float) -> None:
    stages = [
        {"stage": name, "duration_ms": duration, "count": 1}
        for name in ("memory.search", "context.build")
    ]
    shown = present_receipt(full_receipt() | {"stages": stages})
    assert all(one.start >= 0 and 0 < one.width <= 1000 for one in shown.stages)


def test_omissions_are_drawn_beside_the_largest() -> None:
    groups = [
        {"family": "code", "reason": "blank", "count": count}
        for count in (1, 4000, 2000)
    ]
    shown = present_receipt(full_receipt() | {"omitted": groups}).omissions
    assert [one.width for one in shown] == [4, 1000, 500]


def test_a_rerank_without_its_configuration_is_shown_as_that() -> None:
    receipt: dict[str, Any] = copy.deepcopy(full_receipt())
    del receipt["retrieval"]["rerank_configs"][0]
    assert [one.config for one in present_receipt(receipt).reranks] == [None, 1]
