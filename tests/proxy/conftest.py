"""One server below a prefix, and both kinds of proxy in front of it."""

from collections.abc import Iterator

import pytest

from tests.proxy.forwarding import PREFIX, PUBLIC_HOST, Proxy
from tests.proxy.visiting import Traveller
from tests.serving import PROJECT, Server

PASSWORD = "long enough words"
ENVIRONMENT = {
    "POWERCONTEXT_SERVER_PATH_PREFIX": PREFIX,
    "POWERCONTEXT_SERVER_ALLOWED_HOSTS": f"{PUBLIC_HOST},127.0.0.1",
    "POWERCONTEXT_SERVER_SECURE_COOKIES": "true",
    "POWERCONTEXT_SERVER_ACCESS_MODE": "enforced",
    "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    "DJANGO_SUPERUSER_USERNAME": "olga",
    "DJANGO_SUPERUSER_EMAIL": "olga@example.org",
}
WORKERS = ("--workers", "1", "--threads", "4")


def run(server: Server, *arguments: str) -> str:
    done = server.manage(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


@pytest.fixture(scope="session")
def prefixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """In access mode `enforced`; olga is a superuser with a role on one Scope."""
    folder = tmp_path_factory.mktemp("proxy")
    with Server(folder, ENVIRONMENT, WORKERS) as server:
        run(server, "load_context", str(PROJECT / "prepare/fixtures/selftest.jsonl"))
        run(server, "createsuperuser", "--noinput")
        run(server, "grant_person", "olga", "--scope", "powercontext-selftest:cafe")
        yield server


@pytest.fixture(scope="session")
def token(prefixed: Server) -> str:
    return run(prefixed, "create_token", "proxied", "--server-admin")


@pytest.fixture(params=[True, False], ids=["stripping", "not-stripping"])
def proxy(prefixed: Server, request: pytest.FixtureRequest) -> Iterator[Proxy]:
    with Proxy(prefixed.base_url, strips=request.param) as running:
        yield running


@pytest.fixture
def traveller(proxy: Proxy) -> Traveller:
    """Somebody who has not signed in."""
    return Traveller(proxy)


@pytest.fixture
def olga(traveller: Traveller) -> Traveller:
    """Signed in to the Inspector and, by the same session, to the admin."""
    traveller.sign_in(f"{PREFIX}/inspector/", "olga", PASSWORD)
    return traveller
