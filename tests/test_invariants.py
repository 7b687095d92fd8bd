"""docs/invariants.md: every promise is there, and what it calls held is tested."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8")
PROMISES = 11
_ROW = re.compile(r"^\| (\d+)([a-z]?) \| (.+?) \| (.*?) ?\| (\w+) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    number: int
    part: str
    tests: tuple[str, ...]
    state: str


def read_promises() -> list[Promise]:
    return [
        Promise(
            number=int(number),
            part=part,
            tests=tuple(re.findall(r"`([^`]+)`", tests)),
            state=state,
        )
        for number, part, _, tests, state in _ROW.findall(TEXT)
    ]


@cache
def read_tests(path: str) -> dict[str, ast.FunctionDef]:
    """The tests of a file by name, as pytest would collect them."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {
        node.name: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


NAMED = sorted({test for promise in read_promises() for test in promise.tests})


def test_every_row_is_read() -> None:
    rows = [line for line in TEXT.splitlines() if re.match(r"\| \d", line)]
    assert len(read_promises()) == len(rows) >= PROMISES


def test_every_promise_is_there_in_order() -> None:
    found = read_promises()
    assert sorted({one.number for one in found}) == list(range(1, PROMISES + 1))
    order = [(one.number, one.part) for one in found]
    assert order == sorted(set(order))


@pytest.mark.parametrize("promise", read_promises(), ids=lambda one: f"{one.number}")
def test_held_is_tested_and_open_is_not_green(promise: Promise) -> None:
    assert promise.state in ("held", "open")
    assert (promise.state == "held") == bool(promise.tests)


@pytest.mark.parametrize("test", NAMED)
def test_every_named_test_exists_and_runs(test: str) -> None:
    path, _, name = test.partition("::")
    assert re.fullmatch(r"tests/(?:\w+/)*test_\w+\.py", path)
    node = read_tests(path)[name]
    assert "pytestmark = pytest.mark.skip" not in (ROOT / path).read_text("utf-8")
    marks = [ast.unparse(decorator) for decorator in node.decorator_list]
    assert not [mark for mark in marks if re.search(r"\b(skip|skipif|xfail)\b", mark)]
