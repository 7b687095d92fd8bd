"""`manage.py selftest`: does this database select and render as promised?"""

import difflib
import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from prepare.contextfile import read_lines
from prepare.management.console import ConsoleCommand
from prepare.services.selftesting import run_selftest

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
TEXTS = FIXTURES / "selftest.jsonl"
EXPECTED = FIXTURES / "selftest_expected.json"


class Command(ConsoleCommand):
    help = (
        "Load a small fixture into Scopes of its own, prepare it in every form, and"
        " compare identities, order and bytes with what every database must give; a"
        " difference is printed and exit code 1. All is rolled back. Writers wait"
        " meanwhile, a few seconds at most."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--print",
            action="store_true",
            help="print what was prepared, in the form of the expectation file,"
            " instead of comparing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
        with TEXTS.open("rb") as file:
            answers = run_selftest(
                lines=read_lines(file, lambda size: None),
                requests=[case["request"] for case in expected],
                now=timezone.now(),
            )
        actual = [
            case | {"answer": answer}
            for case, answer in zip(expected, answers, strict=True)
        ]
        if options["print"]:
            self.write_utf8(_dump(actual) + "\n")
            return
        failed = 0
        for wanted, found in zip(expected, actual, strict=True):
            is_same = wanted == found
            failed += not is_same
            self.stdout.write(
                f"{'same' if is_same else 'DIFFERENT':<11}{found['name']}"
            )
            if not is_same:
                self._print_difference(wanted, found)
        if failed:
            raise CommandError(f"{failed} of {len(actual)} answers are different.")

    def _print_difference(self, wanted: Any, found: Any) -> None:
        lines = difflib.unified_diff(
            _dump(wanted).splitlines(),
            _dump(found).splitlines(),
            "expected",
            "this database",
            lineterm="",
        )
        for line in lines:
            self.stdout.write(f"    {line}")


def _dump(value: Any) -> str:
    """Readable, and safe on any console: fixtures hold hostile characters."""
    return json.dumps(value, ensure_ascii=False, indent=1).translate(_ESCAPES)


_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "\u2028\u202e"}
