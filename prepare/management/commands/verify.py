"""`manage.py verify`: hold a receipt or a logged text against bytes and stored rows."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from rest_framework.exceptions import ParseError

from powercontext.settings import env
from prepare.errors import PowerContextError
from prepare.management.console import ConsoleCommand, read_argument
from prepare.parsers import parse_json
from prepare.services.access import LOCAL, Principal, authenticate
from prepare.services.reports import ItemReport, VerificationReport
from prepare.services.text import quote_identity
from prepare.services.verifying import verify_block, verify_receipt
from prepare.values import CodeIdentity

_FILE_BYTES = 1024 * 1024  # a text has at most 32768 bytes, a receipt 8192
_NOT_FINE = 1
_UNUSABLE = 2


class Command(ConsoleCommand):
    help = (
        "Check injected bytes. With a receipt: digest, length, and every identity of"
        " the receipt read again. Without one: the form of a text as a log holds it,"
        " and its citations as claims. Reads only what the token may read, writes"
        " nothing. Exit code 0: all was read and is fine; 1: something differs, is"
        " denied, missing or was not checked; 2: the input is unusable."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--content",
            metavar="FILE",
            type=Path,
            help="the injected bytes; absent or empty for a response of status `empty`",
        )
        parser.add_argument(
            "--receipt", metavar="FILE", type=Path, help="the receipt as JSON"
        )
        parser.add_argument(
            "--response",
            metavar="FILE",
            type=Path,
            help="a stored response as JSON, in place of --content and --receipt",
        )
        parser.add_argument(
            "--scope",
            metavar="SCOPE",
            help="the Scope of the request, which a JSON envelope does not name",
        )
        parser.add_argument(
            "--token-env",
            metavar="VAR",
            help="NAME of the environment variable that holds the bearer token; needed"
            " in access mode `enforced`",
        )
        parser.add_argument("--json", action="store_true", help="machine-readable")

    def _execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super()._execute(*args, **options)
        except CommandError as error:
            error.returncode = _UNUSABLE
            raise

    def handle(self, *args: Any, **options: Any) -> None:
        content, receipt = self._read_input(options)
        if receipt is not None and options["scope"] is not None:
            raise CommandError("--scope is for texts; a receipt names its Scopes.")
        principal = _principal(options["token_env"])
        if receipt is not None:
            report = verify_receipt(
                content=content, receipt=receipt, principal=principal
            )
        else:
            scope_id = options["scope"]
            report = verify_block(
                content=content,
                principal=principal,
                scope_id=None if scope_id is None else read_argument(scope_id),
            )
        if options["json"]:
            self.stdout.write(json.dumps(as_wire(report), indent=2))
        else:
            self.stdout.write("\n".join(as_lines(report)))
        if not report.is_fine:
            self.stdout.flush()
            raise SystemExit(_NOT_FINE)

    def _read_input(
        self, options: Mapping[str, Any]
    ) -> tuple[bytes, Mapping[str, Any] | None]:
        content, receipt = options["content"], options["receipt"]
        if options["response"] is not None:
            if content is not None or receipt is not None:
                raise CommandError("--response replaces --content and --receipt.")
            return _read_response(options["response"])
        if receipt is None:
            if content is None:
                raise CommandError("Give --content, --receipt or --response.")
            return _read_file(content), None
        value = _read_object(receipt)
        is_empty = value.get("content_digest", "") is None
        if content is None or (is_empty and not content.exists()):
            return b"", value
        return _read_file(content), value


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_FILE_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    if len(data) > _FILE_BYTES:
        raise CommandError(f"{path}: is larger than {_FILE_BYTES} bytes")
    return data


def _read_object(path: Path) -> Mapping[str, Any]:
    try:
        value = parse_json(_read_file(path))
    except ParseError as error:
        reason = str(error.detail).replace("The body", "it")
        raise CommandError(f"{path}: {reason}") from None
    if not isinstance(value, dict):
        raise CommandError(f"{path}: it is not a JSON object.")
    return value


def _read_response(path: Path) -> tuple[bytes, Mapping[str, Any] | None]:
    response = _read_object(path)
    content, receipt = response.get("content"), response.get("receipt")
    if "content" not in response or not isinstance(content, str | None):
        raise CommandError(f"{path}: it is not a response of prepare.")
    if receipt is None and content is None:
        raise CommandError(f"{path}: it is empty and has no receipt.")
    if not isinstance(receipt, dict | None):
        raise CommandError(f"{path}: its receipt is not a JSON object.")
    return (content or "").encode(), receipt


def _principal(variable: str | None) -> Principal:
    """Whose rights count. Messages repeat no value: it might be the token (C-73)."""
    if variable is None:
        if settings.ACCESS_MODE == "disabled":
            return LOCAL
        raise CommandError(
            "In access mode `enforced` reading needs a token: give --token-env the NAME"
            " of an environment variable that holds one."
        )
    token = env.ENVIRON.get(variable, "")
    if not token:
        raise CommandError(
            "--token-env takes the NAME of an environment variable that holds a token,"
            " never the token; no variable of this name is set."
        )
    try:
        return authenticate(token, service_token=settings.AUTH_TOKEN)
    except (PowerContextError, UnicodeEncodeError):
        raise CommandError(
            "The token in the variable of --token-env is unknown or revoked."
        ) from None


def as_wire(report: VerificationReport) -> dict[str, Any]:
    """The machine form; every key is always there."""
    return {
        "form": report.form,
        "is_fine": report.is_fine,
        "content_bytes": report.content_bytes,
        "checks": [
            {
                "name": check.name,
                "outcome": check.outcome,
                "expected": check.expected,
                "actual": check.actual,
            }
            for check in report.checks
        ],
        "problems": list(report.problems),
        "notes": list(report.notes),
        "items": [_item_as_wire(item) for item in report.items],
    }


def _item_as_wire(item: ItemReport) -> dict[str, Any]:
    return {
        "place": item.place,
        "label": item.label,
        **_citation_as_wire(item),
        "access": item.access,
        "state": item.state,
        "head_revision": item.head_revision,
        "stored": item.stored,
        "body": item.body,
        "sources": [
            {"source_type": source.source_type, "source_id": source.source_id}
            for source in item.sources
        ],
    }


def _citation_as_wire(item: ItemReport) -> dict[str, Any]:
    citation = item.citation
    names = ("artifact", "entry_id", "entry_version_id", "code_evidence")
    named: dict[str, Any] = dict.fromkeys(names)
    if isinstance(citation, CodeIdentity):
        named["code_evidence"] = asdict(citation)
    else:
        named["artifact"] = asdict(citation.artifact)
        named["entry_id"] = citation.entry_id
        named["entry_version_id"] = citation.entry_version_id
    return {"scope_id": citation.scope_id, **named}


def as_lines(report: VerificationReport) -> list[str]:
    """For people. Identities are ASCII JSON strings: they may come from anyone."""
    lines = [f"{report.form}, {report.content_bytes} bytes of content"]
    for check in report.checks:
        line = f"{check.name}: {check.outcome}"
        if check.outcome == "mismatch":
            line += f"\n  receipt: {check.expected}\n  content: {check.actual}"
        lines.append(line)
    lines += [f"problem: {problem}" for problem in report.problems]
    lines += [f"note: {note}" for note in report.notes]
    if report.items:
        lines += ["", *_table(report)]
    lines += ["", "all fine" if report.is_fine else "NOT FINE"]
    return lines


def _table(report: VerificationReport) -> list[str]:
    are_claims = report.form != "receipt"
    names = ["item", "access", "now", "head", "stored"]
    rows = [[*names, *(["body", "claim"] if are_claims else []), "citation"]]
    for item in report.items:
        head = "-" if item.head_revision is None else str(item.head_revision)
        row = [item.place, item.access, item.state or "-", head, item.stored or "-"]
        if are_claims:
            row += [item.body or "-", item.label or "-"]
        rows.append([*row, _citation_text(item)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _citation_text(item: ItemReport) -> str:
    citation = item.citation
    if isinstance(citation, CodeIdentity):
        lines = f"{citation.start_line}-{citation.end_line}"
        return f"{quote_identity(citation.path)} lines {lines}"
    artifact = citation.artifact
    names = [f"{artifact.family} {quote_identity(artifact.artifact_id)}"]
    if citation.entry_id is not None and citation.entry_version_id is not None:
        version = quote_identity(citation.entry_version_id)
        names.append(f"entry {quote_identity(citation.entry_id)} version {version}")
    scope = citation.scope_id
    where = "the request's Scope" if scope is None else quote_identity(scope)
    return f"{', '.join(names)}, revision {artifact.revision}, in {where}"
