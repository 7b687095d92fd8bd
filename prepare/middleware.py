"""Request id, path prefix, host and peer checks, segments with encoded slashes."""

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


def without_prefix(path: str) -> str:
    """`path` as routes know it, whether or not the proxy has taken the prefix off."""
    prefix = settings.PATH_PREFIX
    if prefix and f"{path}/".startswith(f"{prefix}/"):
        return path.removeprefix(prefix) or "/"
    return path


class PathPrefixMiddleware:
    """Answer below the prefix, and without it (C-57).

    Some proxies take the prefix off and some do not. Links carry it in both cases:
    Django puts FORCE_SCRIPT_NAME before them.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = without_prefix(request.path_info)
        if path != request.path_info:
            request.path_info = path
            request.path = f"{settings.PATH_PREFIX}{path}"
        return self.get_response(request)


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


# What Django's admin needs, and nothing from elsewhere: no inline script or style.
ADMIN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


class AdminHeadersMiddleware:
    """Nothing that the admin shows is kept, or loaded from another host (C-56)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith("/admin/"):
            response["Cache-Control"] = "no-store"
            response["Content-Security-Policy"] = ADMIN_POLICY
        return response


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
            path = "/".join(
                unquote(segment).replace("/", ENCODED_SLASH)
                for segment in raw.split("/")
            )
            request.path_info = without_prefix(path)
        return self.get_response(request)
