"""A test client that checks what every answer must have, whatever a test asserts."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.test import Client
from jsonschema import Draft202012Validator

PREPARE = "/v1/context/prepare"
_OPENAPI = Path(__file__).parent.parent / "openapi" / "powercontext.yaml"


@cache
def openapi() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(_OPENAPI.read_text(encoding="utf-8"))
    return document


@cache
def _path_patterns() -> list[tuple[re.Pattern[str], str]]:
    paths = sorted(openapi()["paths"], key=lambda path: path.count("{"))
    return [
        (re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path) + r"\Z"), path)
        for path in paths
    ]


def response_schema(method: str, path: str, status: int) -> dict[str, Any] | None:
    """The published schema of this answer, or None for paths that are not published."""
    for pattern, template in _path_patterns():
        operation = openapi()["paths"][template].get(method)
        if pattern.match(path) and operation is not None:
            answer = operation["responses"].get(str(status))
            if answer is None:
                raise AssertionError(f"{method} {template} does not publish {status}")
            schema: dict[str, Any] = answer["content"]["application/json"]["schema"]
            return schema
    return None


def check_schema(schema: dict[str, Any], value: Any) -> None:
    root = {"components": openapi()["components"], **schema}
    Draft202012Validator(root).validate(value)


class Answer:
    """Status, headers and decoded body of one checked answer."""

    def __init__(self, status: int, body: Any, headers: dict[str, str]) -> None:
        self.status = status
        self.body = body
        self.headers = headers

    @property
    def code(self) -> str:
        """The error code of an error answer."""
        return str(self.body["error"]["code"])


class Api:
    """JSON over the test client; `token` goes into the Authorization header."""

    def __init__(self, client: Client, token: str | None = None) -> None:
        self.client = client
        self.token = token

    def with_token(self, token: str) -> "Api":
        return Api(self.client, token)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        sent = dict(headers or {})
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        data = raw if raw is not None else b"" if body is None else _dump(body)
        response = self.client.generic(
            method.upper(), path, data, content_type=content_type, headers=sent
        )
        assert re.fullmatch(r"[0-9a-f]{16}", response["X-PowerContext-Request-ID"])
        assert response["Content-Type"] == "application/json"
        decoded = json.loads(response.content)
        if response.status_code >= 400:
            assert list(decoded) == ["error"]
            assert list(decoded["error"]) == ["code", "message", "details"]
        schema = response_schema(method, path.split("?")[0], response.status_code)
        if schema is not None:
            check_schema(schema, decoded)
        return Answer(response.status_code, decoded, dict(response.items()))

    def get(self, path: str, **options: Any) -> Answer:
        return self.send("get", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.send("post", path, body, **options)

    def put(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.send("put", path, body, **options)

    def prepare(self, scope_id: str, query: str, **options: Any) -> Answer:
        """`POST /v1/context/prepare` with these wire fields."""
        return self.post(PREPARE, {"scope_id": scope_id, "query": query, **options})

    def content(self, scope_id: str, query: str, **options: Any) -> str:
        """The prepared content of a ready answer."""
        answer = self.prepare(scope_id, query, **options)
        assert answer.status == 200, answer.body
        assert answer.body["status"] == "ready", answer.body
        content = answer.body["content"]
        assert answer.body["content_bytes"] == len(content.encode())
        assert isinstance(content, str)
        return content


def _dump(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
