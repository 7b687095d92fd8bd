"""Each page on data that tries to break out of it: inert, and readable for everyone."""

from urllib.parse import urlsplit

import pytest

from tests.browser import checks, keyboard
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenVisitor
from tests.browser.places import Place, every
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
        addresses = [urlsplit(url) for url in reader.watch.documents]
        problems += [url.query for url in addresses if url.query or url.fragment]
    assert problems == []


@each_place
def test_in_chinese_on_a_phone(visitor: OpenVisitor, place: Place) -> None:
    reader = visitor(locale="zh-CN", viewport=PHONE)
    reader.visit(place)
    problems = checks.inertness(reader) + checks.width(reader)
    if reader.page.locator("html").get_attribute("lang") != "zh-hans":
        problems.append("not in Chinese")
    assert problems + violations(reader.page) == []


@each_place
def test_without_scripts(visitor: OpenVisitor, place: Place) -> None:
    """The same words, and the same answer to the form."""
    texts = []
    for has_scripts in (True, False):
        reader = visitor(java_script_enabled=has_scripts)
        reader.visit(place)
        texts.append(reader.page.locator("main").inner_text())
    assert texts[0] == texts[1]
