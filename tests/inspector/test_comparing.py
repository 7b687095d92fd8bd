"""Compare: two forms of one request over one snapshot of candidates."""

import base64
import json
import re
from typing import Any

import pytest

from prepare.models import Scope
from tests.api import Api
from tests.factories import experience, make_scope, profile, remember, topic, write
from tests.inspector.conftest import MakeVisitor
from tests.inspector.pages import Page, Visitor
from tests.queries import captured_tables, nothing_written

ALL = ("memory", "experience", "profile", "topic-memory")


def variant(prefix: str, *families: str, **fields: Any) -> dict[str, Any]:
    sent: dict[str, Any] = {"max_bytes": "8000"}
    sent["form"] = "text" if families else "envelope"
    for order, family in enumerate(families, start=1):
        key = family.replace("-", "_")
        sent |= {f"use_{key}": "on", f"order_{key}": order, f"limit_{key}": 2}
    return {f"{prefix}-{name}": value for name, value in (sent | fields).items()}


def form(one: dict[str, Any], two: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"scope_id": "s", "query": "zebra", **one, **two, **fields}


def wire(*families: str, max_bytes: int = 8000) -> dict[str, Any]:
    sent: dict[str, Any] = {"scope_id": "s", "query": "zebra", "max_bytes": max_bytes}
    if families:
        sections = [{"family": family, "limit": 2} for family in families]
        sent["assembly"] = {"sections": sections}
    return sent | {"include_receipt": True}


def downloads(page: Page, name: str) -> list[bytes]:
    found = re.findall(
        rf'download="{name}" href="data:[^,]+;base64,([^"]*)"', page.html
    )
    return [base64.b64decode(one) for one in found]


def without_times(receipt: Any) -> Any:
    stages = [one | {"duration_ms": 0} for one in receipt["stages"]]
    return receipt | {"receipt_id": None, "stages": stages}


def table(page: Page, label: str) -> str:
    """The words of the table in the region of this label."""
    found = re.search(rf'aria-label="{label}">(.*?)</div>\n', page.html, re.S)
    assert found, label
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[1])).strip()


@pytest.fixture
def scope(db: None) -> Scope:
    scope = make_scope("s")
    for number in range(4):
        remember(scope, f"zebra {number} " * 30, artifact_id=f"m{number}")
    for number in range(2):
        lesson = experience(f"zebra {number} " * 30)
        write(scope, "experience", lesson, artifact_id=f"e{number}")
    write(scope, "topic-memory", topic("zebra"), artifact_id="t1")
    profile(scope, "# Zebra")
    return scope


@pytest.fixture
def reader(person: MakeVisitor, scope: Scope) -> Visitor:
    return person(scope)


@pytest.mark.clause("R-008", "R-204")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((), ("memory",)),
        (("memory", "experience"), ("experience", "memory")),
        (ALL, ("topic-memory",)),
    ],
)
def test_both_are_what_the_api_answers(
    reader: Visitor, settings, api: Api, first, second
) -> None:
    page = reader.submit(
        "compare", form(variant("a", *first), variant("b", *second, max_bytes="900"))
    )
    assert page.status == 200
    contents = downloads(page, "prepared-context.txt")
    receipts = downloads(page, "prepared-context-receipt.json")
    settings.ACCESS_MODE = "disabled"
    bodies = [wire(*first), wire(*second, max_bytes=900)]
    for body, content, receipt in zip(bodies, contents, receipts, strict=True):
        answer = api.post("/v1/context/prepare", body).body
        assert content.decode() == answer["content"]
        alone = without_times(answer["receipt"])
        assert without_times(json.loads(receipt)) == alone
        assert answer["receipt"]["content_digest"] in page.text


def test_gained_lost_and_kept_are_linked(reader: Visitor) -> None:
    page = reader.submit(
        "compare",
        form(
            variant("a", "memory"), variant("b", "experience", "memory", limit_memory=1)
        ),
    )
    assert "Gained: 2" in page.text
    assert "Lost: 1" in page.text
    assert "In both: 1" in page.text
    assert any("id=e1" in link for link in page.links)
    assert "## Experience" in page.text


def test_a_budget_alone_changes_bytes_per_section(reader: Visitor) -> None:
    page = reader.submit(
        "compare",
        form(variant("a", "memory", max_bytes="800"), variant("b", "memory")),
    )
    said = table(page, "Bytes per section")
    found = re.search(r"memory (\d) (\d) ([\d,]+) ([\d,]+) \d+ \d+ (\+[\d,]+)", said)
    assert found
    left, right, difference = (
        int(found[number].replace(",", "")) for number in (3, 4, 5)
    )
    assert right - left == difference > 0
    assert "truncated in A" in page.text or "Gained: 1" in page.text


def test_what_an_earlier_section_cost_a_later_one(reader: Visitor) -> None:
    page = reader.submit(
        "compare",
        form(
            variant("a", "memory", "experience", max_bytes="1250"),
            variant("b", "experience", "memory", max_bytes="1250"),
        ),
    )
    said = table(page, "What order costs")
    assert re.search(r"experience 2 0 items, 0 B", said)
    assert re.search(r"without memory: [12] items?, \d+ B", said)
    assert "experience e" in said
    assert "the same as having the whole budget alone" in page.text


def test_of_an_envelope_no_section_comes_first(reader: Visitor) -> None:
    page = reader.submit("compare", form(variant("a"), variant("b", form="text")))
    assert "The families of the envelope take turns" in page.text
    assert "This text has no sections." in page.text
    assert "The content is null" in page.text


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"a-max_bytes": "1"}, "A, Budget in bytes"),
        ({"b-limit_memory": "99"}, "B, Memory: limit"),
        ({"query": " "}, "Query"),
        ({"b-form": "other"}, "B, Form of the output"),
    ],
)
def test_a_refused_form_names_the_side_and_keeps_what_was_typed(
    reader: Visitor, fields, label
) -> None:
    sent = form(variant("a", "memory"), variant("b", "memory"), **fields)
    page = reader.submit("compare", sent)
    assert page.status == 422
    assert f"{label} :" in page.text
    for name, value in fields.items():
        if name in page.fields and name != "b-form":
            assert page.fields[name] == value


def test_a_scope_that_may_not_be_read_refuses_both(reader: Visitor) -> None:
    """C-48."""
    remember(make_scope("secret"), "zebra canary")
    sent = form(variant("a", "memory"), variant("b"), scope_id="secret")
    page = reader.submit("compare", sent)
    assert page.status == 403
    assert "canary" not in page.html


@pytest.mark.clause("A-181")
def test_a_reference_that_one_of_them_reads_refuses_both(person: MakeVisitor, db):
    """C-48: topic memories alone would have been answered."""
    remember(make_scope("secret"), "zebra canary")
    scope = make_scope("s", references=["secret"])
    write(scope, "topic-memory", topic("zebra"))
    visitor = person(scope)
    topics = variant("a", "topic-memory")
    alone = visitor.submit("compare", form(topics, variant("b", "topic-memory")))
    assert alone.status == 200
    page = visitor.submit("compare", form(topics, variant("b", "memory")))
    assert page.status == 403
    assert "secret" not in page.html
    assert "canary" not in page.html


@pytest.mark.clause("A-206", "R-200")
def test_candidates_are_read_once_and_nothing_is_written(
    person: MakeVisitor, db
) -> None:
    """J-14; as many SELECTs for 1 item as for 32."""
    scope = make_scope("s")
    remember(scope, "zebra")
    write(scope, "experience", experience("zebra"))
    visitor = person(scope)
    token_sent = visitor.open("compare").fields["csrfmiddlewaretoken"]
    sent = form(variant("a", *ALL), variant("b")) | {"csrfmiddlewaretoken": token_sent}
    read = []
    for count in (1, 32):
        for number in range(1, count):
            remember(scope, f"zebra {number}")
            write(scope, "experience", experience(f"zebra {number}"))
        with nothing_written(), captured_tables() as tables:
            page = visitor.post("/inspector/compare", sent)
        assert page.status == 200
        read.append(tables)
    assert read[0] == read[1]
    assert read[0].count("searchpool") == 1
