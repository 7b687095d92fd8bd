"""The one place that asks which database this is: bulk statements and snapshots.

Postings and term counts are written by sorted multi-row statements: one statement per
term deadlocks on the MySQL family and is many times slower everywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import DatabaseError, connection, transaction

_ROWS_PER_STATEMENT = 2000

Row = TypeVar("Row")
PostingRow = tuple[int, int, int, int, int]

_ADD_COUNT = {
    "sqlite": (
        "ON CONFLICT (pool_id, term) DO UPDATE"
        " SET frequency = prepare_term.frequency + excluded.frequency"
    ),
    "mysql": "ON DUPLICATE KEY UPDATE frequency = frequency + VALUES(frequency)",
}


def insert_postings(rows: Sequence[PostingRow]) -> None:
    """Insert (pool_id, term, document_id, frequency, length) rows sorted by key."""
    statement = (
        "INSERT INTO prepare_posting"
        " (pool_id, term, document_id, frequency, length) VALUES "
    )
    with connection.cursor() as cursor:
        for batch in _batches(sorted(rows)):
            marks = ", ".join(["(%s, %s, %s, %s, %s)"] * len(batch))
            cursor.execute(statement + marks, [value for row in batch for value in row])


def add_term_counts(pool_id: int, counts: Mapping[int, int]) -> None:
    """Add to the document frequency of each term of one pool."""
    tail = _ADD_COUNT[connection.vendor]
    with connection.cursor() as cursor:
        for batch in _batches(sorted(counts.items())):
            marks = ", ".join(["(%s, %s, %s)"] * len(batch))
            cursor.execute(
                "INSERT INTO prepare_term (pool_id, term, frequency)"
                f" VALUES {marks} {tail}",
                [value for term, count in batch for value in (pool_id, term, count)],
            )


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), _ROWS_PER_STATEMENT):
        yield rows[start : start + _ROWS_PER_STATEMENT]


_FEWEST_TERMS = 8


def pad_terms(terms: Sequence[int]) -> Sequence[int]:
    """The same terms in a list of 8, 16, 32..., on OceanBase only.

    It compiles a statement for each length of a list, 20 to 60 ms, and keeps the plan.
    A repeated term changes no answer: IN and CASE know it already.
    """
    if not getattr(connection, "oceanbase_version", None):
        return terms
    length = max(_FEWEST_TERMS, 1 << (len(terms) - 1).bit_length())
    return [*terms, *[terms[-1]] * (length - len(terms))]


# Lock wait timeout, deadlock, and a key that was free when it was looked for; the
# engine has rolled back, or must be told to.
_LOST = frozenset({1205, 1213, 1062})


def lost_to_another_writer(error: DatabaseError) -> bool:
    """Whether the same transaction may end otherwise when it is run again.

    SQLite waits for its one writer by itself; an error there is final.
    """
    code = error.args[0] if error.args else None
    return connection.vendor == "mysql" and code in _LOST


@contextmanager
def read_snapshot() -> Iterator[None]:
    """All reads inside see one state of the database and take no write lock (J-20).

    SQLite connections start IMMEDIATE transactions for writers (C-43); a reader must
    not wait for them, so this one is deferred.
    """
    if connection.in_atomic_block:
        yield
        return
    if connection.vendor == "mysql":
        # For the next transaction only; connections are READ COMMITTED for writers.
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        with transaction.atomic():
            yield
        return
    # The mode is known once connected; only SQLite's wrapper has it.
    connection.ensure_connection()
    sqlite: Any = connection
    mode = sqlite.transaction_mode
    sqlite.transaction_mode = "DEFERRED"
    try:
        with transaction.atomic():
            yield
    finally:
        sqlite.transaction_mode = mode


def locate_database() -> str:
    """Which database is configured, without password; asks nothing of it."""
    configured = connection.settings_dict
    if connection.vendor == "sqlite":
        return str(configured["NAME"])
    port = configured["PORT"] or 3306
    return f"{configured['NAME']} at {configured['HOST'] or 'localhost'}:{port}"


def describe_storage() -> dict[str, str]:
    """What of the connection decides how it compares, waits and keeps."""
    if connection.vendor == "sqlite":
        return {"journal_mode": _ask("PRAGMA journal_mode")}
    return {
        # OceanBase names here the MySQL whose protocol it speaks, and its edition.
        "server": _ask("SELECT @@version"),
        "collation": _ask("SELECT @@collation_database"),
        # MySQL 8 has only the new name, MariaDB 10 only the old one.
        "isolation": _ask(f"SELECT @@session.{_isolation_variable()}"),
    }


def storage_problem() -> str | None:
    """Why identities could be mixed up, or searches slow; None if all is as made."""
    if connection.vendor == "mysql" and (columns := _count_loose_columns()):
        return (
            f"{columns} columns are not utf8mb4_bin: identities that differ in case or"
            " accents would be one"
        )
    return None if _is_clustered() else "postings are not stored in their primary key"


def _count_loose_columns() -> int:
    return int(
        _ask(
            "SELECT COUNT(*) FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND table_name LIKE 'prepare%'"
            " AND collation_name <> 'utf8mb4_bin'"
        )
    )


def _is_clustered() -> bool:
    """InnoDB always is; OceanBase and SQLite can also make heaps."""
    if connection.vendor == "sqlite":
        made = _ask("SELECT sql FROM sqlite_master WHERE name = 'prepare_posting'")
        return made.rstrip().upper().endswith("WITHOUT ROWID")
    made = _ask("SHOW CREATE TABLE prepare_posting", column=1)
    return "ORGANIZATION HEAP" not in made


def _isolation_variable() -> str:
    is_mariadb = getattr(connection, "mysql_is_mariadb", False)
    return "tx_isolation" if is_mariadb else "transaction_isolation"


def _ask(statement: str, *, column: int = 0) -> str:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    return "" if row is None else str(row[column])
