"""Bearer tokens (J-12). In access mode `disabled` every local caller is `LOCAL`."""

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from prepare.errors import Unauthorized
from prepare.services.access import LOCAL, Principal, authenticate

if TYPE_CHECKING:
    from rest_framework.views import APIView


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`, the scheme in any case."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        if settings.ACCESS_MODE == "disabled":
            return LOCAL, None
        parts = get_authorization_header(request).split()
        if len(parts) != 2 or parts[0].lower() != b"bearer":
            return None
        token = parts[1].decode("latin-1")
        return authenticate(token, service_token=settings.AUTH_TOKEN), None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class HasPrincipal(BasePermission):
    """401 without a principal, before the body is looked at (J-3)."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not isinstance(request.user, Principal):
            raise Unauthorized
        return True


class OneRenderer(BaseContentNegotiation):
    """Everything is JSON; clients that ask for something else get JSON too."""

    def select_parser(self, request, parsers):  # type: ignore[no-untyped-def]
        media_type = (request.content_type or "").split(";")[0].strip().lower()
        for parser in parsers:
            if parser.media_type == media_type:
                return parser
        return None

    def select_renderer(self, request, renderers, format_suffix=None):  # type: ignore[no-untyped-def]
        return renderers[0], renderers[0].media_type
