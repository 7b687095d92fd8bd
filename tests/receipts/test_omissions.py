"""Every reason for which a candidate is left out, provoked over HTTP (R-150..R-165).

`rerank_not_selected` comes with rerank; it passes through the builder below.
"""

import json
import typing
from typing import Any

import pytest
from django.db import connection

from prepare.models import Posting, Scope, SearchDocument
from prepare.search import vendors
from prepare.services.collections import EntryChange, write_collection
from prepare.values import Reason
from tests.api import Api
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    profile,
    remember,
    topic,
    write,
)
from tests.receipts.making import (
    FAMILIES,
    ask,
    build,
    make,
    omission,
    omitted,
    reason_of,
    searches,
    sections,
)
from tests.services.building import memory, pack_envelope, pack_memories, pack_text

MEMORY = sections(("memory", 8))
ALL = sections(*FAMILIES)
LARGEST = 32768


def execute(statement: str, parameters: Any = ()) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def fill(scope: Scope, count: int) -> None:
    for number in range(count):
        remember(scope, f"zebra {number}")
        write(scope, "experience", experience(f"zebra {number}"))
        write(scope, "topic-memory", topic(f"zebra {number}"))


def fixed_bytes(api: Api, scope_id: str, length: int, **options: Any) -> int:
    """Bytes of the one-item answer besides its whole body of `length` bytes."""
    body = ask(api, scope_id, "zebra", max_bytes=LARGEST, **options).body
    return int(body["content_bytes"]) - length


# Limits.


@pytest.mark.clause("R-150", "R-158", "R-161")
def test_c_09_limits_do_not_look_like_absence(api: Api, db) -> None:
    """20 memories match, 16 make the bounded list, 5 are delivered: 11 are counted."""
    scope = make_scope("s")
    for number in range(20):
        remember(scope, f"zebra {number}")
    receipt = ask(api, "s", "zebra", **sections(("memory", 5))).receipt
    assert len(receipt["selected"]) == 5
    assert omitted(receipt) == {("atomic-memory", "family_limit"): 11}


@pytest.mark.clause("R-158", "R-161")
def test_section_limits(api: Api, db) -> None:
    scope = make_scope("s")
    fill(scope, 9)
    found = sections(("memory", 3), ("topic-memory", 1), ("experience", 2))
    assert omitted(ask(api, "s", "zebra", **found).receipt) == {
        ("atomic-memory", "family_limit"): 6,
        ("experience", "family_limit"): 6,  # eight made the list, two are delivered
        ("topic-memory", "family_limit"): 7,
    }


@pytest.mark.clause("R-158", "R-161")
def test_the_merged_list_of_several_scopes_is_cut(api: Api, db) -> None:
    """16 of 20 memories, 8 of 12 experiences; then the sections' limits apply."""
    for name in ("a", "b"):
        make_scope(name)
    scope = make_scope("s", references=["a", "b"])
    for each, count in ((scope, 4), (Scope.objects.get(scope_id="a"), 16)):
        for number in range(count):
            remember(each, f"zebra {number}")
    for each, count in ((scope, 4), (Scope.objects.get(scope_id="b"), 8)):
        for number in range(count):
            write(each, "experience", experience(f"zebra {number}"))
    for each in Scope.objects.all():
        profile(each, "Zebras.")
    found = sections(("memory", 5), ("experience", 2), ("profile", 1))
    assert omitted(ask(api, "s", "zebra", **found).receipt) == {
        ("atomic-memory", "family_limit"): 4 + 11,
        ("experience", "family_limit"): 4 + 6,
        ("profile", "family_limit"): 2,
    }


@pytest.mark.clause("R-150", "R-161", "R-220")
def test_the_envelope_separates_its_two_limits(api: Api, db) -> None:
    """Experiences beyond the second, then everything after the eighth item."""
    scope = make_scope("s")
    for number in range(10):
        remember(scope, f"zebra {number}")
    for number in range(5):
        write(scope, "topic-memory", topic(f"zebra {number}"))
        write(scope, "experience", experience(f"zebra {number}"))
    receipt = ask(api, "s", "zebra", max_bytes=LARGEST).receipt
    kinds = [item["kind"] for item in receipt["selected"]]
    assert [kinds.count(kind) for kind in dict.fromkeys(kinds)] == [3, 3, 2]
    assert omitted(receipt) == {
        ("atomic-memory", "entry_limit"): 7,
        ("experience", "family_limit"): 3,
        ("topic-memory", "entry_limit"): 2,
    }


# Bytes.


@pytest.mark.clause("R-152", "R-156")
@pytest.mark.parametrize(
    ("room", "reason"), [(2, "no_fitting_truncation"), (63, "below_min_bytes")]
)
def test_a_body_that_cannot_be_shortened_honestly(api, db, room, reason) -> None:
    """The text form: `room` bytes for a body of 300, ellipsis (3 bytes) included."""
    remember(make_scope("s" * 120), "zebra " + "x" * 294)
    fixed = fixed_bytes(api, "s" * 120, 300, **MEMORY) + len("yes") - len("no")
    assert fixed >= 512
    receipt = ask(api, "s" * 120, "zebra", max_bytes=fixed + room, **MEMORY).receipt
    assert omitted(receipt) == {("atomic-memory", reason): 1}
    fits = ask(api, "s" * 120, "zebra", max_bytes=fixed + 64, **MEMORY).receipt
    assert (fits["omitted"], fits["truncated"]) == ([], True)


@pytest.mark.clause("R-152", "R-156")
@pytest.mark.parametrize(
    ("length", "room", "reason"),
    [(60, 59, "below_min_bytes"), (300, 62, "no_fitting_truncation")],
)
def test_the_envelope_has_a_floor_of_its_own(api, db, length, room, reason) -> None:
    """A text under 64 bytes is whole or not there; a longer one keeps 64 (G.8).

    `true` is a byte shorter than `false`: 62 bytes more hold a body of 63.
    """
    remember(make_scope("s"), "zebra " + "x" * (length - 6), artifact_id="m" * 128)
    fixed = fixed_bytes(api, "s", length)
    assert fixed >= 512
    receipt = ask(api, "s", "zebra", max_bytes=fixed + room).receipt
    assert omitted(receipt)["atomic-memory", reason] == 1
    fits = ask(api, "s", "zebra", max_bytes=fixed + room + 1).receipt
    assert ("atomic-memory", reason) not in omitted(fits)
    assert fits["truncated"] == (length > 64)


@pytest.mark.clause("R-153")
@pytest.mark.parametrize("options", [{}, MEMORY])
def test_a_successful_truncation_is_no_omission(api: Api, db, options) -> None:
    remember(make_scope("s"), "zebra " + "long " * 600)
    receipt = ask(api, "s", "zebra", **options).receipt
    assert receipt["truncated"] is True
    assert ("atomic-memory", "not_retrieved") not in omitted(receipt)
    assert {reason for _, reason in omitted(receipt)} <= {"not_retrieved"}


@pytest.mark.clause("R-152", "R-159")
def test_the_two_byte_reasons_are_never_added_up() -> None:
    """Three bodies over the budget, one below the floor: two groups, no third."""
    bodies = ["zebra " + "x" * 294] * 3
    fixed = len((pack_memories(bodies[0]).content or "").encode()) - 300
    for room, reason in ((2, "no_fitting_truncation"), (40, "below_min_bytes")):
        packed = pack_memories(*bodies, max_bytes=fixed + 1 + room)
        found = make(packed)["omitted"]
        assert found == [{"family": "atomic-memory", "reason": reason, "count": 3}]


# Blank and duplicate: the writer stores neither, so stored rows are changed below it.


@pytest.mark.clause("R-163")
@pytest.mark.parametrize("options", [{}, MEMORY])
def test_blank_memories_count_as_blank(api: Api, db, options) -> None:
    """Two atomic memories and an entry of a collection lost their text."""
    scope = make_scope("s")
    remember(scope, "zebra", artifact_id="kept")
    for number in range(2):
        row = remember(scope, "zebra", artifact_id=f"blank-{number}")
        content = json.dumps(json.loads(row.content) | {"text": " \u3000\n"})
        execute(
            "UPDATE prepare_artifactrevision SET content = %s WHERE id = %s",
            [content, row.pk],
        )
    collect(scope, [("entry", "version", "zebra")])
    execute("UPDATE prepare_memoryentryversion SET text = '\t'")
    receipt = ask(api, "s", "zebra", **options).receipt
    assert len(receipt["selected"]) == 1
    assert omitted(receipt)["atomic-memory", "blank"] == 3


@pytest.mark.clause("R-163")
def test_a_blank_profile_counts_as_blank(api: Api, db) -> None:
    row = profile(make_scope("s"), "Zebras.")
    content = json.dumps(json.loads(row.content) | {"content": "\n"})
    execute(
        "UPDATE prepare_artifactrevision SET content = %s WHERE id = %s",
        [content, row.pk],
    )
    receipt = ask(api, "s", "zebra", **sections("profile")).receipt
    assert omitted(receipt) == {("profile", "blank"): 1}


@pytest.mark.clause("R-159", "R-220")
@pytest.mark.parametrize("options", [{}, MEMORY])
def test_repeated_identities_count_as_duplicates(api: Api, db, options) -> None:
    """An identity is unique in its Scope and a Scope is read once, so no writer can
    store a repetition. What can hold one is the search projection, if it were damaged:
    here one revision has three projection rows."""
    scope = make_scope("s")
    row = remember(scope, "zebra", artifact_id="twice")
    remember(scope, "zebra", artifact_id="z-other")
    document = SearchDocument.objects.get(artifact=row.artifact)
    postings = list(Posting.objects.filter(document_id=document.pk))
    for number in range(2):
        document.pk = None
        document.entry_key = f"copy-{number}"
        document.save(force_insert=True)
        vendors.insert_postings(
            [
                (one.pool_id, one.term, document.pk, one.frequency, one.length)
                for one in postings
            ]
        )
    receipt = ask(api, "s", "zebra", **options).receipt
    assert len(receipt["selected"]) == 2
    assert omitted(receipt)["atomic-memory", "duplicate"] == 2


@pytest.mark.clause("R-159")
def test_each_repetition_counts_in_the_builders() -> None:
    found = [memory(name) for name in ("a", "b", "a", "a", "b")]
    for packed in (pack_text(("memory", 8, found)), pack_envelope(found)):
        assert omitted(make(packed))["atomic-memory", "duplicate"] == 3


# Not retrieved.


@pytest.mark.clause("R-154", "R-155", "R-157")
@pytest.mark.parametrize("family", FAMILIES)
def test_an_empty_family_is_flagged_once(api: Api, db, settings, family) -> None:
    """Zero hits, over three Scopes as over one, and a missing reader, are 1 each."""
    word = {"memory": "atomic-memory"}.get(family, family)
    for name in ("a", "b"):
        make_scope(name)
    make_scope("s", references=["a", "b"])
    expected = {(word, "not_retrieved"): 1}
    assert omitted(ask(api, "s", "zebra", **sections(family)).receipt) == expected
    settings.READERS = frozenset()
    assert omitted(ask(api, "s", "zebra", **sections(family)).receipt) == expected


@pytest.mark.clause("R-155")
def test_a_retired_head_is_not_retrieved(api: Api, db) -> None:
    """A profile without a committed, active head is missing like one never written."""
    row = profile(make_scope("s"), "Zebras.")
    execute(
        "UPDATE prepare_artifact SET lifecycle = 'retired' WHERE id = %s",
        [row.artifact_id],
    )
    receipt = ask(api, "s", "zebra", **sections("profile")).receipt
    assert omitted(receipt) == {("profile", "not_retrieved"): 1}


@pytest.mark.clause("R-156")
def test_a_family_whose_candidates_all_fell_is_not_unretrieved(api: Api, db) -> None:
    scope = make_scope("界" * 256)
    fill(scope, 3)
    profile(scope, "Zebras.")
    receipt = ask(api, "界" * 256, "zebra", max_bytes=512, **ALL).receipt
    assert receipt["selected"] == []
    assert {reason for _, reason in omitted(receipt)} == {"no_fitting_truncation"}
    assert sum(omitted(receipt).values()) == 10


# What holds for all of them.


@pytest.mark.clause("R-011", "R-010", "R-220")
def test_three_kinds_of_empty_receipts_differ(api: Api, db, settings) -> None:
    """C-09: no candidate, everything over budget, no reader. The content is the same;
    nothing stored and nothing admitted look the same too, by the RFC."""
    scope = make_scope("界" * 256)
    fill(scope, 2)

    def explain(query: str) -> tuple[Any, ...]:
        body, receipt = ask(api, "界" * 256, query, max_bytes=512, assembly={})
        assert (body["status"], body["content"]) == ("empty", None)
        return searches(receipt), omitted(receipt)

    ran = {
        ("atomic-memory", "fts", "completed"): 1,
        ("experience", "fts", "completed"): 1,
    }
    nothing = {
        ("atomic-memory", "not_retrieved"): 1,
        ("experience", "not_retrieved"): 1,
    }
    dropped = {
        ("atomic-memory", "no_fitting_truncation"): 2,
        ("experience", "no_fitting_truncation"): 2,
    }
    no_candidate, over_budget = explain("nothing like it"), explain("zebra")
    settings.READERS = frozenset({"profile"})
    no_reader = explain("zebra")
    assert no_candidate == (ran, nothing)
    assert over_budget == (ran, dropped)
    skipped = {(family, "none", "not_run"): 1 for family, _, _ in ran}
    assert no_reader == (skipped, nothing)


@pytest.mark.clause("R-150", "R-151")
def test_every_reason_passes_and_equal_pairs_are_merged() -> None:
    """The memory selector appears as atomic-memory (R-083)."""
    reasons = typing.get_args(Reason)
    found = [omission("memory", reason, 2) for reason in reasons]
    found += [omission("memory", "blank"), omission("code", "family_limit")]
    groups = make(build(omissions=found))["omitted"]
    assert [tuple(group.values()) for group in groups] == sorted(
        [
            *(("atomic-memory", reason, 2 + (reason == "blank")) for reason in reasons),
            ("code", "family_limit", 1),
        ]
    )


@pytest.mark.clause("R-165", "R-181")
def test_at_most_16_groups() -> None:
    pairs = [
        omission(family, reason)
        for family in ("memory", "topic-memory", "experience")
        for reason in typing.get_args(Reason)
    ]
    assert len(make(build(omissions=pairs[:16]))["omitted"]) == 16
    reason = reason_of(lambda: make(build(omissions=pairs[:17])))
    assert reason == "count_overflow"


def test_inactive_entries_are_no_candidates(api: Api, db) -> None:
    """They are not in the bounded list, so nothing counts them."""
    scope = make_scope("s")
    change = EntryChange(
        entry_id="e", entry_version_id="v", kind="fact", text="zebra", active=False
    )
    write_collection(
        scope=scope, artifact_id="memory", changes=[change], authorship=BY_TEST
    )
    receipt = ask(api, "s", "zebra", **MEMORY).receipt
    assert omitted(receipt) == {("atomic-memory", "not_retrieved"): 1}
