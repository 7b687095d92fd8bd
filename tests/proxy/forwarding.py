"""A reverse proxy as an operator would configure one, in a few lines.

It speaks plain HTTP to its clients and says `X-Forwarded-Proto: https`, which is all
that a server behind a proxy ever sees of TLS.
"""

import http.client
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

PREFIX = "/tools/memory"
PUBLIC_HOST = "memory.example"
ORIGIN = f"https://{PUBLIC_HOST}"
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "server", "date"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def location(self) -> str:
        return str(self.headers.get("Location", ""))


def send(
    address: tuple[str, int],
    method: str,
    target: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request with exactly this target; a path stays encoded as it is."""
    connection = http.client.HTTPConnection(*address, timeout=60)
    try:
        connection.request(method, target, body, dict(headers or {}))
        response = connection.getresponse()
        content = response.read()
        return Answer(status=response.status, headers=response.headers, body=content)
    finally:
        connection.close()


class Proxy:
    """Serves between `with` and its end; `strips` takes the prefix off each path."""

    def __init__(self, backend: str, *, strips: bool) -> None:
        parts = urlsplit(backend)
        assert parts.hostname is not None
        assert parts.port is not None
        self.backend = (parts.hostname, parts.port)
        self.strips = strips
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy.forward(self)

            do_POST = do_HEAD = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = ("127.0.0.1", self._server.server_port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.02])

    def __enter__(self) -> "Proxy":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def forward(self, request: BaseHTTPRequestHandler) -> None:
        """Paths outside the prefix are passed on whole, so that the server decides."""
        target = request.path
        if self.strips and target.startswith(f"{PREFIX}/"):
            target = target.removeprefix(PREFIX)
        headers = {
            name: value
            for name, value in request.headers.items()
            if name.lower() not in _HOP_BY_HOP
        } | {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
        length = int(request.headers.get("Content-Length", 0))
        answer = send(
            self.backend,
            request.command,
            target,
            body=request.rfile.read(length) if length else None,
            headers=headers,
        )
        request.send_response_only(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in {*_HOP_BY_HOP, "content-length"}:
                request.send_header(name, value)
        request.send_header("Content-Length", str(len(answer.body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(answer.body)
