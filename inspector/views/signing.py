"""Signing in and out through Django's sessions, and the language of the pages."""

from typing import Any

from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import translation
from django.utils.translation import get_language_from_request
from django.views.i18n import set_language


class SignInView(LoginView):
    template_name = "inspector/sign_in.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        with translation.override(get_language_from_request(request)):
            response = super().dispatch(request, *args, **kwargs)
            if isinstance(response, TemplateResponse):
                response.render()
            return response


class SignOutView(LogoutView):
    next_page = "inspector:sign-in"


def choose_language(request: HttpRequest) -> HttpResponse:
    """Kept in a cookie that holds the language and nothing else."""
    response = set_language(request)
    if response.get("Location") == "/":  # which is no page, and outside of a prefix
        response["Location"] = reverse("inspector:scopes")
    return response
