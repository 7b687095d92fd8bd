"""A browser without JavaScript: gets pages, sends forms, checks every answer."""

import html
import re
from html.parser import HTMLParser
from typing import Any

from django.test import Client

from inspector.links import page_url
from inspector.middleware import POLICY

_VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}


class _Reader(HTMLParser):
    """Gathers text, links and form fields; fails on markup that does not nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.words: list[str] = []
        self.links: list[str] = []
        self.fields: dict[str, str] = {}
        self.other_fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        assert "style" not in values, "inline style"
        assert not any(name.startswith("on") for name in values), "inline handler"
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if tag == "input" and values.get("name"):
            fields = self.fields if "main" in self.open else self.other_fields
            fields.setdefault(str(values["name"]), values.get("value") or "")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)


class Page:
    """One answer. `text` is what a reader sees, white space joined."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.headers: dict[str, str] = dict(response.items())
        self.html: str = response.content.decode()
        self.context: Any = response.context
        assert self.headers["Cache-Control"] == "no-store"
        assert self.headers["Content-Security-Policy"] == POLICY
        self.location = self.headers.get("Location", "")
        reader = _Reader()
        reader.feed(self.html)
        reader.close()
        assert not reader.open, f"never closed: {reader.open}"
        self.text = re.sub(r"\s+", " ", " ".join(reader.words)).strip()
        self.links = reader.links
        # Those of the page's own forms; of the menu only what these lack.
        self.fields = {
            name: value
            for name, value in reader.other_fields.items()
            if name == "csrfmiddlewaretoken"
        } | reader.fields

    def pre(self, css_class: str) -> str:
        """The exact text inside `<pre class="CSS_CLASS">`."""
        found = re.search(
            rf'<pre class="[^"]*\b{css_class}\b[^"]*"[^>]*>\n?(.*?)</pre>',
            self.html,
            re.DOTALL,
        )
        assert found, f"no <pre class={css_class}>"
        return html.unescape(re.sub(r"<[^>]+>", "", found.group(1)))


class Visitor:
    def __init__(self, client: Client) -> None:
        self.client = client

    def get(self, url: str, **options: Any) -> Page:
        return Page(self.client.get(url, **options))

    def open(self, name: str, **parameters: object) -> Page:
        """The page of this URL name with these parameters."""
        return self.get(page_url(name, **parameters))

    def post(self, url: str, values: dict[str, Any], **options: Any) -> Page:
        return Page(self.client.post(url, values, **options))

    def submit(self, name: str, values: dict[str, Any], **options: Any) -> Page:
        """Open the page's form and send it with these values."""
        token = self.open(name).fields["csrfmiddlewaretoken"]
        return self.post(
            page_url(name), {"csrfmiddlewaretoken": token, **values}, **options
        )
