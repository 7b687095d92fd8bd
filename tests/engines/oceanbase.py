"""OceanBase on one node: seekdb, as the wheel of pylibseekdb brings it."""

import os
from importlib.util import find_spec
from pathlib import Path

from tests.engines.engine import Engine, MissingError, read_lines, require_driver

# A server that runs already, for the tests that kill no engine.
URL_VARIABLE = "POWERCONTEXT_TEST_OCEANBASE_URL"
# `1`: a run that cannot test on OceanBase fails (.ci/run).
REQUIRE_VARIABLE = "POWERCONTEXT_REQUIRE_OCEANBASE"

_LINE_CHARS = 400


class OceanBase(Engine):
    name = "OceanBase"
    scheme = "oceanbase"
    # The smallest that it takes, so that it starts on a small machine too: the log has
    # to be of 2 GB, of which a test run writes a part.
    parameters: tuple[str, ...] = (
        "datafile_size=512M",
        "log_disk_size=2G",
        "memory_budget=1G",
    )

    @classmethod
    def require(cls) -> None:
        require_driver()
        if _find_program() is None:
            raise MissingError(
                "pylibseekdb, which brings the OceanBase engine, is not installed;"
                " it has wheels for Linux with glibc 2.28 or newer, x86_64 and aarch64."
                " Elsewhere name a server on which tests may make databases:"
                f" {URL_VARIABLE}=oceanbase://USER:PASSWORD@HOST:2881/NAME"
            )

    def command(self) -> list[str]:
        command = [str(_find_program()), "--nodaemon", "--port", str(self.port)]
        command += ["--base-dir", str(self.folder / "base")]
        for parameter in self.parameters:
            command += ["--parameter", parameter]
        return command

    def log_lines(self) -> list[str]:
        lines = read_lines(self.folder / "base" / "log" / "seekdb.log")
        # The first with a code is the cause; the rest says that this failed it.
        errors = [line[:_LINE_CHARS] for line in lines if "[errcode=-" in line]
        return super().log_lines() + (errors or lines)


def is_required() -> bool:
    return os.environ.get(REQUIRE_VARIABLE, "") not in ("", "0")


def _find_program() -> Path | None:
    """Where the wheel has it; not imported, which would load the engine here."""
    spec = find_spec("pylibseekdb")
    if spec is None or not spec.submodule_search_locations:
        return None
    program = Path(spec.submodule_search_locations[0], "seekdb")
    return program if program.is_file() else None
