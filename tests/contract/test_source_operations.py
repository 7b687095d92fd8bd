"""Sources: captured once, listed, read exactly (wire section 6)."""

import hashlib
from typing import Any

import pytest
import rfc8785

from prepare.models import Scope
from tests.api import Api
from tests.contract.steps import (
    SOURCE,
    failed,
    follow,
    locs,
    pages,
)
from tests.factories import (
    make_scope,
    source,
)

pytestmark = pytest.mark.usefixtures("scope")


@pytest.mark.parametrize(
    "content",
    ["text", {"a": [1, None, {"b": "契"}]}, [], 5, 1.5, True, None, "a\0b", ""],
)
def test_create_source(api: Api, content: Any) -> None:
    path = "/v1/scopes/contract/sources"
    answer = api.post(path, {"source_type": "content", "content": content})
    assert answer.status == 201
    assert list(answer.body) == SOURCE
    assert (answer.body["content"], answer.body["position"]) == (content, 1)
    canonical = rfc8785.dumps(content)
    digest = f"sha256:{hashlib.sha256(canonical).hexdigest()}"
    assert answer.body["content_digest"] == digest
    exact = f"{path}/content/{answer.body['source_id']}"
    assert api.get(exact).body == answer.body
    assert api.get(path).body == {"items": [answer.body], "next_cursor": None}


def test_source_errors(api: Api) -> None:
    path = "/v1/scopes/contract/sources"
    for request, loc in [
        ({"content": "x" * 200_001}, ["content"]),
        ({"content": 2**60}, ["content"]),
        ({}, ["content"]),
        ({"content": "x", "source_type": "other"}, ["source_type"]),
    ]:
        details = failed(api.post(path, request), 422, "invalid_request")
        assert locs(details) == [["body", *loc]]
    failed(api.get(f"{path}/content/nope"), 404, "source_not_found")
    failed(api.get(f"{path}/other/nope"), 404, "source_not_found")
    unknown = api.post("/v1/scopes/nope/sources", {"content": "x"})
    failed(unknown, 404, "scope_not_found")
    failed(api.get("/v1/scopes/nope/sources"), 404, "scope_not_found")


def test_capture_content_source(api: Api) -> None:
    request = {
        "scope_id": "contract",
        "source_id": "会话 1",
        "content": "said",
        "metadata": {"turn": 1},
    }
    for _ in range(2):
        answer = api.post("/v1/sources/content", request)
        assert answer.status == 202
        assert answer.body == {
            "status": "accepted",
            "source": {"name": "content", "source_id": "会话 1"},
            "position": 1,
        }
    other = api.post("/v1/sources/content", request | {"content": "denied"})
    failed(other, 409, "source_conflict")
    invalid: list[dict[str, Any]] = [{"source_id": " x"}, {"metadata": []}]
    for fields in [*invalid, {"content": ""}]:
        refused = api.post("/v1/sources/content", request | fields)
        failed(refused, 422, "invalid_request")


def test_list_sources_page_by_page(api: Api, scope: Scope) -> None:
    for number in range(5):
        source(scope, f"s{number}")
    source(make_scope("other"), "theirs")
    items = pages(follow(api, "/v1/scopes/contract/sources"), "items")
    assert [item["source_id"] for item in items] == [f"s{n}" for n in range(5)]
    assert [item["position"] for item in items] == [1, 2, 3, 4, 5]
