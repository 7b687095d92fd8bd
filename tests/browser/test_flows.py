"""What a person comes for, done from beginning to end."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.browser import checks, hostile, keyboard
from tests.browser.conftest import OpenVisitor
from tests.browser.installing import OPERATOR
from tests.browser.places import RECEIPTS, REQUESTS, Place
from tests.browser.visiting import Visitor


def test_a_request_by_keyboard(visitor: OpenVisitor) -> None:
    """From the menu to the cited revision, without a mouse."""
    reader = visitor()
    page = reader.page
    reader.open("/inspector/")
    keyboard.tab_to(page, "header a[href$='/try']")
    _press(reader, "Enter")
    keyboard.tab_to(page, "[name=scope_id]")
    page.keyboard.type(hostile.OTHER)
    page.keyboard.press("Tab")
    page.keyboard.type("harbour lighthouse keeper")
    keyboard.tab_to(page, "[name=use_profile]")
    page.keyboard.press("Space")
    keyboard.tab_to(page, "main form button:not([type=button])")
    _press(reader, "Enter")
    assert reader.page.locator("[name=use_profile]").is_checked()
    assert hostile.WORDS in page.locator("main pre").first.inner_text()
    page.locator("main h1").focus()
    keyboard.tab_to(page, "main table a[href*='/revision?']")
    _press(reader, "Enter")
    assert hostile.WORDS in page.locator("main").inner_text()
    assert "revision=1" in page.url


def _press(reader: Visitor, key: str) -> None:
    with reader.page.expect_navigation():
        reader.page.keyboard.press(key)


@pytest.mark.parametrize("place", [REQUESTS[1], RECEIPTS[1]], ids=str)
def test_a_result_does_not_come_back_after_signing_out(
    visitor: OpenVisitor, place: Place
) -> None:
    """The browser has to ask for it again, and then nobody is signed in."""
    person = visitor(person=None)
    person.sign_in(OPERATOR)
    person.visit(place)
    with person.page.expect_navigation():
        person.page.locator("form[action$='/sign-out'] button").click()
    person.page.evaluate("history.back()")
    person.page.wait_for_timeout(1000)
    assert hostile.WORDS not in person.page.locator("body").inner_text()


def test_the_admin_on_the_same_data(visitor: OpenVisitor) -> None:
    """Lists, rows and histories: watched, and no text becomes an element."""
    operator = visitor(person=OPERATOR)
    problems = []
    for address in _admin_pages(operator):
        operator.page.goto(address)
        problems += [f"{address}: {fault}" for fault in checks.markup(operator)]
    assert problems == []


def _admin_pages(operator: Visitor) -> Iterator[str]:
    """Each list of ours, with its first rows and their history."""
    operator.page.goto("/admin/")
    lists = _links(operator, "#content th a[href*='/prepare/']")
    assert len(lists) >= 5
    for address in lists:
        yield address
        operator.page.goto(address)
        for row in _links(operator, "#result_list th a")[:4]:
            yield row
            operator.page.goto(row)
            yield from _links(operator, ".object-tools a.historylink")


def _links(operator: Visitor, selector: str) -> list[str]:
    links = operator.page.locator(selector)
    found: list[str] = links.evaluate_all("all => all.map((each) => each.href)")
    own = urlsplit(operator.site.base_url).netloc
    return [address for address in found if urlsplit(address).netloc == own]
