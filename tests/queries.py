"""Which tables a piece of work reads, in order, as the database saw it."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

_TRANSACTION = re.compile(r"(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b")
_READING = re.compile(r"\(?(SELECT|WITH|BEGIN|COMMIT|SAVEPOINT|RELEASE)\b")
_TABLE = re.compile(r'(?:FROM|INTO|UPDATE) ["`](?:prepare_)?(\w+)["`]')


@contextmanager
def hidden_tables(*names: str) -> Iterator[None]:
    """The database finds none of these tables; no DDL, which would commit on some."""

    def look_elsewhere(
        execute: Callable[..., Any], sql: str, *arguments: Any, **options: Any
    ) -> Any:
        for name in names:
            sql = re.sub(rf"\b{name}\b", f"hidden_{name}", sql)
        return execute(sql, *arguments, **options)

    with connection.execute_wrapper(look_elsewhere):
        yield


@contextmanager
def nothing_written() -> Iterator[None]:
    """Only reading statements are sent; SQLite counts the rows as well."""
    before = _rows_written()
    with CaptureQueriesContext(connection) as captured:
        yield
    for query in captured.captured_queries:
        assert _READING.match(query["sql"]), query["sql"]
    assert _rows_written() == before


def _rows_written() -> int:
    """Rows this connection ever inserted, changed or deleted."""
    if connection.vendor != "sqlite":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT total_changes()")
        return int(cursor.fetchone()[0])


@contextmanager
def captured_tables() -> Iterator[list[str]]:
    """Filled on exit: one table name per statement, `ranking` for a ranking one."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield found
    for query in captured.captured_queries:
        if _TRANSACTION.match(query["sql"]):
            continue
        table = _TABLE.search(query["sql"])
        found.append(table[1] if table else query["sql"].replace("WITH", "ranking")[:7])
