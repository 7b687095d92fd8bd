"""What every page shares: who looks, in which language, and errors as pages."""

from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import get_language_from_request
from django.utils.translation import gettext as _
from django.views.generic import View

from inspector.errorpages import domain_error_page, error_page
from inspector.navigation import pages
from inspector.principals import principal_of
from prepare.errors import PowerContextError
from prepare.handlers import as_domain_error
from prepare.services.access import Principal


class InspectorView(View):
    """A page for `self.principal`. What a service raises becomes an error page."""

    http_method_names = ["get", "head", "post"]
    principal: Principal

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        with translation.override(get_language_from_request(request)):
            try:
                return self._answer(request, *args, **kwargs)
            except PowerContextError as error:
                return domain_error_page(request, error)
            except (Http404, PermissionDenied, SuspiciousOperation):
                raise
            except Exception as error:
                return domain_error_page(request, as_domain_error(error))

    def _answer(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        principal = principal_of(request)
        if principal is None:
            # A form that was sent is lost; the page that shows it comes back.
            return redirect_to_login(
                request.get_full_path(), reverse("inspector:sign-in")
            )
        self.principal = principal
        return super().dispatch(request, *args, **kwargs)

    def http_method_not_allowed(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        message = _("This page does not answer that method.")
        response = error_page(
            request, status=405, code="method_not_allowed", message=message
        )
        response["Allow"] = ", ".join(
            name.upper() for name in self.http_method_names if hasattr(self, name)
        )
        return response

    def page(self, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
        """Render now: the language is chosen for the time of this call only."""
        shown = {"principal": self.principal, "pages_of_inspector": pages(self.request)}
        return render(
            self.request, f"inspector/{template}", shown | context, status=status
        )
