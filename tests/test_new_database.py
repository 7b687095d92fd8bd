"""From nothing to a server in use, on the engine under test: migrate, load, serve."""

import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import pytest

from tests.commands import files
from tests.databases import NewInstallation
from tests.serving import Server

PASSWORD = "correct horse battery"
REQUEST = {
    "scope_id": "project:harbor",
    "query": "how do we regenerate the clients",
    "assembly": {"sections": [{"family": "memory", "limit": 2}]},
    "include_receipt": True,
}


def run(installation: Server, *arguments: str, **environment: str) -> str:
    done = installation.manage(*arguments, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.decode()


class Browser:
    """Follows redirects and keeps cookies, as a person's does."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies)

    def open(self, path: str, form: dict[str, str] | None = None) -> str:
        data = None if form is None else urllib.parse.urlencode(form).encode()
        with self._opener.open(self.base_url + path, data, timeout=30) as answer:
            return str(answer.read().decode())

    def submit(self, path: str, **form: str) -> str:
        """Fill in the form that is at this path; hidden fields stay as they are."""
        hidden = {}
        for field in re.findall(r'<input type="hidden"[^>]*>', self.open(path)):
            attributes = dict(re.findall(r'(\w+)="([^"]*)"', field))
            hidden[attributes["name"]] = attributes.get("value", "")
        assert "csrfmiddlewaretoken" in hidden
        return self.open(path, hidden | form)


def ask(server: Server, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    sent = urllib.request.Request(
        server.base_url + path,
        None if body is None else json.dumps(body).encode(),
        {"Content-Type": "application/json"},
        method=method,
    )
    try:
        with urllib.request.urlopen(sent, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_from_an_empty_database_to_one_in_use(
    new_installation: NewInstallation,
) -> None:
    installation = new_installation()
    refused = installation.manage("doctor")
    assert refused.returncode == 1
    said = refused.stdout.decode()
    assert re.search(r"^migrations +\d+ not applied: run migrate$", said, re.M)

    run(installation, "migrate", "--verbosity", "0")
    run(installation, "migrate", "--check", "--verbosity", "0")
    run(installation, "migrate", "--verbosity", "0")  # once more changes nothing
    said = run(installation, "doctor")
    assert re.search(r"^indexed +0 documents in 0 pools$", said, re.M)
    run(installation, "selftest")

    run(installation, "load_context", str(files.DEMO))
    person = "createsuperuser --noinput --username ann --email ann@harbor.example"
    run(installation, *person.split(), DJANGO_SUPERUSER_PASSWORD=PASSWORD)
    installation.start()
    try:
        use_the_api(installation)
        use_the_admin(Browser(installation.base_url))
    finally:
        installation.stop()
    assert "Traceback" not in installation.errors()
    run(installation, "doctor")


def use_the_api(server: Server) -> None:
    status, ready = ask(server, "GET", "/health/ready")
    assert (status, ready["status"]) == (200, "ready")
    status, prepared = ask(server, "POST", "/v1/context/prepare", REQUEST)
    assert status == 200
    assert prepared["content_bytes"] == len(prepared["content"].encode())
    assert prepared["content"].count("### Memory") == 2
    text = {"scope_id": "project:harbor", "kind": "fact", "text": "walrus 野家 😀"}
    assert ask(server, "POST", "/v1/memory/remember", text)[0] == 200
    _, found = ask(server, "POST", "/v1/context/prepare", REQUEST | {"query": "walrus"})
    assert text["text"] in found["content"]


def use_the_admin(browser: Browser) -> None:
    signed_in = browser.submit(
        "/admin/login/?next=/admin/", username="ann", password=PASSWORD
    )
    assert 'action="/admin/logout/"' in signed_in
    scopes = browser.open("/admin/prepare/scope/")
    assert "project:harbor" in scopes
    assert "project:harbor" in browser.open("/admin/prepare/scope/?q=project:")
    assert "project:harbor" not in browser.open("/admin/prepare/scope/?q=Project:")
    made = browser.submit(
        "/admin/prepare/scope/add/",
        scope_id="Käfer 😀",
        title="T",
        summary="S.",
    )
    assert "Käfer 😀" in made
    assert "Käfer 😀" in browser.open("/admin/prepare/scope/")


@pytest.mark.mysql_only("SQLite compares code points, whatever it is told")
def test_a_collation_that_mixes_identities_up_is_reported(
    new_installation: NewInstallation,
) -> None:
    installation = new_installation("utf8mb4_general_ci")
    run(installation, "migrate", "--verbosity", "0")
    failed = installation.manage("doctor")
    assert failed.returncode == 1
    said = failed.stdout.decode()
    assert re.search(r"^collation +utf8mb4_general_ci$", said, re.M)
    assert re.search(r"^storage +\d+ columns are not utf8mb4_bin: ", said, re.M)
    assert b"Not in order: storage" in failed.stderr
