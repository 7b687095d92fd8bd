"""Signing in and out, and the language, as a person does it."""

import pytest

from tests.browser import checks, keyboard
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenVisitor
from tests.browser.installing import PASSWORD, READER
from tests.browser.places import FORMS, Place
from tests.browser.visiting import PHONE

SIGN_IN = "/inspector/sign-in"


def test_the_page_to_sign_in_is_like_the_others(visitor: OpenVisitor) -> None:
    person = visitor(person=None)
    person.open(SIGN_IN)
    problems = violations(person.page) + keyboard.problems(person.page)
    person.page.emulate_media(color_scheme="dark")
    problems += violations(person.page, "color-contrast")
    person.page.set_viewport_size(PHONE)
    assert problems + checks.width(person) + checks.traces(person) == []


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "{{7*7}}\u202e\x1b"])
def test_a_wrong_password(visitor: OpenVisitor, name: str) -> None:
    person = visitor(person=None)
    person.open(SIGN_IN)
    person.send({"username": name, "password": "<script>alert(1)</script>"})
    assert violations(person.page) + checks.inertness(person) == []
    assert checks.traces(person) == []


def test_by_keyboard(visitor: OpenVisitor) -> None:
    person = visitor(person=None)
    person.open("/inspector/")
    keyboard.tab_to(person.page, "[name=username]")
    person.page.keyboard.type(READER)
    person.page.keyboard.press("Tab")
    person.page.keyboard.type(PASSWORD)
    with person.page.expect_navigation():
        person.page.keyboard.press("Enter")
    assert person.page.url == f"{person.site.base_url}/inspector/"
    keyboard.tab_to(person.page, "form[action$='/sign-out'] button")
    with person.page.expect_navigation():
        person.page.keyboard.press("Enter")
    assert person.page.url == f"{person.site.base_url}{SIGN_IN}"


def test_without_scripts(visitor: OpenVisitor) -> None:
    person = visitor(person=None, java_script_enabled=False)
    person.sign_in(READER)
    assert person.page.locator("form[action$='/sign-out']").count() == 1


def test_the_language_is_a_cookie_and_nothing_else(visitor: OpenVisitor) -> None:
    reader = visitor()
    reader.open("/inspector/try")
    for language, button in (("zh-hans", "中文"), ("en", "English")):
        with reader.page.expect_navigation():
            reader.page.get_by_role("button", name=button).click()
        assert reader.page.url == f"{reader.site.base_url}/inspector/try"
        assert reader.page.locator("html").get_attribute("lang") == language
    assert checks.traces(reader) == []


@pytest.mark.parametrize("place", FORMS, ids=str)
def test_nothing_comes_back_after_signing_out(
    visitor: OpenVisitor, place: Place
) -> None:
    person = visitor(person=None)
    person.sign_in(READER)
    person.visit(place)
    with person.page.expect_navigation():
        person.page.locator("form[action$='/sign-out'] button").click()
    person.page.go_back()
    assert SIGN_IN in person.page.url
    assert person.page.locator("[name=password]").count() == 1


@pytest.mark.parametrize("address", ["/inspector/try", "/inspector/nothing"])
def test_the_first_stop_leads_past_the_menu(visitor: OpenVisitor, address: str) -> None:
    page = visitor().page
    page.goto(address)
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.get_attribute("href") == "#content"
    assert skip.bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    assert not page.evaluate("!!document.activeElement.closest('header')")
