"""axe-core on the page of a window."""

from functools import cache
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_FAILING = ("serious", "critical")


@cache
def _axe() -> Axe:
    return Axe()


def violations(page: Page, *rules: str) -> list[str]:
    """What axe-core calls serious or critical, one line for each element; all rules
    unless some are named."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    found = _axe().run(page, options=options).response["violations"]
    return [
        f"{violation['id']}: {' '.join(map(str, node['target']))}:"
        f" {node['html'][:200]}: {node.get('failureSummary', '')[:300]}"
        for violation in found
        if violation["impact"] in _FAILING
        for node in violation["nodes"]
    ]
