"""One prepare request as the benchmarks make it, and the statements it sends."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LIMIT = 8
Statement = tuple[str, Any]


def prepare(scope_id: str, query: str, runtime: Any = None) -> tuple[str, ...]:
    """The artifact ids of the memories that are delivered, best first."""
    from prepare.services.access import LOCAL
    from prepare.services.prepare import prepare_context
    from prepare.services.runtime import Runtime
    from prepare.values import parse_prepare_request

    request = parse_prepare_request(
        {
            "scope_id": scope_id,
            "query": query,
            "max_bytes": 32768,
            "assembly": {"sections": [{"family": "memory", "limit": LIMIT}]},
        }
    )
    runtime = runtime or Runtime()
    build = prepare_context(request, principal=LOCAL, runtime=runtime).build
    return tuple(identity.artifact.artifact_id for identity in build.origins)


@contextmanager
def captured() -> Iterator[list[Statement]]:
    """Statements with their parameters; transaction control is not among them."""
    from django.db import connection

    statements: list[Statement] = []

    def watch(execute: Any, sql: str, params: Any, *rest: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, *rest)

    with connection.execute_wrapper(watch):
        yield statements


def is_ranking(statement: Statement) -> bool:
    return statement[0].startswith("WITH driven")
