"""What has become of the revisions that a receipt cites, as its page says it."""

import json

import pytest

from inspector.links import page_url
from prepare.models import Grant, PersonGrant, Scope
from prepare.services.artifacts import Lineage
from prepare.values import SourceRef
from tests.factories import make_scope, ref, remember, revise, source, write
from tests.inspector.conftest import Injected, MakeVisitor
from tests.inspector.opening import file, open_receipt, row_of
from tests.inspector.receipts import Wire, historical_item
from tests.services.test_checking import receipt_of
from tests.services.verification import merge, set_state, sql


@pytest.mark.clause("R-205", "R-211", "R-214")
def test_a_superseded_one_is_shown_apart_from_its_head(
    person: MakeVisitor, scope: Scope, injected: Injected
) -> None:
    row, content, receipt = injected.row, injected.content, injected.receipt
    revise(row, {"kind": "fact", "text": "quagga two"})
    page = open_receipt(person(scope), receipt, content_file=file(content))
    assert "Everything was read and is fine." in page.text
    assert "superseded" in row_of(page)
    assert "Head: revision 2" in row_of(page)
    assert "revision 1" in row_of(page)
    for number in (1, 2):
        assert (
            page_url(
                "revision", scope="s", family="atomic-memory", id="m1", revision=number
            )
            in page.links
        )
    assert "quagga" not in page.html


@pytest.mark.clause("R-208", "R-210")
@pytest.mark.parametrize("state", ["forgotten", "retired"])
def test_a_removed_one_stays_readable(
    person: MakeVisitor,
    scope: Scope,
    injected: Injected,
    state: str,
) -> None:
    row, receipt = injected.row, injected.receipt
    set_state(row, state)
    page = open_receipt(person(scope), receipt)
    assert state in row_of(page)
    assert "stays readable" in row_of(page)
    assert "Everything was read and is fine." in page.text


@pytest.mark.clause("R-209", "R-211")
def test_a_merged_one_is_not_followed(
    person: MakeVisitor, scope: Scope, injected: Injected
) -> None:
    row, receipt = injected.row, injected.receipt
    merged = merge(row, remember(scope, "zebra other"))
    page = open_receipt(person(scope), receipt)
    assert "merged" in row_of(page)
    assert ref(merged).artifact_id not in page.html


@pytest.mark.clause("R-212", "R-213")
def test_rights_are_those_of_the_moment(
    person: MakeVisitor, scope: Scope, injected: Injected
) -> None:
    receipt = injected.receipt
    visitor = person(scope)
    assert "current" in row_of(open_receipt(visitor, receipt))
    PersonGrant.objects.all().delete()
    page = open_receipt(visitor, receipt)
    assert row_of(page).endswith("– –")
    assert "denied 403" in row_of(page)
    assert "Not everything is fine." in page.text


@pytest.mark.clause("R-212")
def test_a_missing_scope_looks_like_a_denied_one(
    person: MakeVisitor, scope: Scope, injected: Injected
) -> None:
    receipt = injected.receipt
    stranger = person()
    denied = row_of(open_receipt(stranger, receipt))
    nowhere = json.loads(json.dumps(receipt).replace('"s"', '"x"'))
    missing = row_of(open_receipt(stranger, nowhere))
    assert denied.replace("in Scope s", "") == missing.replace("in Scope x", "")


@pytest.mark.clause("R-212")
@pytest.mark.parametrize(
    "change", [{"revision": 2}, {"artifact_id": "M1"}, {"artifact_id": "m_"}]
)
def test_a_missing_revision_is_a_404(
    person: MakeVisitor,
    scope: Scope,
    injected: Injected,
    change: Wire,
) -> None:
    receipt = injected.receipt
    receipt["selected"][0]["artifact_address"]["artifact"] |= change
    page = open_receipt(person(scope), receipt)
    assert "missing 404" in row_of(page)


def test_an_altered_row_is_found(
    person: MakeVisitor, scope: Scope, injected: Injected
) -> None:
    receipt = injected.receipt
    sql("UPDATE prepare_artifactrevision SET content = '{}'")
    page = open_receipt(person(scope), receipt)
    assert "altered" in row_of(page)
    assert "Not everything is fine." in page.text


@pytest.mark.clause("R-207")
def test_evidence_is_shown_of_readable_ones_only(person: MakeVisitor) -> None:
    own, other = make_scope("own"), make_scope("other")
    for scope in (own, other):
        evidence = source(scope, f"src-{scope.scope_id}")
        write(
            scope,
            "atomic-memory",
            {"kind": "fact", "text": "zebra"},
            artifact_id="m1",
            lineage=Lineage(
                sources=(
                    SourceRef(source_type="content", source_id=evidence.source_id),
                )
            ),
        )
    items = [historical_item("atomic-memory", name, "m1") for name in ("own", "other")]
    page = open_receipt(person(own), receipt_of(selected=items))
    assert page_url("source", scope="own", type="content", id="src-own") in page.links
    assert "src-other" not in page.html
    assert "denied" in row_of(page, "2")


@pytest.mark.clause("R-213")
def test_administering_is_not_reading(
    person: MakeVisitor, scope: Scope, injected: Injected
) -> None:
    receipt = injected.receipt
    page = open_receipt(person(scope, role=Grant.Role.ADMIN), receipt)
    assert "denied" in row_of(page)
