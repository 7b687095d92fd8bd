"""The flag causes no read, no search and no model call of its own (R-164, R-192)."""

import re
import socket
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prepare.models import Scope
from prepare.search import lookup
from prepare.services import prepare as prepare_service
from tests.api import Api
from tests.factories import experience, make_scope, profile, remember, topic, write
from tests.receipts.making import FAMILIES, FORMS, raw, sections

ALL_FORMS = [*FORMS, pytest.param(sections(*FAMILIES), id="all-families")]


@pytest.fixture
def scope(db: None) -> None:
    """More than any limit admits, here and in a referenced Scope: much to count."""
    make_scope("reference")
    scope = make_scope("s", references=["reference"])
    for each in (scope, Scope.objects.get(scope_id="reference")):
        for number in range(18):
            remember(each, f"zebra {number}")
        for number in range(9):
            write(each, "experience", experience(f"zebra {number}"))
            write(each, "topic-memory", topic(f"zebra {number}"))
        profile(each, "Zebras.")


def statements(api: Api, query: str, **options: Any) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        raw(api, "s", query, **options)
    # The name of a savepoint counts them.
    return [
        re.sub(r'"s\d+_x\d+"', "savepoint", one["sql"])
        for one in captured.captured_queries
    ]


@pytest.mark.clause("R-164", "R-192")
@pytest.mark.parametrize("query", ["zebra", "nothing like it"])
@pytest.mark.parametrize("options", ALL_FORMS)
def test_the_statements_are_the_same(api: Api, scope, options, query) -> None:
    """Not only their number: each statement, with its parameters, in order."""
    without = statements(api, query, **options)
    with_flag = statements(api, query, include_receipt=True, **options)
    assert without == with_flag
    assert without
    assert not [one for one in without if one.startswith(("INSERT", "UPDATE", "DEL"))]


@pytest.mark.clause("R-192")
@pytest.mark.parametrize("options", ALL_FORMS)
def test_the_searches_are_the_same(api, scope, monkeypatch, options) -> None:
    """Rankings, reads of bodies and packings, counted where they are called."""
    counts: dict[str, int] = {}

    def count(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            counts[name] = counts.get(name, 0) + 1
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    count(lookup.SearchPlan, "rank")
    count(lookup, "plan_search")
    for name in ("recall", "pack", "pack_legacy", "readable_scopes"):
        count(prepare_service, name)
    raw(api, "s", "zebra", **options)
    without = dict(counts)
    counts.clear()
    raw(api, "s", "zebra", include_receipt=True, **options)
    assert counts == without
    assert counts["recall"] == 1


@pytest.mark.clause("R-192")
def test_nothing_is_called_over_the_network(api: Api, scope, monkeypatch) -> None:
    """So no model is: the database of a test needs no new connection."""

    def refuse(*args: Any) -> Any:
        raise AssertionError("a connection was opened")

    without = raw(api, "s", "zebra")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert raw(api, "s", "zebra", include_receipt=True).startswith(without[:-1])
