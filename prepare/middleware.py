"""Request id, host and peer checks, and path segments with encoded slashes."""

import ipaddress
import secrets
from collections.abc import Callable
from urllib.parse import unquote

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

from prepare.handlers import envelope_response
from prepare.requestid import request_id_variable

REQUEST_ID_HEADER = "X-PowerContext-Request-ID"
GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestIdMiddleware:
    """16 lower-case hex digits, made here; what a client sends is ignored (J-17)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Stays set until the thread's next request: Django logs the answer's status
        # after all middleware has returned.
        request_id = secrets.token_hex(8)
        request_id_variable.set(request_id)
        response = self.get_response(request)
        response[REQUEST_ID_HEADER] = request_id
        if not response.streaming and not response.has_header("Content-Length"):
            # Without it gunicorn would send the answer in chunks.
            response["Content-Length"] = str(len(response.content))
        return response


class HostMiddleware:
    """Refuse a foreign Host before any view runs (C-59, J-16).

    A page that rebinds its own name to 127.0.0.1 is same-origin to the browser; the
    Host header is the only thing that gives it away.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            request.get_host()
        except DisallowedHost:
            return envelope_response(
                400,
                "invalid_host",
                "The Host header is not one this Server answers to.",
            )
        return self.get_response(request)


class LoopbackMiddleware:
    """In access mode `disabled` only this machine is answered (J-12)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.ACCESS_MODE == "disabled" and not _is_loopback(
            request.META.get("REMOTE_ADDR", "")
        ):
            return envelope_response(
                403,
                "forbidden",
                "Access mode `disabled` answers loopback addresses only.",
            )
        return self.get_response(request)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


ENCODED_SLASH = "\0"


class PathSegmentMiddleware:
    """Keep `%2F` inside one path segment, as clients encode identifiers with slashes.

    WSGI hands over a decoded path, where `a%2Fb` and `a/b` are the same. Routes read an
    encoded slash as NUL, which no identifier may contain, and turn it back.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if ENCODED_SLASH in request.path_info:
            return envelope_response(404, "not_found", "The path was not found.")
        raw = str(request.META.get("RAW_URI", "")).split("?", 1)[0]
        if "%2f" in raw.lower() and raw.startswith("/"):
            prefix = str(request.META.get("SCRIPT_NAME", ""))
            segments = raw.removeprefix(prefix).split("/")
            request.path_info = "/".join(
                unquote(segment).replace("/", ENCODED_SLASH) for segment in segments
            )
        return self.get_response(request)
