"""`manage.py export_context`: what `load_context` reads, from what is stored."""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from prepare.contextfile import format_line
from prepare.management.console import ConsoleCommand, read_argument
from prepare.services.exporting import export_context

Write = Callable[[str], object]


class Command(ConsoleCommand):
    help = (
        "Write Scopes, Sources, artifacts with all their revisions and states, Memory"
        " collections and undecided or rejected Candidates as JSON Lines for"
        " `load_context`. Loaded into an empty database they give the same identities,"
        " digests and prepared contexts. Tokens, bindings and the choice of the default"
        " Scope are not written."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--scope",
            action="append",
            default=[],
            dest="scope_ids",
            metavar="SCOPE_ID",
            help="only this Scope and the Scopes it refers to; may be repeated",
        )
        parser.add_argument(
            "--output",
            type=Path,
            metavar="FILE",
            help="write to FILE, readable by its owner only, once all is written"
            " (default: standard output)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        scope_ids = [read_argument(scope_id) for scope_id in options["scope_ids"]]
        output = options["output"]
        if output is None:
            self._export(scope_ids, self.write_utf8)
            return
        try:
            with _replaced_file(output) as write:
                count = self._export(scope_ids, write)
        except OSError as error:
            raise CommandError(f"{output}: {error.strerror or error}") from error
        self.stdout.write(f"{output}: {count} lines")

    def _export(self, scope_ids: list[str], write: Write) -> int:
        count = 0
        lines = export_context(scope_ids=scope_ids)
        for line in tqdm(lines, unit=" lines", leave=False, disable=None):
            write(format_line(line))
            count += 1
        return count


@contextmanager
def _replaced_file(path: Path) -> Iterator[Write]:
    """Write beside the file, then take its place: an error leaves the old file.

    A device or pipe is written directly.
    """
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with path.open("w", encoding="utf-8", newline="\n") as device:
            yield device.write
        return
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="\n", dir=path.parent, delete=False
    ) as file:
        try:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            Path(file.name).unlink()
            raise
    Path(file.name).replace(path)
