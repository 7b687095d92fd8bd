"""The size table of bench/receipts.py: what fits and what does not (J-8, R-189)."""

import re
from pathlib import Path

import pytest

from bench import receipt_sizes
from bench.receipt_sizes import (
    ALL_26,
    EIGHT,
    EIGHTEEN,
    SAMPLES,
    Sample,
    explain,
    measure,
)
from prepare import limits
from tests.receipts.making import attempt, check_receipt


def size(**fields) -> int:
    return measure(Sample(**fields))


@pytest.mark.clause("R-189")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_the_table_tells_what_is_dropped(sample) -> None:
    """Each row through the builder as it is, with its cap."""
    is_over = measure(sample) > limits.RECEIPT_BYTES
    row = f"| {sample.name} | {measure(sample)}{', dropped' * is_over} |"
    assert row in receipt_sizes.table()
    receipt, reason = attempt(lambda: explain(sample).wire)
    assert (receipt is None) == is_over
    assert reason == ("byte_overflow" if is_over else "")
    if receipt is not None:
        check_receipt(receipt)


@pytest.mark.clause("R-189")
def test_ordinary_requests_fit() -> None:
    """RFC 1435: if they did not, the byte budget would have to be revised. The default
    cap of 8 items fits with every identity the server makes and with the longest ASCII
    ones; 26 items fit without rerank and code."""
    assert size(counts=EIGHT) < 4096
    assert size(counts=EIGHT, configs=2, code=4) < limits.RECEIPT_BYTES
    assert size(counts=EIGHTEEN, configs=1) < limits.RECEIPT_BYTES
    assert size(counts=ALL_26) < limits.RECEIPT_BYTES
    assert size(counts=ALL_26, configs=1) > limits.RECEIPT_BYTES
    assert size(counts=ALL_26, code=4) > limits.RECEIPT_BYTES


@pytest.mark.clause("R-189")
def test_a_size_grows_by_its_identities() -> None:
    """Compact JSON, raw UTF-8: a character of an id costs its bytes, once an item."""
    eight = size(counts=EIGHT)
    wider = receipt_sizes.SCOPE_ID + "x" * 10
    assert size(counts=EIGHT, scope_id=wider) - eight == 8 * 10
    wider = receipt_sizes.SCOPE_ID + "界" * 10
    assert size(counts=EIGHT, scope_id=wider) - eight == 8 * 10 * 3
    found = receipt_sizes.per_item()
    assert found["atomic-memory"] - found["topic-memory"] == 2  # twice one letter
    assert found["code"] > 2 * 190


def documented() -> str:
    text = (Path(__file__).parents[2] / "docs" / "receipts.md").read_text("utf-8")
    return text.partition("### Measured sizes")[2].partition("\n## ")[0]


@pytest.mark.clause("R-189")
def test_the_documented_sizes_are_the_measured_ones() -> None:
    """Rows may have a remark in brackets; every row is one of the table's."""
    rows = re.findall(r"^\| (\d+ item.*?) \| (\d+.*?) \|$", documented(), re.MULTILINE)
    shown = {re.sub(r" \(.*\)", "", name): size for name, size in rows}
    measured = dict(re.findall(r"\| (\d+ item.*?) \| (.+?) \|", receipt_sizes.table()))
    assert {name: measured.get(name) for name in shown} == shown
    assert {"1 item", "8 items", "18 items", "26 items"} <= shown.keys()
    assert any("Chinese" in name for name in shown)
    assert any("longest" in name for name in shown)
    found = receipt_sizes.per_item()
    for number in (min(found.values()), found["atomic-memory"], found["code"]):
        assert re.search(rf"\b{number}\b", documented())
