"""Every error becomes the standard envelope; only this module knows status numbers.

Contract B.5, J-16. Log lines carry the error's kind and place, never its text: a
database or JSON error quotes what it choked on (C-67).
"""

import logging
import traceback
from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError, ProgrammingError
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.views import set_rollback

from prepare import errors
from prepare.errors import Violation
from prepare.wirereader import REPORTED_VIOLATIONS

logger = logging.getLogger(__name__)

# Most specific first.
_STATUS: tuple[tuple[type[errors.PowerContextError], int], ...] = (
    (errors.InvalidQueryString, 400),
    (errors.InvalidRequest, 422),
    (errors.InvalidCursor, 400),
    (errors.Unauthorized, 401),
    (errors.Forbidden, 403),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.RevisionConflict, 412),
    (errors.PreconditionRequired, 428),
    (errors.Unsupported, 422),
    (errors.NotReady, 503),
)


def envelope(
    code: str, message: str, details: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details}}


def envelope_response(status: int, code: str, message: str) -> JsonResponse:
    """For errors that arise outside a view."""
    return JsonResponse(envelope(code, message), status=status)


def handle_exception(exc: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: nothing passes, nothing unexpected is explained."""
    set_rollback()
    if isinstance(exc, errors.PowerContextError):
        return _domain_response(exc)
    if isinstance(exc, drf.APIException):
        return _framework_response(exc)
    if isinstance(exc, RequestDataTooBig):
        return _response(413, "request_too_large", "The request body is too large.")
    if isinstance(exc, Http404):
        return _response(404, "not_found", errors.NotFound.message)
    if isinstance(exc, SuspiciousOperation):
        return _response(400, "invalid_request", errors.CONTRACT_VIOLATED)
    return _domain_response(as_domain_error(exc))


def status_of(exc: errors.PowerContextError) -> int:
    """The HTTP status of a domain error."""
    return next((number for kind, number in _STATUS if isinstance(exc, kind)), 500)


def as_domain_error(exc: Exception) -> errors.PowerContextError:
    """What anything unexpected is to a caller; the log gets its kind and place."""
    _log_unexpected(exc)
    # A table that is not there is a ProgrammingError on the MySQL family.
    if isinstance(exc, OperationalError | InterfaceError | ProgrammingError):
        return errors.NotReady()
    return errors.PowerContextError()


def _domain_response(exc: errors.PowerContextError) -> Response:
    status = status_of(exc)
    if isinstance(exc, errors.InvariantViolated):
        logger.error("invariant_violated invariant=%s", exc.invariant)
    response = _response(status, exc.code, exc.message, exc.details)
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    if status == 503:
        response["Retry-After"] = "1"
    return response


def _framework_response(exc: drf.APIException) -> Response:
    if isinstance(exc, drf.ValidationError):
        found = islice(violations(exc.detail), REPORTED_VIOLATIONS)
        return _domain_response(errors.InvalidRequest(list(found)))
    if isinstance(exc, drf.ParseError):
        violation = Violation(type="json_invalid", loc=("body",), msg=str(exc.detail))
        return _domain_response(errors.InvalidRequest([violation]))
    if isinstance(exc, drf.NotAuthenticated | drf.AuthenticationFailed):
        return _domain_response(errors.Unauthorized())
    if isinstance(exc, drf.PermissionDenied):
        return _domain_response(errors.Forbidden())
    if isinstance(exc, drf.MethodNotAllowed):
        return _response(405, "method_not_allowed", "The method is not allowed here.")
    if isinstance(exc, drf.UnsupportedMediaType):
        return _response(
            415, "unsupported_media_type", "Only application/json is accepted."
        )
    return _response(exc.status_code, "invalid_request", errors.CONTRACT_VIOLATED)


def violations(
    detail: Any, loc: tuple[str | int, ...] = ("body",)
) -> Iterator[Violation]:
    """DRF's nested error detail as a flat list with paths."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            is_own = key == "non_field_errors"
            yield from violations(value, loc if is_own else (*loc, key))
    elif isinstance(detail, list):
        for index, value in enumerate(detail):
            is_leaf = isinstance(value, str)
            yield from violations(value, loc if is_leaf else (*loc, index))
    else:
        yield Violation(
            type=str(getattr(detail, "code", "invalid")), loc=loc, msg=str(detail)
        )


def _response(
    status: int, code: str, message: str, details: dict[str, Any] | None = None
) -> Response:
    return Response(envelope(code, message, details), status=status)


def _log_unexpected(exc: Exception) -> None:
    frames = traceback.extract_tb(exc.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown"
    logger.error("request_failed error_type=%s at=%s", type(exc).__name__, place)


def not_found(request: HttpRequest, exception: Exception | None = None) -> JsonResponse:
    return envelope_response(404, "not_found", "The path was not found.")


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    return envelope_response(400, "invalid_request", errors.CONTRACT_VIOLATED)


def permission_denied(request: HttpRequest, exception: Exception) -> JsonResponse:
    return envelope_response(403, "forbidden", errors.Forbidden.message)


def server_error(request: HttpRequest) -> JsonResponse:
    return envelope_response(500, "internal_error", errors.PowerContextError.message)
