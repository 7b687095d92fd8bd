"""`manage.py verify`: input, output and exit codes (0 fine, 1 not fine, 2 unusable)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from prepare.models import Scope
from tests.api import Api
from tests.commands.conftest import Printed
from tests.factories import make_scope, remember, revise, token
from tests.services.building import pack_memories
from tests.services.test_checking import receipt_of
from tests.serving import Installation

Manage = Callable[..., Printed]


class Verify:
    """Runs the command on files of one folder; one method for each exit code."""

    def __init__(self, folder: Path, manage: Manage) -> None:
        self.folder = folder
        self.manage = manage

    def file(self, name: str, data: bytes | str | dict[str, Any]) -> Path:
        path = self.folder / name
        raw = json.dumps(data) if isinstance(data, dict) else data
        path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
        return path

    def fine(self, *arguments: object) -> str:
        return self.manage("verify", *arguments).out

    def unusable(self, *arguments: object) -> str:
        """Exit code 2: the message on stderr."""
        with pytest.raises(CommandError) as refused:
            self.manage("verify", *arguments)
        assert refused.value.returncode == 2
        return str(refused.value)

    def not_fine(self, *arguments: object) -> None:
        with pytest.raises(SystemExit) as stopped:
            self.manage("verify", *arguments)
        assert stopped.value.code == 1


@pytest.fixture
def verify(tmp_path: Path, manage: Manage) -> Verify:
    return Verify(tmp_path, manage)


@pytest.fixture
def scope(db) -> Scope:
    return make_scope("s")


@pytest.fixture
def stored(api: Api, scope: Scope, verify: Verify) -> dict[str, Path]:
    """One response as a harness stores it: whole, and in two files."""
    remember(scope, "zebra 条纹", artifact_id="m1")
    body = api.prepare("s", "zebra", assembly={}, include_receipt=True).body
    return {
        "content": verify.file("content", body["content"]),
        "receipt": verify.file("receipt", body["receipt"]),
        "response": verify.file("response", body),
    }


def test_a_receipt_that_fits(verify: Verify, stored: dict[str, Path]) -> None:
    out = verify.fine("--content", stored["content"], "--receipt", stored["receipt"])
    assert "content_digest: match" in out
    assert "content_bytes: match" in out
    assert '1     readable  head  1     intact  atomic-memory "m1", revision 1' in out
    assert out.endswith("all fine\n")
    assert "zebra" not in out


def test_a_response_file_is_both(verify: Verify, stored: dict[str, Path]) -> None:
    apart = ("--content", stored["content"], "--receipt", stored["receipt"])
    assert verify.fine("--response", stored["response"]) == verify.fine(*apart)


def test_a_text_alone_is_claims(verify: Verify, stored: dict[str, Path]) -> None:
    out = verify.fine("--content", stored["content"])
    assert "Memory 1  readable  head  1     intact  same  as cited, unproven" in out


def test_the_machine_form(verify: Verify, stored: dict[str, Path]) -> None:
    found = json.loads(verify.fine("--response", stored["response"], "--json"))
    assert list(found) == [
        *("form", "is_fine", "content_bytes", "checks", "problems", "notes", "items"),
    ]
    assert (found["form"], found["is_fine"]) == ("receipt", True)
    digest, size = found["checks"]
    assert digest["expected"] == digest["actual"]
    assert size == {
        "name": "content_bytes",
        "outcome": "match",
        "expected": found["content_bytes"],
        "actual": stored["content"].stat().st_size,
    }
    artifact = {"family": "atomic-memory", "artifact_id": "m1", "revision": 1}
    assert found["items"] == [
        {
            "place": "1",
            "label": None,
            "scope_id": "s",
            "artifact": artifact,
            "entry_id": None,
            "entry_version_id": None,
            "code_evidence": None,
            "access": "readable",
            "state": "head",
            "head_revision": 1,
            "stored": "intact",
            "body": None,
            "sources": [],
        }
    ]
    claims = json.loads(verify.fine("--content", stored["content"], "--json"))
    assert claims["items"][0]["label"] == "as cited, unproven"
    assert claims["items"][0]["body"] == "same"


def test_superseded_is_fine(verify: Verify, stored: dict[str, Path]) -> None:
    row = Scope.objects.get(scope_id="s").artifacts.get(artifact_id="m1")
    revise(row.revisions.get(), {"kind": "fact", "text": "zebra two"})
    out = verify.fine("--response", stored["response"])
    assert "readable  superseded  2     intact" in out


def test_one_byte_is_not_fine(verify: Verify, stored: dict[str, Path]) -> None:
    changed = verify.file(
        "changed", stored["content"].read_bytes().replace(b"z", b"Z", 1)
    )
    verify.not_fine("--content", changed, "--receipt", stored["receipt"])
    verify.not_fine("--content", changed)


def test_what_is_not_fine_is_printed_all_the_same(
    stored: dict[str, Path], verify: Verify, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = verify.file("changed", stored["content"].read_bytes() + b"\n")
    for options in ((), ("--json",)):
        with pytest.raises(SystemExit):
            call_command(
                "verify",
                *("--content", str(changed), "--receipt", str(stored["receipt"])),
                *options,
            )
        out = capsys.readouterr().out
        assert "one line feed at its end" in out
        if options:
            assert json.loads(out)["is_fine"] is False
        else:
            assert out.endswith("NOT FINE\n")


def test_an_empty_response(verify: Verify, scope: Scope) -> None:
    receipt = receipt_of(content_digest=None, used_bytes=0, selected=[])
    path = verify.file("receipt", receipt)
    for content in (
        (),
        ("--content", verify.file("empty", "")),
        ("--content", verify.folder / "absent"),
    ):
        assert "receipt, 0 bytes" in verify.fine("--receipt", path, *content)
    verify.not_fine("--receipt", path, "--content", verify.file("full", "x"))
    response = {"status": "empty", "content": None, "content_bytes": 0}
    fine = verify.file("response", response | {"receipt": receipt})
    assert "all fine" in verify.fine("--response", fine)


def test_a_ready_receipt_without_its_content(
    verify: Verify, stored: dict[str, Path]
) -> None:
    verify.not_fine("--receipt", stored["receipt"])
    arguments = ("--receipt", stored["receipt"], "--content", verify.folder / "no")
    assert "No such file" in verify.unusable(*arguments)


def test_the_scope_of_an_envelope(api: Api, verify: Verify, scope: Scope) -> None:
    remember(scope, "zebra")
    content = verify.file("content", api.content("s", "zebra"))
    verify.not_fine("--content", content)
    assert '"s"' in verify.fine("--content", content, "--scope", "s")


# Whose rights.


def test_enforced_access_needs_a_token(
    verify: Verify, stored: dict[str, Path], settings: Any
) -> None:
    settings.ACCESS_MODE = "enforced"
    message = verify.unusable("--response", stored["response"])
    assert "--token-env" in message


@pytest.mark.parametrize("access_mode", ["disabled", "enforced"])
def test_the_token_of_a_variable_decides(
    verify: Verify,
    stored: dict[str, Path],
    scope: Scope,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    access_mode: str,
) -> None:
    settings.ACCESS_MODE = access_mode
    arguments = ("--response", stored["response"], "--token-env", "VERIFY_TOKEN")
    monkeypatch.setenv("VERIFY_TOKEN", token("reader", scope))
    assert "all fine" in verify.fine(*arguments)
    monkeypatch.setenv("VERIFY_TOKEN", token("stranger"))
    verify.not_fine(*arguments)


def test_the_service_token_reads_nothing(
    verify: Verify,
    stored: dict[str, Path],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.AUTH_TOKEN = "service-secret"
    monkeypatch.setenv("VERIFY_TOKEN", "service-secret")
    verify.not_fine("--response", stored["response"], "--token-env", "VERIFY_TOKEN")


@pytest.mark.parametrize("value", ["", "pct_canary7391", "\udcff\udcfe"])
def test_a_bad_token_is_never_repeated(
    verify: Verify,
    stored: dict[str, Path],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    value: str,
) -> None:
    settings.AUTH_TOKEN = "service-secret"
    monkeypatch.setenv("VERIFY_TOKEN", value)
    arguments = ("--response", stored["response"], "--token-env")
    assert "canary" not in verify.unusable(*arguments, "VERIFY_TOKEN")
    message = verify.unusable(*arguments, "pct_canary7391")  # the token by mistake
    assert "canary" not in message
    assert "NAME" in message


# Unusable input.


def test_something_must_be_given(verify: Verify) -> None:
    assert "Give --content" in verify.unusable()


def test_a_response_comes_alone(verify: Verify, stored: dict[str, Path]) -> None:
    for name in ("content", "receipt"):
        message = verify.unusable(
            *("--response", stored["response"]), f"--{name}", stored[name]
        )
        assert "replaces" in message


def test_a_receipt_takes_no_scope(verify: Verify, stored: dict[str, Path]) -> None:
    for arguments in (
        ("--receipt", stored["receipt"]),
        ("--response", stored["response"]),
    ):
        assert "names its Scopes" in verify.unusable(*arguments, "--scope", "s")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "not valid JSON"),
        ("[]", "not a JSON object"),
        ('{"schema": 1, "schema": 2}', "repeats a key"),
        ('{"schema": NaN}', "NaN"),
        ('{"schema": "\\ud800"}', "surrogate"),
        ("[" * 100_000, "nested too deeply"),
        ("{}", "query_digest: is missing"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_what_is_no_receipt(
    verify: Verify, scope: Scope, data: bytes | str, message: str
) -> None:
    path = verify.file("receipt", data)
    assert message in verify.unusable("--receipt", path)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({}, "not a response of prepare"),
        ({"content": 7}, "not a response of prepare"),
        ({"content": None}, "is empty and has no receipt"),
        ({"content": "x", "receipt": 7}, "its receipt is not"),
        ({"content": "x"}, "no PowerContext text"),
    ],
)
def test_what_is_no_response(
    verify: Verify, scope: Scope, response: dict[str, Any], message: str
) -> None:
    path = verify.file("response", response)
    assert message in verify.unusable("--response", path)


def test_files_are_bounded(verify: Verify, scope: Scope) -> None:
    path = verify.file("content", b"x" * (1024 * 1024 + 1))
    assert "is larger than" in verify.unusable("--content", path)
    assert "Is a directory" in verify.unusable("--content", verify.folder)


# In a process of its own.


def test_on_a_console(tmp_path: Path) -> None:
    """Exit codes, ASCII output, and no traceback for hostile input (C-64)."""
    installation = Installation(tmp_path / "data")
    installation.manage("migrate", "--verbosity", "0")
    lines = [
        {"type": "scope", "scope_id": "项目", "title": "T", "summary": "S"},
        {
            "type": "artifact",
            "scope_id": "项目",
            "family": "atomic-memory",
            "artifact_id": "m1",
            "revision": 1,
            "content": {"kind": "fact", "text": "zebra 🩺"},
        },
    ]
    jsonl = tmp_path / "scope.jsonl"
    jsonl.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    installation.manage("load_context", str(jsonl))
    text = (pack_memories("zebra 🩺").content or "").replace(
        '"project:demo"', r'"\u9879\u76ee"'
    )
    content = tmp_path / "content"
    content.write_bytes(text.encode())
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}

    def run(*arguments: str) -> tuple[int, bytes]:
        done = installation.manage("verify", *arguments, environment=ascii_only)
        assert b"Traceback" not in done.stderr
        assert done.returncode != 2 or (done.stdout == b"" and done.stderr)
        return done.returncode, done.stdout

    code, out = run("--content", str(content))
    assert (code, b"all fine" in out) == (0, True)
    assert rb'"\u9879\u76ee"' in out
    content.write_bytes(text.replace("m1", "m2").encode())
    code, out = run("--content", str(content), "--json")
    assert (code, json.loads(out)["items"][0]["access"]) == (1, "missing")
    content.write_bytes(b"\xff")
    assert run("--content", str(content)) == (2, b"")
    assert run("--content", str(tmp_path / "absent")) == (2, b"")
    assert run("--nonsense") == (2, b"")
