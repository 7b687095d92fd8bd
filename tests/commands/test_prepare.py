"""`manage.py prepare`: the same service without HTTP (J-26), on any console (C-64)."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from tests import factories
from tests.commands import files
from tests.commands.conftest import Printed
from tests.serving import PROJECT, Installation

Manage = Callable[..., Printed]
ODD = "🩺 修改 naïve \x1b[31m words"


@pytest.fixture
def stored(db: None) -> None:
    scope = factories.make_scope("s")
    for number in range(9):
        factories.remember(scope, f"{ODD} {number}", artifact_id=f"m{number}")


@pytest.mark.usefixtures("stored")
def test_the_content_alone_is_printed(manage: Manage) -> None:
    for options, arguments in [
        ({}, []),
        ({"assembly": {}, "max_bytes": 1500}, ["--assembly={}", "--max-bytes=1500"]),
    ]:
        content, found = files.prepare("s", "words", **options)
        printed = manage("prepare", "--scope=s", "--query=words", *arguments)
        assert found
        assert printed == Printed(out=content or "", err="")


@pytest.mark.usefixtures("stored")
def test_json_is_the_body_of_the_http_answer(manage: Manage, api: Any) -> None:
    wire = api.prepare("s", "words", assembly={}).body
    printed = manage("prepare", "--scope=s", "--query=words", "--assembly={}", "--json")
    assert json.loads(printed.out) == wire
    assert printed.out.splitlines() == printed.out.rstrip("\n").split("\n")
    printed = manage("prepare", "--scope=s", "--query=zzz", "--json")
    assert json.loads(printed.out)["status"] == "empty"


@pytest.mark.usefixtures("stored")
def test_empty_is_a_note(manage: Manage) -> None:
    assert manage("prepare", "--scope=s", "--query=zzz") == Printed(
        out="", err="empty\n"
    )


@pytest.mark.clause("A-042")
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--query="], "query: 1 to 8192 characters"),
        (["--query=\u3000"], "query: Blank query"),
        (["--query=" + "x" * 8193], "query: 1 to 8192 characters"),
        (["--scope="], "scope_id: 1 to 256 characters"),
        (["--scope=nowhere"], "The requested Scope was not found."),
        (["--max-bytes=511"], "max_bytes: 512 to 32768"),
        (["--max-bytes=32769"], "max_bytes: 512 to 32768"),
        (["--max-bytes=8000.0"], "max_bytes: Input should be a valid integer"),
        (["--max-bytes=true"], "max_bytes: Input should be a valid integer"),
        (['--max-bytes="8000"'], "max_bytes: Input should be a valid integer"),
        (["--max-bytes=many"], "--max-bytes must be JSON: it is not valid JSON."),
        (["--assembly=null"], "assembly: Input should be an object"),
        (["--assembly={"], "--assembly must be JSON: it is not valid JSON."),
        (['--assembly={"x":1,"x":2}'], "--assembly must be JSON: An object repeats"),
        (['--assembly={"x":1}'], "assembly.x: Extra inputs are not permitted"),
        (['--assembly={"format":"text"}'], "assembly.format: "),
        (['--assembly={"show":["score"]}'], "assembly.show.0: "),
        (["--memory=9"], "assembly.sections.0.limit: 1 to 8 for this family"),
        (["--experience=3"], "assembly.sections.0.limit: 1 to 2 for this family"),
        (["--memory=8", "--experience=1"], "The request is invalid."),
    ],
)
def test_refusals_are_the_ones_of_http(
    manage: Manage, arguments: list[str], message: str
) -> None:
    """Family limits and the total are held without HTTP; `--FAMILY=N` is a section."""
    sections = [
        {"family": name.removeprefix("--"), "limit": int(limit)}
        for name, _, limit in (argument.partition("=") for argument in arguments)
        if name in ("--memory", "--experience")
    ]
    if sections:
        arguments = [f"--assembly={json.dumps({'sections': sections})}"]
    with pytest.raises(CommandError) as raised:
        manage("prepare", "--scope=s", "--query=words", *arguments)
    assert str(raised.value).startswith(message)


@pytest.mark.usefixtures("stored")
def test_nothing_is_written(manage: Manage) -> None:
    before = files.row_counts()
    manage("prepare", "--scope=s", "--query=words", "--include-receipt", "--json")
    assert files.row_counts() == before


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory,
) -> Installation:
    folder = tmp_path_factory.mktemp("prepare")
    installation = Installation(folder / "data")
    installation.migrate()
    lines = [files.scope("项目:甲")] + [
        files.memory(f"m{number}", f"{ODD} {number}", scope_id="项目:甲")
        for number in range(9)
    ]
    path = files.write_lines(folder / "lines.jsonl", lines)
    assert installation.manage("load_context", str(path)).returncode == 0
    return installation


CONSOLES = [
    {},
    {"PYTHONIOENCODING": "gbk"},
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("console", CONSOLES, ids=str)
def test_any_console_gets_the_same_bytes(
    installation: Installation, console: dict[str, str]
) -> None:
    ask = ["prepare", "--scope", "项目:甲", "--query", "修改 words", "--assembly={}"]
    content = installation.manage(*ask, environment=console)
    assert (content.returncode, content.stderr) == (0, b"")
    body = installation.manage(*ask, "--json", environment=console)
    assert (body.returncode, body.stderr) == (0, b"")
    wire = json.loads(body.stdout.decode())
    assert content.stdout == wire["content"].encode()
    assert len(content.stdout) == wire["content_bytes"]
    assert "🩺 修改 naïve" in wire["content"]


@pytest.mark.parametrize("console", CONSOLES, ids=str)
def test_messages_never_fail_on_a_console(
    installation: Installation, console: dict[str, str], tmp_path: Path
) -> None:
    path = files.write_lines(tmp_path / "修改🩺.jsonl", [{"type": "🩺"}])
    refused = installation.manage("load_context", str(path), environment=console)
    assert refused.returncode == 1
    assert refused.stderr.count(b"\n") == 1
    assert b"jsonl:1: type: should be one of" in refused.stderr
    skipped = files.write_lines(tmp_path / "修改.jsonl", [files.scope("项目:甲")])
    said = installation.manage(
        "load_context", "--if-missing", str(skipped), environment=console
    )
    assert (said.returncode, said.stderr) == (0, b"")


def test_an_argument_that_is_no_text(installation: Installation) -> None:
    refused = subprocess.run(
        [os.fsencode(part) for part in installation.command("prepare", "--scope=s")]
        + [b"--query=\xff\xfe"],
        cwd=PROJECT,
        env=installation.environment,
        capture_output=True,
        check=False,
    )
    assert refused.returncode == 1
    assert refused.stderr == b"An argument is not UTF-8.\n"


@pytest.mark.parametrize("arguments", ["prepare --json", "export_context"])
def test_a_reader_that_stops_early_is_no_error(
    installation: Installation, arguments: str
) -> None:
    command, *options = arguments.split()
    if command == "prepare":
        options += ["--scope=项目:甲", "--query=words"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        stopped = subprocess.run(
            installation.command(command, *options),
            cwd=PROJECT,
            env=installation.environment,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)
    assert (stopped.returncode, stopped.stderr) == (0, b"")


def test_a_database_that_is_not_ready_is_one_line(tmp_path: Path) -> None:
    refused = Installation(tmp_path / "data").manage(
        "prepare", "--scope=s", "--query=words"
    )
    assert refused.returncode == 1
    [line] = refused.stderr.decode().splitlines()
    assert line.startswith("The database failed (OperationalError);")


def test_a_traceback_on_request(tmp_path: Path) -> None:
    refused = Installation(tmp_path / "data").manage(
        "prepare", "--scope=s", "--query=words", "--traceback"
    )
    assert refused.returncode == 1
    assert b"Traceback (most recent call last)" in refused.stderr
