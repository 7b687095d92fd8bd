"""What may be configured for a proxy; anything else is one line at start."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse

from powercontext import settings as product
from prepare.middleware import PathPrefixMiddleware, without_prefix
from tests.serving import Installation

PATH_PREFIX = "POWERCONTEXT_SERVER_PATH_PREFIX"
TRUSTED_PROXIES = "POWERCONTEXT_SERVER_TRUSTED_PROXIES"


@pytest.mark.parametrize("value", ["", "/memory", "/tools/memory", "/a-1/b_2/c.d~e"])
def test_prefixes(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(PATH_PREFIX, value)
    assert product._path_prefix() == value


@pytest.mark.parametrize(
    "value",
    [
        *("/", "tools", "/tools/", "//tools", "/tools//memory", "/..", "/a/.b", "/a b"),
        *("/a%2Fb", "/工具", "/a?b", "/a#b", "/a\n", "https://host/a", "/a;b", "/<a>"),
        *("/admin", "/v1/memory", "/inspector/x", "/static", "/openapi.json", "/docs"),
    ],
)
def test_refused_prefixes(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(PATH_PREFIX, value)
    with pytest.raises(ImproperlyConfigured, match=PATH_PREFIX):
        product._path_prefix()


def test_a_refusal_is_one_line(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "data", {PATH_PREFIX: "tools/"})
    refused = installation.manage("check")
    assert refused.returncode == 1
    [line] = refused.stderr.decode().splitlines()
    assert line.startswith(f"{PATH_PREFIX} must be like /tools/memory")


@pytest.mark.parametrize("value", ["*", "proxy.example", "10.0.0.1/8", "127.0.0.1,x"])
def test_refused_proxies(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(TRUSTED_PROXIES, value)
    with pytest.raises(ImproperlyConfigured, match=TRUSTED_PROXIES):
        product._networks("TRUSTED_PROXIES", [])


def test_proxies_are_addresses_and_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUSTED_PROXIES, "10.0.0.0/8, ::1")
    assert product._networks("TRUSTED_PROXIES", []) == ["10.0.0.0/8", "::1"]


@pytest.mark.parametrize(
    ("path", "known_as"),
    [
        ("/tools/memory/v1/scopes", "/v1/scopes"),
        ("/tools/memory/", "/"),
        ("/tools/memory", "/"),
        ("/v1/scopes", "/v1/scopes"),
        ("/tools/memoryX/v1", "/tools/memoryX/v1"),
        ("/tools/memory.txt", "/tools/memory.txt"),
        ("/tools", "/tools"),
        ("/x/tools/memory/v1", "/x/tools/memory/v1"),
        ("/tools/memory/tools/memory/v1", "/tools/memory/v1"),
        ("", ""),
    ],
)
def test_paths_without_the_prefix(settings, path: str, known_as: str) -> None:
    settings.PATH_PREFIX = "/tools/memory"
    assert without_prefix(path) == known_as


def test_without_a_prefix_no_path_is_touched(settings) -> None:
    settings.PATH_PREFIX = ""
    request = HttpRequest()
    request.path = request.path_info = "/tools/memory/v1"
    PathPrefixMiddleware(lambda request: HttpResponse())(request)
    assert (request.path, request.path_info) == ("/tools/memory/v1",) * 2
