"""`manage.py create_token`: a principal and its bearer token, shown once (J-12)."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from prepare.management.console import ConsoleCommand, read_argument
from prepare.services import access, scopes
from prepare.services.access import Role
from prepare.services.identifiers import check_name

NAME_CHARS = 128


class Command(ConsoleCommand):
    help = (
        "Create a bearer token and print it, alone, on standard output. Only its hash"
        " is stored: it cannot be shown again. Clients send it as"
        " `Authorization: Bearer TOKEN`."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="names it for revoke_token")
        parser.add_argument(
            "--server-admin",
            action="store_true",
            help="may create and configure Scopes; does not read their content",
        )
        parser.add_argument(
            "--scope",
            action="append",
            default=[],
            dest="scope_ids",
            metavar="SCOPE_ID",
            help="a Scope it gets the role on; may be repeated",
        )
        parser.add_argument(
            "--role",
            choices=Role.values,
            help=f"what it may do there (default: {Role.VIEWER})",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name = read_argument(options["name"])
        check_name(name, NAME_CHARS, "NAME")
        if options["role"] and not options["scope_ids"]:
            raise CommandError("--role goes with --scope.")
        role = options["role"] or Role.VIEWER
        scope_ids = dict.fromkeys(map(read_argument, options["scope_ids"]))
        granted = [scopes.find_scope(scope_id) for scope_id in scope_ids]
        token = access.create_token(
            name=name,
            now=timezone.now(),
            is_server_admin=options["server_admin"],
            scopes=granted,
            role=role,
        )
        self._note(f"token {name!r}, shown this once")
        for scope in granted:
            self._note(f"{role} of {scope.scope_id}")
        if options["server_admin"]:
            self._note("server admin")
        elif not granted:
            self._note("it may do nothing: give --scope or --server-admin")
        if settings.ACCESS_MODE == "disabled":
            self._note(
                "no token is asked for until POWERCONTEXT_SERVER_ACCESS_MODE=enforced"
            )
        self.stdout.write(token)

    def _note(self, text: str) -> None:
        self.stderr.write(text, style_func=str)
