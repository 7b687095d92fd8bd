"""The admin as an operator's browser uses it: read a form, fill it in, send it."""

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from django.test import Client
from django.urls import reverse

from prepare.models import ArtifactRevision

Values = dict[str, list[str]]


class _FormParser(HTMLParser):
    """What a browser would send back from each form of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, Values]] = []
        self.scripts: list[str] = []
        self._area: str | None = None
        self._text = ""
        self._select: str | None = None
        self._first_option: str | None = None
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.forms.append((given.get("action") or "", {}))
        if tag == "script":
            self._in_script = True
        if not self.forms:
            return
        values = self.forms[-1][1]
        name = given.get("name") or ""
        if tag == "input" and name:
            self._input(values, name, given)
        elif tag == "textarea":
            self._area, self._text = name, ""
        elif tag == "select":
            self._select, self._first_option = name, None
        elif tag == "option" and self._select:
            value = given.get("value") or ""
            if self._first_option is None:
                self._first_option = value
            if "selected" in given:
                values.setdefault(self._select, []).append(value)

    def _input(
        self, values: Values, name: str, given: Mapping[str, str | None]
    ) -> None:
        kind = given.get("type") or "text"
        if kind == "submit":
            return
        if kind in ("checkbox", "radio"):
            if "checked" in given:
                values.setdefault(name, []).append(given.get("value") or "on")
            return
        values.setdefault(name, []).append(given.get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area:
            # A browser drops the line feed that follows the tag, and sends CRLF.
            text = self._text.removeprefix("\r\n").removeprefix("\n")
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
            self.forms[-1][1].setdefault(self._area, []).append(text)
            self._area = None
        elif tag == "select":
            # A menu without a selected option sends its first one.
            if self._select and self._first_option is not None:
                self.forms[-1][1].setdefault(self._select, [self._first_option])
            self._select = None
        elif tag == "script":
            self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._text += data
        if self._in_script:
            self.scripts.append(data)


class Page:
    """One answer of the admin."""

    def __init__(self, browser: "Browser", response: Any) -> None:
        self.browser = browser
        self.status: int = response.status_code
        self.headers: dict[str, str] = dict(response.headers)
        self.url: str = response.request["PATH_INFO"]
        if response.redirect_chain:
            self.url = response.redirect_chain[-1][0]
        self.html: str = response.content.decode()
        self.context: Any = response.context
        parser = _FormParser()
        parser.feed(self.html)
        self.forms = parser.forms
        self.scripts = parser.scripts

    def fields(self) -> Values:
        """The values of the page's largest form: the one an operator fills in."""
        return max((values for _, values in self.forms), key=len)

    def submit(self, **values: Any) -> "Page":
        """Send the form back with these values; None leaves a field out."""
        sent: dict[str, Any] = dict(self.fields())
        for name, value in values.items():
            if value is None:
                sent.pop(name, None)
            elif isinstance(value, str):
                sent[name] = value.replace("\r\n", "\n").replace("\n", "\r\n")
            else:
                sent[name] = value
        return self.browser.post(self.url, sent)

    def press(self, action: str) -> "Page":
        """Press the button of a detail page that runs `action`."""
        for target, values in self.forms:
            if values.get("action") == [action]:
                return self.browser.post(target, values)
        raise AssertionError(f"no button {action}")

    @property
    def errors(self) -> dict[str, list[str]]:
        form = self.context["adminform"].form
        return {name: list(map(str, items)) for name, items in form.errors.items()}

    @property
    def messages(self) -> list[str]:
        return [str(message) for message in self.context["messages"]]


class Browser:
    def __init__(self, client: Client) -> None:
        self.client = client

    def get(self, url: str, **query: Any) -> Page:
        return Page(self, self.client.get(url, query, follow=True))

    def post(self, url: str, values: Mapping[str, Any]) -> Page:
        return Page(self, self.client.post(url, values, follow=True))

    def open(self, name: str, *args: Any, **query: Any) -> Page:
        return self.get(page_url(name, *args), **query)

    def act(self, model: str, action: str, *rows: Any, **extra: Any) -> Page:
        """Run a list action on these rows."""
        listed = self.open(f"{model}_changelist")
        values = {
            "csrfmiddlewaretoken": listed.fields()["csrfmiddlewaretoken"],
            "action": action,
            "index": "0",
            "select_across": "0",
            "_selected_action": [row.pk for row in rows],
            **extra,
        }
        return self.post(page_url(f"{model}_changelist"), values)


def page_url(name: str, *args: Any) -> str:
    return reverse(f"admin:prepare_{name}", args=args)


def add_artifact(admin: Browser, family: str, **values: Any) -> Page:
    return admin.open("artifact_add_family", family).submit(**values)


def latest_content() -> dict[str, Any]:
    """The content of the revision written last."""
    row = ArtifactRevision.objects.order_by("-pk")[0]
    content: dict[str, Any] = json.loads(row.content)
    return content
