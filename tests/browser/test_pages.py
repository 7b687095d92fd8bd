"""Each page on data that tries to break out of it: inert, and readable for everyone."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser import checks, keyboard
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenVisitor
from tests.browser.places import BROWSING, RECEIPTS, REQUESTS, Place, every
from tests.browser.visiting import PHONE

each_place = pytest.mark.parametrize("place", list(every()), ids=str)


@each_place
def test_a_page(visitor: OpenVisitor, place: Place) -> None:
    """Watched all the time; light, then by keyboard, then dark, then on a phone."""
    reader = visitor()
    reader.visit(place)
    problems = checks.inertness(reader)
    if place.shows not in reader.page.locator("main").inner_text():
        problems.append(f"does not show {place.shows}")
    problems += violations(reader.page)
    problems += keyboard.problems(reader.page)
    reader.page.emulate_media(color_scheme="dark")
    problems += violations(reader.page, "color-contrast")
    reader.page.set_viewport_size(PHONE)
    problems += checks.width(reader)
    problems += checks.traces(reader)
    if place.form is not None:
        # What a form carries is in no address, so in no history and no log.
        for address in map(urlsplit, reader.watch.documents):
            if address.fragment or not parse_qs(address.query).keys() <= {"scope"}:
                problems.append(f"in an address: {address}")
    assert not problems, "\n".join(problems)


@each_place
def test_in_chinese_on_a_phone(visitor: OpenVisitor, place: Place) -> None:
    reader = visitor(locale="zh-CN", viewport=PHONE)
    reader.visit(place)
    problems = checks.inertness(reader) + checks.width(reader)
    if reader.page.locator("html").get_attribute("lang") != "zh-hans":
        problems.append("not in Chinese")
    problems += violations(reader.page)
    assert not problems, "\n".join(problems)


@each_place
def test_without_scripts(visitor: OpenVisitor, place: Place) -> None:
    reader = visitor(java_script_enabled=False)
    reader.visit(place)
    assert place.shows in reader.page.locator("main").inner_text()


@pytest.mark.parametrize("place", [BROWSING[1], REQUESTS[1], RECEIPTS[1]], ids=str)
def test_scripts_add_buttons_only(visitor: OpenVisitor, place: Place) -> None:
    outlines = []
    for has_scripts in (True, False):
        reader = visitor(java_script_enabled=has_scripts)
        reader.visit(place)
        parts = "main :is(h1, h2, h3, a, th, dt, summary, label)"
        outlines.append(reader.page.locator(parts).all_inner_texts())
    assert outlines[0] == outlines[1]
