"""Hostile words in every field of what is pasted: inert text on every page (C-56)."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from prepare.models import Scope
from tests.factories import make_scope, remember
from tests.inspector.conftest import MakeVisitor
from tests.inspector.pages import Page
from tests.inspector.receipts import CONTENT, historical_item, prompt
from tests.services.building import pack_memories
from tests.services.test_checking import receipt_of

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "</textarea></script><script>alert(1)</script>",
    "{{ 7|add:7 }}{% include 'x' %}",
    "javascript:alert(1)//",
    "a\u202eb\u200bc\u2028d\x1b[2J",
]
RAW = ["<img src=x", "<svg onload", "<script>alert", "\u202e", "\x1b"]


def is_inert(page: Page, *, echoed: bool = False) -> None:
    """No markup and no invisible control of ours; a form gives back what was typed."""
    for words in RAW if not echoed else RAW[:3]:
        assert words not in page.html
    assert 'href="javascript' not in page.html


def fields_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all strings in a JSON value."""
    if isinstance(value, str):
        return [path]
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = list(enumerate(value))[:1] + list(enumerate(value))[-1:]
    return [found for key, one in pairs for found in fields_of(one, (*path, key))]


def changed(receipt: Any, path: tuple[Any, ...], text: str) -> Any:
    copy = json.loads(json.dumps(receipt))
    target = copy
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = text
    return copy


@pytest.mark.parametrize("text", HOSTILE)
def test_every_field_of_a_receipt(person: MakeVisitor, text: str) -> None:
    """Free fields are shown, closed ones refused; neither becomes markup."""
    visitor = person()
    receipt = receipt_of(CONTENT)
    receipt["retrieval"]["rerank_configs"][0]["prompt"] = prompt()
    paths = fields_of(receipt)
    assert len(paths) > 40
    token = visitor.open("receipt").fields["csrfmiddlewaretoken"]
    statuses = []
    for path in paths:
        raw = json.dumps(changed(receipt, path, text)).encode()
        upload = SimpleUploadedFile("r", raw)
        page = visitor.post(
            "/inspector/receipt",
            {"csrfmiddlewaretoken": token, "receipt_file": upload},
        )
        statuses.append(page.status)
        is_inert(page)
    assert set(statuses) == {200, 422}


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_receipt_may_hold_is_shown_with_escapes(
    person: MakeVisitor, text: str
) -> None:
    """Everything free at once, and kept in the form."""
    receipt = receipt_of(CONTENT)
    item = historical_item("atomic-memory", "s", "<svg/onload=alert(1)>")
    item["artifact_address"]["scope_id"] = text
    receipt["selected"] = [item, receipt["selected"][2]]
    receipt["selected"][1]["code_evidence"] |= {"path": text, "scope_id": text}
    config = receipt["retrieval"]["rerank_configs"][0]
    config |= {"policy_id": text, "model": text}
    names = ("key", "definition_version", "builtin_version", "selected_version")
    config["prompt"] |= dict.fromkeys((*names, "scope_id"), text)
    config["prompt"]["artifact_address"] = item["artifact_address"]
    values = {"receipt": json.dumps(receipt), "content": f"content {text}"}
    page = person().submit("receipt", values)
    assert page.status == 200
    is_inert(page, echoed=True)
    if text.startswith("a\u202e"):
        assert "a\\u202eb\\u200bc" in page.text
    else:
        assert page.text.count(text) >= 10


@pytest.mark.parametrize("text", HOSTILE)
def test_refused_input_is_kept_as_text(person: MakeVisitor, text: str) -> None:
    visitor = person()
    for name, field in (("receipt", "receipt"), ("block", "text")):
        page = visitor.submit(name, {field: text})
        assert page.status == 422
        is_inert(page, echoed=True)
        page = visitor.submit(name, {field: json.dumps({text: text})})
        assert page.status == 422
        is_inert(page, echoed=True)
    page = visitor.submit("block", {"text": "x", "scope": f" {text}\x00 "})
    assert page.status == 422
    is_inert(page, echoed=True)


@pytest.mark.parametrize("text", HOSTILE)
def test_names_of_files(person: MakeVisitor, text: str) -> None:
    visitor = person()
    for name, field in (("receipt", "receipt_file"), ("block", "text_file")):
        upload = SimpleUploadedFile(f"{text}.json", b"{")
        page = visitor.submit(name, {field: upload})
        assert page.status == 422
        is_inert(page)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_block_with_hostile_names_and_bodies(person: MakeVisitor, text: str) -> None:
    scope = make_scope("project:demo")
    remember(scope, text, artifact_id="m1")
    content = pack_memories(text).content
    assert content is not None
    visitor = person(scope)
    upload = SimpleUploadedFile("log", content.encode())
    page = visitor.submit("block", {"text_file": upload})
    assert "Everything was read and is fine." in page.text
    is_inert(page)
    scoped = content.replace('"project:demo"', json.dumps(text))
    named = scoped.replace('id="m1"', 'id="<svg/onload=alert(1)>"')
    for form in (scoped, named, content.replace("## Memory", f"## {text}")):
        upload = SimpleUploadedFile("log", form.encode())
        page = visitor.submit("block", {"text_file": upload})
        assert "Not everything is fine." in page.text
        is_inert(page)


# C-48 and C-49: no way around the rights.


@pytest.mark.clause("R-212", "R-213")
@pytest.mark.parametrize("name", ["%", "secret", "secre_", "Secret", "secret%", "_"])
def test_no_name_reaches_an_unreadable_scope(person: MakeVisitor, name: str) -> None:
    secret, own = make_scope("secret"), make_scope("own")
    row = remember(secret, "zebra canary-text", artifact_id="canary-id")
    remember(own, "zebra", artifact_id="m1")
    visitor = person(own)
    items = [
        historical_item("atomic-memory", name, artifact_id)
        for artifact_id in ("%", "canary-i_")
    ] + [historical_item("atomic-memory", "own", "m1")]
    receipt = json.dumps(receipt_of(selected=items))
    upload = SimpleUploadedFile("r", receipt.encode())
    page = visitor.submit("receipt", {"receipt_file": upload})
    assert page.text.count("denied 403") == 2
    assert "1 current" in page.text
    assert "canary" not in page.html.replace("canary-i_", "")
    assert row.content_digest not in page.html


def test_a_block_of_an_unreadable_scope_tells_nothing(
    person: MakeVisitor, db: None
) -> None:
    secret: Scope = make_scope("project:demo")
    remember(secret, "zebra", artifact_id="m1")
    content = pack_memories("zebra").content
    assert content is not None
    visitor = person(make_scope("own"))

    def shown(text: str) -> str:
        upload = SimpleUploadedFile("log", text.encode())
        return visitor.submit("block", {"text_file": upload}).text

    # The same answer whether the body is right, wrong, or the artifact is missing.
    first = shown(content)
    assert "denied" in first
    assert first == shown(content.replace("zebra", "okapi"))
    assert first.replace("m1", "m2") == shown(content.replace('"m1"', '"m2"'))
