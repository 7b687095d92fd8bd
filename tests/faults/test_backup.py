"""What docs/operations.md promises of backups of a single OceanBase engine."""

import shutil
from pathlib import Path

import pytest

from tests.commands import files
from tests.engines.oceanbase import OceanBase
from tests.serving import Installation

pytestmark = [
    pytest.mark.oceanbase,
    pytest.mark.usefixtures("oceanbase_is_here"),
]


def run(installation: Installation, *arguments: str) -> None:
    done = installation.manage(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_copy_of_a_stopped_engine_is_whole(tmp_path: Path) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    original.mkdir()
    with OceanBase(original) as engine:
        url = engine.create_database("powercontext")
        installation = Installation(tmp_path / "data", {"DATABASE_URL": url})
        run(installation, "migrate", "--verbosity", "0")
        run(installation, "load_context", str(files.DEMO))
        run(installation, "export_context", "--output", str(before))
        engine.stop()
        shutil.copytree(original, copy, ignore=shutil.ignore_patterns("*.sock"))
    with OceanBase(copy) as engine:
        url = engine.url("powercontext")
        installation = Installation(tmp_path / "data", {"DATABASE_URL": url})
        run(installation, "doctor")
        run(installation, "export_context", "--output", str(after))
    assert after.read_bytes() == before.read_bytes()
