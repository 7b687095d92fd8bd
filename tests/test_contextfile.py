"""Files of context are read from their first line each time: a write may run twice."""

import os
from pathlib import Path

from prepare.contextfile import ContextFile

LINES = b'{"type": "scope"}\n\n{"type": "source"}\n'


def numbers(lines: ContextFile) -> list[int]:
    return [line.number for line in lines]


def test_a_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES)
    with path.open("rb") as file:
        lines = ContextFile(file)
        assert numbers(lines) == [1, 3]
        assert numbers(lines) == [1, 3]


def test_a_pipe_is_read_again() -> None:
    reading, writing = os.pipe()
    os.write(writing, LINES)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        lines = ContextFile(file)
        assert numbers(lines) == [1, 3]
        assert numbers(lines) == [1, 3]
