"""`manage.py replay`: pack recorded candidates again, without a database."""

from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rest_framework.exceptions import ParseError

from prepare.errors import InvalidRequest, describe
from prepare.management.console import ConsoleCommand
from prepare.parsers import parse_json
from prepare.services.replaying import Recording, compare, read_recording, replay
from prepare.services.text import dump_legacy

_NOT_RUN = "not supported yet: code evidence"


class Command(ConsoleCommand):
    help = (
        "Read JSON files with current_scope_id, candidates and request, pack and render"
        " the candidates, and print each response. With --check compare it with the"
        " file's own response instead: differences are printed, and the exit code is 1"
        " unless every file was run and is the same."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument(
            "--check", action="store_true", help="compare with the recorded responses"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        results = Counter(
            self._run(path, is_check=options["check"]) for path in options["files"]
        )
        if options["check"]:
            self.stdout.write(
                f"{results['same']} same, {results['different']} different,"
                f" {results['not run']} not run"
            )
        if results["different"] or results["not run"]:
            raise CommandError("Not every recording was replayed with the same result.")

    def _run(self, path: Path, *, is_check: bool) -> str:
        recording = _read(path)
        if recording.needs_code:
            self.stdout.write(f"{path}: {_NOT_RUN}")
            return "not run"
        response = replay(recording).response
        if not is_check:
            self.write_utf8(dump_legacy(response) + "\n")
            return "same"
        if recording.response is None:
            raise CommandError(f"{path}: there is no response to compare with")
        difference = compare(recording.response, response)
        if not difference:
            return "same"
        self.write_utf8("\n".join([f"{path}:", *difference]) + "\n")
        return "different"


def _read(path: Path) -> Recording:
    try:
        return read_recording(parse_json(path.read_bytes()))
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except ParseError as error:
        reason = str(error.detail).replace("The body", "The file")
        raise CommandError(f"{path}: {reason}") from error
    except InvalidRequest as error:
        raise CommandError(f"{path}: {describe(error)}") from error
