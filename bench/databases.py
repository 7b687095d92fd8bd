"""Empty databases to measure side by side, each used by a process of its own.

SQLite always; beside it the server that DATABASE_URL names, if any. The benchmark makes
a database there and drops it at the end: what the URL itself names is never touched.
"""

import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Database:
    """Runs functions in the process of one database, one after another."""

    def __init__(self, executor: ProcessPoolExecutor, server: "ServerProcess") -> None:
        self._executor = executor
        self.server = server
        self.name = self.run(_describe)

    def start(
        self,
        function: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Future[Result]:
        return self._executor.submit(function, *arguments, **options)

    def run(
        self,
        function: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Result:
        return self.start(function, *arguments, **options).result()


def run_all(
    databases: Sequence[Database],
    function: Callable[Arguments, Result],
    *arguments: Arguments.args,
    **options: Arguments.kwargs,
) -> list[Result]:
    """Run on every database at the same time; not for what is timed."""
    started = [one.start(function, *arguments, **options) for one in databases]
    return [one.result() for one in started]


class ServerProcess:
    """The CPU time of a database server on this machine; none of SQLite."""

    def __init__(self, port: int | None = None) -> None:
        self.pid = None if port is None else _listener(port)

    def cpu_seconds(self) -> float | None:
        if self.pid is None:
            return None
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


@contextmanager
def open_databases() -> Iterator[list[Database]]:
    """SQLite first; all migrated and otherwise empty."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        databases = [
            Database(
                stack.enter_context(_process(f"sqlite:///{folder / 'bench.sqlite3'}")),
                ServerProcess(),
            )
        ]
        given = urlsplit(os.environ.get("DATABASE_URL", ""))
        if given.scheme and given.scheme != "sqlite":
            url = stack.enter_context(_made_database(given))
            server = ServerProcess(
                given.port if given.hostname in ("127.0.0.1", "localhost") else None
            )
            databases.append(Database(stack.enter_context(_process(url)), server))
        yield databases


@contextmanager
def _process(url: str) -> Iterator[ProcessPoolExecutor]:
    with (
        tempfile.TemporaryDirectory() as data_dir,
        ProcessPoolExecutor(
            1, get_context("spawn"), initializer=_set_up, initargs=(url, data_dir)
        ) as executor,
    ):
        yield executor


def _set_up(url: str, data_dir: str) -> None:
    os.environ["DATABASE_URL"] = url
    os.environ["POWERCONTEXT_SERVER_DATA_DIR"] = data_dir
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "powercontext.settings")
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def _describe() -> str:
    from django.db import connection

    version = ".".join(map(str, connection.get_database_version()))
    return f"{connection.display_name} {version}"


@contextmanager
def _made_database(given: SplitResult) -> Iterator[str]:
    import MySQLdb

    name = f"powercontext_bench_{uuid.uuid4().hex[:12]}"

    def execute(statement: str) -> None:
        connection = MySQLdb.connect(
            host=given.hostname,
            port=given.port or 3306,
            user=unquote(given.username or ""),
            password=unquote(given.password or ""),
        )
        connection.cursor().execute(statement)
        connection.close()

    execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    try:
        yield given._replace(path=f"/{name}").geturl()
    finally:
        execute(f"DROP DATABASE {name}")


def _listener(port: int) -> int | None:
    """The process that listens on a TCP port, as far as we may look."""
    sockets = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                sockets.add(f"socket:[{fields[9]}]")
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) in sockets:
                return int(link.parts[2])
        except OSError:
            continue  # ended, or not ours
    print(f"no process found on port {port}: no server CPU", file=sys.stderr)
    return None
