"""Canary words: where content may be, and where it may not (C-67, R-190, R-224).

One word per place where content comes in. They may leave in `content` only; every other
part of an answer and every log record, at level DEBUG on every logger and with SQL
logging switched on, is searched for them.
"""

import itertools
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection
from django.test import Client

from prepare.search import lookup
from prepare.services import prepare as prepare_service
from prepare.services import recall as recall_service
from tests.api import PREPARE
from tests.factories import (
    experience,
    make_scope,
    profile,
    propose,
    remember,
    source,
    token,
    topic,
    write,
)
from tests.receipts.making import FAMILIES, FORMS, check_receipt, sections

CANARIES = {
    name: f"kanarie{name}vogel"
    for name in (
        *("query", "memory", "experience", "topic", "detail", "profile", "unselected"),
        *("unadmitted", "source", "candidate", "prompt", "title", "kind"),
        *("error", "token", "key"),
    )
}
ALL_FORMS = [*FORMS, pytest.param(sections(*FAMILIES), id="all-families")]


class Records(logging.Handler):
    """Keeps everything that reaches the root logger, as text and as attributes."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = logging.Formatter("%(name)s %(message)s").format(record)
        self.texts += [text, repr(record.__dict__)]


@pytest.fixture
def logged() -> Iterator[Records]:
    """All loggers at DEBUG, whatever their configured level, and SQL is logged."""
    records, root = Records(), logging.getLogger()
    known = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    levels = [(logger, logger.level) for logger in [root, *known]]
    for logger, _ in levels:
        logger.setLevel(logging.DEBUG)
    root.addHandler(records)
    connection.force_debug_cursor = True
    yield records
    connection.force_debug_cursor = False
    root.removeHandler(records)
    for logger, level in levels:
        logger.setLevel(level)


@pytest.fixture
def scope(db: None) -> None:
    """Every stored text of this Scope and of a referenced one holds a canary."""
    make_scope("reference", title=CANARIES["title"])
    scope = make_scope("s", references=["reference"], title=CANARIES["title"])
    word = CANARIES
    for number in range(12):
        text = f"zebra {word['memory']} {number} " + "zebra " * (20 - number)
        kind = word["kind"]
        remember(scope, text, artifact_id=f"m{number:02}", kind=kind)
    remember(scope, f"zebra {word['unselected']} " + "filler " * 200)
    remember(scope, f"unrelated {word['unadmitted']}")
    write(scope, "experience", experience(f"zebra {word['experience']}"))
    detail = f"zebra {word['detail']} detail"
    write(scope, "topic-memory", topic(f"zebra {word['topic']}", detail=detail))
    profile(scope, f"Zebras and {word['profile']}.")
    source(scope, "source", {"text": f"zebra {word['source']}"})
    propose(scope, "experience", experience(f"zebra {word['candidate']}"))
    content = {
        "schema_version": "powercontext.prompt.v1",
        "mode": "custom",
        "instructions": f"zebra {word['prompt']}",
        "demonstrations": [],
    }
    write(scope, "prompt", content, artifact_id="memory.rerank")


QUERY = f"zebra {CANARIES['query']}"


def send(client: Client, **changes: Any) -> Any:
    body = {"scope_id": "s", "query": QUERY, "include_receipt": True, **changes}
    headers = {"Authorization": f"Bearer {CANARIES['token']}"}
    return client.post(PREPARE, json.dumps(body), "application/json", headers=headers)


def check_nothing_leaked(texts: Any) -> None:
    for text, word in itertools.product(texts, CANARIES.values()):
        assert word not in text


def outside_of_content(answer: Any) -> list[str]:
    body = json.loads(answer.content)
    body.pop("content", None)
    return [json.dumps(body, ensure_ascii=False), repr(answer.headers)]


def test_the_canaries_would_be_seen(scope, logged) -> None:
    """The scan works: they do leave in `content`, and a record of one is found."""
    content = json.loads(send(Client()).content)["content"]
    seen = {name for name, word in CANARIES.items() if word in content}
    assert {"memory", "experience", "topic"} <= seen
    assert not seen & {"query", "unselected", "unadmitted", "source", "candidate"}
    logging.getLogger("some.package").debug("text %s", CANARIES["memory"])
    with pytest.raises(AssertionError):
        check_nothing_leaked(logged.texts)


@pytest.mark.clause("R-075", "R-190", "R-191", "R-224")
@pytest.mark.parametrize("max_bytes", [512, 1500, 8000, 32768])
@pytest.mark.parametrize("options", ALL_FORMS)
def test_success(scope, logged, options, max_bytes) -> None:
    for flag in (True, False):
        changes = {**options, "max_bytes": max_bytes, "include_receipt": flag}
        answer = send(Client(), **changes)
        assert answer.status_code == 200
        check_nothing_leaked(outside_of_content(answer))
        if flag:
            check_receipt(json.loads(answer.content)["receipt"])
    assert any("context.receipt.built" in text for text in logged.texts)
    check_nothing_leaked(logged.texts)


@pytest.mark.clause("R-188", "R-190", "R-224")
@pytest.mark.parametrize(
    "error",
    [
        ValueError(CANARIES["error"]),
        DatabaseError(CANARIES["error"]),
        KeyError(CANARIES["error"]),
        type(f"{CANARIES['error']}Error", (Exception,), {})(),
    ],
    ids=lambda error: type(error).__bases__[0].__name__,
)
def test_receipt_failure(scope, logged, monkeypatch, error) -> None:
    """Not the text of the exception, and not its type, which is in no closed list."""

    def fail(**arguments: Any) -> Any:
        raise error from ValueError(f"{CANARIES['error']} {arguments['build'].content}")

    monkeypatch.setattr(prepare_service, "build_receipt", fail)
    answer = send(Client())
    assert answer.status_code == 200
    assert "receipt" not in json.loads(answer.content)
    check_nothing_leaked(outside_of_content(answer))
    assert any("reason=internal_error" in text for text in logged.texts)
    check_nothing_leaked(logged.texts)


@pytest.mark.clause("R-188", "R-190")
def test_receipt_too_large(db, logged, settings) -> None:
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 26
    scope_id = "界" * 256
    scope = make_scope(scope_id)
    for number in range(12):
        name = f"{CANARIES['unselected']}{number}"
        remember(scope, f"zebra {CANARIES['memory']}", artifact_id=name)
        write(scope, "experience", experience("zebra"), artifact_id=name)
    options = {"max_bytes": 32768, **sections(("memory", 8), ("experience", 2))}
    answer = send(Client(), scope_id=scope_id, **options)
    assert "receipt" not in json.loads(answer.content)
    assert any("reason=byte_overflow" in text for text in logged.texts)
    check_nothing_leaked([*logged.texts, *outside_of_content(answer)])
    assert not any("界" in text for text in logged.texts)


@pytest.mark.clause("R-190", "R-224")
@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"max_bytes": 1}, 422),
        ({"max_bytes": CANARIES["query"]}, 422),
        ({"assembly": {"sections": [{"family": CANARIES["query"], "limit": 1}]}}, 422),
        ({"assembly": {"show": [CANARIES["query"]]}}, 422),
        ({"assembly": CANARIES["query"]}, 422),
        ({"include_receipt": CANARIES["query"]}, 422),
        ({"query": f"{CANARIES['query']}" * 2000}, 422),
        ({"query": CANARIES["query"] + "\ud800"}, 422),
        ({"scope_id": CANARIES["query"]}, 404),
    ],
    ids=str,
)
def test_refusals(scope, logged, changes, status) -> None:
    answer = send(Client(), **changes)
    assert answer.status_code == status
    check_nothing_leaked([*outside_of_content(answer), *logged.texts])


@pytest.mark.clause("R-190", "R-224")
@pytest.mark.parametrize(
    "raw",
    [
        f'{{"query": "{CANARIES["query"]}"',
        f'{{"query": "{CANARIES["query"]}", "query": "{CANARIES["query"]}"}}',
        f'"{CANARIES["query"]}"',
        f'["{CANARIES["query"]}"]',
        f'{{"query": {CANARIES["query"]}}}',
        "[" * 200 + f'"{CANARIES["query"]}"' + "]" * 200,
    ],
)
def test_broken_bodies(scope, logged, raw) -> None:
    for content_type in ("application/json", "text/plain"):
        answer = Client().post(PREPARE, raw, content_type)
        assert answer.status_code in (415, 422)
        check_nothing_leaked([answer.content.decode(), *logged.texts])
    answer = Client().post(PREPARE, raw.encode() + b"\xff", "application/json")
    assert answer.status_code == 422
    check_nothing_leaked([answer.content.decode(), *logged.texts])


@pytest.mark.clause("R-190", "R-224")
def test_denied(scope, logged, settings) -> None:
    settings.ACCESS_MODE = "enforced"
    other = make_scope("other")
    valid = token("reader", other)
    for secret, status in ((CANARIES["token"], 401), (valid, 403)):
        headers = {"Authorization": f"Bearer {secret}"}
        body = json.dumps({"scope_id": "s", "query": QUERY, "include_receipt": True})
        answer = Client().post(PREPARE, body, "application/json", headers=headers)
        assert answer.status_code == status
        texts = [*outside_of_content(answer), *logged.texts]
        check_nothing_leaked(texts)
        assert not any(valid in text for text in texts)


FAILURES = [
    (OperationalError, 503),
    (DatabaseError, 500),
    (ValueError, 500),
    (RecursionError, 500),
    (UnicodeError, 500),
]


@pytest.mark.clause("R-190", "R-224")
@pytest.mark.parametrize(("kind", "status"), FAILURES, ids=str)
@pytest.mark.parametrize("place", ["rank", "bodies", "pack"])
def test_failing_reads(scope, logged, monkeypatch, kind, status, place) -> None:
    """A reader or the database quotes what it choked on, and its cause does too."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        cause = ValueError(f"{CANARIES['error']} {args} {kwargs}")
        raise kind(f"near {CANARIES['error']}: {CANARIES['memory']}") from cause

    owner: Any = {
        "rank": lookup,
        "bodies": recall_service,
        "pack": prepare_service,
    }[place]
    names = {"rank": "_rank", "bodies": "load_bodies", "pack": "pack_legacy"}
    monkeypatch.setattr(owner, names[place], fail)
    answer = send(Client())
    assert answer.status_code == status
    assert json.loads(answer.content)["error"]["details"] is None
    check_nothing_leaked([*outside_of_content(answer), *logged.texts])


@pytest.mark.clause("R-224")
@pytest.mark.parametrize("status", [404, 500])
def test_paths_and_exceptions_outside_of_views(scope, logged, monkeypatch, status):
    """Django's own log of a request: a path holds ids, an exception its text."""
    path = f"/v1/scopes/{CANARIES['key']}/artifacts/atomic-memory/{CANARIES['key']}"
    client = Client(raise_request_exception=False)
    if status == 500:

        def fail(*args: Any, **kwargs: Any) -> Any:
            raise ValueError(CANARIES["error"])

        monkeypatch.setattr("prepare.middleware.secrets.token_hex", fail)
    answer = client.get(path)
    assert answer.status_code == status
    found = [text for text in logged.texts if "request_refused" in text]
    assert any(f"status={status}" in text for text in found)
    check_nothing_leaked([*outside_of_content(answer), *logged.texts])
    if status == 404:
        assert any("route=v1/scopes/<segment:scope_id>/" in text for text in found)
    else:
        assert any("error_type=ValueError" in text for text in found)


def test_templates_and_sql_do_not_reach_the_root_logger(logged) -> None:
    """Whatever their level: their records end before any handler of root."""
    for name in ("django.db.backends", "django.db.backends.schema", "django.template"):
        logging.getLogger(name).critical("text %s", CANARIES["memory"])
    check_nothing_leaked(logged.texts)
