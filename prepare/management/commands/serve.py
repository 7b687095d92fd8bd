"""`manage.py serve`: the production server."""

import socket
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from powercontext import serving
from powercontext.serving import Listen
from prepare.management.console import ConsoleCommand, read_argument


class Command(ConsoleCommand):
    help = (
        "Serve the API, the documentation and the admin with gunicorn until SIGTERM or"
        " Ctrl-C; running requests then get 30 seconds to finish. Defaults come from"
        " POWERCONTEXT_SERVER_HOST, _PORT, _WORKERS and _THREADS."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host",
            default=settings.SERVE_HOST,
            help="address or name to listen on (default: %(default)s); in access mode"
            " `disabled` only a loopback address",
        )
        parser.add_argument(
            "--port",
            type=int,
            default=settings.SERVE_PORT,
            help="TCP port, 0 for any free one (default: %(default)s)",
        )
        parser.add_argument(
            "--workers",
            type=int,
            default=settings.SERVE_WORKERS,
            help="processes (default: %(default)s)",
        )
        parser.add_argument(
            "--threads",
            type=int,
            default=settings.SERVE_THREADS,
            help="threads of each process (default: %(default)s)",
        )

    def execute(self, *args: Any, **options: Any) -> str | None:
        serving.share_metrics()  # the system checks import the views
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        listen = Listen(host=read_argument(options["host"]), port=options["port"])
        workers, threads = options["workers"], options["threads"]
        if workers < 1 or threads < 1:
            raise CommandError("--workers and --threads must be at least 1.")
        if not 0 <= listen.port <= 65535:
            raise CommandError("--port must be between 0 and 65535.")
        listener = self._listen(listen)
        url = serving.base_url(listener)
        serving.serve(
            listener,
            workers=workers,
            threads=threads,
            when_ready=lambda: self._say(f"serving on {url}"),
        )

    def _listen(self, listen: Listen) -> socket.socket:
        """The listening socket, or one line that says why there is none."""
        place = f"{listen.host}:{listen.port}"
        try:
            family, address = serving.resolve(listen)
        except (OSError, UnicodeError) as error:
            raise CommandError(f"Cannot listen on {place}: {error}.") from None
        if settings.ACCESS_MODE == "disabled" and not serving.is_loopback(address):
            raise CommandError(
                f"Refusing to listen on {place}: in access mode `disabled` everyone"
                " who reaches the server may do everything. Listen on 127.0.0.1, or"
                " set POWERCONTEXT_SERVER_ACCESS_MODE=enforced and create tokens."
            )
        if missing := serving.count_missing_migrations():
            raise CommandError(
                f"The database lacks {missing} migrations: run `manage.py migrate`."
            )
        try:
            return serving.open_listener(family, address)
        except OSError as error:
            reason = error.strerror or str(error)
            raise CommandError(f"Cannot listen on {place}: {reason}.") from None

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
