"""Run a command on a real OceanBase engine: `python -m tests.engine COMMAND...`.

The engine is seekdb, which pylibseekdb carries: started on a free loopback port with
its files in a folder of its own, stopped whatever the command does. A server that runs
already is used instead when POWERCONTEXT_TEST_OCEANBASE_URL names its URL.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

import MySQLdb

_READY_SECONDS = 120
_STOP_SECONDS = 30
_STEP_SECONDS = 0.2


@contextmanager
def oceanbase_url() -> Iterator[str]:
    """The DATABASE_URL of a server that is ready; tests make their own databases."""
    if given := os.environ.get("POWERCONTEXT_TEST_OCEANBASE_URL"):
        yield given
        return
    port = _free_port()
    with tempfile.TemporaryDirectory(
        prefix="powercontext-engine-", ignore_cleanup_errors=True
    ) as folder:
        output = Path(folder, "output")
        with output.open("wb") as log:
            process = subprocess.Popen(
                _command(Path(folder, "base"), port),
                env=os.environ | {"LD_LIBRARY_PATH": _library_path()},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for the command; the engine outlives it and is stopped here.
                start_new_session=True,
            )
        try:
            _wait_until_ready(process, port, output)
            yield f"oceanbase://root@127.0.0.1:{port}/powercontext"
        finally:
            _stop(process)


def _command(base: Path, port: int) -> list[str]:
    return [
        str(distribution("pylibseekdb").locate_file("pylibseekdb/seekdb")),
        *("--nodaemon", "--base-dir", str(base), "--port", str(port)),
        *("--parameter", "datafile_size=512M", "--parameter", "log_disk_size=2G"),
    ]


def _library_path() -> str:
    site = Path(str(distribution("pylibseekdb").locate_file("")))
    folders = [str(site / "pylibseekdb"), str(site / "pylibseekdb.libs")]
    return ":".join([*folders, os.environ.get("LD_LIBRARY_PATH", "")]).rstrip(":")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(
    process: subprocess.Popen[bytes], port: int, output: Path
) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > deadline:
            said = output.read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"the OceanBase engine did not start:\n{said[-2000:]}")
        time.sleep(_STEP_SECONDS)


def _answers(port: int) -> bool:
    try:
        connection = MySQLdb.connect(
            host="127.0.0.1", port=port, user="root", connect_timeout=5
        )
    except MySQLdb.Error:
        return False
    try:
        connection.query("SELECT 1")
    except MySQLdb.Error:
        return False
    finally:
        connection.close()
    return True


def _stop(process: subprocess.Popen[bytes]) -> None:
    """It kills itself at SIGTERM: the exit status says nothing."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(command: list[str]) -> int:
    if not command:
        raise SystemExit("usage: python -m tests.engine COMMAND...")
    # A stopped command stops the engine too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with oceanbase_url() as url:
        # `raise`s at Ctrl-C, after the command has had it as well.
        done = subprocess.run(command, env=os.environ | {"DATABASE_URL": url})
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
