"""What only a real server shows: encoded slashes, chunked bodies, raw Host headers."""

import http.client
import json
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.api import PREPARE, check_schema, openapi, response_schema
from tests.serving import Server


class Wire:
    """One keep-alive connection; every answer must be JSON with a request id."""

    def __init__(self, server: Server) -> None:
        address = urlsplit(server.base_url)
        assert address.hostname is not None
        self.address = (address.hostname, address.port)
        self.connection = http.client.HTTPConnection(*self.address, timeout=30)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> tuple[int, Any]:
        raw = body
        if body is not None and not hasattr(body, "__next__"):
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **(headers or {})}
        self.connection.request(method, path, raw, sent, **options)
        response = self.connection.getresponse()
        content = response.read()
        assert re.fullmatch(
            "[0-9a-f]{16}", response.headers["X-PowerContext-Request-ID"]
        )
        assert response.headers["Content-Type"] == "application/json"
        if method == "HEAD":
            assert content == b""
            return response.status, None
        decoded = json.loads(content)
        schema = response_schema(method.lower(), path.split("?")[0], response.status)
        if schema is not None:
            check_schema(schema, decoded)
        return response.status, decoded

    def raw(self, *lines: str) -> tuple[int, Any]:
        """Send these header lines as they are."""
        with socket.create_connection(self.address, timeout=30) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            with http.client.HTTPResponse(connection) as response:
                response.begin()
                return response.status, json.loads(response.read())


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    wire = Wire(server)
    yield wire
    wire.connection.close()


def code(body: Any) -> str:
    return str(body["error"]["code"])


def scope_request(scope_id: str) -> dict[str, Any]:
    return {
        "scope_id": scope_id,
        "title": "T",
        "summary": "S",
        "idempotency_key": f"key of {scope_id}",
    }


@pytest.mark.parametrize(
    "scope_id",
    [
        "a/b",
        "/a",
        "a/",
        "//",
        "a%2Fb",
        "a%b",
        "项目/甲",
        "a?b/c#d",
        ".",
        "..",
        "../x",
        "+ +",
    ],
)
def test_identifiers_with_slashes(wire: Wire, scope_id: str) -> None:
    """Clients encode a slash inside an identifier; it is no path separator."""
    status, created = wire.send("POST", "/v1/scopes", scope_request(scope_id))
    assert (status, created["scope_id"]) == (201, scope_id)
    source = {"scope_id": scope_id, "source_id": f"dir/{scope_id}", "content": "x"}
    assert wire.send("POST", "/v1/sources/content", source)[0] == 202
    memory = {"scope_id": scope_id, "kind": "fact", "text": "orchid"}
    _, remembered = wire.send("POST", "/v1/memory/remember", memory)
    artifact_id = remembered["records"][0]["artifact"]["artifact_id"]

    encoded = quote(scope_id, safe="")
    for spelling in (encoded, encoded.replace("%2F", "%2f")):
        path = f"/v1/scopes/{spelling}"
        assert wire.send("GET", path) == (200, created)
        status, revision = wire.send(
            "GET", f"{path}/artifacts/atomic-memory/{artifact_id}/revisions/1"
        )
        assert (status, revision["scope_id"]) == (200, scope_id)
        name = quote(source["source_id"], safe="")
        status, stored = wire.send("GET", f"{path}/sources/content/{name}?x=a%2Fb")
        assert (status, stored["source_id"]) == (200, source["source_id"])
        status, listed = wire.send("GET", f"{path}/sources?limit=1")
        assert (status, len(listed["items"])) == (200, 1)
    changed = {"title": "New", "summary": "S", "expected_version": 1}
    status, updated = wire.send("PUT", f"/v1/scopes/{encoded}", changed)
    assert (status, updated["title"]) == (200, "New")


def test_encoded_slash_is_one_segment(wire: Wire) -> None:
    wire.send("POST", "/v1/scopes", scope_request("slash"))
    for path in (
        "/v1%2Fscopes",
        "/v1/scopes%2Fslash",
        "/v1/scopes/slash%2Fsources",
        "/v1/scopes/slash%2F",
        "/v1/scopes/slash%00",
        "/v1/scopes/sl%2Fash%00",
        "/v1/scopes/slash%252F",
        "/v1/scopes/slash//sources",
        "/v1/scopes/slash/sources/content/a/b",
        "//v1/scopes/slash",
    ):
        status, body = wire.send("GET", path)
        assert status == 404, path
        assert code(body) in ("not_found", "scope_not_found")
    # As an id the NUL that stands for a slash inside the server is not accepted.
    assert wire.send("POST", "/v1/scopes", scope_request("sl\0ash"))[0] == 422


@pytest.mark.parametrize(
    "tail", ["%FF", "%2F%FF", "%C0%AF", "%F0%9F%98%80", "%", "%zz"]
)
def test_broken_percent_encoding(wire: Wire, tail: str) -> None:
    status, body = wire.send("GET", f"/v1/scopes/{tail}")
    assert (status, code(body)) == (404, "scope_not_found")


@pytest.mark.parametrize("path", ["/v1/scope-bindings/resolve", PREPARE])
def test_chunked_body_is_not_taken_for_an_empty_one(wire: Wire, path: str) -> None:
    """`resolve` without a body would answer with the default Scope."""
    parts = iter([b'{"explicit_scope_id":', b'"nope"}'])
    status, body = wire.send("POST", path, parts, encode_chunked=True)
    assert (status, code(body)) == (422, "invalid_request")
    assert wire.send("GET", "/health/live") == (200, {"status": "ok"})


def test_large_body(wire: Wire) -> None:
    five_megabytes = b'{"query":"' + b"x" * 5_000_000 + b'"}'
    status, body = wire.send("POST", PREPARE, five_megabytes)
    assert (status, code(body)) == (413, "request_too_large")
    wire.connection.close()
    assert wire.send("GET", "/health/live")[0] == 200


def test_deep_body(wire: Wire) -> None:
    """The parser's recursion limit holds in a server thread, with its smaller stack."""
    for raw in (b"[" * 1_000_000, b'{"a":' * 500_000):
        status, body = wire.send("POST", PREPARE, raw)
        assert (status, code(body)) == (422, "invalid_request")
    assert wire.send("GET", "/health/live")[0] == 200


def test_methods(wire: Wire) -> None:
    assert wire.send("HEAD", "/health/live") == (200, None)
    assert wire.send("HEAD", PREPARE) == (405, None)
    for method in ("OPTIONS", "DELETE", "PATCH", "BREW"):
        status, body = wire.send(method, PREPARE, b"{}")
        assert (status, code(body)) == (405, "method_not_allowed")
    status, body = wire.send("POST", PREPARE + "/", b"{}")
    assert (status, code(body)) == (404, "not_found")


@pytest.mark.parametrize(
    ("request_line", "host", "status"),
    [
        ("GET /v1/capabilities HTTP/1.1", "localhost", 200),
        ("GET /v1/capabilities HTTP/1.1", "LOCALHOST:1", 200),
        ("GET /v1/capabilities HTTP/1.1", "[::1]:8000", 200),
        ("GET /v1/capabilities HTTP/1.1", "evil.invalid", 400),
        ("GET /v1/capabilities HTTP/1.1", "localhost.evil.invalid", 400),
        ("GET /v1/capabilities HTTP/1.1", "", 400),
        ("GET /v1/capabilities HTTP/1.0", None, 200),
        ("GET /v1/nowhere HTTP/1.1", "evil.invalid", 400),
        ("GET /admin/ HTTP/1.1", "evil.invalid", 400),
    ],
)
def test_host(wire: Wire, request_line: str, host: str | None, status: int) -> None:
    hosts = [] if host is None else [f"Host: {host}"]
    answered, body = wire.raw(request_line, "Connection: close", *hosts)
    assert answered == status
    assert status == 200 or code(body) == "invalid_host"


def test_access_mode_is_enforced_on_the_wire(enforced_server: Server) -> None:
    wire = Wire(enforced_server)
    for path in ("/v1/capabilities", "/v1/scopes/a%2Fb", "/nowhere", "/openapi.json"):
        wire.connection.request("GET", path)
        response = wire.connection.getresponse()
        assert response.status == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert code(json.loads(response.read())) == "unauthorized"
    assert wire.send("GET", "/health/ready")[0] == 200
    made = enforced_server.manage("create_token", "wire", "--server-admin")
    assert made.returncode == 0, made.stderr
    headers = {"Authorization": f"Bearer {made.stdout.decode().strip()}"}
    status, document = wire.send("GET", "/openapi.json", headers=headers)
    assert (status, document) == (200, openapi())
    wire.connection.close()


def test_log_lines_carry_the_request_id(server: Server, wire: Wire) -> None:
    """J-17: Django's own line about an error as well."""
    wire.connection.request("GET", "/v1/scopes/no-such-scope")
    response = wire.connection.getresponse()
    response.read()
    request_id = response.headers["X-PowerContext-Request-ID"]
    lines = [line for line in server.errors().splitlines() if request_id in line]
    assert len(lines) == 1
    assert f"WARNING django.request request_id={request_id} " in lines[0]
