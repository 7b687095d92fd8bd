"""Sources in the admin: added once, then read-only."""

import json
from typing import Any

import pytest

from prepare.models import Source
from tests.admin.pages import Browser, Page, page_url
from tests.factories import make_scope, source


def add(admin: Browser, **values: Any) -> Page:
    return admin.open("source_add").submit(**values)


def test_text(admin: Browser) -> None:
    scope = make_scope("s")

    page = add(
        admin,
        scope=str(scope.pk),
        source_id="wiki page 7",
        content=" One.\nTwo. ",
        metadata='{"url": "https://example.org/"}',
    )

    row = Source.objects.get()
    assert (row.source_type, row.source_id, row.position) == (
        "content",
        "wiki page 7",
        1,
    )
    assert json.loads(row.content) == " One.\nTwo. "
    assert json.loads(row.metadata) == {"url": "https://example.org/"}
    assert "<pre> One.\nTwo. </pre>" in page.html


@pytest.mark.parametrize("value", [None, 7, [], {"a": [1, {"b": None}]}])
def test_json(admin: Browser, value: Any) -> None:
    scope = make_scope("s")

    page = add(admin, scope=str(scope.pk), content=json.dumps(value), is_json="on")

    row = Source.objects.get()
    assert json.loads(row.content) == value
    assert row.source_id.startswith("src_")
    assert page.status == 200


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"content": "{", "is_json": "on"}, "content"),
        ({"content": '{"a":1,"a":2}', "is_json": "on"}, "content"),
        ({"content": "NaN", "is_json": "on"}, "content"),
        ({"content": '"\\ud800"', "is_json": "on"}, "content"),
        ({"content": "9007199254740993", "is_json": "on"}, "content"),
        ({"content": "[" * 5000 + "]" * 5000, "is_json": "on"}, "content"),
        ({"content": "x" * 200001}, "content"),
        ({"content": ""}, "content"),
        ({"content": "x", "metadata": "[]"}, "metadata"),
        ({"content": "x", "metadata": "{"}, "metadata"),
        ({"content": "x", "source_id": "y" * 257}, "source_id"),
        ({"content": "x", "source_type": ""}, "source_type"),
        ({"content": "x", "scope": "abc"}, "scope"),
        ({"content": "x", "scope": "9" * 40}, "scope"),
    ],
)
def test_refused(admin: Browser, values: dict[str, str], field: str) -> None:
    scope = make_scope("s")

    page = add(admin, **{"scope": str(scope.pk)} | values)

    assert (page.status, list(page.errors)) == (200, [field])
    assert not Source.objects.exists()


def test_same_id_with_other_content_is_a_form_error(admin: Browser) -> None:
    scope = make_scope("s")
    source(scope, "one", "first")

    page = add(admin, scope=str(scope.pk), source_id="one", content="second")

    assert "source_conflict" in page.errors["__all__"][0]
    assert Source.objects.count() == 1


def test_read_only_afterwards(admin: Browser) -> None:
    row = source(make_scope("s"), "one")
    before = Source.objects.values().get()

    url = page_url("source_change", row.pk)
    assert admin.client.post(url, {"content": "other"}).status_code == 403
    assert admin.get(page_url("source_delete", row.pk)).status == 403

    assert Source.objects.values().get() == before
