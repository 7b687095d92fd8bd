"""The production server: gunicorn, the application loaded once before it forks.

Queries never reach a log: there is no access log, and gunicorn itself reports warnings
only. Everything that can fail at start fails before a worker exists.
"""

import atexit
import ipaddress
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

# prometheus_client reads it when it is first imported.
METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
GRACEFUL_SECONDS = 30  # what running requests get after SIGTERM or SIGINT
# Longer than clients keep idle connections, so that the client closes first; a server
# that closes first looks like a failed request.
KEEPALIVE_SECONDS = 75
# Three identities of 256 characters, percent-encoded from four-byte UTF-8.
REQUEST_LINE_BYTES = 8190
BACKLOG = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where to listen; port 0 takes any free port."""

    host: str
    port: int


def resolve(listen: Listen) -> tuple[socket.AddressFamily, Any]:
    """Family and socket address of the host, IPv4 first; raises `OSError`."""
    found = socket.getaddrinfo(
        listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    found.sort(key=lambda item: item[0] != socket.AF_INET)
    family, _, _, _, address = found[0]
    return family, address


def is_loopback(address: Any) -> bool:
    """Whether only this machine can reach the socket address (J-12)."""
    return ipaddress.ip_address(address[0].partition("%")[0]).is_loopback


def open_listener(family: socket.AddressFamily, address: Any) -> socket.socket:
    """A listening socket; raises `OSError`, at once for a port that is taken.

    gunicorn would retry a taken port for five seconds and print two lines each time.
    """
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def base_url(listener: socket.socket) -> str:
    """Where pages are found without a proxy; the prefix of one works here as well."""
    host, port = listener.getsockname()[:2]
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"http://{place}{settings.PATH_PREFIX}"


def count_missing_migrations() -> int:
    """Migrations the database still needs; raises `DatabaseError`."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def serve(
    listener: socket.socket,
    *,
    workers: int,
    threads: int,
    when_ready: Callable[[], None],
) -> None:
    """Serve until SIGTERM or SIGINT; ends the process with `SystemExit` 0."""
    server = _Server(
        {
            "bind": f"fd://{listener.detach()}",
            "backlog": BACKLOG,
            "workers": workers,
            "threads": threads,
            "worker_class": "gthread",
            "preload_app": True,
            "graceful_timeout": GRACEFUL_SECONDS,
            "keepalive": KEEPALIVE_SECONDS,
            "limit_request_line": REQUEST_LINE_BYTES,
            "loglevel": "warning",
            "accesslog": None,
            "proc_name": "powercontext",
            # X-Forwarded-Proto of these proxies counts; headers that would replace the
            # path do not (every local client could send them).
            "forwarded_allow_ips": ",".join(settings.TRUSTED_PROXIES),
            "forwarder_headers": "",
            # It would be a way to control the server, at one path for all servers.
            "control_socket_disable": True,
            "pre_fork": _close_connections,
            "child_exit": _forget_metrics,
            "post_worker_init": _leave_interrupts_to_the_master,
            "when_ready": lambda arbiter: when_ready(),
        }
    )
    server.run()


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self.options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        from django.urls import get_resolver

        from powercontext.wsgi import application

        # Views and serializers are loaded here once, not by every worker.
        _ = get_resolver().url_patterns
        return application

    def run(self) -> None:
        _Master(self).run()


class _Master(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    def handle_int(self) -> None:
        """Ctrl-C stops as gently as SIGTERM; a second one stops at once."""
        self.handle_term()


def share_metrics() -> None:
    """Give worker processes one folder of counters.

    Call it before anything imports the counters: they choose their store then.
    """
    if settings.METRICS_DIR:
        return
    folder = tempfile.TemporaryDirectory(prefix="powercontext-metrics-")
    atexit.register(folder.cleanup)
    settings.METRICS_DIR = os.environ[METRICS_VARIABLE] = folder.name


def _forget_metrics(arbiter: Any, worker: Any) -> None:
    """Counters of an ended worker stay in the sums; its gauges go."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]  # library


def _close_connections(arbiter: Any, worker: Any) -> None:
    """Two processes must never share one connection to the database."""
    connections.close_all()


def _leave_interrupts_to_the_master(worker: Any) -> None:
    """Ctrl-C reaches the whole process group; the master tells the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
