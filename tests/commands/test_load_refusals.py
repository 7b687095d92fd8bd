"""`manage.py load_context`: what is refused, by FILE:LINE, storing nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from tests.commands import files
from tests.commands.conftest import Printed
from tests.commands.files import entry, memory, reference, scope, source

pytestmark = pytest.mark.django_db
Manage = Callable[..., Printed]


@pytest.fixture
def refused(manage: Manage, tmp_path: Path) -> Callable[..., str]:
    """Load these lines, which must fail and store nothing; returns LINE: MESSAGE."""

    def run(*lines: dict[str, Any] | bytes) -> str:
        path = tmp_path / "refused.jsonl"
        path.write_bytes(
            b"".join(
                line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
                for line in lines
            )
        )
        before = files.row_counts()
        with pytest.raises(CommandError) as raised:
            manage("load_context", path)
        assert files.row_counts() == before
        assert str(raised.value).startswith(f"{path}:")
        return str(raised.value).removeprefix(f"{path}:")

    return run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{\n", "The line is not valid JSON."),
        (b"\xff\n", "The line is not UTF-8."),
        (b'{"type":"scope","type":"scope"}\n', "An object repeats a key."),
        (b'{"type":"source","content":NaN}\n', "NaN and Infinity are not JSON."),
        (b"[1]\n", "should be a JSON object"),
        ({"scope_id": "x"}, "type: should be one of scope, source, artifact"),
        ({"type": ["scope"]}, "type: should be one of scope, source, artifact"),
        ({"type": "skill"}, "type: should be one of scope, source, artifact"),
        (scope("x", colour="red"), "colour: is not a known key"),
        ({"type": "scope", "scope_id": "x", "title": "t"}, "summary: is missing"),
        (scope("x", title=" t"), "title: is blank or has white space around it"),
        (scope("x", title=5), "title: should be a string"),
        (scope("x", summary="x" * 2001), "summary: has more than 2000 characters"),
        (scope(" x"), "scope_id: 1 to 256 characters, trimmed, without NUL"),
        (scope("x", context_references=["y", "y"]), "context_references: holds"),
        (scope("x", context_references=["y"]), "there is no Scope 'y'"),
        (scope("x", context_references=["x"]), "A Scope cannot relate to itself."),
        (scope("x", parent_scope_id="y"), "there is no Scope 'y'"),
        (
            scope("x", external_references=[{"kind": "k"}]),
            "external_references.0.value",
        ),
        (scope("x", created_at="yesterday"), "created_at: should be an ISO 8601"),
        (scope("x", created_at="2026-03-01T00:00:00"), "created_at: needs a time zone"),
        (scope("s", title="Other"), "Scope 's' is there with another title"),
        (source("x", scope_id="nowhere"), "scope_id: there is no Scope 'nowhere'"),
        (source("old", "other"), "this Source is there with another content"),
        (source("old", metadata={"a": 1}), "this Source is there with another content"),
        (source("x", metadata=[]), "metadata: should be an object"),
        (source("x", "y" * 200_001), "content: Too large"),
        (memory("m", "other", 5), "this revision is there with another content"),
        (memory("m", "held", 5, sources=[]), "this revision is there with other evi"),
        (memory("m", "lower", 4), "revisions ascend, and a later one is there"),
        (memory("m", "x", 0), "revision: should be an integer of at least 1"),
        (memory("m", "x", True), "revision: should be an integer of at least 1"),
        (memory("m", "held", 5, state="retired"), "other evidence"),
        (memory("n", "here", state="retired"), "this Artifact is there and active"),
        (memory("x", "t", state="hidden"), "state: should be one of active, forgotten"),
        (memory("x", "t", state="merged"), "merged_into: goes with state merged"),
        (memory("x", "t", merged_into="n"), "merged_into: goes with state merged"),
        (memory("x", "t", state="merged", merged_into="y"), "merged_into: there is no"),
        (memory("x", "t", state="merged", merged_into="x"), "this Artifact is there"),
        (memory("x", " "), "content.text: 1 to 8192 characters"),
        (memory("x y", "t"), "1 to 128 visible ASCII characters"),
        (memory("x", "t", content="text"), "content: should be an object"),
        (memory("x", "t", artifacts=[reference("no")]), "The requested Artifact was"),
        (memory("x", "t", artifacts=[{"family": "f"}]), "artifacts.0.artifact_id: is"),
        (
            memory("x", "t", sources=[{"source_type": "content", "source_id": "no"}]),
            "The requested Source was not found.",
        ),
        (files.artifact("memory", "x", {}), "Artifacts of family 'memory' cannot be"),
        (
            files.artifact(
                "topic-memory",
                "t",
                {"title": "t", "summary": "s", "detail": "d"},
                state="retired",
            ),
            "Only atomic memories have a state.",
        ),
        (entry("e", "e-v1", "other", 9), "entry_version_id: it is there with another"),
        (entry("e", "e-v9", "held", 3), "this collection revision is there with"),
        (entry("e", "e-v9", "held", 2), "revisions ascend, and a later one is there"),
        (
            entry("x", "v", "t", state="gone"),
            "state: should be one of active, inactive",
        ),
        (entry("x", "v", ""), "content.text: 1 to 8192 characters"),
        (entry("x y", "v", "t"), "entry_id: 1 to 128 visible ASCII characters"),
        (
            {
                "type": "candidate",
                "scope_id": "s",
                "family": "experience",
                "content": {
                    "situation": "s",
                    "action": "a",
                    "outcome": "o",
                    "lesson": "l",
                },
            },
            "A Candidate needs 1 to 32 pieces of evidence.",
        ),
    ],
)
def test_refused_lines_are_named(
    load: Callable[..., str],
    refused: Callable[..., str],
    line: dict[str, Any] | bytes,
    message: str,
) -> None:
    load(
        scope(),
        source("old"),
        memory("n", "here"),
        memory("m", "held", 5, artifacts=[reference("n")]),
        entry("e", "e-v1", "held", 3),
    )
    number, _, said = refused(scope("new"), line, scope("after")).partition(": ")
    assert number == "2"
    assert message in said


def test_the_entry_at_fault_is_named(refused: Callable[..., str]) -> None:
    first = entry("e1", "v1", "one")
    assert refused(scope(), first, entry("e2", "v1", "two")).startswith("3: ")
    repeated = refused(scope(), first, entry("e1", "v2", "two"))
    assert repeated == "3: entry_id: twice in one collection revision"
    later = [entry("e1", "v2", "two", 2), entry("e3", "v1", "three", 2)]
    assert refused(scope(), first, *later).startswith("4: entry_version_id")


def test_a_line_without_end_is_not_read_to_memory(
    refused: Callable[..., str], settings: Any
) -> None:
    settings.MAX_BODY_BYTES = 1000
    endless = b'{"type": "' + b"x" * 2000
    assert refused(scope(), endless) == "2: is longer than 2000 bytes"


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_unreadable_files(manage: Manage, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(CommandError, match=r"(No such file|Is a directory)"):
        manage("load_context", path)
