"""`python -m tests.engines`: no run without an engine passes for one with it."""

import errno
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.engine import Engine, MissingError, StartError
from tests.engines.mariadb import MariaDB
from tests.engines.oceanbase import REQUIRE_VARIABLE, URL_VARIABLE, OceanBase
from tests.serving import PROJECT

# The module as it runs where pip found no wheel: an import of None is "not there".
_WITHOUT_WHEEL = (
    "import runpy, sys; sys.modules['pylibseekdb'] = None;"
    " runpy.run_module('tests.engines', run_name='__main__')"
)
_SAY_URL = ["sh", "-c", 'echo "url=$DATABASE_URL"']


def run(*python: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in (REQUIRE_VARIABLE, URL_VARIABLE, "DATABASE_URL")
    }
    return subprocess.run(
        [sys.executable, *python],
        cwd=PROJECT,
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def refuses(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


def test_a_missing_engine_is_said_loudly() -> None:
    done = run("-c", _WITHOUT_WHEEL, "oceanbase", *_SAY_URL)
    assert (done.returncode, done.stdout) == (0, "")
    assert "NOT TESTED ON OCEANBASE" in done.stderr
    assert f"{URL_VARIABLE}=oceanbase://" in done.stderr


def test_a_missing_engine_fails_where_it_is_required() -> None:
    environment = {REQUIRE_VARIABLE: "1"}
    done = run("-c", _WITHOUT_WHEEL, "oceanbase", *_SAY_URL, **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert "NOT TESTED ON OCEANBASE" in done.stderr


def test_ci_requires_the_engine() -> None:
    script = (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
    assert f"\nexport {REQUIRE_VARIABLE}=1\n" in script
    assert script.index(REQUIRE_VARIABLE) < script.index("make test")


def test_a_named_server_is_used_as_it_is() -> None:
    url = "oceanbase://u@h:2881/n"
    done = run("-c", _WITHOUT_WHEEL, "oceanbase", *_SAY_URL, **{URL_VARIABLE: url})
    assert (done.returncode, done.stdout) == (0, f"url={url}\n")


def test_mariadb_is_asked_for_and_so_never_optional(tmp_path: Path) -> None:
    nothing = {"PATH": str(tmp_path)}
    code = _WITHOUT_WHEEL.replace(
        "sys.modules['pylibseekdb'] = None;",
        "from tests.engines import mariadb; mariadb.SERVER_FOLDERS = ();",
    )
    done = run("-c", code, "mariadb", "true", **nothing)
    assert done.returncode == 1
    assert "NOT TESTED ON MARIADB: mariadbd is not installed" in done.stderr


def test_usage() -> None:
    done = run("-m", "tests.engines", "postgres", "true")
    assert done.returncode == 1
    assert (
        done.stderr == "usage: python -m tests.engines oceanbase|mariadb COMMAND...\n"
    )


class Failing(Engine):
    """A real process that ends at once, as a server with a bad option does."""

    name = "Failing"

    @classmethod
    def require(cls) -> None:
        pass

    def command(self) -> list[str]:
        return ["sh", "-c", "echo the disk is full; exit 3"]


def test_a_failed_start_shows_the_log(tmp_path: Path) -> None:
    with pytest.raises(StartError) as raised, Failing(tmp_path):
        pass
    assert str(raised.value) == (
        "Failing did not start (ended with status 3):\n  the disk is full"
    )


def test_too_little_space_says_what_to_set(tmp_path: Path) -> None:
    engine = Failing(tmp_path)
    engine.free_megabytes = 10**9
    with pytest.raises(StartError, match="needs 1000000000: set TMPDIR"), engine:
        pass


@pytest.mark.oceanbase
@pytest.mark.usefixtures("oceanbase_is_here")
def test_oceanbase_runs_and_is_stopped() -> None:
    done = run("-m", "tests.engines", "oceanbase", *_SAY_URL)
    url = re.fullmatch(r"url=oceanbase://root@127.0.0.1:(2\d{4})/\w+\n", done.stdout)
    assert url is not None, done.stderr
    assert done.returncode == 0
    assert refuses(int(url[1]))


class CrampedOceanBase(OceanBase):
    parameters = ("datafile_size=512M", "log_disk_size=1G")


@pytest.mark.oceanbase
@pytest.mark.usefixtures("oceanbase_is_here")
def test_oceanbase_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(StartError) as raised, CrampedOceanBase(tmp_path):
        pass
    assert "OceanBase did not start (ended with status 1):" in str(raised.value)
    assert "OB_RESOURCE_UNIT_VALUE_INVALID" in str(raised.value)


def test_mariadb_runs_where_it_is_installed() -> None:
    try:
        MariaDB.require()
    except MissingError as reason:
        pytest.skip(str(reason))
    done = run("-m", "tests.engines", "mariadb", *_SAY_URL)
    url = re.fullmatch(r"url=mysql://root@127.0.0.1:(2\d{4})/\w+\n", done.stdout)
    assert url is not None, done.stderr
    assert done.returncode == 0
    assert refuses(int(url[1]))
