"""One database server of the MySQL family, in a process and a folder of its own."""

import random
import shutil
import signal
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_READY_SECONDS = 120
_STOP_SECONDS = 30
_STEP_SECONDS = 0.1
_LINES_SHOWN = 15
# Below the ports that systems give to outgoing connections. In that range a client that
# knocks at a killed engine can meet itself there, and then holds the port.
_PORTS = range(20_000, 30_000)


class MissingError(Exception):
    """This machine has no such engine; the message says what would help."""


class StartError(Exception):
    """The engine is there and does not run; the message ends with what it logged."""


class Engine:
    """Running between `with` and its end, on a free port of the loopback interface.

    `kill` and `start` keep the folder, `create_database` makes a new database in it.
    """

    name = ""
    scheme = ""
    free_megabytes = 2000

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    # What the subclass for an engine says.

    @classmethod
    def require(cls) -> None:
        """Raise `MissingError` where it cannot be started at all."""
        raise NotImplementedError

    def initialize(self) -> None:
        """Make what has to be in the folder before the first start."""

    def command(self) -> list[str]:
        raise NotImplementedError

    def log_lines(self) -> list[str]:
        """What it wrote about going wrong, the newest last."""
        return read_lines(self.output)

    # What tests use.

    def __enter__(self) -> Self:
        self.require()
        free = shutil.disk_usage(self.folder).free // 10**6
        if free < self.free_megabytes:
            raise StartError(
                f"{self.folder} has {free} MB free; {self.name} needs"
                f" {self.free_megabytes}: set TMPDIR to a folder with more"
            )
        self.port = _find_free_port()
        self.initialize()
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start, and wait until it answers."""
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Ctrl-C is for the tests; the engine outlives it and is stopped here.
                start_new_session=True,
            )
        try:
            self._wait_until_ready(self._process)
        except BaseException:  # Ctrl-C as well: nothing of ours stays behind
            self.stop()
            raise

    def stop(self) -> None:
        """In order, as an operator does; its exit status says nothing (seekdb)."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self) -> None:
        """kill -9, as a power cut of the process; nothing is flushed."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def url(self, database: str) -> str:
        """The DATABASE_URL of one database."""
        return f"{self.scheme}://root@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str, collation: str = "utf8mb4_bin") -> str:
        """Make an empty database; returns its DATABASE_URL."""
        self._run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE {collation}")
        return self.url(name)

    def query(self, database: str, statement: str) -> list[Any]:
        return self._run(statement, database)

    def _run(self, statement: str, database: str = "") -> list[Any]:
        import MySQLdb  # `require` said that it is there

        server = {"host": "127.0.0.1", "port": self.port, "user": "root"}
        with closing(
            MySQLdb.connect(**server, database=database, connect_timeout=5)
        ) as connection:
            cursor = connection.cursor()
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not self._answers():
            code = process.poll()
            if code is not None:
                raise StartError(self._complaint(f"ended with status {code}"))
            if time.monotonic() > deadline:
                raise StartError(self._complaint(f"silent for {_READY_SECONDS} s"))
            time.sleep(_STEP_SECONDS)

    def _answers(self) -> bool:
        import MySQLdb

        try:
            self._run("SELECT 1")
        except MySQLdb.Error:
            return False
        return True

    def _complaint(self, what: str) -> str:
        lines = "\n  ".join(self.log_lines()[-_LINES_SHOWN:])
        return f"{self.name} did not start ({what}):\n  {lines}"

    @property
    def output(self) -> Path:
        return self.folder / "output"


def require_driver() -> None:
    try:
        import MySQLdb  # noqa: F401
    except ImportError as error:
        raise MissingError(
            "mysqlclient is not installed (tools/setup.sh says what it needs)"
        ) from error


def read_lines(path: Path) -> list[str]:
    """The lines of a log, as far as it is text; none if it was never written."""
    if not path.is_file():
        return []
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _find_free_port() -> int:
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise StartError(f"no free port in {_PORTS}")
