"""Headers of every Inspector answer, errors and redirects included."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

GetResponse = Callable[[HttpRequest], HttpResponse]

# Our own files and nothing else; no inline script or style, no frame, no plugin.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def is_inspector(request: HttpRequest) -> bool:
    return f"{request.path_info}/".startswith("/inspector/")


class HeadersMiddleware:
    """Nothing a page shows is kept by a browser or sent to another host (C-56)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if is_inspector(request):
            response["Cache-Control"] = "no-store"
            response["Content-Security-Policy"] = POLICY
            # With `no-referrer` a browser sends `Origin: null`, and no form would pass
            # the CSRF check. To another host still nothing is sent.
            response["Referrer-Policy"] = "same-origin"
        return response
