"""When there is a receipt, and that nothing else changes by it (R-001..R-021)."""

import json
import uuid
from typing import Any

import pytest
from django.conf import settings as django_settings

from prepare.models import Scope
from prepare.values import PrepareRequest
from tests.api import PREPARE, Api, openapi
from tests.contract.forms import REFUSALS, Refusal
from tests.factories import experience, make_scope, profile, remember, topic, write
from tests.receipts.making import (
    FAMILIES,
    FORMS,
    FOUR_KEYS,
    KEYS,
    POLICY,
    ask,
    compact,
    omitted,
    raw,
    searches,
    sections,
)

QUERIES = ["zebra", "nothing like it"]


@pytest.fixture
def scope(db: None) -> Scope:
    """Something to find in every family, here and in a referenced Scope."""
    make_scope("reference")
    scope = make_scope("project:demo", references=["reference"])
    for each in (Scope.objects.get(scope_id="reference"), scope):
        for number in range(10):
            remember(each, f"zebra {number} " + "x" * 300)
        write(each, "experience", experience("zebra"))
        write(each, "topic-memory", topic("zebra"))
        profile(each, "Likes the zebra.")
    return scope


@pytest.mark.clause("R-001", "R-002", "R-003", "R-004")
@pytest.mark.parametrize("options", FORMS)
@pytest.mark.parametrize("query", QUERIES)
def test_without_the_flag_there_are_four_keys(api, scope, query, options) -> None:
    """Absent, false and null are one request; the answers are equal to the byte."""
    absent = raw(api, "project:demo", query, **options)
    assert list(json.loads(absent)) == FOUR_KEYS
    for value in (False, None):
        assert (
            raw(api, "project:demo", query, include_receipt=value, **options) == absent
        )


@pytest.mark.clause("R-005", "R-007", "R-008", "R-012", "R-017", "R-036")
@pytest.mark.parametrize(
    "options", [*FORMS, {"include_code": True}, sections(*FAMILIES)]
)
@pytest.mark.parametrize("query", QUERIES)
def test_with_the_flag_a_fifth_key_follows_the_same_bytes(
    api, scope, query, options
) -> None:
    without = raw(api, "project:demo", query, **options)
    answer = raw(api, "project:demo", query, include_receipt=True, **options)
    body, receipt = ask(api, "project:demo", query, **options)

    assert answer.startswith(without[:-1] + b',"receipt":{"schema":')
    assert body["schema"] == "powercontext.prepared-context.v1"
    assert list(receipt) == KEYS
    # nothing of the receipt is in what a host injects.
    for word in (POLICY, receipt["receipt_id"], receipt["query_digest"], "omitted"):
        assert word not in (body["content"] or "")


@pytest.mark.clause("R-005", "R-180")
def test_the_receipt_in_the_answer_is_the_one_that_was_measured(api, scope) -> None:
    """The cap counts the bytes between the key and the closing brace."""
    answer = raw(api, "project:demo", "zebra", include_receipt=True)
    receipt = answer.partition(b',"receipt":')[2].removesuffix(b"}")
    assert receipt == compact(json.loads(answer)["receipt"])
    assert len(receipt) <= 8192


@pytest.mark.clause("R-006")
@pytest.mark.parametrize("value", [0, 1, 1.0, "true", "false", "", [], [True], {}])
def test_other_values_are_refused(api, scope, value) -> None:
    answer = api.prepare("project:demo", "zebra", include_receipt=value)
    assert (answer.status, answer.code) == (422, "invalid_request")
    [error] = answer.body["error"]["details"]["errors"]
    assert error["loc"] == ["body", "include_receipt"]


@pytest.mark.clause("R-009")
def test_nothing_but_the_request_asks_for_a_receipt() -> None:
    assert PrepareRequest(scope_id="s", query="q").include_receipt is False
    assert not [name for name in dir(django_settings) if "RECEIPT" in name]


@pytest.mark.clause("R-013")
def test_openapi_describes_both_fields() -> None:
    schemas = openapi()["components"]["schemas"]
    sent = schemas["PrepareContextRequest"]
    assert sent["properties"]["include_receipt"]["type"] == ["boolean", "null"]
    assert sent["properties"]["include_receipt"]["default"] is False
    assert "include_receipt" not in sent["required"]
    answered = schemas["PreparedContext"]
    assert sorted(answered["required"]) == sorted(FOUR_KEYS)
    assert list(answered["properties"]) == [*FOUR_KEYS, "receipt"]
    for name in ("PrepareContextRequest", "PreparedContext", "PreparedContextReceipt"):
        assert schemas[name]["additionalProperties"] is False
    operation = openapi()["paths"][PREPARE]["post"]
    assert operation["operationId"] == "prepare_context"


_BOUNDS = [
    pytest.param(refusal, id=f"{index}-{'.'.join(map(str, refusal.loc))}")
    for index, refusal in enumerate(REFUSALS)
    if refusal.loc[0] in ("query", "scope_id", "max_bytes")
]


@pytest.mark.clause("R-014")
@pytest.mark.parametrize("refusal", _BOUNDS)
def test_bounds_are_the_same_with_the_flag(api: Api, refusal: Refusal) -> None:
    without = api.post(PREPARE, refusal.body)
    with_flag = api.post(PREPARE, {**refusal.body, "include_receipt": True})
    assert without.status == with_flag.status == 422
    assert without.body == with_flag.body


@pytest.mark.clause("R-014", "R-029", "R-061")
@pytest.mark.parametrize("max_bytes", [512, 8000, 32768])
def test_the_largest_and_smallest_requests_have_receipts(api, scope, max_bytes) -> None:
    ask(api, "project:demo", "z" * 8192, max_bytes=max_bytes)
    receipt = ask(api, "project:demo", "z", max_bytes=max_bytes).receipt
    assert receipt["requested_max_bytes"] == max_bytes


@pytest.mark.clause("R-029", "R-030")
@pytest.mark.parametrize("options", FORMS)
def test_budget_and_use(api, scope, options) -> None:
    """`ask` recomputes both; the effective budget is 8000 if none is sent."""
    body, receipt = ask(api, "project:demo", "zebra", **options)
    assert receipt["requested_max_bytes"] == options.get("max_bytes", 8000)
    assert receipt["used_bytes"] == body["content_bytes"]
    empty = ask(api, "project:demo", "nothing like it", **options).receipt
    assert empty["used_bytes"] == 0
    assert empty["content_digest"] is None


@pytest.mark.clause("R-020", "R-021")
def test_ids_are_fresh_and_fixed_words_are_fixed(api, scope) -> None:
    receipts = [ask(api, "project:demo", "zebra").receipt for _ in range(20)]
    assert len({receipt["receipt_id"] for receipt in receipts}) == len(receipts)
    for receipt in receipts:
        assert uuid.UUID(receipt["receipt_id"]).version == 4
        assert str(uuid.UUID(receipt["receipt_id"])) == receipt["receipt_id"]
        assert receipt["schema"] == receipt["policy_id"] == POLICY


def _stable(receipt: dict[str, Any]) -> dict[str, Any]:
    """Without what differs between two equal requests."""
    timings = [(one["stage"], one["count"]) for one in receipt["stages"]]
    return {**receipt, "receipt_id": None, "stages": timings}


@pytest.mark.clause("R-108")
@pytest.mark.parametrize("options", FORMS)
def test_equal_requests_have_equal_receipts(api, scope, options) -> None:
    first, second = (ask(api, "project:demo", "zebra", **options) for _ in range(2))
    assert _stable(first.receipt) == _stable(second.receipt)


@pytest.mark.clause("R-010", "R-036", "R-071")
def test_empty_results_are_explained(api, scope) -> None:
    body, receipt = ask(api, "project:demo", "nothing like it")
    assert body["status"] == "empty"
    assert receipt["requested_max_bytes"] == 8000
    assert searches(receipt) == {
        ("atomic-memory", "fts", "completed"): 2,
        ("experience", "fts", "completed"): 2,
        ("topic-memory", "fts", "completed"): 1,
    }
    assert omitted(receipt) == {
        ("atomic-memory", "not_retrieved"): 1,
        ("experience", "not_retrieved"): 1,
        ("topic-memory", "not_retrieved"): 1,
    }


@pytest.mark.clause("R-036")
def test_no_sections_explain_that_nothing_ran(api, scope) -> None:
    """J-9; with code asked for, round 0 and code alone (H-17)."""
    options: dict[str, Any] = {"assembly": {"sections": []}}
    receipt = ask(api, "project:demo", "zebra", **options).receipt
    nothing: dict[str, Any] = {
        "rounds": [],
        "searches": [],
        "rerank_configs": [],
        "reranks": [],
    }
    assert receipt["retrieval"] == nothing
    assert receipt["selected"] == receipt["omitted"] == receipt["stages"] == []
    receipt = ask(api, "project:demo", "zebra", include_code=True, **options).receipt
    assert [one["round"] for one in receipt["retrieval"]["rounds"]] == [0]
    assert searches(receipt) == {("code", "none", "not_run"): 1}
    assert omitted(receipt) == {("code", "not_retrieved"): 1}
    assert receipt["stages"] == []
