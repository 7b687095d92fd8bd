"""`manage.py replay`: recorded candidates give the recorded bytes."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from prepare.services.replaying import compare, read_recording, replay
from prepare.values import Identity, SelectedItem
from tests.commands.conftest import Printed

Manage = Callable[..., Printed]
GOLDENS = Path(__file__).parent.parent / "goldens"
RECORDED = os.environ.get("POWERCONTEXT_GOLDENS", "")


def golden_files(folder: Path) -> list[Path]:
    """The files without code evidence, which is not built yet."""
    return [path for path in sorted(folder.glob("*.json")) if "-code-" not in path.name]


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def all_folders() -> list[Any]:
    given = pytest.mark.skipif(not RECORDED, reason="recorded goldens not given")
    return [
        pytest.param(GOLDENS, id="own"),
        pytest.param(Path(RECORDED or "."), id="recorded", marks=given),
    ]


@pytest.mark.clause("A-110")
@pytest.mark.parametrize("folder", all_folders())
def test_every_golden_file_is_the_same(manage: Manage, folder: Path) -> None:
    paths = golden_files(folder)
    printed = manage("replay", "--check", *paths)
    assert len(paths) > 200
    assert printed.out == f"{len(paths)} same, 0 different, 0 not run\n"


@pytest.mark.clause("A-190")
@pytest.mark.skipif(not RECORDED, reason="recorded goldens not given")
def test_the_envelope_of_the_public_server_byte_for_byte() -> None:
    """Requests without `assembly`, against what the public server answered."""
    compared = 0
    for path in golden_files(Path(RECORDED)):
        data = read(path)
        if "assembly" not in data["request"] and "content" in data["response"]:
            response = replay(read_recording(data)).response
            assert response["content"] == data["response"]["content"], path.name
            compared += 1
    assert compared > 100


@pytest.mark.clause("A-121")
def test_the_example_of_the_rfc() -> None:
    """tests/oracle checks that this file holds the example of RFC 1489."""
    data = read(GOLDENS / "000-rfc1489-example.json")
    assert replay(read_recording(data)).response == data["response"]


@pytest.mark.clause("A-109")
@pytest.mark.parametrize("folder", all_folders())
def test_the_origins_are_the_delivered_ones_in_order(folder: Path) -> None:
    for path in golden_files(folder):
        data = read(path)
        build = replay(read_recording(data)).build
        selected = () if build is None else build.selected
        current = data["current_scope_id"]
        recorded = [_origin(item, current) for item in data["delivered_origins"]]
        assert list(map(_selected, selected)) == recorded, path.name


def _origin(origin: dict[str, Any], current_scope_id: str) -> tuple[Any, ...]:
    artifact = origin.get("artifact", origin)
    return (
        origin.get("scope_id", current_scope_id),
        *(artifact[name] for name in ("family", "artifact_id", "revision")),
        origin.get("entry_id"),
        origin.get("entry_version_id"),
    )


def _selected(item: SelectedItem) -> tuple[Any, ...]:
    identity = item.identity
    assert isinstance(identity, Identity)
    artifact = identity.artifact
    return (
        identity.scope_id,
        artifact.family,
        artifact.artifact_id,
        artifact.revision,
        identity.entry_id,
        identity.entry_version_id,
    )


def write(path: Path, **changes: Any) -> Path:
    data = read(GOLDENS / "000-rfc1489-example.json") | changes
    path.write_text(json.dumps(data), encoding="ascii")
    return path


def test_without_check_the_response_is_printed(manage: Manage, tmp_path: Path) -> None:
    path = write(tmp_path / "one.json", response=None)
    printed = manage(
        "replay", path, GOLDENS / "037-over-cap-seventeen-in-reference-text.json"
    )
    first, second = printed.out.splitlines()
    expected = read(GOLDENS / "000-rfc1489-example.json")["response"]
    assert json.loads(first) == expected
    assert list(json.loads(second)) == ["exception"]


def test_a_difference_is_shown_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    response = read(GOLDENS / "000-rfc1489-example.json")["response"]
    content = response["content"].replace("Truncated: no", "Truncated: yes", 1)
    changed = response | {"content": content}
    path = write(tmp_path / "changed.json", response=changed)
    other = write(tmp_path / "same.json")
    before = path.read_bytes()
    with pytest.raises(CommandError, match="Not every recording"):
        call_command("replay", "--check", str(path), str(other))
    printed = capsys.readouterr().out
    assert f"{path}:\n--- recorded\n+++ replayed\n" in printed
    assert '-  "    Truncated: yes"\n+  "    Truncated: no"\n' in printed
    assert printed.endswith("1 same, 1 different, 0 not run\n")
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path, other]


def test_only_recorded_keys_are_compared(manage: Manage, tmp_path: Path) -> None:
    response = read(GOLDENS / "000-rfc1489-example.json")["response"]
    del response["schema"]
    path = write(tmp_path / "builder.json", response=response)
    assert manage("replay", "--check", path).out.startswith("1 same, 0 different")


def test_an_exception_is_no_answer() -> None:
    answer = {"status": "empty", "content": None}
    assert compare({"exception": "x"}, {"exception": "y"}) == []
    assert compare({"exception": "x"}, answer)
    assert compare(answer, {"exception": "y"})


@pytest.mark.parametrize("check", [[], ["--check"]])
def test_code_evidence_is_not_run_and_not_passed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], check: list[str]
) -> None:
    request = {"scope_id": "s", "query": "q", "include_code": True}
    path = write(tmp_path / "540-code-x.json", request=request)
    with pytest.raises(CommandError):
        call_command("replay", *check, str(path))
    printed = capsys.readouterr().out
    assert f"{path}: not supported yet: code evidence\n" in printed
    if check:
        assert printed.endswith("0 same, 0 different, 1 not run\n")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"request": {"query": ""}}, "query: 1 to 8192 characters"),
        ({"request": 5}, "request: should be an object"),
        ({"candidates": []}, None),
        ({"candidates": [1]}, "candidates: should be an object"),
        ({"candidates": {"skill": []}}, "candidates.skill: is not a known key"),
        ({"candidates": {"memory": [{}]}}, "candidates.memory.0.scope_id: is missing"),
        ({"current_scope_id": None}, "current_scope_id: should be a string"),
        ({"extra": 1}, "extra: is not a known key"),
        ({"response": None}, "there is no response to compare with"),
        (
            {
                "request": {
                    "query": "q",
                    "assembly": {
                        "sections": [
                            {"family": "memory", "limit": 8},
                            {"family": "profile", "limit": 1},
                        ]
                    },
                }
            },
            "request.assembly: more than 8 entries",
        ),
    ],
)
def test_what_is_no_recording(
    manage: Manage, tmp_path: Path, changes: dict[str, Any], message: str | None
) -> None:
    path = write(tmp_path / "wrong.json", **changes)
    with pytest.raises(CommandError) as raised:
        manage("replay", "--check", path)
    if message is not None:
        assert str(raised.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "The file is not valid JSON."),
        (b'{"request": 1, "request": 2}', "An object repeats a key."),
        (b"[]", "it: should be an object"),
    ],
)
def test_files_that_cannot_be_read(
    manage: Manage, tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(content)
    with pytest.raises(CommandError) as raised:
        manage("replay", path)
    assert str(raised.value) == f"{path}: {message}"
    with pytest.raises(CommandError, match="No such file"):
        manage("replay", tmp_path / "missing.json")
