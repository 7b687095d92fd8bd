"""Chromium at a real server, in access mode `enforced`, with data of its own."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser import hostile
from tests.browser.installing import OPERATOR, READER, Site
from tests.browser.visiting import Visitor

HERE = Path(__file__).parent
OpenVisitor = Callable[..., Visitor]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All in one group: `--dist loadgroup` then needs one server and one browser."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.fail(
            "Chromium is missing. As root run:"
            " apt-get install -y --no-install-recommends chromium",
            pytrace=False,
        )
    # Chromium's own sandbox refuses to run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=arguments)
        yield running
        running.close()


@pytest.fixture(scope="package")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serves the hostile data to the persons of `installing`, who have signed in."""
    with Site(tmp_path_factory.mktemp("browser") / "data") as running:
        running.load(hostile.lines())
        running.make_token()
        for person in (READER, OPERATOR):
            running.make_person(person)
            window = Visitor(browser, running, person=None)
            window.sign_in(person)
            running.cookies[person] = window.context.storage_state()
            window.close()
        yield running


@pytest.fixture
def visitor(browser: Browser, site: Site) -> Iterator[OpenVisitor]:
    """Opens a window of somebody, who is the reader unless told otherwise. Afterwards
    every window must have kept the rules of `watching`."""
    opened: list[Visitor] = []

    def make(**options: Any) -> Visitor:
        opened.append(Visitor(browser, site, **options))
        return opened[-1]

    yield make
    for each in opened:
        each.close()
    for each in opened:
        each.watch.check()
