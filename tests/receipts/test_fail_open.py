"""A receipt that cannot be made changes nothing (R-186..R-188, R-022)."""

import json
import logging
import re
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import DatabaseError

from prepare.services import prepare as prepare_service
from prepare.services import receipts
from prepare.services.receipts import OMISSION_REASONS, ReceiptOmitted
from prepare.stopwatch import Stopwatch
from tests.api import PREPARE, Api
from tests.factories import experience, make_scope, remember, topic, write
from tests.receipts.making import FORMS, FOUR_KEYS, ask, raw

EXCEPTIONS = [
    Exception,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    AssertionError,
    ZeroDivisionError,
    OverflowError,
    RecursionError,
    MemoryError,
    StopIteration,
    LookupError,
    UnicodeError,
    NotImplementedError,
    OSError,
    TimeoutError,
    DatabaseError,
    ExceptionGroup,
]
# Everything that `build_receipt` and `explain` go through.
PLACES = [
    *("digest_query", "digest_content", "_check_identities", "_check_evidence"),
    *("_is_non_deterministic", "_rounds", "_searches", "_rerank_configs", "_reranks"),
    *("_selected", "_omitted", "_stages", "_check_counts", "dump_compact"),
]


@pytest.fixture
def scope(db: None) -> None:
    scope = make_scope("project:demo")
    for number in range(3):
        remember(scope, f"zebra {number}")
        write(scope, "experience", experience(f"zebra {number}"))
        write(scope, "topic-memory", topic(f"zebra {number}"))


def raising(error: BaseException) -> Any:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise error

    return fail


def make_error(kind: type[BaseException]) -> BaseException:
    if issubclass(kind, BaseExceptionGroup):
        return kind("group", [ValueError("inner")])
    return kind("text of the exception")


def check_unchanged(
    api: Api,
    caplog,
    options: Any,
    reason: str,
    queries: Sequence[str] = ("zebra", "nothing like it"),
) -> str:
    """Bytes and status of the flag-less request, one record; returns its receipt id."""
    receipt_id = ""
    for query in queries:
        without = raw(api, "project:demo", query, **options)
        caplog.clear()
        body = {"scope_id": "project:demo", "query": query, "include_receipt": True}
        answer = api.client.post(
            PREPARE, json.dumps(body | options), "application/json"
        )
        assert answer.status_code == 200
        assert answer.content == without
        assert list(json.loads(answer.content)) == FOUR_KEYS
        [record] = caplog.records
        found = re.fullmatch(
            r"context\.receipt\.omitted outcome=failure unit=context"
            r" reason=(\w+) receipt_id=(\S+)",
            record.getMessage(),
        )
        assert found is not None
        assert found[1] == reason
        assert record.levelno == logging.WARNING
        assert record.exc_info is None
        assert record.request_id == answer["X-PowerContext-Request-ID"]
        receipt_id = found[2]
    return receipt_id


@pytest.mark.clause("R-022", "R-186", "R-187", "R-188", "R-220")
@pytest.mark.parametrize("kind", EXCEPTIONS, ids=lambda kind: kind.__name__)
def test_no_exception_reaches_the_caller(api, scope, monkeypatch, caplog, kind) -> None:
    monkeypatch.setattr(prepare_service, "build_receipt", raising(make_error(kind)))
    receipt_id = check_unchanged(api, caplog, {}, "internal_error")
    assert str(uuid.UUID(receipt_id)) == receipt_id
    assert "text of the exception" not in caplog.text


@pytest.mark.clause("R-186", "R-187", "R-188")
@pytest.mark.parametrize("place", PLACES)
def test_no_place_of_the_builder_can_fail_the_request(
    api, scope, monkeypatch, caplog, place
) -> None:
    monkeypatch.setattr(receipts, place, raising(ValueError("text")))
    check_unchanged(api, caplog, {}, "internal_error", ["zebra"])


@pytest.mark.clause("R-186", "R-187")
def test_a_failing_clock_value_or_id_cannot_fail_the_request(
    api, scope, monkeypatch, caplog
) -> None:
    monkeypatch.setattr(Stopwatch, "timings", property(raising(ValueError("text"))))
    check_unchanged(api, caplog, {}, "internal_error")
    monkeypatch.undo()
    defaults = prepare_service.prepare_context.__kwdefaults__
    monkeypatch.setitem(defaults, "new_id", raising(OSError("no randomness")))
    assert check_unchanged(api, caplog, {}, "internal_error") == "-"


@pytest.mark.clause("R-022", "R-186", "R-188")
@pytest.mark.parametrize("reason", OMISSION_REASONS)
@pytest.mark.parametrize("options", FORMS)
def test_each_reason_is_logged_as_it_is(
    api, scope, monkeypatch, caplog, options, reason
) -> None:
    error = ReceiptOmitted(reason)
    monkeypatch.setattr(prepare_service, "build_receipt", raising(error))
    check_unchanged(api, caplog, options, reason)


@pytest.mark.clause("R-188")
def test_the_reasons_are_closed() -> None:
    assert OMISSION_REASONS == (
        "count_overflow",
        "byte_overflow",
        "identity_mismatch",
        "missing_evidence",
        "unsupported_identity",
        "internal_error",
    )


@pytest.mark.clause("R-187")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_a_stopping_process_is_not_held_up(api, scope, monkeypatch, kind) -> None:
    """gunicorn ends a worker by an exception; swallowing it would keep it alive."""
    monkeypatch.setattr(prepare_service, "build_receipt", raising(kind()))
    with pytest.raises(kind):
        raw(api, "project:demo", "zebra", include_receipt=True)


@pytest.mark.clause("R-021", "R-022")
def test_success_is_logged_with_both_ids(api, scope, caplog) -> None:
    """The only link between a receipt and the request id of its answer."""
    answer = api.prepare("project:demo", "zebra", include_receipt=True)
    receipt_id = answer.body["receipt"]["receipt_id"]
    [record] = caplog.records
    assert record.getMessage() == f"context.receipt.built receipt_id={receipt_id}"
    assert record.request_id == answer.headers["X-PowerContext-Request-ID"]
    assert record.request_id not in json.dumps(answer.body)


@pytest.mark.clause("R-022")
def test_the_log_line_shows_both_ids() -> None:
    """In the form that the server prints."""
    [handler] = [one for one in logging.getLogger().handlers if one.name == "console"]
    receipt_id = str(uuid.uuid4())
    record = logging.getLogger("prepare").makeRecord(
        "prepare", logging.INFO, "", 0, "x receipt_id=%s", (receipt_id,), None
    )
    assert handler.filter(record)
    line = handler.format(record)
    assert f"receipt_id={receipt_id}" in line
    assert re.search(r"request_id=[0-9a-f-]+ ", line)


def test_without_the_flag_nothing_is_logged(api, scope, caplog) -> None:
    """H-28: nothing observable, and no receipt code runs at all."""
    for value in (False, None):
        raw(api, "project:demo", "zebra", include_receipt=value)
    assert caplog.records == []


def test_without_the_flag_no_receipt_code_runs(api, scope, monkeypatch) -> None:
    without = raw(api, "project:demo", "zebra")
    for name in ("explain", "build_receipt"):
        monkeypatch.setattr(prepare_service, name, raising(AssertionError()))
    assert raw(api, "project:demo", "zebra", include_receipt=False) == without


@pytest.mark.clause("R-186")
def test_the_next_request_has_a_receipt_again(api, scope, monkeypatch) -> None:
    monkeypatch.setattr(prepare_service, "build_receipt", raising(ValueError()))
    assert "receipt" not in json.loads(
        raw(api, "project:demo", "zebra", include_receipt=True)
    )
    monkeypatch.undo()
    assert ask(api, "project:demo", "zebra")
