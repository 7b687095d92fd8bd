"""`manage.py prepare`: one prepared context, by the same service as HTTP (J-26)."""

from typing import Any

from django.core.management.base import CommandParser

from prepare.management.console import (
    ConsoleCommand,
    read_argument,
    read_json_argument,
)
from prepare.services.access import LOCAL
from prepare.services.prepare import prepare_context
from prepare.services.runtime import configured_runtime
from prepare.services.text import dump_legacy
from prepare.values import parse_prepare_request


class Command(ConsoleCommand):
    help = (
        "Prepare context and print it, without a server and as the operator, who may"
        " read every Scope. Standard output gets the content and nothing else; if there"
        " is none, a note goes to standard error. Nothing is stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--scope", required=True, metavar="SCOPE_ID")
        parser.add_argument("--query", required=True, help="1 to 8192 characters")
        parser.add_argument(
            "--max-bytes",
            metavar="N",
            help="UTF-8 bytes of the content at most, 512 to 32768 (default: 8000)",
        )
        parser.add_argument(
            "--assembly",
            metavar="JSON",
            help='text form, such as {"sections": [{"family": "memory", "limit": 3}]}'
            " or {}; without it the older JSON envelope is prepared",
        )
        parser.add_argument(
            "--include-receipt",
            action="store_true",
            help="with --json: what was selected, left out and searched",
        )
        parser.add_argument(
            "--include-code",
            action="store_true",
            help="also offer code of the Scope's repository",
        )
        parser.add_argument(
            "--json", action="store_true", help="print the body of the HTTP answer"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        prepared = prepare_context(
            parse_prepare_request(_request(options)),
            principal=LOCAL,
            runtime=configured_runtime(),
        )
        if options["json"]:
            self.write_utf8(dump_legacy(prepared.as_wire()) + "\n")
        elif prepared.build.content is None:
            self.stderr.write("empty", style_func=str)
        else:
            self.write_utf8(prepared.build.content)


def _request(options: dict[str, Any]) -> dict[str, Any]:
    """The wire request that the options stand for; left out means left out."""
    request: dict[str, Any] = {
        "scope_id": read_argument(options["scope"]),
        "query": read_argument(options["query"]),
        "include_receipt": options["include_receipt"],
        "include_code": options["include_code"],
    }
    if options["max_bytes"] is not None:
        value = read_json_argument("--max-bytes", options["max_bytes"])
        request["max_bytes"] = value
    if options["assembly"] is not None:
        request["assembly"] = read_json_argument("--assembly", options["assembly"])
    return request
