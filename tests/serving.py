"""A real server for tests: `manage.py serve` in a process of its own."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

PROJECT = Path(__file__).resolve().parent.parent
_READY = re.compile(r"^serving on (http://\S+)$", re.MULTILINE)
_START_SECONDS = 60
_STOP_SECONDS = 40  # more than the server's own grace

_migrated: bytes | None = None


class Installation:
    """`manage.py` with a data folder of its own and nothing else configured.

    `environment` is added to the test run's own, without its settings of the product.
    """

    def __init__(
        self, data_dir: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.data_dir = data_dir
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("POWERCONTEXT_") and name != "DATABASE_URL"
        } | {
            "POWERCONTEXT_SERVER_DATA_DIR": str(data_dir),
            **(environment or {}),
        }

    def manage(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one command to its end; the caller looks at the exit code."""
        return subprocess.run(
            self.command(*arguments),
            cwd=PROJECT,
            env=self.environment | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )

    def migrate(self) -> None:
        """Make the database. The default one is made once per test run and copied."""
        global _migrated
        database = self.data_dir / "powercontext.sqlite3"
        is_default = "DATABASE_URL" not in self.environment and not database.exists()
        if is_default and _migrated is not None:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            database.write_bytes(_migrated)
            return
        done = self.manage("migrate", "--verbosity", "0")
        assert done.returncode == 0, done.stderr
        if is_default:
            _migrated = database.read_bytes()

    @staticmethod
    def command(*arguments: str) -> list[str]:
        return [sys.executable, "manage.py", *arguments]


class Server(Installation):
    """Migrated and serving between `with` and its end, on a free port.

    `arguments` go to `serve`. `base_url` is known once it is ready.
    """

    def __init__(
        self,
        data_dir: Path,
        environment: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        super().__init__(data_dir, environment)
        self.arguments = arguments
        self.base_url = ""
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.migrate()
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
        """Start serving, and wait for the line that says where."""
        command = self.command("serve", "--port", "0", *self.arguments)
        with self._stdout.open("wb") as stdout, self._stderr.open("wb") as stderr:
            self.process = subprocess.Popen(
                command,
                cwd=PROJECT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_SECONDS
        while not (ready := _READY.search(self._stdout.read_text())):
            assert self.process.poll() is None, self.errors()
            assert time.monotonic() < deadline, self.errors()
            time.sleep(0.02)
        self.base_url = ready.group(1)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop if running; returns the exit code."""
        if self.process is None:
            return 0
        process, self.process = self.process, None
        process.send_signal(how)
        try:
            return process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def errors(self) -> str:
        """What the server has written to stderr since it was started."""
        return self._stderr.read_text(encoding="utf-8", errors="replace")

    @property
    def _stdout(self) -> Path:
        return self.data_dir / "serve.stdout"

    @property
    def _stderr(self) -> Path:
        return self.data_dir / "serve.stderr"
