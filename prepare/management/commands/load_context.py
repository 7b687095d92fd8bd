"""`manage.py load_context`: store files of Scopes, Sources and artifacts."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from tqdm import tqdm

from prepare.contextfile import ContextFile
from prepare.errors import describe
from prepare.management.console import ConsoleCommand
from prepare.models import Scope
from prepare.services.importing import NumberedLine, RefusedLine, import_context


class Command(ConsoleCommand):
    help = (
        "Load JSON Lines files, as `export_context` writes them. One JSON object per"
        " line, with the type scope, source, artifact, memory_entry or candidate; a"
        " line may only name what earlier lines, or the database, hold. A file is"
        " stored whole or not at all: an error is FILE:LINE: MESSAGE. What is there"
        " already and equal is left alone; what is there and different is an error."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument(
            "--if-missing",
            action="store_true",
            help="skip a file whose first Scope exists already",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        for path in options["files"]:
            try:
                said = self._load(path, if_missing=options["if_missing"])
            except RefusedLine as error:
                message = f"{path}:{error.number}: {describe(error.cause)}"
                raise CommandError(message) from error
            except OSError as error:
                raise CommandError(f"{path}: {error.strerror or error}") from error
            self.stdout.write(f"{path}: {said}")

    def _load(self, path: Path, *, if_missing: bool) -> str:
        with path.open("rb") as file, _progress(file) as progress:
            lines = ContextFile(file, progress.update)
            if if_missing:
                scope_id = _first_scope_id(lines)
                if Scope.objects.filter(scope_id=scope_id).exists():
                    return f"skipped, Scope {scope_id} exists"
            counts = import_context(lines=lines, now=timezone.now())
        return f"{counts.new} new, {counts.present} already there"


def _progress(file: BinaryIO) -> Any:
    """A bar on stderr, if that is a terminal, that counts the bytes read."""
    size = os.fstat(file.fileno()).st_size or None
    return tqdm(total=size, unit="B", unit_scale=True, leave=False, disable=None)


def _first_scope_id(lines: Iterable[NumberedLine]) -> str | None:
    for line in lines:
        if isinstance(line.data, dict) and line.data.get("type") == "scope":
            scope_id = line.data.get("scope_id")
            return scope_id if isinstance(scope_id, str) else None
    return None
