"""Shared fixtures. Data is made by the real services, requests go through HTTP."""

import os
from pathlib import Path

import pytest
from django.test import Client
from hypothesis import HealthCheck, settings

from tests.acceptance import AcceptancePlugin, note_clauses
from tests.api import Api

settings.register_profile(
    "default",
    deadline=None,  # shared machines; speed is measured elsewhere
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--acceptance", help="write the clause table to this file")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--acceptance")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(AcceptancePlugin(Path(path)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    note_clauses(items)


@pytest.fixture
def api(db: None) -> Api:
    """The HTTP API in access mode `disabled`; it checks every answer."""
    return Api(Client())
