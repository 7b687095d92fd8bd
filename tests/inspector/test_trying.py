"""Try a request: the API's own content and receipt, and why something is not in it."""

import json
import re
from typing import Any

import pytest
from django.utils.html import escape

from inspector.links import page_url
from prepare.models import Scope
from prepare.services import prepare as prepare_service
from prepare.services import receipts
from prepare.services.receipts import OMISSION_REASONS, ReceiptOmitted
from tests.api import Api
from tests.factories import (
    collect,
    experience,
    make_scope,
    profile,
    remember,
    write,
)
from tests.inspector.conftest import MakeVisitor
from tests.inspector.pages import Visitor
from tests.inspector.trying import (
    ALL,
    download,
    fields_of,
    form,
    receipt_in,
    store_too_much,
    wire,
    without_times,
)
from tests.queries import captured_tables, nothing_written


@pytest.fixture
def scope(db: None) -> Scope:
    return store_too_much()


@pytest.fixture
def reader(person: MakeVisitor, scope: Scope) -> Visitor:
    return person(scope, Scope.objects.get(scope_id="reference"))


@pytest.mark.clause("R-008", "R-204")
@pytest.mark.parametrize(
    ("families", "fields"),
    [
        ((), {}),
        (("memory",), {}),
        (ALL, {}),
        (("experience", "memory"), {"max_bytes": 900}),
        (ALL, {"include_code": True}),
        (("memory",), {"max_bytes": 512}),
        (("memory",), {"query": "nothing like it"}),
    ],
)
def test_content_and_receipt_are_those_of_the_api(
    reader: Visitor, settings, api: Api, families, fields
) -> None:
    page = reader.submit("try", form(*families, **fields))
    settings.ACCESS_MODE = "disabled"
    answer = api.post("/v1/context/prepare", wire(*families, **fields)).body
    assert page.status == 200
    if answer["content"] is None:
        assert "The content is null" in page.text
    else:
        assert page.pre("literal") == answer["content"]
        assert download(page, "prepared-context.txt").decode() == answer["content"]
    assert without_times(receipt_in(page)) == without_times(answer["receipt"])
    assert list(receipt_in(page)) == list(answer["receipt"])
    bytes_shown = f"{answer['content_bytes']:,} / {wire(**fields)['max_bytes']:,}"
    assert bytes_shown in page.text


def test_the_receipt_is_spelled_as_the_api_spells_it(reader: Visitor) -> None:
    data = download(
        reader.submit("try", form("memory")), "prepared-context-receipt.json"
    )
    spelled = json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":"))
    assert data.decode() == spelled


@pytest.mark.clause("R-204", "R-205")
def test_the_result_shows_items_bar_and_receipt(reader: Visitor) -> None:
    page = reader.submit("try", form(*ALL))
    receipt = receipt_in(page)
    for item in receipt["selected"]:
        address = item["artifact_address"]
        artifact = address["artifact"]
        link = page_url(
            "revision",
            scope=address["scope_id"],
            family=artifact["family"],
            id=artifact["artifact_id"],
            revision=artifact["revision"],
        )
        assert link in page.links
    assert page.html.count('<svg class="chart budget"') == 1
    assert "## Profile" in page.text
    assert "Fixed frame 354" in page.text
    assert receipt["query_digest"] in page.text
    assert receipt["content_digest"] in page.text
    assert "family_limit" in page.text
    for stage in receipt["stages"]:
        assert stage["stage"] in page.text


def test_defaults_are_those_of_the_api(reader: Visitor) -> None:
    fields = reader.open("try").fields
    assert fields["max_bytes"] == "8000"
    assert (fields["limit_memory"], fields["limit_experience"]) == ("6", "2")
    assert (fields["order_memory"], fields["order_experience"]) == ("1", "2")
    page = reader.open("try").html
    checked = re.findall(r'name="use_(\w+)"[^>]* checked', page)
    assert checked == ["memory", "experience"]


def test_order_and_options(reader: Visitor) -> None:
    sent = form("memory", "experience", show_recall_rank="on", show_confidence="on")
    page = reader.submit("try", sent | {"order_memory": "7", "order_experience": "3"})
    content = page.pre("literal")
    assert content.index("## Experience") < content.index("## Memory")
    assert "Recall rank: 1" in content
    assert "Confidence: unknown" in content


def test_an_empty_budget_is_the_default(reader: Visitor) -> None:
    assert receipt_in(reader.submit("try", form(max_bytes="")))[
        "requested_max_bytes"
    ] == (8000)


def test_no_section_is_an_empty_result(reader: Visitor) -> None:
    page = reader.submit("try", form() | {"form": "text"})
    assert "The content is null" in page.text
    assert receipt_in(page)["retrieval"]["rounds"] == []


def test_line_ends_of_the_query_are_those_that_were_typed(reader: Visitor) -> None:
    digest = receipts.digest_query("zebra\nquilt")
    page = reader.submit("try", form("memory", query="zebra\r\nquilt"))
    assert receipt_in(page)["query_digest"] == digest


def test_hidden_code_points_are_marked_and_counted(reader: Visitor) -> None:
    """C-27: escaped ones and those that pass through, apart."""
    page = reader.submit("try", form("memory"))
    assert re.search(r"U\+FE0F VARIATION SELECTOR-16 \d+ passed through", page.text)
    assert re.search(r"U\+202E RIGHT-TO-LEFT OVERRIDE \d+ escaped", page.text)
    assert '<mark title="U+FE0F VARIATION SELECTOR-16">U+FE0F</mark>' in page.html
    spelled = page.pre("spelled")
    assert spelled.replace("U+FE0F", "\ufe0f") == page.pre("literal")


@pytest.mark.clause("R-186")
def test_a_dropped_receipt_is_explained(reader: Visitor, scope: Scope) -> None:
    collect(scope, [("e1", "v1", "quagga")])
    page = reader.submit("try", form("memory", query="quagga"))
    assert "unsupported_identity" in page.text
    assert "An entry of a Memory collection was selected" in page.text
    assert "prepared-context-receipt.json" not in page.html
    assert "quagga" in page.pre("literal")
    assert any("entry=e1" in link for link in page.links)


@pytest.mark.parametrize("reason", OMISSION_REASONS)
def test_each_reason_has_its_words(reader: Visitor, monkeypatch, reason) -> None:
    def omit(**_: Any) -> Any:
        raise ReceiptOmitted(reason)

    monkeypatch.setattr(prepare_service, "build_receipt", omit)
    page = reader.submit("try", form("memory"))
    assert f"There is no receipt for this content. {reason}" in page.text
    is_other = "The receipt could not be made" in page.text
    assert is_other == (reason == "internal_error")


# --- refusals ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"query": ""}, "id_query", "Query : A query has 1 to 8,192"),
        ({"query": " \n"}, "id_query", "Query : A query has"),
        ({"query": "x" * 8193}, "id_query", "Query : A query has"),
        ({"scope_id": ""}, "id_scope_id", "Scope : A Scope id has"),
        ({"max_bytes": "511"}, "id_max_bytes", "Budget in bytes : A budget is"),
        ({"max_bytes": "many"}, "id_max_bytes", "Budget in bytes : A budget is"),
        ({"max_bytes": "8000.0"}, "id_max_bytes", "Budget in bytes : A budget is"),
        ({"limit_memory": "9"}, "id_limit_memory", "Memory: limit : This limit is"),
        ({"limit_memory": ""}, "id_limit_memory", "1 to 8"),
        ({"limit_experience": "3"}, "id_limit_experience", "1 to 2"),
        ({"order_memory": "x"}, "id_order_memory", "An order is a whole number"),
        ({"pasted": "hello"}, "id_pasted", "This names no exact revision"),
        ({"id": "m1"}, "id_id", "No Artifact can have this identity"),
        ({"pasted": "x", "id": "y"}, "id_pasted", "not both"),
    ],
)
def test_a_refused_form_names_the_field_and_keeps_what_was_typed(
    reader: Visitor, fields, field, message
) -> None:
    sent = form("memory", "experience") | fields
    page = reader.submit("try", sent)
    assert page.status == 422
    assert message in page.text
    assert f'href="#{field}"' in page.html
    assert f'id="{field}"' in page.html
    for name, value in fields.items():
        if name == "query":
            assert f">\n{escape(value)}</textarea>" in page.html
        elif name == "pasted":
            assert f">\n{value}</textarea>" in page.html
        elif name != "scope_id":
            assert page.fields[name] == str(value)
    assert 'name="use_experience" id="id_use_experience" checked' in page.html


def test_the_total_of_the_limits_is_refused_with_its_bound(reader: Visitor) -> None:
    page = reader.submit("try", form(*ALL, limit_memory="8"))
    assert page.status == 422
    assert "The limits of all sections may add up to 8. (invalid_request)" in page.text
    assert page.fields["limit_memory"] == "8"


@pytest.mark.parametrize("name", ["secret", "nowhere"])
def test_a_scope_that_may_not_be_read_is_as_one_that_is_not_there(
    reader: Visitor, name: str
) -> None:
    """C-48."""
    remember(make_scope("secret", title="Secret title"), "zebra canary")
    page = reader.submit("try", form("memory", scope_id=name))
    assert page.status == 403
    assert "not authorized for this operation. (forbidden)" in page.text
    assert "zebra</textarea>" in page.html
    assert "canary" not in page.html
    assert "Secret title" not in page.html


@pytest.mark.clause("A-181")
def test_an_unreadable_reference_refuses_the_whole_request(
    person: MakeVisitor, scope: Scope
) -> None:
    """C-48: no partial text, and only what does not cross is answered."""
    visitor = person(scope)
    assert visitor.submit("try", form("memory")).status == 403
    page = visitor.submit("try", form("topic-memory"))
    assert page.status == 200
    assert "reference" not in page.pre("literal")


def test_only_readable_scopes_are_offered(reader: Visitor) -> None:
    make_scope("secret", title="Secret title")
    page = reader.open("try")
    assert "secret" not in page.html.lower()
    assert '<option value="reference">' in page.html
    chosen = reader.open("try", scope="reference")
    assert '<option value="reference" selected>' in chosen.html


def test_of_very_many_scopes_some_are_suggested(person: MakeVisitor, db) -> None:
    scopes = [make_scope(f"s{number:03}") for number in range(202)]
    visitor = person(*scopes)
    page = visitor.open("try", scope="s201")
    assert page.html.count("<option value=") == 200
    assert 'list="scopes"' in page.html
    assert page.fields["scope_id"] == "s201"
    remember(scopes[201], "zebra")
    sent = form("memory", scope_id="s201")
    assert visitor.submit("try", sent).pre("literal")


# --- reads only -------------------------------------------------------------------


@pytest.mark.clause("A-206", "R-200")
@pytest.mark.parametrize("wanted", [False, True])
def test_pages_read_only_and_as_much_for_one_item_as_for_many(
    person: MakeVisitor, db, wanted: bool
) -> None:
    """J-14: SELECTs only, and their number does not depend on what is stored."""
    scope = make_scope("s")
    row = remember(scope, "quilt", artifact_id="other")
    remember(scope, "zebra")
    write(scope, "experience", experience("zebra"))
    visitor = person(scope)
    token_sent = visitor.open("try").fields["csrfmiddlewaretoken"]
    sent = form(*ALL) | (fields_of(row) if wanted else {})
    read = []
    for count in (1, 32):
        for number in range(1, count):
            remember(scope, f"zebra {number}")
            write(scope, "experience", experience(f"zebra {number}"))
        with nothing_written(), captured_tables() as tables:
            page = visitor.post(
                "/inspector/try", {"csrfmiddlewaretoken": token_sent, **sent}
            )
        assert page.status == 200
        read.append(tables)
    assert read[0] == read[1]


def test_a_failed_search_is_no_empty_result(reader: Visitor, scope: Scope) -> None:
    remember(scope, "zebra", artifact_id="a").artifact.search_documents.update(
        revision=profile(make_scope("x"), "Zebra")
    )
    page = reader.submit("try", form("memory"))
    assert page.status == 503
    assert page.headers["Retry-After"] == "1"
    assert "stale-projection" in page.text
    assert "zebra</textarea>" in page.html
