"""Whatever ran and whatever was packed: the receipt is valid and true, or absent."""

from typing import Any

import pytest
from hypothesis import event, given, settings

from prepare.evidence import RecallEvidence
from prepare.values import Build
from tests.properties.strategies import Fixture, legacy_fixtures, text_fixtures
from tests.receipts import strategies
from tests.receipts.making import (
    attempt,
    call,
    check_against,
    make,
    request,
    rounds,
)
from tests.services.building import build_of
from tests.services.documents import (
    dump_envelope,
    read_citation,
    read_envelope,
    read_text,
)


@pytest.mark.clause("R-036", "R-180", "R-181", "R-185")
@settings(max_examples=300)
@given(strategies.evidence(), strategies.builds(), strategies.timings())
def test_whatever_ran_the_receipt_is_valid_or_absent(ran, packed, timings) -> None:
    """`make` checks what it gets: schema, size, orders, references."""
    receipt, reason = attempt(lambda: make(packed, ran, timings=timings))
    event(reason or "made")
    if receipt is None:
        assert reason in ("missing_evidence", "count_overflow", "byte_overflow")
        return
    retrieval = receipt["retrieval"]
    counts = [group["count"] for group in retrieval["searches"]]
    assert sum(counts) == sum(one.count for one in ran.searches)
    counts = [group["count"] for group in retrieval["reranks"]]
    assert sum(counts) == sum(one.count for one in ran.reranks)
    assert sum(one["count"] for one in receipt["stages"]) == len(timings)
    kept = sum(one["count"] for one in receipt["omitted"])
    assert kept == sum(one.count for one in packed.omissions)


def explained(fixture: Fixture) -> tuple[Build, dict[str, Any] | None]:
    """What is packed of generated pools, and its receipt if there can be one."""
    packed = build_of(fixture)
    asked = request(**fixture["request"])
    calls = [call({"memory": "atomic-memory"}.get(one, one)) for one in asked.families]
    ran = RecallEvidence(rounds=rounds(1), searches=tuple(calls))
    receipt, reason = attempt(lambda: make(packed, ran, asked=asked))
    event(reason or "made")
    if receipt is None:
        is_entry = any(one.entry_id is not None for one in packed.origins)
        assert reason == ("unsupported_identity" if is_entry else "byte_overflow")
        return packed, None
    body = {
        "content": packed.content,
        "content_bytes": packed.content_bytes,
        "status": "ready" if packed.content else "empty",
    }
    check_against(receipt, body, "q", fixture["request"]["max_bytes"])
    return packed, receipt


@pytest.mark.clause("R-040", "R-043", "R-049", "R-050")
@settings(max_examples=150)
@given(text_fixtures)
def test_receipts_of_generated_pools_text(fixture: Fixture) -> None:
    packed, receipt = explained(fixture)
    if receipt is None or packed.content is None:
        return
    shown = read_text(packed.content)
    for item, one in zip(receipt["selected"], shown, strict=True):
        address = item["artifact_address"]
        cited = (address["scope_id"], *address["artifact"].values(), None, None)
        assert read_citation(one) == cited
        assert item["rendered_bytes"] == one.rendered_bytes
        assert item["truncated"] == one.truncated


@pytest.mark.clause("R-040", "R-043", "R-049", "R-050")
@settings(max_examples=150)
@given(legacy_fixtures)
def test_receipts_of_generated_pools_legacy(fixture: Fixture) -> None:
    packed, receipt = explained(fixture)
    if receipt is None or packed.content is None:
        return
    shown = read_envelope(packed.content)
    for item, one in zip(receipt["selected"], shown, strict=True):
        assert item["rendered_bytes"] == len(dump_envelope(one).encode())
        assert item["truncated"] == one["truncated"]
        assert item["kind"] == one["kind"]
