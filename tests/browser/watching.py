"""What no page may do, noted whenever a browser does it (C-56)."""

from urllib.parse import urlsplit

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Request,
    Response,
    WebError,
)

# Chromium says this on the console for every answer of 400 and above; `_answered` looks
# at the answers themselves.
_FAILED_LOAD = "Failed to load resource: the server responded with a status of"
_TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""


class Watch:
    """Notes dialogs, foreign requests, console errors, script errors, breaches of the
    Content Security Policy, missing files and documents that a browser may keep."""

    def __init__(self, context: BrowserContext, base_url: str) -> None:
        self.base_url = base_url
        self.troubles: list[str] = []
        self.documents: list[str] = []
        context.add_init_script(_TELL_VIOLATIONS)
        context.on("dialog", self._dialog)
        context.on("request", self._asked)
        context.on("response", self._answered)
        context.on("console", self._said)
        context.on("weberror", self._failed)

    def check(self) -> None:
        """Fail with everything that was noted since the last check."""
        troubles, self.troubles = self.troubles, []
        assert troubles == []

    def _dialog(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(f"{self.base_url}/"):
            self.troubles.append(f"request off the host: {request.url}")
        if request.is_navigation_request():
            self.documents.append(request.url)

    def _answered(self, response: Response) -> None:
        path = urlsplit(response.url).path
        if not response.request.is_navigation_request():
            if response.status >= 400:
                self.troubles.append(f"status {response.status}: {path}")
        elif "no-store" not in response.headers.get("cache-control", ""):
            self.troubles.append(f"a browser may keep it: {path}")

    def _said(self, message: ConsoleMessage) -> None:
        is_bad = message.type in ("error", "warning", "assert")
        if is_bad and not message.text.startswith(_FAILED_LOAD):
            self.troubles.append(f"console {message.type}: {message.text}")

    def _failed(self, error: WebError) -> None:
        self.troubles.append(f"script error: {error.error.message}")
