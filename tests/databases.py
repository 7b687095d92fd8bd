"""Which tests run again on another database engine, and new databases on it."""

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection

from tests.serving import Server

# What `--database-tests-on` takes, and how Django's connection then names itself.
ENGINES = {"oceanbase": "OceanBase", "mariadb": "MariaDB", "sqlite": "SQLite"}

_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences"}

# Makes a server of its own on a new, empty database of the engine under test.
NewInstallation = Callable[..., Server]


def uses_database(item: pytest.Item) -> bool:
    """Whether it reads or writes the database that is configured.

    Tests of `manage.py serve` do not: their processes have SQLite files of their own.
    """
    return item.get_closest_marker("django_db") is not None or not _FIXTURES.isdisjoint(
        getattr(item, "fixturenames", ())
    )


def skip_other_engines(items: list[pytest.Item]) -> None:
    """Skip `sqlite_only(reason)` on other engines, `mysql_only(reason)` on SQLite."""
    is_sqlite = settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")
    name = "mysql_only" if is_sqlite else "sqlite_only"
    for item in items:
        if marker := item.get_closest_marker(name):
            reason = f"{name.replace('_', ' ')}: {marker.args[0]}"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def new_installation(
    transactional_db: None, tmp_path: Path
) -> Iterator[NewInstallation]:
    """Not migrated, not started; SQLite makes its file in the data folder."""
    if connection.vendor == "sqlite":
        yield lambda: Server(tmp_path / uuid.uuid4().hex)
        return
    made: list[str] = []

    def make(collation: str = "utf8mb4_bin") -> Server:
        name = f"powercontext_new_{uuid.uuid4().hex}"
        _execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE {collation}")
        made.append(name)
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
        return Server(tmp_path / name, {"DATABASE_URL": url})

    yield make
    for name in made:
        _execute(f"DROP DATABASE {name}")


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
