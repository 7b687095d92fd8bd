"""`manage.py grant_person`: what a person sees in the Inspector (contract B.4)."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from prepare.management.console import ConsoleCommand, read_argument
from prepare.services import access, scopes
from prepare.services.access import Role


class Command(ConsoleCommand):
    help = (
        "Give the account USERNAME a role on Scopes, or take roles away. The Inspector"
        " shows a person the Scopes that the person's roles may read; being a superuser"
        " is no role. `createsuperuser` and the admin make accounts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="USERNAME")
        parser.add_argument(
            "--scope",
            action="append",
            required=True,
            dest="scope_ids",
            metavar="SCOPE_ID",
            help="a Scope it is about; may be repeated",
        )
        parser.add_argument(
            "--role",
            choices=Role.values,
            help=f"which role (default: {Role.VIEWER}; with --revoke every role)",
        )
        parser.add_argument(
            "--revoke", action="store_true", help="take away instead of giving"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        username = read_argument(options["username"])
        scope_ids = dict.fromkeys(map(read_argument, options["scope_ids"]))
        named = [scopes.find_scope(scope_id) for scope_id in scope_ids]
        role = options["role"]
        if options["revoke"]:
            count = access.revoke_person(username=username, scopes=named, role=role)
            self.stdout.write(f"{username!r}: {count} roles taken away")
            return
        count = access.grant_person(
            username=username, scopes=named, role=role or Role.VIEWER
        )
        self.stdout.write(f"{username!r}: {count} roles given")
        if settings.ACCESS_MODE == "disabled":
            self.stderr.write(
                "everyone on this machine sees everything until"
                " POWERCONTEXT_SERVER_ACCESS_MODE=enforced",
                style_func=str,
            )
