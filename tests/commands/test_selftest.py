"""`manage.py selftest`: the promised answers, and nothing stays."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from prepare.management.commands import selftest
from tests import factories
from tests.commands import files
from tests.commands.conftest import Printed
from tests.serving import Installation

Manage = Callable[..., Printed]
CASES = json.loads(selftest.EXPECTED.read_text(encoding="utf-8"))

pytestmark = pytest.mark.django_db


def test_every_answer_is_the_promised_one_and_nothing_stays(manage: Manage) -> None:
    factories.remember(factories.make_scope("s"), "grinder")
    before = files.row_counts()
    lines = manage("selftest").out.splitlines()
    assert lines == [f"same       {case['name']}" for case in CASES]
    assert files.row_counts() == before
    manage("selftest")


def test_settings_change_nothing(manage: Manage, settings: Any) -> None:
    settings.READERS = frozenset({"profile"})
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 1
    settings.RECALL_POSTINGS_CAP = 1
    manage("selftest")


def test_printing_gives_the_expectation_file(manage: Manage) -> None:
    assert manage("selftest", "--print").out == selftest.EXPECTED.read_text("utf-8")


def test_a_difference_is_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changed = json.loads(json.dumps(CASES))
    changed[5]["answer"]["identities"].reverse()
    path = tmp_path / "expected.json"
    path.write_text(json.dumps(changed))
    monkeypatch.setattr(selftest, "EXPECTED", path)
    before = files.row_counts()
    with pytest.raises(CommandError, match=f"^1 of {len(CASES)} answers are different"):
        call_command("selftest")
    out = capsys.readouterr().out
    assert "DIFFERENT  ties and order\n    --- expected\n    +++ this database" in out
    assert out.count("DIFFERENT") == 1
    assert files.row_counts() == before


def test_it_covers_every_form_and_family() -> None:
    requests = [case["request"] for case in CASES]
    assert {"assembly" in request for request in requests} == {True, False}
    assert any(request.get("include_receipt") for request in requests)
    named = [name for case in CASES for name in case["answer"]["identities"]]
    assert {name[1] for name in named} == {
        "atomic-memory",
        "experience",
        "memory",
        "profile",
        "topic-memory",
    }
    assert len({name[0] for name in named}) == 5


def test_a_database_that_was_never_migrated(tmp_path: Path) -> None:
    failed = Installation(tmp_path / "data").manage("selftest")
    assert failed.returncode == 1
    assert failed.stderr.decode().count("\n") == 1
