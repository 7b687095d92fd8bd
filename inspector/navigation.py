"""The entries of the menu."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

_ENTRIES = (
    ("scopes", gettext_lazy("Scopes")),
    ("try", gettext_lazy("Try a request")),
    ("compare", gettext_lazy("Compare")),
    ("receipt", gettext_lazy("Open a receipt")),
    ("block", gettext_lazy("Verify a block")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuEntry:
    url: str
    label: str | Promise
    is_current: bool


def pages(request: HttpRequest) -> list[MenuEntry]:
    return [
        MenuEntry(url=url, label=label, is_current=request.path == url)
        for url, label in (
            (reverse(f"inspector:{name}"), label) for name, label in _ENTRIES
        )
    ]
