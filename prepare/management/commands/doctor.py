"""`manage.py doctor`: does this installation really work?"""

import platform
import unicodedata
from collections.abc import Mapping
from typing import Any

import django
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.utils import timezone

from prepare.errors import PowerContextError
from prepare.management.console import ConsoleCommand
from prepare.search.analysis import ANALYSIS_VERSION
from prepare.search.vendors import describe_storage, locate_database
from prepare.services.diagnosing import try_round_trip
from prepare.services.health import READY, check_thoroughly, describe_index
from prepare.services.runtime import configured_runtime
from prepare.version import VERSION


class Command(ConsoleCommand):
    help = (
        "Print versions and check the database, collation, migrations, the search index"
        " and a real round trip: a memory is written, prepared, read and rolled back."
        " Exit code 1 if anything is wrong."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self._print(_versions())
        checks = dict(check_thoroughly().checks)
        checks["round_trip"] = _try_round_trip()
        self._print(checks)
        failed = [name for name, state in checks.items() if state != READY]
        if failed:
            raise CommandError(f"Not in order: {', '.join(failed)}.")

    def _print(self, lines: Mapping[str, str]) -> None:
        for name, value in lines.items():
            self.stdout.write(f"{name:<18}{value}")


def _versions() -> dict[str, str]:
    return {
        "powercontext": VERSION,
        "python": platform.python_version(),
        "django": django.get_version(),
        "engine": _engine(),
        "location": locate_database(),
        **_storage(),
        "unicode": unicodedata.unidata_version,
        "analysis": str(ANALYSIS_VERSION),
        "indexed": _indexed(),
    }


def _engine() -> str:
    try:
        version = connection.get_database_version()
    except DatabaseError as error:
        return f"unreachable ({type(error).__name__})"
    return f"{connection.display_name} {'.'.join(map(str, version))}"


def _storage() -> dict[str, str]:
    try:
        return describe_storage()
    except DatabaseError:
        return {}  # the line above says so


def _indexed() -> str:
    try:
        return describe_index()
    except DatabaseError as error:
        return f"unreadable ({type(error).__name__})"


def _try_round_trip() -> str:
    try:
        return try_round_trip(runtime=configured_runtime(), now=timezone.now())
    except PowerContextError as error:
        return f"failed: {error.message}"
    except DatabaseError as error:
        return f"failed ({type(error).__name__})"
