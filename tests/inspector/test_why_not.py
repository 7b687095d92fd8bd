"""Why not this one? One run answers for one exact identity."""

import json
import re
from typing import Any

import pytest

from inspector.links import page_url, revision_url
from prepare.models import Scope
from prepare.services.memories import MemoryTarget, change_state
from tests.factories import (
    BY_TEST,
    make_scope,
    ref,
    remember,
    revise,
)
from tests.inspector.conftest import MakeVisitor
from tests.inspector.pages import Page, Visitor
from tests.inspector.trying import (
    fields_of,
    form,
    identity,
    receipt_in,
    store_too_much,
)


@pytest.fixture
def scope(db: None) -> Scope:
    return store_too_much()


@pytest.fixture
def reader(person: MakeVisitor, scope: Scope) -> Visitor:
    return person(scope, Scope.objects.get(scope_id="reference"))


def why(page: Page) -> str:
    found = re.search(
        r'<section aria-labelledby="why">(.*?)</section>', page.html, re.S
    )
    assert found
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", found[1])).strip()


def ask(visitor: Visitor, row: Any, *families: str, **fields: Any) -> str:
    named = fields_of(row) | {
        name: fields.pop(name) for name in ("entry", "entry_version") if name in fields
    }
    return why(visitor.submit("try", form(*families, **fields) | named))


def test_selected_dropped_and_absent(reader: Visitor, scope: Scope) -> None:
    best = remember(scope, "quagga")
    said = ask(reader, best, "memory", query="quagga")
    assert "It was selected. It is item 1 of the content" in said
    said = ask(reader, remember(scope, "zebra"), "memory")
    assert "It was a candidate, and was left out." in said
    assert "Its section had reached its limit" in said
    assert "rank 5 of 5" in said
    other = remember(scope, "quilt")
    said = ask(reader, other, "memory")
    assert "no_shared_term" in said
    assert "It shares no word with the query." in said
    assert "7 active and searchable" in said


def test_a_pasted_citation_of_the_content_is_selected(reader: Visitor) -> None:
    content = reader.submit("try", form("memory")).pre("literal")
    start = content.index("    Scope:")
    pasted = content[start : content.index("    Truncated", start)]
    page = reader.submit("try", form("memory", pasted=pasted))
    assert "It was selected. It is item 1 of the content" in why(page)
    address = receipt_in(page)["selected"][1]
    page = reader.submit("try", form("memory", pasted=json.dumps(address)))
    assert "It is item 2 of the content" in why(page)


@pytest.mark.clause("R-211")
def test_the_head_is_linked_beside_what_was_asked_for(
    reader: Visitor, scope: Scope
) -> None:
    row = remember(scope, "zebra", artifact_id="m1")
    newer = revise(row, {"kind": "fact", "text": "zebra again"})
    page = reader.submit("try", form("memory") | fields_of(row))
    assert "not_head" in why(page)
    assert revision_url(identity(row)) in page.links
    assert revision_url(identity(newer)) in page.links


def test_states_and_limits_have_their_words(reader: Visitor, scope: Scope) -> None:
    row = remember(scope, "zebra")
    target = MemoryTarget(artifact=ref(row), state_version=0)
    change_state(scope=scope, target=target, state="forgotten", authorship=BY_TEST)
    assert "It was forgotten." in ask(reader, row, "memory")
    assert "The request does not include memory." in ask(reader, row, "experience")


@pytest.mark.parametrize("name", ["secret", "nowhere"])
def test_of_a_foreign_scope_nothing_is_said(
    reader: Visitor, scope: Scope, name: str
) -> None:
    """C-48: the same words, whatever is stored there."""
    row = remember(make_scope("secret"), "zebra canary", artifact_id="known")
    said = ask(reader, row, "memory")
    named = fields_of(row) | {"scope": name}
    page = reader.submit("try", form("memory") | named)
    assert why(page) == said.replace("Scope secret", f"Scope {name}")
    assert "There is no such Scope, or you may not read it." in said
    assert "searchable" not in said
    assert "canary" not in page.html


def test_a_link_may_name_an_identity(reader: Visitor, scope: Scope) -> None:
    row = remember(scope, "zebra", artifact_id="m1")
    page = reader.open("try", **fields_of(row))
    assert page.fields["id"] == "m1"
    assert page.fields["scope"] == "s"
    assert "<summary>Why not this one?</summary>" in page.html
    assert "query=" not in page_url("try", **fields_of(row))
