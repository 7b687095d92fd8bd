"""Fixtures of the contract tests."""

from collections.abc import Iterator

import pytest

from prepare.models import Scope
from tests.factories import make_scope
from tests.serving import Server


@pytest.fixture
def scope(db: None) -> Scope:
    """The empty Scope `contract`."""
    return make_scope("contract")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real server in access mode `disabled`, one for all tests that need the wire."""
    with Server(tmp_path_factory.mktemp("server"), arguments=WORKERS) as running:
        yield running


@pytest.fixture(scope="session")
def enforced_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real server in access mode `enforced`."""
    environment = {"POWERCONTEXT_SERVER_ACCESS_MODE": "enforced"}
    directory = tmp_path_factory.mktemp("enforced")
    with Server(directory, environment, arguments=WORKERS) as running:
        yield running


WORKERS = ("--workers", "1", "--threads", "4")
