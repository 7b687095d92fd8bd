"""The form of a request as it is sent, and what its page holds."""

import base64
import json
import re
from typing import Any

from prepare.models import Scope
from prepare.values import Identity
from tests.factories import (
    experience,
    make_scope,
    profile,
    ref,
    remember,
    topic,
    write,
)
from tests.inspector.pages import Page

ALL = ("memory", "experience", "profile", "topic-memory")


def form(*families: str, **fields: Any) -> dict[str, Any]:
    """What a browser sends: `families` are included, with limit 2, in this order."""
    sent: dict[str, Any] = {"scope_id": "s", "query": "zebra", "max_bytes": "8000"}
    sent["form"] = "text" if families else "envelope"
    for order, family in enumerate(families, start=1):
        key = family.replace("-", "_")
        sent |= {f"use_{key}": "on", f"order_{key}": order, f"limit_{key}": 2}
    return sent | fields


def wire(*families: str, **fields: Any) -> dict[str, Any]:
    """The same for the API."""
    sent: dict[str, Any] = {"scope_id": "s", "query": "zebra", "max_bytes": 8000}
    if families:
        sections = [{"family": family, "limit": 2} for family in families]
        sent["assembly"] = {"sections": sections}
    return sent | {"include_receipt": True} | fields


def download(page: Page, name: str) -> bytes:
    found = re.search(rf'download="{name}" href="data:[^,]+;base64,([^"]*)"', page.html)
    assert found
    return base64.b64decode(found[1])


def receipt_in(page: Page) -> Any:
    return json.loads(download(page, "prepared-context-receipt.json"))


def without_times(receipt: Any) -> Any:
    stages = [one | {"duration_ms": 0} for one in receipt["stages"]]
    return receipt | {"receipt_id": None, "stages": stages}


def identity(row: Any, **entry: str) -> Identity:
    return Identity(scope_id=row.artifact.scope.scope_id, artifact=ref(row), **entry)


def fields_of(row: Any, **entry: str) -> dict[str, Any]:
    """The separate fields that name an exact identity."""
    artifact = ref(row)
    return {
        "scope": row.artifact.scope.scope_id,
        "family": artifact.family,
        "id": artifact.artifact_id,
        "revision": artifact.revision,
        **entry,
    }


def store_too_much() -> Scope:
    """More than the limits admit, in a Scope and in its readable reference."""
    reference = make_scope("reference")
    scope = make_scope("s", references=["reference"])
    for each in (scope, reference):
        for number in range(4):
            remember(each, f"zebra {number}\u202e\t\ufe0f" * 30)
        write(each, "experience", experience("zebra"))
        write(each, "topic-memory", topic("zebra"))
        profile(each, "# Zebra")
    return scope
