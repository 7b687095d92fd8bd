"""How large receipts are, and what asking for one costs (`python bench/receipts.py`).

The overhead is CPU of this process per request, with the flag against without,
interleaved in one run over a real SQLite file. Eight items are delivered.
"""

import gc
import io
import json
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAIRS = 400
WARM_UP = 50
SCOPE_ID = "scp_" + "0" * 26
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("legacy", {}),
    ("text", {"assembly": {}}),
)
Run = Callable[[], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """CPU milliseconds per request (medians), and the median of the paired ratios."""

    without: float
    with_flag: float
    more: float


def fill() -> None:
    """One Scope of 300 artifacts; the forms deliver eight of them."""
    from django.db import transaction
    from django.utils import timezone

    from prepare.services.artifacts import Authorship, create_artifact
    from prepare.services.scopes import ScopeFields, create_scope

    now = timezone.now()
    with transaction.atomic():
        scope = create_scope(
            fields=ScopeFields(title="Bench", summary="Receipt bench"),
            idempotency_key="bench-receipts",
            now=now,
            scope_id=SCOPE_ID,
        )

        def store(family: str, content: dict[str, Any]) -> None:
            create_artifact(
                scope=scope,
                family=family,
                content=content,
                authorship=Authorship(now=now),
            )

        for number in range(200):
            about = "webhook retries" if number % 5 == 0 else "invoice layout"
            text = f"Decision {number} on {about}: keep the key for {number} hours. "
            store("atomic-memory", {"kind": "fact", "text": text * 5})
            if number % 4 == 0:
                detail = f"{text}\n\n" * 8
                store(
                    "topic-memory", {"title": text, "summary": text, "detail": detail}
                )
                names = ("situation", "action", "outcome", "lesson")
                store("experience", dict.fromkeys(names, text))


def by_service(options: dict[str, Any]) -> Run:
    """From decoded JSON to the bytes of the answer, without the framework around it."""
    from prepare.compactjson import dump_compact
    from prepare.services.access import LOCAL
    from prepare.services.prepare import prepare_context
    from prepare.services.runtime import configured_runtime
    from prepare.values import parse_prepare_request

    body = request_body(options)

    def run() -> bytes:
        prepared = prepare_context(
            parse_prepare_request(body), principal=LOCAL, runtime=configured_runtime()
        )
        return dump_compact(prepared.as_wire())

    return run


def by_http(options: dict[str, Any]) -> Run:
    """The whole stack from a WSGI request to its answer, in this process."""
    from django.core.handlers.wsgi import WSGIHandler
    from django.http import HttpResponse
    from django.test import RequestFactory

    handler, factory = WSGIHandler(), RequestFactory(HTTP_HOST="localhost")
    raw = json.dumps(request_body(options))

    def run() -> bytes:
        request = factory.post("/v1/context/prepare", raw, "application/json")
        response = handler.get_response(request)
        assert isinstance(response, HttpResponse)
        return response.content

    return run


def request_body(options: dict[str, Any]) -> dict[str, Any]:
    query = "how long do we keep webhook retries"
    return {"scope_id": SCOPE_ID, "query": query, **options}


def compare(without: Run, with_flag: Run) -> Overhead:
    """Pairs in alternating order: a busy machine slows down both halves of a pair."""
    spent: dict[Run, list[float]] = {without: [], with_flag: []}
    gc.freeze()
    for number in range(WARM_UP + PAIRS):
        order = (without, with_flag) if number % 2 else (with_flag, without)
        gc.collect()
        gc.disable()  # a collection would hit one of the two at random
        for run in order:
            start = time.process_time_ns()
            run()
            spent[run].append((time.process_time_ns() - start) / 1e6)
        gc.enable()
    first, second = spent[without][WARM_UP:], spent[with_flag][WARM_UP:]
    return Overhead(
        without=statistics.median(first),
        with_flag=statistics.median(second),
        more=statistics.median(b / a - 1 for a, b in zip(first, second, strict=True)),
    )


def report_sizes() -> None:
    from bench import receipt_sizes

    print("Scope ids of 30 and artifact ids of 36 characters unless said otherwise\n")
    print(receipt_sizes.table())
    print()
    for kind, size in receipt_sizes.per_item().items():
        print(f"one more {kind}: {size}")


def report_overhead() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    fill()
    silence()
    print(f"\nCPU ms per request, medians of {PAIRS} pairs, 8 items delivered")
    print("measured         form     without  with flag    more")
    for measured, make in (("prepare_context", by_service), ("HTTP", by_http)):
        for form, options in FORMS:
            runs = [
                make({**options, "include_receipt": flag}) for flag in (False, True)
            ]
            receipt = json.loads(runs[1]())["receipt"]
            if len(receipt["selected"]) != 8:
                sys.exit("The bench does not deliver 8 items.")
            found = compare(*runs)
            print(
                f"{measured:16} {form:7} {found.without:8.3f} {found.with_flag:10.3f}"
                f" {found.more:+7.1%}",
                flush=True,
            )


def silence() -> None:
    """Log lines are formatted as in production, and stay here."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(io.StringIO())


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["POWERCONTEXT_SERVER_DATA_DIR"] = scratch
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "powercontext.settings")
        report_sizes()
        report_overhead()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
