"""Pytest plugin: which acceptance clause is checked by which test, and its state.

Tests carry `@pytest.mark.clause("A-012", ...)`. `--acceptance FILE` writes the table
and fails the run if a clause that is due has no passing test.
"""

from collections import defaultdict
from pathlib import Path

import pytest

CLAUSES = Path(__file__).with_name("clauses.txt")

# Clauses that come with later capabilities (rerank, our own client, hosts, ...).
_A_DUE = {f"A-{number:03d}" for number in range(1, 196)} | {
    *("A-205", "A-206", "A-208", "A-209")
}
_A_LATER = {"A-095", "A-193", "A-194"}
# Ranges of receipt clauses, both ends included; of the
# half about code comes later.
_R_RANGES = [
    *((1, 14), (17, 17), (20, 31), (36, 36), (40, 46), (49, 55), (58, 61)),
    *((70, 71), (74, 76), (80, 84), (87, 87), (89, 100), (106, 109)),
    *((150, 161), (163, 165), (170, 175), (180, 184), (186, 192)),
    *((200, 205), (207, 216), (220, 221), (224, 224)),
]
_R_DUE = {
    f"R-{number:03d}" for first, last in _R_RANGES for number in range(first, last + 1)
}


def read_clauses() -> dict[str, str]:
    lines = CLAUSES.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def note_clauses(items: list[pytest.Item]) -> None:
    """Put each test's clauses into its report, which worker processes hand over."""
    known = read_clauses()
    for item in items:
        for marker in item.iter_markers("clause"):
            for clause in marker.args:
                if clause not in known:
                    raise pytest.UsageError(f"{item.nodeid}: unknown {clause}")
                item.user_properties.append(("clause", clause))


def due_clauses() -> list[str]:
    due = (_A_DUE - _A_LATER) | _R_DUE
    return [clause for clause in read_clauses() if clause in due]


class AcceptancePlugin:
    """Gathers reports; with worker processes it runs in the one that prints."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known = read_clauses()
        self.tests: dict[str, set[str]] = defaultdict(set)
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # `--dist loadgroup` puts `@GROUP` behind the name.
        test = report.nodeid.split("[")[0].split("@")[0]
        for name, value in report.user_properties:
            if name == "clause":
                self.tests[str(value)].add(test)
        if report.failed:
            self.outcomes[test] = "failed"
        elif report.when == "call" and report.passed:
            self.outcomes.setdefault(test, "passed")

    def state(self, clause: str) -> str:
        outcomes = {self.outcomes.get(test) for test in self.tests[clause]}
        if "failed" in outcomes:
            return "failed"
        return "passed" if "passed" in outcomes else "open"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        missing = [item for item in due_clauses() if self.state(item) != "passed"]
        rows = [
            f"| {clause} | {text.replace('|', chr(92) + '|')} |"
            f" {self._names(clause)} | {self.state(clause)} |"
            for clause, text in self.known.items()
        ]
        passed = sum(self.state(clause) == "passed" for clause in self.known)
        self.path.write_text(
            "# Acceptance\n\nWritten by `make acceptance`; `open` clauses belong to"
            f" later capabilities. {passed} of {len(self.known)} clauses have passing"
            " tests.\n\n| clause | meaning | tests | state |\n|---|---|---|---|\n"
            + "\n".join(rows)
            + "\n",
            encoding="utf-8",
        )
        if missing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            print(f"\nclauses without a passing test: {', '.join(missing)}")

    def _names(self, clause: str) -> str:
        names = sorted(self.tests[clause])
        return "<br>".join(f"`{name.removeprefix('tests/')}`" for name in names)
