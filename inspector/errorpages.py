"""Errors as a page for the Inspector, and as the envelope for everything else."""

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import get_language_from_request, gettext_lazy
from django.utils.translation import gettext as _

from inspector.middleware import is_inspector
from inspector.navigation import pages
from prepare import handlers
from prepare.errors import PowerContextError

TITLES = {
    400: gettext_lazy("The request cannot be read"),
    403: gettext_lazy("Not allowed"),
    404: gettext_lazy("Not found"),
    405: gettext_lazy("Not possible here"),
    409: gettext_lazy("Changed meanwhile"),
    413: gettext_lazy("Too large"),
    422: gettext_lazy("Refused"),
    500: gettext_lazy("The server failed"),
    503: gettext_lazy("Not ready"),
}


def error_page(
    request: HttpRequest, *, status: int, code: str, message: str
) -> HttpResponse:
    """One state, named: never another revision or half a page in its place (R-212)."""
    title = TITLES.get(status, TITLES[500])
    with translation.override(get_language_from_request(request)):
        context = {
            "status": status,
            "title": title,
            "code": code,
            "message": message,
            "pages_of_inspector": pages(request),
        }
        response = render(request, "inspector/error.html", context, status=status)
    if status == 503:
        response["Retry-After"] = "1"
    return response


def domain_error_page(request: HttpRequest, error: PowerContextError) -> HttpResponse:
    status = handlers.status_of(error)
    return error_page(request, status=status, code=error.code, message=error.message)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's CSRF check failed: an old form, or a browser that keeps no cookies."""
    message = _("The form is too old or was not sent from here. Open it again.")
    return error_page(request, status=403, code="csrf_failed", message=message)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not is_inspector(request):
        return handlers.bad_request(request, exception)
    if isinstance(exception, RequestDataTooBig):
        return too_large(request)
    message = _("The request is malformed or too large.")
    return error_page(request, status=400, code="invalid_request", message=message)


def too_large(request: HttpRequest) -> HttpResponse:
    """What was sent was not read, so the page cannot give it back."""
    highest = f"{settings.MAX_BODY_BYTES:,}"
    message = _("What you sent has more than %(count)s bytes.") % {"count": highest}
    return error_page(request, status=413, code="request_too_large", message=message)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not is_inspector(request):
        return handlers.permission_denied(request, exception)
    message = _("You may not do this.")
    return error_page(request, status=403, code="forbidden", message=message)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if not is_inspector(request):
        return handlers.not_found(request, exception)
    message = _("There is no such page.")
    return error_page(request, status=404, code="not_found", message=message)


def server_error(request: HttpRequest) -> HttpResponse:
    if not is_inspector(request):
        return handlers.server_error(request)
    message = _("The log names what happened by the request id of this answer.")
    return error_page(request, status=500, code="internal_error", message=message)
