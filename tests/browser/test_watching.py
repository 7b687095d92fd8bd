"""The watch sees what it is there to see; every other test relies on it."""

import pytest

from tests.browser import checks, hostile, keyboard
from tests.browser.conftest import OpenVisitor
from tests.browser.visiting import PHONE

CASES = {
    "dialog: 1": "<script>alert(1)</script>",
    "request off the host: http://evil.invalid/a.png": "<img src=//evil.invalid/a.png>",
    "console error: bad": "<script>console.error('bad')</script>",
    "console warning: odd": "<script>console.warn('odd')</script>",
    "script error: nothing is not defined": "<script>nothing()</script>",
    "status 404: /inspector/none.png": "<img src=/inspector/none.png>",
}


@pytest.mark.parametrize(("trouble", "body"), CASES.items(), ids=list(CASES))
def test_what_a_page_without_a_policy_does(
    visitor: OpenVisitor, trouble: str, body: str
) -> None:
    reader = visitor(person=None)
    reader.page.route(
        "**/bare", lambda route: route.fulfill(body=body, content_type="text/html")
    )
    reader.page.goto("/bare")
    reader.page.wait_for_load_state("networkidle")
    assert trouble in reader.watch.troubles
    assert "a browser may keep it: /bare" in reader.watch.troubles
    reader.watch.troubles.clear()


@pytest.mark.parametrize(
    "body", ["<script>alert(1)</script>", "<p style='color:red'>", "<img src=data:,>"]
)
def test_a_breach_of_the_policy(visitor: OpenVisitor, body: str) -> None:
    reader = visitor(person=None)
    real = reader.page.request.get("/inspector/sign-in")
    headers = {**real.headers, "content-type": "text/html"}
    reader.page.route(
        "**/strict", lambda route: route.fulfill(body=body, headers=headers)
    )
    reader.page.goto("/strict")
    assert any("policy: " in trouble for trouble in reader.watch.troubles)
    assert not any("dialog: " in trouble for trouble in reader.watch.troubles)
    reader.watch.troubles.clear()


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<style>:focus{outline:0}</style><button>x</button>", "looks the same"),
        ("<a href=x tabindex=2>x</a><a href=y tabindex=1>y</a>", "Tab skips"),
        ("<button tabindex=-1>x</button><button>y</button>", "Tab skips"),
        ("<p style='margin-left:-9rem'><a href=x>x</a>", "outside the window"),
    ],
)
def test_what_is_hard_by_keyboard(visitor: OpenVisitor, body: str, fault: str) -> None:
    page = visitor(person=None).page
    page.set_content(f"<main>{body}</main>")
    assert any(fault in problem for problem in keyboard.problems(page))


def test_what_scrolls_sideways(visitor: OpenVisitor) -> None:
    reader = visitor(person=None, viewport=PHONE)
    reader.page.set_content("<main>" + "w" * 400)
    assert checks.width(reader) == ["scrolls sideways: (no single element)"]
    reader.page.set_content("<div class=x><svg width=500></svg></div>")
    assert '<svg width="500">' in checks.width(reader)[0]


def test_what_is_not_inert(visitor: OpenVisitor) -> None:
    reader = visitor(person=None)
    reader.page.set_content(f"<main><p onload=x>{hostile.EVALUATED}\u202e\x1b</main>")
    assert len(checks.inertness(reader)) == 4
