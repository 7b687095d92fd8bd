"""A window of the browser: opens addresses, fills in forms, sees what is shown."""

from collections.abc import Mapping
from typing import Any

from playwright.sync_api import Browser, Locator, Page, Response, ViewportSize

from tests.browser.installing import PASSWORD, READER, Site
from tests.browser.places import Place
from tests.browser.watching import Watch

_WAIT_MS = 30_000
PHONE: ViewportSize = {"width": 390, "height": 844}


class Visitor:
    """`person` None has not signed in. Other options are Playwright's for a context."""

    def __init__(
        self, browser: Browser, site: Site, person: str | None = READER, **options: Any
    ) -> None:
        self.site = site
        cookies = None if person is None else site.cookies[person]
        self.context = browser.new_context(
            base_url=site.base_url,
            storage_state=cookies,
            reduced_motion="reduce",  # else a focused element is still on its way
            **options,
        )
        self.context.set_default_timeout(_WAIT_MS)
        self.watch = Watch(self.context, site.base_url)
        self.page: Page = self.context.new_page()
        self.status = 0

    def close(self) -> None:
        self.context.close()

    def sign_in(self, person: str) -> None:
        self.open("/inspector/sign-in")
        self.send({"username": person, "password": PASSWORD})
        assert not self.page.url.endswith("/sign-in"), self.status

    def open(self, address: str) -> None:
        self._loaded(self.page.goto(address))

    def visit(self, place: Place) -> None:
        self.open(place.address)
        if place.form is not None:
            self.send(place.form(self.site))
        if place.follow:
            with self.page.expect_navigation() as answer:
                self.page.locator(place.follow).first.click()
            self._loaded(answer.value)
        assert self.status == place.status, self.page.locator("main").inner_text()

    def send(self, values: Mapping[str, Any]) -> None:
        """Fill in the main form by the names of its fields, and send it."""
        form = self.form(values)
        while (closed := form.locator("details:not([open]) > summary")).count():
            closed.first.click()
        for name, value in values.items():
            fill(form, name, value)
        with self.page.expect_navigation() as answer:
            form.locator("button:not([type=button])").first.click()
        self._loaded(answer.value)

    def form(self, values: Mapping[str, Any]) -> Locator:
        """The form of the main part that has these fields."""
        forms = self.page.locator("main form")
        for name in values:
            forms = forms.filter(has=self.page.locator(f'[name="{name}"]'))
        return forms.first

    def _loaded(self, response: Response | None) -> None:
        assert response is not None
        self.status = response.status
        assert self.page.locator("main h1").count() == 1, self.page.url


def fill(form: Locator, name: str, value: Any) -> None:
    """Set one field; bool for a check box, a dict for a file."""
    field = form.locator(f'[name="{name}"]')
    kind = field.first.evaluate("field => field.type")
    if kind == "file":
        field.set_input_files(value)
    elif kind == "checkbox":
        field.set_checked(value)
    elif kind == "radio":
        form.locator(f'[name="{name}"][value="{value}"]').check()
    elif kind.startswith("select"):
        field.select_option(value)
    else:
        field.fill(value)
