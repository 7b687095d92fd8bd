"""MariaDB, as the system's packages install it."""

import os
import shutil
import subprocess

from tests.engines.engine import Engine, MissingError, StartError, require_driver

# Debian puts servers where users do not look.
SERVER_FOLDERS = ("/usr/sbin", "/usr/local/sbin")


class MariaDB(Engine):
    name = "MariaDB"
    scheme = "mysql"
    free_megabytes = 1000

    @classmethod
    def require(cls) -> None:
        require_driver()
        for program in ("mariadbd", "mariadb-install-db"):
            if _find(program) is None:
                raise MissingError(
                    f"{program} is not installed (Debian: apt-get install -y"
                    " --no-install-recommends mariadb-server-core mariadb-client-core)"
                )

    def initialize(self) -> None:
        """The system tables, with a root that needs no password."""
        done = subprocess.run(
            [
                *self._program("mariadb-install-db"),
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode != 0:
            said = done.stdout.decode(errors="replace")
            raise StartError(f"mariadb-install-db failed:\n{said[-2000:]}")

    def command(self) -> list[str]:
        return [
            *self._program("mariadbd"),
            *("--bind-address=127.0.0.1", f"--port={self.port}"),
            f"--socket={self.folder / 'socket'}",
            f"--pid-file={self.folder / 'pid'}",
        ]

    def _program(self, name: str) -> list[str]:
        command = [
            _find(name) or name,
            "--no-defaults",
            f"--datadir={self.folder / 'data'}",
        ]
        # As root it wants to be told that this is meant.
        return [*command, "--user=root"] if os.geteuid() == 0 else command


def _find(program: str) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", ""), *SERVER_FOLDERS])
    return shutil.which(program, path=path)
