"""`manage.py revoke_token`: a token stops working at once."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from prepare.management.console import ConsoleCommand, read_argument
from prepare.services import access


class Command(ConsoleCommand):
    help = "Revoke the token of this name; its next request is refused."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        name = read_argument(options["name"])
        access.revoke_token(name=name, now=timezone.now())
        self.stdout.write(f"revoked {name!r}")
