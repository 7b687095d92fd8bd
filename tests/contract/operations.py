"""The published operations, with paths filled in, for tests that apply to every one."""

from dataclasses import dataclass
from typing import Any

from prepare.models import Scope
from tests.api import openapi
from tests.factories import collect, make_scope, profile, remember, source, write

FILLED = {
    "scope_id": "contract",
    "family": "atomic-memory",
    "artifact_id": "memory-1",
    "revision": "1",
    "prompt_key": "memory.rerank",
    "source_type": "content",
    "source_id": "source-1",
}


@dataclass(frozen=True, kw_only=True)
class Operation:
    method: str
    path: str
    operation_id: str
    schema: dict[str, Any] | None
    parameters: tuple[str, ...]

    def filled(self, **values: str) -> str:
        """The path with `FILLED`, and `values` in place of it."""
        return self.path.format(**(FILLED | values))

    def __str__(self) -> str:
        return self.operation_id


def _operation(method: str, path: str, operation: dict[str, Any]) -> Operation:
    request = operation.get("requestBody")
    places = [
        parameter["name"]
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "path"
    ]
    return Operation(
        method=method,
        path=path,
        operation_id=operation["operationId"],
        schema=request and request["content"]["application/json"]["schema"],
        parameters=tuple(places),
    )


OPERATIONS = [
    _operation(method, path, operation)
    for path, operations in openapi()["paths"].items()
    for method, operation in operations.items()
]
WITH_BODY = [operation for operation in OPERATIONS if operation.schema is not None]
PATHS = list(openapi()["paths"])
METHODS = {
    path: [operation.method for operation in OPERATIONS if operation.path == path]
    for path in PATHS
}


def fill() -> Scope:
    """What `FILLED` names, so that a request gets as far as its body allows."""
    scope = make_scope("contract")
    for number in (1, 2, 3):
        remember(scope, f"orchid {number}", artifact_id=f"memory-{number}")
    source(scope, "source-1")
    profile(scope, "An orchid grower.")
    collect(scope, [("entry-1", "entry-1-v1", "orchid entry")])
    content = {"title": "orchid", "summary": "orchid", "detail": "orchid"}
    write(scope, "topic-memory", content, artifact_id="topic-1")
    return scope
