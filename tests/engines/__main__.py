"""Run a command on a database engine: `python -m tests.engines NAME COMMAND...`.

The engine has its files in a folder of its own and is stopped whatever the command
does, which finds its URL in DATABASE_URL.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engines import oceanbase
from tests.engines.engine import Engine, MissingError, StartError
from tests.engines.mariadb import MariaDB
from tests.engines.oceanbase import OceanBase

_ENGINES: dict[str, type[Engine]] = {"oceanbase": OceanBase, "mariadb": MariaDB}
_USAGE = f"usage: python -m tests.engines {'|'.join(_ENGINES)} COMMAND..."


@contextmanager
def database_url(name: str) -> Iterator[str]:
    """The DATABASE_URL of a server that is ready; tests make their own databases."""
    given = os.environ.get(oceanbase.URL_VARIABLE) if name == "oceanbase" else None
    if given:
        yield given
        return
    with (
        tempfile.TemporaryDirectory(
            prefix="powercontext-engine-", ignore_cleanup_errors=True
        ) as folder,
        _ENGINES[name](Path(folder)) as engine,
    ):
        yield engine.url("powercontext")


def run(name: str, command: list[str]) -> int:
    """The command's exit status, 128 and the signal if one ended it."""
    with database_url(name) as url:
        # `raise`s at Ctrl-C, after the command has had it as well.
        done = subprocess.run(command, env=os.environ | {"DATABASE_URL": url})
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def explain_missing(name: str, reason: MissingError) -> int:
    """Nobody shall take a run without OceanBase for one with it."""
    title = f"NOT TESTED ON {_ENGINES[name].name.upper()}"
    line = "=" * 72
    print(f"{line}\n{title}: {reason}\n{line}", file=sys.stderr, flush=True)
    is_optional = name == "oceanbase" and not oceanbase.is_required()
    return 0 if is_optional else 1


def main(arguments: list[str]) -> int:
    if len(arguments) < 2 or arguments[0] not in _ENGINES:
        raise SystemExit(_USAGE)
    # A stopped command stops the engine too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    name, *command = arguments
    try:
        return run(name, command)
    except MissingError as reason:
        return explain_missing(name, reason)
    except StartError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
