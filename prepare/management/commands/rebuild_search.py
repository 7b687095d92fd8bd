"""`manage.py rebuild_search`: write the search projection anew."""

from typing import Any

from tqdm import tqdm

from prepare.management.console import ConsoleCommand
from prepare.services.rebuilding import count_heads, rebuild_search


class Command(ConsoleCommand):
    help = (
        "Drop what searches use and write it anew from the stored artifacts, in one"
        " transaction: readers see the old state or the new one. Writers wait."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        heads = count_heads()
        with tqdm(total=heads, unit=" artifacts", leave=False, disable=None) as bar:
            documents = rebuild_search(report=bar.update)
        self.stdout.write(f"{documents} texts of {heads} artifacts are searchable")
