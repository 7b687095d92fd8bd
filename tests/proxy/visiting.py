"""A browser behind the proxy: cookies by their rules, links and forms of each page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urljoin, urlsplit

from tests.proxy.forwarding import ORIGIN, PREFIX, PUBLIC_HOST, Answer, Proxy, send

_REFERENCES = {"a": "href", "link": "href", "script": "src", "img": "src"}


@dataclass(slots=True, kw_only=True)
class Form:
    method: str
    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """Where one answer leads to: addresses it names, and its forms."""

    def __init__(self, url: str, answer: Answer) -> None:
        super().__init__()
        self.url = url
        self.answer = answer
        self.references: set[str] = set()
        self.forms: list[Form] = []
        self._select = ""
        self._area = ""
        self.feed(answer.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        name = values.get("name", "")
        if (attribute := _REFERENCES.get(tag)) and attribute in values:
            self.references.add(self._absolute(values[attribute]))
        elif tag == "form":
            action = self._absolute(values.get("action", ""))
            self.forms.append(Form(method=values.get("method", "get"), action=action))
        elif not self.forms or not name:
            self._option(tag, values)
        elif tag == "input":
            if values.get("type") not in ("submit", "checkbox", "radio", "file"):
                self.forms[-1].fields[name] = values.get("value", "")
        elif tag == "select":
            self._select = name
        elif tag == "textarea":
            self._area = name
            self.forms[-1].fields[name] = ""

    def _option(self, tag: str, values: Mapping[str, str]) -> None:
        if tag == "option" and self._select and self.forms:
            fields, value = self.forms[-1].fields, values.get("value", "")
            fields.setdefault(self._select, value)
            if "selected" in values:
                fields[self._select] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.forms[-1].fields[self._area] += data

    def _absolute(self, reference: str) -> str:
        """The address on this host without its fragment, or the foreign one whole."""
        parts = urlsplit(urljoin(ORIGIN + self.url, reference))
        if f"{parts.scheme}://{parts.netloc}" != ORIGIN:
            return reference
        return parts.path + (f"?{parts.query}" if parts.query else "")

    def form(self, action: str) -> Form:
        """The last form that is sent to this path."""
        return [form for form in self.forms if form.action.split("?")[0] == action][-1]


class Traveller:
    """Asks the proxy as a browser at https://memory.example would."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.cookies: dict[str, str] = {}
        self.cookies_seen: set[str] = set()

    def send(
        self,
        method: str,
        url: str,
        values: Mapping[str, str] | None = None,
        **headers: str,
    ) -> Answer:
        """The answer, redirects not followed. Every cookie is checked and kept."""
        sent = {"Host": PUBLIC_HOST, **headers}
        if self.cookies:
            assert url.startswith(f"{PREFIX}/"), "the browser sends no cookie there"
            sent["Cookie"] = "; ".join(f"{n}={v}" for n, v in self.cookies.items())
        body = None
        if values is not None:
            body = urlencode(values).encode()
            sent |= {
                "Content-Type": "application/x-www-form-urlencoded",
                "Origin": headers.get("Origin", ORIGIN),
                "Referer": ORIGIN + PREFIX + "/",
            }
        answer = send(self.proxy.address, method, url, body=body, headers=sent)
        self._keep_cookies(answer)
        assert not answer.location or answer.location.startswith(f"{PREFIX}/")
        return answer

    def _keep_cookies(self, answer: Answer) -> None:
        for line in answer.headers.get_all("Set-Cookie", []):
            for name, cookie in SimpleCookie(line).items():
                assert cookie["path"] == PREFIX, line
                if cookie["max-age"] == "0":
                    del self.cookies[name]
                    continue
                assert cookie["secure"], line
                self.cookies_seen.add(name)
                self.cookies[name] = cookie.value

    def get(self, url: str) -> Page:
        """The page, redirects followed."""
        for _ in range(5):
            answer = self.send("GET", url)
            if answer.status not in (301, 302, 303):
                return Page(url, answer)
            url = answer.location
        raise AssertionError(f"redirects without end: {url}")

    def submit(self, form: Form, **values: str) -> Answer:
        """The form as it came, with these values in place of its own."""
        sent = form.fields | values
        if form.method.lower() == "post":
            return self.send("POST", form.action, sent)
        return self.send("GET", f"{form.action.split('?')[0]}?{urlencode(sent)}")

    def sign_in(self, url: str, username: str, password: str) -> Page:
        """Open `url`, fill in the form that comes instead, and see the page."""
        asked = self.get(url)
        form = asked.form(asked.url.split("?")[0])
        answer = self.submit(form, username=username, password=password)
        assert answer.status == 302, answer.text
        return self.get(answer.location)
