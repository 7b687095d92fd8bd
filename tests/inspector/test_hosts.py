"""A foreign Host is refused before any view, with and without a session (C-59).

A page that rebinds its own name to 127.0.0.1 is same-origin to the browser, which then
sends the session's cookie along.
"""

import json

import pytest
from django.test import Client

from tests.api import PREPARE
from tests.factories import make_scope
from tests.queries import captured_tables

FOREIGN = [
    *("evil.invalid", "evil.invalid:8000", "localhost.evil.invalid", "evil.localhost"),
    *("127.0.0.1.evil.invalid", "127.0.0.2", "0.0.0.0", "[::2]", "[::ffff:7f00:1]"),
    *("2130706433", "localhost@evil.invalid", "evil.invalid#localhost", "*", "::1"),
    *("localhost:evil", "localhost,evil.invalid", " ", "testserver.evil.invalid"),
]
OWN = [
    *("127.0.0.1", "127.0.0.1:1", "localhost", "LOCALHOST", "LocalHost:65535"),
    *("[::1]", "[::1]:8000", "localhost."),
]
PAGES = ["/inspector/", "/inspector/try", "/admin/", "/docs", "/v1/capabilities"]


@pytest.fixture(params=["signed-in", "stranger"])
def browser(request: pytest.FixtureRequest, person, stranger) -> Client:
    client: Client = stranger.client
    if request.param == "signed-in":
        client = person(make_scope("s")).client
        assert client.get("/inspector/").status_code == 200
    return client


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_host_is_refused(browser: Client, host: str) -> None:
    with captured_tables() as tables:
        answers = [browser.get(url, headers={"Host": host}) for url in PAGES]
        answers.append(
            browser.post(
                PREPARE,
                {"scope_id": "s", "query": "x"},
                content_type="application/json",
                headers={"Host": host},
            )
        )
    for answer in answers:
        assert answer.status_code == 400
        assert json.loads(answer.content)["error"]["code"] == "invalid_host"
        assert not answer.cookies
    assert tables == []  # no session was looked up


@pytest.mark.parametrize("host", OWN)
def test_own_hosts_are_answered_in_any_spelling(browser: Client, host: str) -> None:
    for url in PAGES:
        answer = browser.get(url, headers={"Host": host})
        assert answer.status_code in (200, 302, 401)


def test_a_forwarded_host_is_not_read(browser: Client) -> None:
    headers = {"Host": "evil.invalid", "X-Forwarded-Host": "localhost"}
    assert browser.get("/inspector/", headers=headers).status_code == 400
    headers = {"Host": "localhost", "X-Forwarded-Host": "evil.invalid"}
    answer = browser.get("/inspector/", headers=headers)
    assert answer.status_code in (200, 302)
    assert b"evil.invalid" not in answer.content
