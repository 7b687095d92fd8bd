"""Receipts verified: states, rights, altered rows, and what it costs (C.8)."""

import copy
import json
from typing import Any

import pytest

from prepare.models import Grant, Scope
from prepare.services import contents
from prepare.services.access import LOCAL, authenticate
from prepare.services.artifacts import Lineage, SourceRef
from prepare.services.reports import ItemReport, VerificationReport
from prepare.services.verifying import verify_block
from prepare.values import CodeIdentity
from tests.api import Api
from tests.factories import make_scope, remember, revise, source, token, write
from tests.queries import nothing_written
from tests.services.test_checking import code_item, receipt_of
from tests.services.verification import (
    ask,
    check,
    make_mixed,
    merge,
    only,
    set_state,
    sql,
)


@pytest.fixture
def scope(db) -> Scope:
    return make_scope("s")


@pytest.fixture
def mixed(db) -> Scope:
    return make_mixed()


# A receipt.


@pytest.mark.clause("R-205")
def test_a_fresh_receipt_is_all_fine(api: Api, mixed: Scope) -> None:
    content, receipt = ask(api)
    report = check(content, receipt)
    assert report.is_fine
    assert report.form == "receipt"
    assert len(report.items) == len(receipt["selected"]) == 7
    for item, selected in zip(report.items, receipt["selected"], strict=True):
        assert not isinstance(item.citation, CodeIdentity)
        assert item.citation.scope_id == selected["artifact_address"]["scope_id"]
        assert (item.access, item.state, item.stored) == ("readable", "head", "intact")
        assert item.head_revision == 1
        assert (item.label, item.body) == (None, None)


def test_an_empty_receipt_is_fine(api: Api, scope: Scope) -> None:
    content, receipt = ask(api)
    assert (content, receipt["content_digest"]) == (b"", None)
    report = check(content, receipt)
    assert report.is_fine
    assert report.items == ()
    assert not check(b"x", receipt).is_fine


@pytest.mark.clause("R-211", "R-214")
def test_a_revised_memory_is_superseded(api: Api, scope: Scope) -> None:
    row = remember(scope, "zebra one")
    content, receipt = ask(api)
    before = copy.deepcopy(receipt)
    revise(row, {"kind": "fact", "text": "zebra two"})
    report = check(content, receipt)
    item = only(report)
    assert (item.access, item.state, item.head_revision) == (
        "readable",
        "superseded",
        2,
    )
    assert report.is_fine
    assert receipt == before
    claim = only(verify_block(content=content, principal=LOCAL))
    assert (claim.state, claim.body) == ("superseded", "same")  # of revision 1


@pytest.mark.clause("R-208", "R-210", "R-214")
@pytest.mark.parametrize("state", ["forgotten", "retired"])
def test_a_removed_memory_stays_readable(api: Api, scope: Scope, state: str) -> None:
    row = remember(scope, "zebra one")
    content, receipt = ask(api)
    set_state(row, state)
    report = check(content, receipt)
    item = only(report)
    assert (item.access, item.state, item.stored) == ("readable", state, "intact")
    assert report.is_fine
    assert only(verify_block(content=content, principal=LOCAL)).body == "same"


@pytest.mark.clause("R-209", "R-211")
def test_a_merged_memory_is_not_followed(api: Api, scope: Scope) -> None:
    row = remember(scope, "zebra one", artifact_id="m1")
    content, receipt = ask(api)
    merged = merge(row, remember(scope, "zebra other", artifact_id="m2"))
    item = only(check(content, receipt))
    assert (item.access, item.state, item.head_revision) == ("readable", "merged", 1)
    assert not isinstance(item.citation, CodeIdentity)
    assert item.citation.artifact.artifact_id == "m1" != merged.artifact.artifact_id
    assert only(verify_block(content=content, principal=LOCAL)).body == "same"


def test_a_forgotten_memory_says_that_it_was_revised_too(
    api: Api, scope: Scope
) -> None:
    row = remember(scope, "zebra one")
    content, receipt = ask(api)
    set_state(revise(row, {"kind": "fact", "text": "zebra two"}), "forgotten")
    item = only(check(content, receipt))
    assert (item.state, item.head_revision) == ("forgotten", 2)


# Rights.


@pytest.fixture
def shared(db) -> tuple[Scope, Scope]:
    other = make_scope("other")
    scope = make_scope("s", references=["other"])
    for each in (scope, other):
        evidence = source(each, "src-1")
        write(
            each,
            "atomic-memory",
            {"kind": "fact", "text": "zebra"},
            artifact_id="m1",
            lineage=Lineage(
                sources=(
                    SourceRef(source_type="content", source_id=evidence.source_id),
                )
            ),
        )
    return scope, other


def by_scope(report: VerificationReport) -> dict[str | None, ItemReport]:
    return {item.citation.scope_id: item for item in report.items}


@pytest.mark.clause("R-207", "R-212", "R-213")
def test_only_what_the_token_may_read_is_read(
    api: Api, shared: tuple[Scope, Scope]
) -> None:
    scope, other = shared
    content, receipt = ask(api)
    reader = authenticate(token("reader", scope, other), service_token="")
    full = check(content, receipt, reader)
    assert full.is_fine
    assert [item.sources for item in full.items] == [
        (SourceRef(source_type="content", source_id="src-1"),)
    ] * 2
    Grant.objects.filter(scope=other).delete()  # while the token lives on
    report = check(content, receipt, reader)
    assert not report.is_fine
    found = by_scope(report)
    assert found["s"].is_fine
    denied = found["other"]
    assert (denied.access, denied.state, denied.head_revision) == ("denied", None, None)
    assert (denied.stored, denied.sources) == (None, ())


def test_administering_is_not_reading(api: Api, shared: tuple[Scope, Scope]) -> None:
    content, receipt = ask(api)
    secret = token("admin", *shared, role="admin", server_admin=True)
    admin = authenticate(secret, service_token="")
    assert {item.access for item in check(content, receipt, admin).items} == {"denied"}


@pytest.mark.clause("R-212")
def test_what_is_not_there_is_missing_or_denied(api: Api, scope: Scope) -> None:
    """Without rights a missing Scope looks like a denied one (J-3)."""
    remember(scope, "zebra", artifact_id="m1")
    content, receipt = ask(api)
    reader = authenticate(token("reader", scope), service_token="")
    changes: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"scope_id": "nowhere"}, {}, "denied"),
        ({}, {"artifact_id": "M1"}, "missing"),
        ({}, {"artifact_id": "m1-"}, "missing"),
        ({}, {"revision": 2}, "missing"),
        ({}, {"revision": 2**31 - 1}, "missing"),
    ]
    for address, artifact, expected in changes:
        changed = copy.deepcopy(receipt)
        named = changed["selected"][0]["artifact_address"]
        named |= address
        named["artifact"] |= artifact
        report = check(content, changed, reader)
        assert (only(report).access, report.is_fine) == (expected, False)
        assert only(check(content, changed)).access == "missing"


def test_code_is_not_supported_yet(scope: Scope) -> None:
    report = check(b"x" * 9, receipt_of(b"x" * 9, selected=[code_item()]))
    assert only(report).access == "not supported here"
    assert not report.is_fine


# What was tampered with.


def test_a_changed_byte_is_found_and_the_items_are_read_all_the_same(
    api: Api, scope: Scope
) -> None:
    remember(scope, "zebra one")
    content, receipt = ask(api)
    report = check(content.replace(b"one", b"two"), receipt)
    assert [one.outcome for one in report.checks] == ["mismatch", "match"]
    assert not report.is_fine
    assert only(report).is_fine


def test_a_swapped_identity_is_beyond_a_receipt(api: Api, scope: Scope) -> None:
    """A receipt is not signed. One that names another readable revision passes: only
    the text, whose citation stands beside the body, tells them apart."""
    remember(scope, "zebra one", artifact_id="m1")
    content, receipt = ask(api)
    remember(scope, "quagga", artifact_id="m2")
    named = receipt["selected"][0]["artifact_address"]["artifact"]
    named["artifact_id"] = "m2"
    assert check(content, receipt).is_fine
    claims = verify_block(content=content, principal=LOCAL).items
    cited = [claim.citation for claim in claims]
    assert not isinstance(cited[0], CodeIdentity)
    assert cited[0].artifact.artifact_id == "m1"


def test_a_swapped_identity_in_a_text_has_another_body(api: Api, scope: Scope) -> None:
    remember(scope, "zebra one", artifact_id="m1")
    content, _ = ask(api)
    remember(scope, "quagga", artifact_id="m2")
    report = verify_block(
        content=content.replace(b'id="m1"', b'id="m2"'), principal=LOCAL
    )
    assert (only(report).access, only(report).body) == ("readable", "altered")
    assert not report.is_fine


ROW = "UPDATE prepare_artifactrevision SET content = %s"
ROW_AND_DIGEST = f"{ROW}, content_digest = %s"
OTHER = '{"kind":"fact","schema":"powercontext.atomic-memory.v1","text":"zebra two"}'


@pytest.mark.parametrize(
    "stored",
    [
        OTHER,
        OTHER.replace(":", ": "),  # the same value, other bytes
        "",
        "not JSON",
        "[]",
    ],
)
def test_an_altered_row_is_reported(api: Api, scope: Scope, stored: str) -> None:
    remember(scope, "zebra one")
    content, receipt = ask(api)
    sql(ROW, stored)
    report = check(content, receipt)
    item = only(report)
    assert (item.access, item.stored, item.sources) == ("readable", "altered", ())
    assert not report.is_fine
    claim = only(verify_block(content=content, principal=LOCAL))
    assert (claim.stored, claim.body) == ("altered", "not comparable")


def test_an_altered_digest_is_reported(api: Api, scope: Scope) -> None:
    remember(scope, "zebra one")
    content, receipt = ask(api)
    sql("UPDATE prepare_artifactrevision SET content_digest = 'sha256:0'")
    assert only(check(content, receipt)).stored == "altered"


def test_who_rewrites_content_and_digest_is_found_by_the_text_only(
    api: Api, scope: Scope
) -> None:
    """The digest beside a row guards against accidents, not against its owner."""
    remember(scope, "zebra one", artifact_id="m1")
    content, receipt = ask(api)
    other = remember(make_scope("elsewhere"), "zebra two")
    sql(
        "UPDATE prepare_artifactrevision SET content = %s, content_digest = %s"
        " WHERE id <> %s",
        other.content,
        other.content_digest,
        other.pk,
    )
    assert check(content, receipt).is_fine
    assert only(verify_block(content=content, principal=LOCAL)).body == "altered"


@pytest.mark.parametrize(
    "stored", ['{"a":1}', "not JSON", "[1]", '{"kind":"fact","text":7}']
)
def test_no_stored_content_crashes_it(api: Api, scope: Scope, stored: str) -> None:
    remember(scope, "zebra one")
    content, receipt = ask(api)
    sql(ROW_AND_DIGEST, stored, contents.digest(stored))
    assert only(check(content, receipt)).stored == "altered"
    assert only(verify_block(content=content, principal=LOCAL)).stored == "altered"


# What it costs and leaves behind.


def test_it_writes_nothing_and_logs_nothing(
    api: Api, mixed: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    content, receipt = ask(api)
    with nothing_written():
        check(content, receipt)
        verify_block(content=content, principal=LOCAL)
    caplog.clear()
    with caplog.at_level("DEBUG"):
        check(content, receipt)
        verify_block(content=content + b"\n\n", principal=LOCAL)
    assert [one for one in caplog.records if one.name.startswith("prepare")] == []


def test_wire_values_survive_json(api: Api, mixed: Scope) -> None:
    """What a harness stored and loaded again verifies like the response itself."""
    content, receipt = ask(api)
    assert check(content, json.loads(json.dumps(receipt, indent=1))).is_fine
