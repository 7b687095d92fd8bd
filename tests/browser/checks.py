"""What is wrong with the page a window shows; each check answers one line per fault."""

import re
from typing import Any

from tests.browser import hostile
from tests.browser.visiting import Visitor

# Nothing of ours is called so: an element of this kind is a text that became one.
_MADE_OF_TEXT = "iframe, base, main style, main script, main link, [onerror], [onload]"
_HIDING = frozenset("\u202e\u2066\u200b\ufeff\x01\x07\x1b\x7f\x85")
_COOKIES = {
    "powercontext_session": r"[a-z0-9]{32}",
    "powercontext_csrf": r"[A-Za-z0-9]{32}",
    "powercontext_language": r"en|zh-hans",
}
_STORED = """
async () => [
  ...Object.entries(localStorage), ...Object.entries(sessionStorage),
  ...(await indexedDB.databases()).map((database) => database.name),
  ...await caches.keys(),
  ...(await navigator.serviceWorker.getRegistrations()).map((each) => each.scope),
]
"""
_SHOWN = """
() => {
  const page = document.body.cloneNode(true);
  for (const exact of page.querySelectorAll("pre.literal, textarea")) exact.remove();
  return page.textContent;
}
"""
_OVERFLOWING = """
() => [...document.querySelectorAll("body *")]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .filter((element) => !element.closest(".scroll, pre, textarea, .skip"))
  .slice(0, 5).map((element) => element.outerHTML.slice(0, 120))
"""


def markup(visitor: Visitor) -> list[str]:
    """Stored text is text: no element and no template."""
    text = visitor.page.locator("body").inner_text()
    made = visitor.page.locator(_MADE_OF_TEXT).evaluate_all(
        "all => all.map((each) => each.outerHTML.slice(0, 120))"
    )
    found = [f"made of text: {html}" for html in made]
    if hostile.EVALUATED in text:
        found.append("a template in a stored text was rendered")
    return found


def inertness(visitor: Visitor) -> list[str]:
    """`markup`, and nothing hides the rest."""
    found = markup(visitor)
    # The content itself is shown byte for byte as well, in a box that isolates it.
    shown = visitor.page.evaluate(_SHOWN)
    return found + [f"not shown visibly: {each!a}" for each in _HIDING & set(shown)]


def width(visitor: Visitor) -> list[str]:
    """The page never scrolls sideways."""
    root = "document.documentElement"
    if visitor.page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"):
        return []
    wide = visitor.page.evaluate(_OVERFLOWING)
    return [f"scrolls sideways: {html}" for html in wide or ["(no single element)"]]


def traces(visitor: Visitor) -> list[str]:
    """The browser keeps the session, the CSRF secret and the language (C-56)."""
    found = [
        f"cookie {cookie}"
        for cookie in visitor.context.cookies()
        if not _is_expected(cookie)
    ]
    stored: list[Any] = visitor.page.evaluate(_STORED)
    return found + [f"stored: {item}" for item in stored]


def _is_expected(cookie: Any) -> bool:
    pattern = _COOKIES.get(cookie["name"], "(?!)")
    is_hidden = cookie["httpOnly"] or cookie["name"] != "powercontext_session"
    is_known = re.fullmatch(pattern, cookie["value"]) is not None
    return is_known and is_hidden and cookie["sameSite"] == "Lax"
