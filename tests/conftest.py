"""Shared fixtures. Data is made by the real services, requests go through HTTP."""

import os
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from hypothesis import HealthCheck, settings

from tests.acceptance import AcceptancePlugin, note_clauses
from tests.api import Api
from tests.databases import (  # noqa: F401  # a fixture is used by its name
    ENGINES,
    new_installation,
    skip_other_engines,
    uses_database,
)
from tests.engines.engine import MissingError
from tests.engines.oceanbase import OceanBase, is_required

settings.register_profile(
    "default",
    deadline=None,  # shared machines; speed is measured elsewhere
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--acceptance", help="write the clause table to this file")
    parser.addoption(
        "--database-tests-on",
        choices=sorted(ENGINES),
        help="run only the tests that use the database, and only on this engine",
    )


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--acceptance")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(AcceptancePlugin(Path(path)))


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    note_clauses(items)
    if config.getoption("--database-tests-on"):
        left_out = [item for item in items if not uses_database(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if uses_database(item)]
    skip_other_engines(items)


@pytest.fixture(scope="session", autouse=True)
def expected_engine(request: pytest.FixtureRequest) -> None:
    """A run that was asked for one engine fails on every other."""
    if expected := request.config.getoption("--database-tests-on"):
        request.getfixturevalue("django_db_setup")
        with request.getfixturevalue("django_db_blocker").unblock():
            assert connection.display_name == ENGINES[expected]


@pytest.fixture(scope="session")
def oceanbase_is_here() -> None:
    """Skips where an OceanBase engine cannot be started, or fails if it has to be."""
    try:
        OceanBase.require()
    except MissingError as reason:
        if is_required():
            raise
        pytest.skip(str(reason))


@pytest.fixture
def api(db: None) -> Api:
    """The HTTP API in access mode `disabled`; it checks every answer."""
    return Api(Client())
