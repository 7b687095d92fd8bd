"""Which tests run again on a second database engine."""

import pytest
from django.conf import settings

# What `--database-tests-on` takes, and how Django's connection then names itself.
ENGINES = {"oceanbase": "OceanBase", "mariadb": "MariaDB", "sqlite": "SQLite"}

_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences"}


def uses_database(item: pytest.Item) -> bool:
    """Whether it reads or writes the database that is configured.

    Tests of `manage.py serve` do not: their processes have SQLite files of their own.
    """
    return item.get_closest_marker("django_db") is not None or not _FIXTURES.isdisjoint(
        getattr(item, "fixturenames", ())
    )


def skip_sqlite_only(items: list[pytest.Item]) -> None:
    """Skip tests marked `sqlite_only(reason)` on other databases."""
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        return
    for item in items:
        if marker := item.get_closest_marker("sqlite_only"):
            item.add_marker(pytest.mark.skip(reason=f"sqlite only: {marker.args[0]}"))
