"""`manage.py COMMAND --help` says what the command does and what its options mean."""

from pathlib import Path

import pytest
from django.core.management import load_command_class

from prepare.management import commands

FOLDER = Path(commands.__path__[0])
NAMES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


def test_the_commands_of_the_design_are_there() -> None:
    assert {
        "create_token",
        "doctor",
        "export_context",
        "load_context",
        "prepare",
        "rebuild_search",
        "replay",
        "revoke_token",
        "serve",
    } <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_help_is_useful(name: str) -> None:
    command = load_command_class("prepare", name)
    text = command.create_parser("manage.py", name).format_help()
    assert len(command.help) > 40
    assert "%" not in text.replace("100%", "")
    assert f"manage.py {name}" in text
