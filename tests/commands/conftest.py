"""Running commands inside the test process."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.commands.files import write_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    out: str
    err: str


@pytest.fixture
def manage() -> Callable[..., Printed]:
    """`manage("load_context", path)`; a failing command raises `CommandError`."""

    def run(name: str, *arguments: object) -> Printed:
        out, err = io.StringIO(), io.StringIO()
        call_command(name, *map(str, arguments), stdout=out, stderr=err)
        return Printed(out=out.getvalue(), err=err.getvalue())

    return run


@pytest.fixture
def load(manage: Callable[..., Printed], tmp_path: Path) -> Callable[..., str]:
    """Load these lines; returns what was printed, without the file's name."""

    def run(*lines: dict[str, Any]) -> str:
        path = write_lines(tmp_path / "lines.jsonl", lines)
        return manage("load_context", path).out.removeprefix(f"{path}: ").strip()

    return run
