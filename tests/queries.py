"""Which tables a piece of work reads, in order, as the database saw it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.test.utils import CaptureQueriesContext

_TRANSACTION = re.compile(r"(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b")
_TABLE = re.compile(r'(?:FROM|INTO|UPDATE) "(?:prepare_)?(\w+)"')


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
