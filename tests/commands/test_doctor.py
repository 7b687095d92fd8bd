"""`manage.py doctor`: every check is real, and nothing stays."""

import re
import sqlite3
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from prepare.errors import NotReady
from prepare.models import SearchPool, Term
from prepare.search import index, vendors
from prepare.services import diagnosing
from tests import factories
from tests.commands import files
from tests.commands.conftest import Printed
from tests.serving import Installation

Manage = Callable[..., Printed]
CHECKS = [
    "database",
    "search_index",
    "migrations",
    "search_counts",
    "storage",
    "round_trip",
]


def read(out: str) -> list[tuple[str, str]]:
    return [(line[:18].strip(), line[18:]) for line in out.splitlines()]


@pytest.mark.django_db
def test_all_is_well_and_nothing_stays(manage: Manage) -> None:
    factories.remember(factories.make_scope("s"), "some words")
    before = files.row_counts()
    lines = read(manage("doctor").out)
    assert lines[-6:] == [(name, "ready") for name in CHECKS]
    versions = dict(lines[:-6])
    assert list(versions) == [
        "powercontext",
        "python",
        "django",
        "engine",
        "location",
        *STORAGE[connection.display_name],
        "unicode",
        "analysis",
        "indexed",
    ]
    assert versions["unicode"] == unicodedata.unidata_version
    assert versions["indexed"] == "1 documents in 1 pools"
    assert files.row_counts() == before


STORAGE = {
    "SQLite": ["journal_mode"],
    "OceanBase": ["server", "collation", "isolation"],
    "MariaDB": ["server", "collation", "isolation"],
}


def ask(statement: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return str(cursor.fetchone()[0])


@pytest.mark.django_db
@pytest.mark.sqlite_only("names SQLite")
def test_names_sqlite(manage: Manage) -> None:
    versions = dict(read(manage("doctor").out))
    assert versions["engine"] == f"SQLite {sqlite3.sqlite_version}"
    assert versions["location"] == ask("SELECT file FROM pragma_database_list")
    assert versions["journal_mode"] == "wal"


@pytest.mark.django_db
@pytest.mark.mysql_only("names a server")
def test_names_the_server(manage: Manage) -> None:
    """Asked in another way than `doctor` does; no word of SQLite, no password."""
    out = manage("doctor").out
    versions = dict(read(out))
    engine, _, number = versions["engine"].partition(" ")
    # OceanBase's own number; @@version starts with the MySQL that it stands in for.
    said = "@@version_comment" if engine == "OceanBase" else "@@version"
    assert engine == connection.display_name
    assert len(number.split(".")) == (4 if engine == "OceanBase" else 3)
    assert re.search(rf"(^|\D){re.escape(number)}(\D|$)", ask(f"SELECT {said}"))
    assert versions["server"] == ask("SELECT VERSION()")
    name, _, place = versions["location"].partition(" at ")
    assert name == ask("SELECT DATABASE()")
    assert place.rpartition(":")[2] == ask("SELECT @@port")
    assert versions["collation"] == "utf8mb4_bin"
    assert versions["isolation"] == "READ-COMMITTED"
    assert "sqlite" not in out.lower()


@pytest.mark.django_db
@pytest.mark.parametrize("readers", [["profile"], []])
def test_the_round_trip_does_not_depend_on_the_readers(
    manage: Manage, settings: Any, readers: list[str]
) -> None:
    settings.READERS = frozenset(readers)
    manage("doctor")


def failing(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, str], str]:
    with pytest.raises(CommandError) as raised:
        call_command("doctor")
    return dict(read(capsys.readouterr().out)), str(raised.value)


@pytest.mark.django_db
def test_wrong_counts(capsys: pytest.CaptureFixture[str]) -> None:
    factories.remember(factories.make_scope("s"), "some words")
    SearchPool.objects.update(documents=2)
    states, message = failing(capsys)
    assert states["search_counts"].endswith(
        "disagrees with its documents: rebuild_search"
    )
    assert states["round_trip"] == "ready"
    assert message == "Not in order: search_counts."


@pytest.mark.django_db
def test_postings_outside_their_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert vendors.storage_problem() is None
    monkeypatch.setattr(vendors, "_is_clustered", lambda: False)
    assert vendors.storage_problem() == "postings are not stored in their primary key"


@pytest.mark.django_db
def test_a_broken_index(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "add_documents", lambda **arguments: None)
    states, message = failing(capsys)
    assert states["round_trip"] == (
        "what was just written was not found: rebuild_search"
    )
    assert message == "Not in order: round_trip."


@pytest.mark.django_db
def test_a_failing_service(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise NotReady

    monkeypatch.setattr(diagnosing, "prepare_context", fail)
    before = files.row_counts()
    states, _ = failing(capsys)
    assert states["round_trip"] == "failed: The Server is not ready."
    assert files.row_counts() == before
    assert not Term.objects.exists()


def test_a_database_that_was_never_migrated(tmp_path: Path) -> None:
    failed = Installation(tmp_path / "data").manage("doctor")
    assert failed.returncode == 1
    states = dict(read(failed.stdout.decode()))
    assert states["migrations"].endswith("not applied: run migrate")
    assert states["round_trip"] == "failed (OperationalError)"
    [line] = failed.stderr.decode().splitlines()
    assert line.startswith("Not in order: search_index, migrations, search_counts, ")


def test_an_unreachable_server(tmp_path: Path) -> None:
    url = "oceanbase://u:secret-word@127.0.0.1:1/context"
    failed = Installation(tmp_path, {"DATABASE_URL": url}).manage("doctor")
    assert failed.returncode == 1
    states = dict(read(failed.stdout.decode()))
    assert states["engine"] == "unreachable (OperationalError)"
    assert states["database"] == "failed (OperationalError)"
    assert states["location"] == "context at 127.0.0.1:1"
    assert b"secret-word" not in failed.stdout + failed.stderr
