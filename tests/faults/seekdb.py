"""A real OceanBase engine (seekdb) that a test may kill, on loopback only."""

import os
import signal
import socket
import subprocess
import time
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import MySQLdb

_START_SECONDS = 60


class Engine:
    """Running between `with` and its end; `kill` and `start` keep the base folder."""

    def __init__(self, base_dir: Path) -> None:
        self._base_dir = base_dir
        self._process: subprocess.Popen[bytes] | None = None
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])

    def __enter__(self) -> "Engine":
        self._base_dir.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start, and wait until it answers."""
        spec = find_spec("pylibseekdb")
        assert spec is not None
        assert spec.submodule_search_locations is not None
        package = Path(spec.submodule_search_locations[0])
        libraries = [package, package.parent / "pylibseekdb.libs"]
        self._process = subprocess.Popen(
            [
                str(package / "seekdb"),
                "--nodaemon",
                "--base-dir",
                str(self._base_dir),
                "--port",
                str(self._port),
                "--parameter",
                "datafile_size=512M",
                "--parameter",
                "log_disk_size=2G",
            ],
            env=os.environ | {"LD_LIBRARY_PATH": ":".join(map(str, libraries))},
            cwd=self._base_dir,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            assert self._process.poll() is None, "the engine has ended"
            assert time.monotonic() < deadline, "the engine does not answer"
            time.sleep(0.1)

    def kill(self) -> None:
        """kill -9, as a power cut of the process; nothing is flushed."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def create_database(self, name: str) -> str:
        """Make an empty database; returns its DATABASE_URL."""
        self.execute(
            f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        )
        return f"oceanbase://root@127.0.0.1:{self._port}/{name}"

    def execute(self, statement: str) -> None:
        with closing(self._connect()) as connection:
            connection.cursor().execute(statement)

    def query(self, database: str, statement: str) -> list[Any]:
        with closing(self._connect(database)) as connection:
            cursor = connection.cursor()
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except MySQLdb.Error:
            return False
        return True

    def _connect(self, database: str = "") -> Any:
        return MySQLdb.connect(
            host="127.0.0.1",
            port=self._port,
            user="root",
            database=database,
            connect_timeout=5,
        )
