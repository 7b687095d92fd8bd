"""Hostile words in every field and stored text: inert on Try and Compare (C-56)."""

from typing import Any, get_args

import pytest
from django.template.loader import render_to_string

from prepare.models import Scope
from prepare.search.standing import SearchCause
from prepare.services import absence
from prepare.services.absence import Absence
from prepare.services.trying import Answer, Listing
from prepare.values import Reason
from tests.factories import (
    collect,
    experience,
    make_scope,
    profile,
    remember,
    topic,
    write,
)
from tests.inspector.conftest import MakeVisitor
from tests.inspector.pages import Page, Visitor
from tests.services.building import identity

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "</textarea></pre></script><script>alert(1)</script>",
    "{{ 7|add:7 }}{% include 'x' %}",
    "javascript:alert(1)//",
    "a\u202eb\u200bc\x1b[2J&lt;b&gt;",
]
SCOPE = '"><svg onload=alert(1)>\u202e<img src=x> {{ 7|add:7 }}'
ID = "<img/src=x/onerror=alert(1)>\"'{{7}}"
FIELDS = [
    "scope_id",
    "query",
    "max_bytes",
    "form",
    "order_memory",
    "limit_memory",
    "pasted",
    "scope",
    "family",
    "id",
    "revision",
    "entry",
    "entry_version",
]


def is_inert(page: Page) -> None:
    for words in ("<img", "<svg onload", "<script>alert", "</pre></script>"):
        assert words not in page.html
    assert 'href="javascript' not in page.html
    assert "14{%" not in page.html


@pytest.fixture
def reader(person: MakeVisitor, db: None) -> Visitor:
    """Everything a page can show is hostile, and there is a Scope to read it in."""
    text = " ".join(["zebra", *HOSTILE])
    scope: Scope = make_scope(SCOPE, title=HOSTILE[0])
    remember(scope, text, artifact_id=ID)
    remember(scope, f"{text} {'<b>' * 3000}"[:8000])
    collect(scope, [(ID, ID, text)], artifact_id=ID)
    fields = {"situation": text, "action": text, "outcome": text}
    write(scope, "experience", experience(text, **fields), artifact_id=ID)
    content = topic(f"zebra {HOSTILE[1]}", text, text)
    write(scope, "topic-memory", content, artifact_id=ID)
    profile(scope, text)
    return person(scope)


def sections(prefix: str = "") -> dict[str, Any]:
    sent: dict[str, Any] = {"form": "text", "max_bytes": "32768"}
    for family in ("memory", "experience", "profile", "topic_memory"):
        sent |= {f"use_{family}": "on", f"limit_{family}": 2, f"order_{family}": 1}
    return {f"{prefix}{name}": value for name, value in sent.items()}


@pytest.mark.parametrize("form", ["text", "envelope"])
def test_stored_texts_and_names_are_inert(reader: Visitor, form: str) -> None:
    sent = {"scope_id": SCOPE, "query": f"zebra {HOSTILE[2]}", **sections()}
    sent |= {"form": form, "family": "atomic-memory", "id": ID, "revision": 1}
    page = reader.submit("try", sent)
    assert page.status == 200
    is_inert(page)
    assert "<img src=x onerror=alert(1)>" in page.pre("literal")
    assert "Why not this one?" in page.text


def test_what_is_compared_is_inert(reader: Visitor) -> None:
    sent = {"scope_id": SCOPE, "query": "zebra", **sections("a-"), **sections("b-")}
    page = reader.submit("compare", sent | {"b-form": "envelope"})
    assert page.status == 200
    is_inert(page)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_the_form(reader: Visitor, field: str, text: str) -> None:
    """Errors name the field and echo is what was typed, as text."""
    sent = {"scope_id": SCOPE, "query": "zebra", **sections(), field: text}
    page = reader.submit("try", sent)
    assert page.status in (200, 403, 422)
    is_inert(page)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_addresses_of_the_pages(reader: Visitor, text: str) -> None:
    names = ("scope", "family", "id", "revision", "entry", "entry_version")
    page = reader.open("try", **dict.fromkeys(names, text))
    assert page.status == 200
    is_inert(page)
    is_inert(reader.open("compare", scope=text))


def test_no_query_and_no_receipt_is_in_an_address(reader: Visitor) -> None:
    sent = {"scope_id": SCOPE, "query": "zebra canary-query", **sections()}
    page = reader.submit("try", sent)
    assert not [link for link in page.links if "canary" in link]
    cookies = str(reader.client.cookies)
    assert "canary" not in cookies


# --- every word of the closed lists is explained ----------------------------------


def said(answer: Answer) -> str:
    return render_to_string("inspector/parts/answer.html", {"answer": answer})


def test_each_cause_has_its_own_words() -> None:
    own, search = get_args(absence.Cause)[:-1], SearchCause
    causes = [*_words(own), *get_args(search)]
    assert len(causes) == len(set(causes)) == 23
    texts = {
        cause: render_to_string(
            "inspector/parts/absence.html",
            {"absence": Absence(cause=cause, selector="memory")},
        ).strip()
        for cause in causes
    }
    assert all(texts.values())
    assert len(set(texts.values())) == len(causes)


def _words(kinds: Any) -> list[str]:
    return [word for kind in kinds for word in (get_args(kind) or [kind])]


def test_each_reason_has_its_own_words() -> None:
    reasons: list[tuple[Reason, Any]] = [
        ("duplicate", None),
        ("blank", None),
        ("family_limit", "pool"),
        ("family_limit", "section"),
        ("family_limit", "envelope"),
        ("entry_limit", None),
        ("below_min_bytes", None),
        ("no_fitting_truncation", None),
        ("rerank_not_selected", None),
    ]
    texts = set()
    for reason, bound in reasons:
        listing = Listing(
            family="memory", place=1, listed=2, rank=None, reason=reason, bound=bound
        )
        text = said(Answer(wanted=identity("m1"), listing=listing))
        assert f"<code>{reason}</code>" in text
        texts.add(text.replace(f"<code>{reason}</code>", ""))
    assert len(texts) == len(reasons)
