"""What the commands share: errors in one line, and text on any console (C-64).

A user's mistake is a message on stderr and exit code 1; `--traceback` adds a traceback.
Python would stop at the first character that the console's encoding lacks; here a
terminal shows it escaped, and a pipe or file always gets UTF-8.
"""

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rest_framework.exceptions import ParseError

from prepare.errors import PowerContextError, describe
from prepare.parsers import parse_json


class ConsoleCommand(BaseCommand):
    """Base of our commands; `handle` may raise domain and database errors."""

    _is_typed = False

    def run_from_argv(self, argv: list[str]) -> None:
        """The way in from a console; `call_command` comes by `execute` directly."""
        self._is_typed = True
        _escape_what_does_not_encode()
        super().run_from_argv(argv)

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return self._execute(*args, **options)
        except BrokenPipeError:
            _discard_stdout()  # the reader has seen enough (`| head -1`)
            return None
        except CommandError as error:
            if not self._is_typed or options.get("traceback"):
                raise
            # Django would put "CommandError: " in front of FILE:LINE.
            self.stderr.write(str(error))
            raise SystemExit(error.returncode) from None

    def _execute(self, *args: Any, **options: Any) -> str | None:
        try:
            output = super().execute(*args, **options)
            self.stdout.flush()
        except PowerContextError as error:
            raise CommandError(describe(error)) from error
        except DatabaseError as error:
            # Messages of database errors quote parameters, that is, bodies (C-67).
            raise CommandError(
                f"The database failed ({type(error).__name__});"
                " `manage.py doctor` checks it, `manage.py migrate` prepares it."
            ) from error
        return output

    def write_utf8(self, text: str) -> None:
        """Write `text` and nothing else; a pipe or file gets exactly its UTF-8."""
        buffer = getattr(self.stdout, "buffer", None)
        if buffer is None or self.stdout.isatty():
            self.stdout.write(text, ending="\n" if self.stdout.isatty() else "")
            return
        self.stdout.flush()
        buffer.write(text.encode())


def read_argument(argument: str) -> str:
    """The argument as text; bytes that the locale cannot decode are UTF-8 (C-64)."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(argument).decode()
        except UnicodeError:
            raise CommandError("An argument is not UTF-8.") from None
    return argument


def read_json_argument(name: str, argument: str) -> Any:
    """The JSON value of option `name`, by the rules of request bodies (J-5)."""
    try:
        return parse_json(read_argument(argument).encode())
    except ParseError as error:
        reason = str(error.detail).replace("The body", "it")
        raise CommandError(f"{name} must be JSON: {reason}") from None


def _escape_what_does_not_encode() -> None:
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _discard_stdout() -> None:
    """Python flushes stdout once more at exit, which must not fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
