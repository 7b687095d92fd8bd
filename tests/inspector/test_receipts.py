"""Open a receipt: what it shows, what is compared, what is refused, what it costs."""

import copy
import json
from typing import Any

import pytest

from inspector.forms.receipts import _REASONS
from inspector.links import page_url, revision_url
from prepare.models import Scope
from prepare.values import ArtifactRef, Identity
from tests.factories import collect
from tests.inspector.conftest import Injected, MakeVisitor
from tests.inspector.opening import file, open_receipt, paste_receipt
from tests.inspector.receipts import (
    CONTENT,
    HISTORICAL,
    config,
    full_receipt,
    historical_item,
    prompt,
    store_historical,
)
from tests.queries import captured_tables, nothing_written
from tests.services.test_checking import receipt_of

# The receipt itself.


@pytest.mark.clause("R-204", "R-206")
def test_every_part_of_a_full_receipt_is_shown(person: MakeVisitor) -> None:
    scopes = store_historical()
    receipt = full_receipt()
    page = open_receipt(person(*scopes), receipt, content_file=file(CONTENT, "c.txt"))
    assert page.status == 200
    for name in ("receipt_id", "schema", "query_digest", "content_digest"):
        assert receipt[name] in page.text
    assert page.text.count("match") == 2
    for item in receipt["selected"]:
        if item["kind"] == "code":
            evidence = item["code_evidence"]
            for name in ("path", "fingerprint", "file_sha256", "snippet_sha256"):
                assert evidence[name] in page.text
            first, last = evidence["start_line"], evidence["end_line"]
            assert f"lines {first} to {last}" in page.text
            continue
        address = item["artifact_address"]
        identity = Identity(
            scope_id=address["scope_id"], artifact=ArtifactRef(**address["artifact"])
        )
        # Once where it was read again, once among the selected items.
        assert page.links.count(revision_url(identity)) == 2
    assert page.text.count("not stored on this server") >= 4
    assert page.html.count("<rect") == 26 + 4 + 2 + 1 + 2 * 2
    assert page.text.count(" current ") == HISTORICAL + 1
    for one in receipt["retrieval"]["rerank_configs"]:
        assert page.text.count(one["config_id"]) == 2
    prompted = receipt["retrieval"]["rerank_configs"][0]["prompt"]
    assert prompted["compiled_digest"] in page.text
    assert page_url("revision", scope="a", family="prompt", id="p", revision=1) in (
        page.links
    )
    for word in (
        *("temperature", "0.5", "seed", "10.5 seconds", "none, not a model"),
        *("expansion_failed", "given up", "inference_timeout", "empty_selection"),
        *("did not answer in time", "came before in the list of its family"),
        *("memory.search", "12.250", "13.000 ms", "nor whether two overlapped"),
        *("Frame, headings and joints", "Unused"),
    ):
        assert word in page.text


def test_dead_links_to_code_are_not_made(person: MakeVisitor) -> None:
    page = open_receipt(person(*store_historical()), full_receipt())
    assert not [link for link in page.links if "code" in link or ".py" in link]


@pytest.mark.clause("R-216")
def test_it_says_what_a_receipt_is_not(person: MakeVisitor) -> None:
    visitor = person()
    for page in (visitor.open("receipt"), open_receipt(visitor, full_receipt())):
        assert "A receipt is untrusted metadata" in page.text
        assert "ranks below" in page.text
        assert "no claim that anything" in page.text


def test_settings_of_every_type_are_shown(person: MakeVisitor) -> None:
    settings = {
        "temperature": 0.0,
        "top_p": 1,
        "parallel_tool_calls": False,
        "service_tier": "flex",
    }
    one = config("x", effective_settings=settings, prompt=prompt(artifact_address=None))
    receipt = receipt_of()
    receipt["retrieval"]["rerank_configs"] = [one]
    page = open_receipt(person(), receipt)
    for word in ("temperature", "0.0", "false", "flex", "built in, no artifact"):
        assert word in page.text
    # Its rerank names a configuration that the receipt does not hold.
    assert "not in the receipt" in page.text
    assert "different configurations" in page.text


def test_an_empty_receipt_is_explained(person: MakeVisitor) -> None:
    receipt = receipt_of(
        b"", selected=[], content_digest=None, stages=[], omitted=[], truncated=False
    )
    receipt["retrieval"] = {name: [] for name in receipt["retrieval"]}
    page = open_receipt(person(), receipt | {"non_deterministic": False})
    assert page.status == 200
    for word in (
        *("none: nothing was injected", "Nothing was selected", "The receipt cites"),
        *("No round took place", "No reranker ran", "No stage was timed"),
    ):
        assert word in page.text


# Its content.


def test_without_the_content_only_that_is_said(
    person: MakeVisitor, scope: Scope, injected: Injected
) -> None:
    receipt = injected.receipt
    page = open_receipt(person(scope), receipt)
    assert "Everything was read and is fine." in page.text
    assert "digest and length were not checked" in page.text


def test_a_whole_answer_brings_its_content(
    person: MakeVisitor, scope: Scope, injected: Injected
) -> None:
    content, receipt = injected.content, injected.receipt
    answer = {
        "schema": "powercontext.prepared-context.v1",
        "status": "ready",
        "content": content.decode(),
        "content_bytes": len(content),
        "receipt": receipt,
    }
    page = open_receipt(person(scope), answer)
    assert "Everything was read and is fine." in page.text
    assert page.pre("literal") == content.decode()
    wrong = open_receipt(person(scope), answer | {"content_bytes": 1, "status": "x"})
    assert "Not everything is fine." in wrong.text
    assert "content_bytes of the answer" in wrong.text
    assert "status of the answer" in wrong.text
    other = open_receipt(person(scope), answer | {"content": "other"})
    assert other.text.count("mismatch") == 2
    twice = open_receipt(person(scope), answer, content="x")
    assert (twice.status, "holds its content" in twice.text) == (422, True)


def test_an_answer_without_a_receipt_says_why_that_may_be(person: MakeVisitor) -> None:
    answer = {
        "schema": "powercontext.prepared-context.v1",
        "status": "ready",
        "content": "x",
        "content_bytes": 1,
    }
    page = open_receipt(person(), answer)
    assert page.status == 422
    assert "none was asked for, or it was dropped" in page.text


def test_pasted_line_ends_are_taken_back_and_uploaded_ones_are_not(
    person: MakeVisitor, scope: Scope, injected: Injected
) -> None:
    content, receipt = injected.content, injected.receipt
    crlf = content.replace(b"\n", b"\r\n")
    visitor = person(scope)
    pasted = open_receipt(visitor, receipt, content=crlf.decode())
    assert "Everything was read and is fine." in pasted.text
    exact = open_receipt(visitor, receipt, content_file=file(content, "c.txt"))
    assert "Everything was read and is fine." in exact.text
    changed = open_receipt(visitor, receipt, content_file=file(crlf, "c.txt"))
    assert changed.text.count("mismatch") == 2
    assert "without CR in its line ends the content matches" in changed.text


@pytest.mark.parametrize(
    ("change", "explanation"),
    [
        (lambda content: content + b"\n", "without one line feed at its end"),
        (lambda content: b"\xef\xbb\xbf" + content, "without a byte order mark"),
        (lambda content: content + b"\xff", "It is not UTF-8"),
        (lambda content: content.replace(b"one", b"two"), "mismatch"),
        (lambda content: b"", "mismatch"),
    ],
)
def test_a_changed_content_is_found_and_explained(
    person: MakeVisitor,
    scope: Scope,
    injected: Injected,
    change: Any,
    explanation: str,
) -> None:
    content, receipt = injected.content, injected.receipt
    upload = file(change(content), "c.txt")
    page = open_receipt(person(scope), receipt, content_file=upload)
    assert "Not everything is fine." in page.text
    assert explanation in page.text


def test_contradictions_are_listed(person: MakeVisitor) -> None:
    receipt = full_receipt() | {"truncated": False, "used_bytes": 100}
    page = open_receipt(person(), receipt)
    assert "truncated disagrees with the items" in page.text
    assert "more rendered_bytes than used_bytes" in page.text
    assert "no bar is drawn" in page.text


# What is no receipt.


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 2}', "An object repeats a key."),
        ('{"a": NaN}', "NaN and Infinity are not JSON."),
        ('{"a": 1e999}', "A number is out of range."),
        ('{"a": "\\ud800"}', "A string holds a lone surrogate."),
        ("{", "It is not valid JSON."),
        ("[" * 70 + "]" * 70, "It is nested too deeply."),
    ],
)
def test_json_is_read_strictly(person: MakeVisitor, text: str, reason: str) -> None:
    visitor = person()
    for page in (paste_receipt(visitor, text), open_receipt(visitor, text)):
        assert (page.status, reason in page.text) == (422, True)
    assert reason in _REASONS.values()


def test_bytes_that_are_no_text_are_refused(person: MakeVisitor) -> None:
    upload = file(b'"\xff"')
    page = person().submit("receipt", {"receipt_file": upload})
    assert (page.status, "It is not UTF-8." in page.text) == (422, True)


def test_entries_of_collections_have_no_receipt(
    person: MakeVisitor, scope: Scope
) -> None:
    collect(scope, [("e1", "v1", "zebra")])
    item = historical_item("memory", "s", "memory")
    page = open_receipt(person(scope), receipt_of(selected=[item]))
    assert page.status == 422


@pytest.mark.clause("R-215")
@pytest.mark.parametrize(
    "value",
    [
        {"schema": "powercontext.handoff-receipt.v1", "revision": 3},
        {"schema": "powercontext.prepared-context-receipt.v2"},
        [],
        "text",
        None,
        {"receipt": {}, "content": None},
        {},
    ],
)
def test_other_json_is_refused_as_that(person: MakeVisitor, value: Any) -> None:
    page = open_receipt(person(), json.dumps(value))
    assert page.status == 422
    assert "receipt" in page.text
    assert "is no prepared-context receipt" in page.text or "no valid receipt" in (
        page.text
    )


def test_violations_are_listed_with_their_paths(person: MakeVisitor) -> None:
    receipt = copy.deepcopy(full_receipt())
    receipt["selected"][3]["rendered_bytes"] = -1
    receipt["retrieval"]["rounds"][0]["round"] = 7
    receipt["used_bytes"] = True
    page = paste_receipt(person(), receipt)
    assert page.status == 422
    for line in (
        *("receipt.selected.3.rendered_bytes : is below 0",),
        *("receipt.retrieval.rounds.0.round : is above 2",),
        *("receipt.used_bytes : should be integer",),
    ):
        assert line in page.text
    assert '"rendered_bytes": -1' in page.html.replace("&quot;", '"')  # kept


def test_one_of_paste_and_file_is_needed(person: MakeVisitor) -> None:
    visitor = person()
    none = visitor.submit("receipt", {"content": "kept"})
    assert (none.status, "Paste a receipt or choose its file." in none.text) == (
        422,
        True,
    )
    assert "kept" in none.text
    both = paste_receipt(visitor, {}, receipt_file=file("{}"))
    assert (both.status, "not both" in both.text) == (422, True)


# Costs, and what is left behind.


@pytest.mark.parametrize("count", [1, HISTORICAL + 4])
def test_the_page_costs_the_same_for_1_and_30_items(
    person: MakeVisitor, count: int
) -> None:
    visitor = person(*store_historical())
    receipt = full_receipt()
    receipt["selected"] = receipt["selected"][:count]
    token = visitor.open("receipt").fields["csrfmiddlewaretoken"]
    sent = {"csrfmiddlewaretoken": token, "receipt": json.dumps(receipt)}
    with nothing_written(), captured_tables() as tables:
        page = visitor.post(page_url("receipt"), sent)
    assert page.status == 200
    assert tables == [
        *("django_session", "auth_user"),
        *("scope", "persongrant", "artifact", "artifactrevision", "sourceevidence"),
    ]


def test_uploads_stay_in_memory(
    person: MakeVisitor, settings: Any, tmp_path: Any
) -> None:
    """A file that Django would have put on disk, where no folder for it is."""
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "nowhere"
    large = file(b"x" * 3_000_000, "c.txt")
    page = open_receipt(person(), full_receipt(), content_file=large)
    assert page.status == 200
    assert page.text.count("mismatch") == 2


@pytest.mark.parametrize("as_file", [True, False])
def test_what_is_too_large_is_a_413_page(
    person: MakeVisitor, settings: Any, *, as_file: bool
) -> None:
    settings.MAX_BODY_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100_000
    visitor = person()
    text = "x" * 200_000
    sent = {"receipt_file": file(text)} if as_file else {"receipt": text}
    page = visitor.submit("receipt", sent)
    assert page.status == 413
    assert "more than 100,000 bytes" in page.text


def test_nothing_is_in_the_address(person: MakeVisitor) -> None:
    page = person().open("receipt")
    assert 'method="post"' in page.html
    assert 'action="/inspector/receipt' not in page.html
