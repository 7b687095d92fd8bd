"""Bad input is refused in the standard envelope, and nothing is a 500 (J-5, J-16)."""

import base64
import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pytest_django import Settings

from prepare.models import Scope
from tests.api import PREPARE, Api, openapi
from tests.contract.operations import (
    METHODS,
    OPERATIONS,
    PATHS,
    WITH_BODY,
    Operation,
    fill,
)
from tests.factories import make_scope, remember

MODES: list[dict[str, Any]] = [{}, {"assembly": {}}]
every_body = pytest.mark.parametrize("operation", WITH_BODY, ids=str)
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)


@pytest.fixture(autouse=True)
def scope(db: None) -> Scope:
    return fill()


# Bodies that are no JSON object of one meaning.

BAD_BODIES = {
    "empty": b"",
    "blank": b" \n",
    "byte order mark": b"\xef\xbb\xbf{}",
    "cut off": b'{"query":',
    "two values": b"{}{}",
    "comment": b"{/**/}",
    "single quotes": b"{'query':'x'}",
    "trailing comma": b'{"query":"x",}',
    "raw control character": b'{"query":"a\x01b"}',
    "bad escape": b'{"query":"\\x41"}',
    "invalid utf-8": b'{"query":"\xff"}',
    "overlong utf-8": b'{"query":"\xc0\xaf"}',
    "encoded surrogate": b'{"query":"\xed\xa0\x80"}',
    "utf-16": '{"query":"x"}'.encode("utf-16"),
    "lone surrogate": b'{"query":"\\ud800"}',
    "reversed surrogates": b'{"query":"\\udc00\\ud800"}',
    "lone surrogate as key": b'{"\\udfff":1}',
    "NaN": b'{"max_bytes":NaN}',
    "Infinity": b'{"max_bytes":Infinity}',
    "-Infinity": b'{"x":[-Infinity]}',
    "1e400": b'{"max_bytes":1e400}',
    "-1e400": b'{"max_bytes":-1e400}',
    "401 digits": b'{"max_bytes":1' + b"0" * 400 + b"}",
    "5000 digits": b'{"max_bytes":' + b"9" * 5000 + b"}",
    "-5000 digits": b'{"max_bytes":-' + b"9" * 5000 + b"}",
    "5000 digits and a point": b'{"max_bytes":' + b"9" * 5000 + b".5}",
    "100000 arrays": b"[" * 100_000 + b"]" * 100_000,
    "100000 objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "100000 open arrays": b"[" * 100_000,
    "66 arrays": b'{"query":' + b"[" * 65 + b"]" * 65 + b"}",
    "key twice": b'{"scope_id":"a","query":"x","scope_id":"b"}',
    "key twice, once escaped": b'{"query":"x","\\u0071uery":"y"}',
    "key twice inside": b'{"assembly":{"show":[],"show":[]}}',
    "key twice far inside": b'{"a":[1,[{"b":{"c":1,"c":1}}]]}',
    "array": b"[]",
    "array of objects": b'[{"scope_id":"contract"}]',
    "string": b'"x"',
    "number": b"1",
    "true": b"true",
    "null": b"null",
}


@every_body
def test_bad_body(api: Api, operation: Operation) -> None:
    for name, raw in BAD_BODIES.items():
        answer = api.send(operation.method, operation.filled(), raw=raw)
        assert (answer.status, answer.code) == (422, "invalid_request"), name
        [error, *_] = answer.body["error"]["details"]["errors"]
        assert error["loc"][0] == "body"


@pytest.mark.parametrize("depth", [10, 62])
def test_depth_that_json_may_have(api: Api, depth: int) -> None:
    """The limit is on nesting, not on brackets in strings or beside each other."""
    content: Any = ["[" * 1000, [[]] * 200]
    for _ in range(depth - 3):
        content = [content]
    answer = api.post("/v1/scopes/contract/sources", {"content": content})
    assert answer.status == 201
    assert answer.body["content"] == content


@pytest.mark.parametrize(
    "digits", ["8e3", "8000.0", "8E3", "-0", "1e-400", "0x200", "0512", "+512"]
)
def test_numbers_that_are_no_integers(api: Api, digits: str) -> None:
    raw = f'{{"scope_id":"contract","query":"x","max_bytes":{digits}}}'
    assert api.post(PREPARE, raw=raw.encode()).status == 422


@every_body
def test_unknown_key(api: Api, operation: Operation) -> None:
    key = "no such \u2028 field"
    answer = api.send(operation.method, operation.filled(), {key: 1})
    assert answer.status == 422
    locs = [error["loc"] for error in answer.body["error"]["details"]["errors"]]
    assert ["body", key] in locs


MANY = 30_000
ENDLESS: list[tuple[str, dict[str, Any]]] = [
    (PREPARE, {"assembly": {"show": ["confidence"] * MANY}}),
    (PREPARE, {"assembly": {"sections": [{}] * MANY}}),
    (PREPARE, {f"key-{number}": 1 for number in range(MANY)}),
    ("/v1/scopes", {"context_references": [""] * MANY}),
    ("/v1/scopes", {f"key-{number}": 1 for number in range(MANY)}),
    ("/v1/atomic-memory/merges", {"inputs": [{}] * MANY}),
    ("/v1/scope-bindings/resolve", {"binding_keys": [{}] * MANY}),
]


@pytest.mark.parametrize(("path", "body"), ENDLESS, ids=range(len(ENDLESS)))
def test_endless_faults_end_early(api: Api, path: str, body: dict[str, Any]) -> None:
    answer = api.post(path, body)
    assert answer.status == 422
    assert len(answer.body["error"]["details"]["errors"]) <= 100


@every_body
def test_large_body(api: Api, operation: Operation, settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 1000
    path = operation.filled()
    for size, status in ((1000, 422), (1001, 413), (100_000, 413)):
        raw = b'"' + b"x" * (size - 2) + b'"'
        answer = api.send(operation.method, path, raw=raw)
        assert answer.status == status
    assert answer.code == "request_too_large"


OTHER_CONTENT_TYPES = ["", "text/plain", "text/json", "application/jsonp", "*/*"]
OTHER_CONTENT_TYPES += ["application", "application/merge-patch+json", "json"]
OTHER_CONTENT_TYPES += ["application/x-www-form-urlencoded"]
OTHER_CONTENT_TYPES += [
    "multipart/form-data; boundary=x",
    "text/plain, application/json",
]


@every_body
def test_other_content_type(api: Api, operation: Operation) -> None:
    for content_type in OTHER_CONTENT_TYPES:
        answer = api.send(
            operation.method, operation.filled(), {}, content_type=content_type
        )
        assert (answer.status, answer.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"],
)
def test_content_type_spellings(api: Api, content_type: str) -> None:
    request = {"scope_id": "contract", "query": "x"}
    assert api.post(PREPARE, request, content_type=content_type).status == 200


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "*/*;q=0", ""])
def test_accept_is_not_negotiated(api: Api, accept: str) -> None:
    headers = {"Accept": accept}
    assert api.get("/v1/capabilities", headers=headers).status == 200
    assert api.get("/openapi.json", headers=headers).status == 200
    assert api.post(PREPARE, {}, headers=headers).status == 422


# Identities.


@every_body
def test_nul_in_scope_id(api: Api, operation: Operation) -> None:
    body = {"scope_id": "contract\0", "target": {}, "explicit_scope_id": "\0"}
    assert api.send(operation.method, operation.filled(), body).status == 422


PLACES = [
    pytest.param(operation, place, id=f"{operation}-{place}")
    for operation in OPERATIONS
    for place in operation.parameters
]
HOSTILE_SEGMENTS = [
    "%00",
    "memory-1%00",
    "%0A",
    "%FF",
    "%C0%AF",
    "%ED%A0%80",
    "%F0%9F%98%80",
    "%25",
    "%2e%2e",
    "..",
    "%5C..%5C",
    "x" * 5000,
    "1" * 5000,
    "-1",
    "0",
    "2147483648",
    "%E2%80%A8",
    "a;b",
    "'%20OR%201=1--",
    "%3Cscript%3E",
]


@pytest.mark.parametrize(("operation", "place"), PLACES)
def test_hostile_path_segment(api: Api, operation: Operation, place: str) -> None:
    for segment in HOSTILE_SEGMENTS:
        path = operation.filled(**{place: segment})
        answer = api.send(operation.method, path, {})
        assert answer.status in (404, 422), segment
        assert answer.code == "not_found" or "%00" not in segment


ODD_SCOPE_IDS = [
    "my-group",
    'ap"erp',
    "a\\b",
    "项目:甲",
    "x" * 256,
    "契" * 256,
    "😀",
    "a b",
    "a?b#c",
    "a%2Fb",
    "a%b_c*",
    "'; DROP TABLE x;--",
    "a:b",
    "\u202eabc",
    "..",
    "new\nline",
]


@pytest.mark.parametrize("scope_id", ODD_SCOPE_IDS)
def test_odd_scope_ids_round_trip(api: Api, scope_id: str) -> None:
    created = api.post(
        "/v1/scopes",
        {
            "scope_id": scope_id,
            "title": "t",
            "summary": "s",
            "idempotency_key": "key",
        },
    )
    assert (created.status, created.body["scope_id"]) == (201, scope_id)
    text = "a unique marigold"
    written = api.post(
        "/v1/memory/remember", {"scope_id": scope_id, "kind": "fact", "text": text}
    )
    [record] = written.body["records"]
    ref = record["artifact"]

    path = f"/v1/scopes/{quote(scope_id, safe='')}"
    assert api.get(path).body["scope_id"] == scope_id
    exact = api.get(f"{path}/artifacts/atomic-memory/{ref['artifact_id']}/revisions/1")
    assert (exact.body["scope_id"], exact.body["content"]["text"]) == (scope_id, text)
    content = api.content(scope_id, "marigold", assembly={})
    assert f"    Scope: {json.dumps(scope_id)}\n" in content
    assert text in api.content(scope_id, "marigold")


@pytest.mark.parametrize(
    "scope_id", ["", " ", " a", "a ", "a\u3000", "a\0b", "x" * 257, "a\n", "default"]
)
def test_refused_scope_ids(api: Api, scope_id: str) -> None:
    """`default` would share its path with the default Scope."""
    request = {"title": "t", "summary": "s", "idempotency_key": "k"}
    answer = api.post("/v1/scopes", request | {"scope_id": scope_id})
    assert answer.status == 422
    errors = answer.body["error"]["details"]["errors"]
    assert [error["loc"] for error in errors] == [["body", "scope_id"]]


def test_similar_scope_ids_stay_apart(api: Api) -> None:
    """C-41, C-49: no collation, no prefix, no pattern makes two ids one."""
    identifiers = ["Alpha", "alpha", "café", "cafe", "cafe\u0301", "ａlpha", "alph%"]
    identifiers += ["proj", "proj1", "proj:1", "proj%", "proj_", "STRASSE", "straße"]
    for number, identifier in enumerate(identifiers):
        remember(make_scope(identifier), f"marigold number{number}")
    for number, identifier in enumerate(identifiers):
        content = api.content(identifier, "marigold", assembly={})
        assert re.findall(r"number\d+", content) == [f"number{number}"]


# Everyday questions full of search syntax (C-02).

WORDED = [
    ("TODO: fix", "TODO: fix the parser"),
    ("don't use agents", "we don't use agents"),
    ("plan (draft)?", "the plan draft"),
    ("-verify", "always verify"),
    ("{b}: x", "b is x"),
    ("ubuntu 20.04", "runs on ubuntu 20.04"),
    ("'; DROP TABLE x;--", "drop table statements"),
    ('"quoted', "quoted text"),
    ("NEAR(parser", "parser near the end"),
    ("col:parser*", "the col parser"),
]
SYMBOLS = ["*", '"', "()", "^", "--", ";", "\\", "%", "?!", "…", "«»", "{}[]", "''"]


@pytest.mark.parametrize(("query", "text"), WORDED)
@pytest.mark.parametrize("mode", MODES, ids=["legacy", "text"])
def test_search_syntax_is_text(
    api: Api, query: str, text: str, mode: dict[str, Any]
) -> None:
    remember(make_scope("words"), text)
    assert text in api.content("words", query, **mode)
    found = api.post("/v1/memory/search", {"scope_id": "words", "query": query})
    assert [hit["memory"]["text"] for hit in found.body["hits"]] == [text]


@pytest.mark.parametrize("query", [*SYMBOLS, "AND", "NEAR(", "^x"])
def test_symbols_find_nothing_and_break_nothing(api: Api, query: str) -> None:
    for mode in MODES:
        answer = api.prepare("contract", query, **mode)
        assert (answer.status, answer.body["status"]) == (200, "empty")
    for path in ("/v1/memory/search", "/v1/topic-memory/search"):
        answer = api.post(path, {"scope_id": "contract", "query": query})
        assert (answer.status, answer.body["hits"]) == (200, [])


def test_chinese_stays_readable(api: Api) -> None:
    """C-39: text as it was written, on the wire too; only identities are escaped."""
    text = "修改 OpenAPI 后，需要重新生成客户端"
    remember(make_scope("项目:甲"), text)
    for mode in MODES:
        request = {"scope_id": "项目:甲", "query": "重新生成客户端", **mode}
        response = Client().post(PREPARE, request, content_type="application/json")
        assert text.encode() in response.content
        assert response.json()["content_bytes"] == len(
            response.json()["content"].encode()
        )


# Paths, methods, hosts and peers.

ALL_METHODS = ["get", "post", "put", "patch", "delete", "options", "trace"]
UNKNOWN = ["/", "/v1", "/v1/", "/v2/scopes", "/V1/scopes", "/v1/context", "/mcp"]
UNKNOWN += ["//v1/scopes", "/v1//scopes", "/v1/scopes/contract/no", "/docs/", "/x.php"]
UNKNOWN += ["/%00", "/%FF", "/v1/scopes/contract/artifacts/"]


@pytest.mark.parametrize("path", PATHS)
def test_wrong_method(api: Api, path: str) -> None:
    filled = next(item for item in OPERATIONS if item.path == path).filled()
    for method in ALL_METHODS:
        if method not in METHODS[path]:
            answer = api.send(method, filled, {})
            assert (answer.status, answer.code) == (405, "method_not_allowed")
            allowed = answer.headers["Allow"].lower().split(", ")
            assert sorted({*allowed} - {"head"}) == sorted(METHODS[path])


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_path(api: Api, settings: Settings, path: str, debug: bool) -> None:
    settings.DEBUG = debug
    for method in ("get", "post", "put", "delete"):
        answer = api.send(method, path, {})
        assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize("debug", [False, True])
@every_operation
def test_trailing_slash(
    api: Api, settings: Settings, operation: Operation, debug: bool
) -> None:
    """C-61: a redirect would lose the body of a POST."""
    settings.DEBUG = debug
    answer = api.send(operation.method, operation.filled() + "/", {})
    assert (answer.status, answer.code) == (404, "not_found")


FOREIGN = ["evil.invalid", "EVIL.INVALID:8000", "localhost.evil.invalid", "10.0.0.1"]
FOREIGN += ["127.0.0.1.evil.invalid", "localhost@evil.invalid", "[::2]", "0.0.0.0"]
FOREIGN += ["", " ", "localhost:port", "::1", "127.1", "2130706433", "localhost/x", "*"]
FOREIGN += ["127.0.0.1,evil.invalid", "evil.invalid#localhost", "lоcalhost"]
OURS = ["127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:80", "[::1]"]
OURS += ["[::1]:8000", "LocalHost", "[::1]:1"]
REBOUND = [("get", "/v1/capabilities"), ("post", PREPARE), ("get", "/admin/")]
REBOUND += [("get", "/health/live"), ("get", "/docs"), ("get", "/nowhere")]
REBOUND += [("get", "/inspector/"), ("get", "/openapi.json"), ("get", "/admin/login/")]


@pytest.mark.parametrize("host", FOREIGN)
def test_foreign_host(api: Api, host: str) -> None:
    """C-59: refused before any view, whatever cookie or forwarding header says."""
    api.client.cookies["sessionid"] = "x"
    headers = {"Host": host, "X-Forwarded-Host": "localhost"}
    for method, path in REBOUND:
        with CaptureQueriesContext(connection) as queries:
            answer = api.send(
                method, path, {"scope_id": "contract", "query": "x"}, headers=headers
            )
        assert (answer.status, answer.code) == (400, "invalid_host")
        assert queries.captured_queries == []


@pytest.mark.parametrize("host", OURS)
def test_own_host(api: Api, host: str) -> None:
    headers = {"Host": host, "X-Forwarded-Host": "evil.invalid"}
    assert api.get("/v1/capabilities", headers=headers).status == 200


@pytest.mark.parametrize("peer", ["10.0.0.1", "192.168.1.4", "2001:db8::1", "", "x"])
def test_foreign_peer(settings: Settings, peer: str) -> None:
    """J-12: access mode `disabled` serves this machine only."""
    api = Api(Client(REMOTE_ADDR=peer, headers={"X-Forwarded-For": "127.0.0.1"}))
    for method, path in [("get", "/v1/capabilities"), ("post", PREPARE)]:
        assert api.send(method, path, {}).code == "forbidden"
    assert api.get("/health/live").status == 403
    settings.ACCESS_MODE = "enforced"
    assert api.get("/health/live").status == 200
    assert api.get("/v1/capabilities").status == 401


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_peer(peer: str) -> None:
    assert Api(Client(REMOTE_ADDR=peer)).get("/v1/capabilities").status == 200


# Paging and preconditions.

LISTS = [
    "/v1/scopes",
    "/v1/scopes/contract/artifacts/atomic-memory",
    "/v1/scopes/contract/artifacts/atomic-memory/memory-1/revisions",
    "/v1/scopes/contract/sources",
]
POST_LISTS = ["/v1/memory/entries/list", "/v1/atomic-memory/list"]
POST_LISTS += ["/v1/candidates/list"]


def cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


BAD_CURSORS = ["x", "!!!", "é", cursor("v1:"), cursor("v1:-1"), cursor("v2:1"), "A" * 9]
BAD_CURSORS += [cursor("v1:1e3"), cursor("v1:" + "9" * 19), cursor("v1:١"), "A" * 4096]


@pytest.mark.parametrize("value", BAD_CURSORS)
def test_malformed_cursor(api: Api, value: str) -> None:
    for path in LISTS:
        answer = api.get(f"{path}?cursor={quote(value)}")
        assert (answer.status, answer.code) == (400, "invalid_cursor")
    for path in POST_LISTS:
        answer = api.post(path, {"scope_id": "contract", "cursor": value})
        assert (answer.status, answer.code) == (400, "invalid_cursor")


@pytest.mark.parametrize("path", LISTS)
def test_malformed_query_string(api: Api, path: str) -> None:
    for bad in ("0", "-1", "101", "x", "1.5", "", "١", "1e1", "%00", "9" * 5000):
        answer = api.get(f"{path}?limit={bad}")
        assert (answer.status, answer.code) == (400, "invalid_request")
        [error] = answer.body["error"]["details"]["errors"]
        assert error["loc"] == ["query", "limit"]
    assert api.get(f"{path}?cursor=").code == "invalid_cursor"
    assert api.get(f"{path}?sort=x").status == 400
    assert api.get(f"{path}?limit=1&limit=2").status == 400
    for good in ("1", "100"):
        assert api.get(f"{path}?limit={good}").status == 200


@pytest.mark.parametrize("path", POST_LISTS)
def test_malformed_limit_in_body(api: Api, path: str) -> None:
    for bad in (0, -1, 101, "1", 1.0, True, None):
        answer = api.post(path, {"scope_id": "contract", "limit": bad})
        assert answer.status == 422
    for bad in ("", " ", 1, "A" * 4097):
        answer = api.post(path, {"scope_id": "contract", "cursor": bad})
        assert answer.status == 422


@pytest.mark.parametrize(
    "etag",
    [
        "",
        "*",
        "1",
        '"x"',
        "revision:1",
        '"revision:0"',
        '"revision:01"',
        '"revision:-1"',
        '"revision:1',
        'W/"revision:1"',
        '"revision:1", "revision:2"',
        '"revision:' + "9" * 99 + '"',
        "é",
    ],
)
def test_malformed_if_match(api: Api, etag: str) -> None:
    path = "/v1/scopes/contract/artifacts/atomic-memory/memory-1"
    body = {"content": {"kind": "fact", "text": "new"}}
    answer = api.put(path, body, headers={"If-Match": etag})
    assert (answer.status, answer.code) == (400, "invalid_request")
    [error] = answer.body["error"]["details"]["errors"]
    assert error["loc"] == ["header", "If-Match"]


# Generated bodies: nearly right, so that they get past the first check.

NAMES = ["contract", "memory-1", "memory-2", "source-1", "topic-1", "memory", "profile"]
NAMES += ["entry-1", "entry-1-v1", "atomic-memory", "experience", "topic-memory", "key"]
text = st.sampled_from(NAMES) | st.text(max_size=30)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
    ),
    max_leaves=6,
)


def from_schema(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Mostly what the schema asks for, now and then anything."""
    return st.one_of([_matching(schema)] * 9 + [junk])


def _matching(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return _matching(openapi()["components"]["schemas"][name])
    for key in ("oneOf", "allOf", "anyOf"):
        if key in schema:
            return st.one_of([_matching(item) for item in schema[key]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return st.one_of([_matching({**schema, "type": item}) for item in kind])
    if kind == "object":
        properties = schema.get("properties", {})
        required = set(schema.get("required", []))
        fields = {name: from_schema(item) for name, item in properties.items()}
        return st.fixed_dictionaries(
            {name: fields[name] for name in fields if name in required},
            optional={name: fields[name] for name in fields if name not in required},
        )
    if kind == "array":
        return st.lists(from_schema(schema["items"]), max_size=3)
    if kind == "integer":
        return st.integers(0, 4) | st.integers(schema.get("minimum", -1))
    if kind == "string":
        return text
    return st.booleans() if kind == "boolean" else junk


@every_body
@examples(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_generated_bodies(api: Api, operation: Operation, data: st.DataObject) -> None:
    assert operation.schema is not None
    body = data.draw(from_schema(operation.schema))
    raw = json.dumps(body).encode("utf-8", "surrogatepass")
    headers = {"If-Match": f'"revision:{data.draw(st.integers(1, 3))}"'}
    answer = api.send(operation.method, operation.filled(), raw=raw, headers=headers)
    assert answer.status != 500
