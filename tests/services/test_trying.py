"""Where one exact identity is, or why it is nowhere, beside the API's own result."""

from dataclasses import replace
from typing import Any

import pytest

from prepare import limits
from prepare.errors import Forbidden, InvalidRequest, ScopeNotFound
from prepare.models import Artifact, Grant
from prepare.services.access import LOCAL, Principal, authenticate
from prepare.services.collections import EntryChange, write_collection
from prepare.services.memories import MemoryTarget, change_state, merge_memories
from prepare.services.prepare import prepare_context
from prepare.services.runtime import Runtime
from prepare.services.trying import try_request
from prepare.values import Identity, parse_prepare_request
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    profile,
    ref,
    remember,
    revise,
    token,
    topic,
    write,
)
from tests.queries import captured_tables, nothing_written

ALL = ("memory", "experience", "profile", "topic-memory")


def request_of(*families: str, query="zebra", limit=2, scope_id="s", **fields):
    wire = {"scope_id": scope_id, "query": query, "include_receipt": True, **fields}
    if families:
        sections = [{"family": family, "limit": limit} for family in families]
        wire["assembly"] = {"sections": sections}
    return parse_prepare_request(wire)


def identity_of(row, *, entry=(None, None), **changes) -> Identity:
    return Identity(
        scope_id=row.artifact.scope.scope_id,
        artifact=replace(ref(row), **changes),
        entry_id=entry[0],
        entry_version_id=entry[1],
    )


def ask(request, wanted, *, principal=LOCAL, **runtime) -> Any:
    """The answer, of which a test knows whether it is a listing or an absence."""
    tried = try_request(
        request, wanted=wanted, principal=principal, runtime=Runtime(**runtime)
    )
    assert tried.answer is not None
    return tried.answer


def cause(request, wanted, **options) -> str:
    answer = ask(request, wanted, **options)
    assert answer.listing is None
    assert answer.absence is not None
    return str(answer.absence.cause)


@pytest.fixture
def scope(db):
    return make_scope("s")


def without_times(prepared):
    receipt = dict(prepared.receipt)
    receipt["receipt_id"] = None
    receipt["stages"] = [one | {"duration_ms": 0} for one in receipt["stages"]]
    return prepared.as_wire() | {"receipt": receipt}


@pytest.mark.clause("R-008", "R-192")
@pytest.mark.parametrize("families", [(), ("memory",), ALL])
def test_it_is_what_the_api_answers(scope, families) -> None:
    for number in range(20):
        remember(scope, f"zebra {number}")
    write(scope, "experience", experience("zebra"))
    profile(scope, "Zebras.")
    request = request_of(*families)

    tried = try_request(request, principal=LOCAL, runtime=Runtime())

    answered = prepare_context(request, principal=LOCAL, runtime=Runtime())
    assert without_times(tried.prepared) == without_times(answered)
    assert tried.answer is None


def test_what_was_delivered_says_where(scope) -> None:
    first = remember(scope, "zebra", artifact_id="m1")
    remember(scope, "zebra", artifact_id="m2")

    listing = ask(request_of("memory"), identity_of(first)).listing

    assert (listing.family, listing.place, listing.listed) == ("memory", 1, 2)
    assert (listing.rank, listing.position) == (1, 1)
    assert listing.item.truncated is False


@pytest.mark.clause("R-158", "R-161")
def test_what_was_dropped_says_by_which_limit(scope) -> None:
    other = make_scope("reference")
    scope = make_scope("current", references=["reference"])
    rows = [
        remember(each, "zebra", artifact_id=f"m{number:02}")
        for each in (scope, other)
        for number in range(12)
    ]
    request = request_of("memory", scope_id="current")
    by_section = ask(request, identity_of(rows[2])).listing
    assert (by_section.reason, by_section.bound) == ("family_limit", "section")
    assert (by_section.place, by_section.listed, by_section.rank) == (3, 12, 5)
    by_pool = ask(request, identity_of(rows[-1])).listing
    assert (by_pool.reason, by_pool.bound, by_pool.rank) == (
        "family_limit",
        "pool",
        None,
    )
    envelope = request_of(scope_id="current")
    by_total = ask(envelope, identity_of(rows[6])).listing
    assert (by_total.reason, by_total.bound) == ("entry_limit", None)


def test_the_envelope_has_a_limit_of_experiences(scope) -> None:
    rows = [
        write(scope, "experience", experience("zebra"), artifact_id=f"e{number}")
        for number in range(3)
    ]
    listing = ask(request_of(), identity_of(rows[2])).listing
    assert (listing.reason, listing.bound) == ("family_limit", "envelope")


@pytest.mark.clause("R-152")
def test_what_did_not_fit_says_how(scope) -> None:
    """Longer and longer citations leave less and less room for the body."""
    rows = {
        length: remember(scope, "zebra " * 60, artifact_id="m" * length)
        for length in range(10, 122, 8)
    }
    request = request_of("memory", max_bytes=512)
    reasons = {
        length: ask(request, identity_of(row)).listing.reason
        for length, row in rows.items()
    }
    assert reasons[10] == "below_min_bytes"
    assert reasons[114] == "no_fitting_truncation"
    assert set(reasons.values()) == {"below_min_bytes", "no_fitting_truncation"}


def test_what_was_cut_says_so(scope) -> None:
    row = remember(scope, "zebra " * 200)
    listing = ask(request_of("memory", max_bytes=1000), identity_of(row)).listing
    assert (listing.position, listing.item.truncated) == (1, True)


@pytest.mark.clause("A-102", "A-103")
def test_ranks_are_those_of_the_text(scope) -> None:
    for number in range(3):
        remember(scope, "zebra " * (number + 1))
    sections = [{"family": "memory", "limit": 2}]
    assembly = {"sections": sections, "show": ["recall_rank"]}
    request = request_of(assembly=assembly)
    tried = try_request(request, principal=LOCAL, runtime=Runtime())
    assert sorted(tried.ranks.values()) == [1, 2, 3]
    for origin in tried.prepared.build.origins:
        line = f"Recall rank: {tried.ranks[origin]}"
        assert line in str(tried.prepared.build.content)


# --- in no list -------------------------------------------------------------------


def test_a_scope_that_this_request_does_not_read(scope) -> None:
    far = make_scope("far")
    row = remember(far, "zebra")
    assert cause(request_of("memory"), identity_of(row)) == "scope_not_read"


def test_topics_come_from_the_current_scope_only(db) -> None:
    reference = make_scope("reference")
    make_scope("s", references=["reference"])
    row = write(reference, "topic-memory", topic("zebra"))
    request = request_of("topic-memory", "memory")
    assert cause(request, identity_of(row)) == "topics_of_reference"


def test_an_unreadable_scope_and_an_unknown_one_are_one_answer(scope) -> None:
    """C-48: whatever is stored there, and whatever became of it."""
    secret = make_scope("secret")
    row = remember(secret, "zebra")
    reader = authenticate(token("reader", scope), service_token="")
    known = identity_of(row)
    unknown = replace(known, scope_id="nowhere")

    answers = [
        ask(request_of("memory"), wanted, principal=reader)
        for wanted in (known, identity_of(row, revision=9), unknown)
    ]

    assert {answer.absence for answer in answers} == {answers[0].absence}
    assert answers[0].absence.cause == "scope_hidden"
    assert answers[0].absence.current is None
    assert answers[0].absence.standing is None


@pytest.mark.clause("R-213")
def test_the_rights_of_the_moment_decide(scope) -> None:
    other = make_scope("other")
    row = remember(other, "zebra")
    reader = authenticate(token("reader", scope, other), service_token="")
    request = request_of("memory")
    assert cause(request, identity_of(row), principal=reader) == "scope_not_read"
    Grant.objects.filter(scope=other).delete()
    assert cause(request, identity_of(row), principal=reader) == "scope_hidden"


@pytest.mark.clause("A-181")
def test_a_reference_that_may_not_be_read_refuses_the_request(db) -> None:
    """C-48."""
    secret = make_scope("secret")
    current = make_scope("s", references=["secret"])
    row = remember(secret, "zebra")
    reader = authenticate(token("reader", current), service_token="")
    with pytest.raises(Forbidden):
        ask(request_of("memory"), identity_of(row), principal=reader)


def test_a_refused_request_answers_nothing(scope) -> None:
    row = remember(scope, "zebra")
    with pytest.raises(ScopeNotFound):
        ask(request_of("memory", scope_id="nowhere"), identity_of(row))
    with pytest.raises(InvalidRequest):
        ask(request_of(*ALL), identity_of(row), assembly_max_entries=2)
    with pytest.raises(Forbidden):
        ask(request_of("memory"), identity_of(row), principal=Principal(name="none"))


def test_families_and_readers(scope) -> None:
    row = write(scope, "experience", experience("zebra"))
    assert cause(request_of("memory"), identity_of(row)) == "family_not_selected"
    unread = {"readers": frozenset({"memory"})}
    request = request_of("experience")
    assert cause(request, identity_of(row), **unread) == "reader_not_configured"
    prompt = replace(identity_of(row), artifact=replace(ref(row), family=limits.PROMPT))
    assert cause(request, prompt) == "family_never_recalled"


def test_nothing_is_stored_under_that_name(scope) -> None:
    row = remember(scope, "zebra", artifact_id="m1")
    request = request_of("memory")
    for name in ("M1", "m1 ", "m_", "%"):
        assert cause(request, identity_of(row, artifact_id=name)) == "not_stored"
    assert cause(request, identity_of(row, family="experience")) == (
        "family_not_selected"
    )
    absence = ask(request, identity_of(row, artifact_id="m2")).absence
    assert (absence.standing.stored, absence.standing.shared_terms) == (1, None)
    answer = ask(request, identity_of(row, revision=7))
    assert answer.absence.cause == "revision_not_stored"
    assert answer.absence.current == identity_of(row)


def test_an_older_revision_names_the_head(scope) -> None:
    row = remember(scope, "zebra", artifact_id="m1")
    newer = revise(row, {"kind": "fact", "text": "zebra again"})
    absence = ask(request_of("memory"), identity_of(row)).absence
    assert (absence.cause, absence.current) == ("not_head", identity_of(newer))
    assert (absence.standing.stored, absence.standing.admitted) == (1, 1)


@pytest.mark.parametrize("state", ["forgotten", "retired"])
def test_states_of_a_memory(scope, state) -> None:
    row = remember(scope, "zebra")
    target = MemoryTarget(artifact=ref(row), state_version=0)
    change_state(scope=scope, target=target, state=state, authorship=BY_TEST)
    absence = ask(request_of("memory"), identity_of(row)).absence
    assert (absence.cause, absence.standing.stored) == (state, 0)


def test_a_merged_memory_names_what_it_became(scope) -> None:
    rows = [remember(scope, f"zebra {number}") for number in range(2)]
    targets = [MemoryTarget(artifact=ref(row), state_version=0) for row in rows]
    merged, _ = merge_memories(
        scope=scope,
        inputs=targets,
        content={"kind": "fact", "text": "zebra both"},
        authorship=BY_TEST,
    )
    absence = ask(request_of("memory"), identity_of(rows[0])).absence
    assert (absence.cause, absence.current) == ("merged", identity_of(merged))


def test_entries_of_a_collection(scope) -> None:
    old = collect(scope, [("e1", "v1", "zebra"), ("e2", "v2", "zebra")])
    collect(scope, [("e1", "v1b", "zebra again")])
    new = collect(scope, [("e3", "v3", "zebra")])
    request = request_of("memory")
    assert cause(request, identity_of(old)) == "entry_needed"
    unknown = identity_of(old, entry=("e3", "v3"))
    assert cause(request, unknown) == "entry_not_held"
    assert cause(request, identity_of(old, entry=("e1", "v1b"))) == "entry_not_held"

    moved = ask(request, identity_of(old, entry=("e2", "v2"))).absence
    assert moved.cause == "not_head"
    assert moved.current == identity_of(new, entry=("e2", "v2"))
    assert ask(request, moved.current).listing is not None
    superseded = ask(request, identity_of(old, entry=("e1", "v1"))).absence
    assert superseded.cause == "entry_superseded"
    assert superseded.current == identity_of(new, entry=("e1", "v1b"))


def test_an_inactive_entry(scope) -> None:
    collect(scope, [("e1", "v1", "zebra"), ("e2", "v2", "zebra")])
    change = EntryChange(
        entry_id="e1", entry_version_id="v1", kind="fact", text="zebra", active=False
    )
    row = write_collection(
        scope=scope, artifact_id="memory", changes=[change], authorship=BY_TEST
    )
    wanted = identity_of(row, entry=("e1", "v1"))
    assert cause(request_of("memory"), wanted) == "entry_inactive"


def test_the_search_says_why_it_did_not_find_it(scope) -> None:
    row = remember(scope, "quilt")
    remember(scope, "zebra")
    absence = ask(request_of("memory"), identity_of(row)).absence
    assert absence.cause == "no_shared_term"
    assert (absence.standing.stored, absence.standing.admitted) == (2, 1)


def test_a_seventeenth_memory_is_behind_the_bound(scope) -> None:
    rows = [
        remember(scope, "zebra", artifact_id=f"m{number:02}") for number in range(18)
    ]
    absence = ask(request_of("memory"), identity_of(rows[16])).absence
    assert (absence.cause, absence.standing.place) == ("behind_bound", 17)
    assert ask(request_of("memory"), identity_of(rows[15])).listing.place == 16


def test_profiles_are_not_searched(scope) -> None:
    row = profile(scope, "Likes rye.")
    newer = revise(row, {"content": "Likes spelt."})
    absence = ask(request_of("profile"), identity_of(row)).absence
    assert (absence.cause, absence.current) == ("not_head", identity_of(newer))
    assert absence.standing is None
    assert ask(request_of("profile"), identity_of(newer)).listing is not None


def test_a_broken_projection_is_named(scope) -> None:
    row = remember(scope, "zebra")
    Artifact.objects.get(pk=row.artifact_id).search_documents.all().delete()
    assert cause(request_of("memory"), identity_of(row)) == "not_indexed"


@pytest.mark.clause("A-206")
@pytest.mark.parametrize("name", ["m00", "other", "nothing"])
def test_only_reads_and_as_many_for_one_item_as_for_many(scope, name) -> None:
    """J-14; listed, stored without a hit, and not stored."""
    row = remember(scope, "zebra", artifact_id="m00")
    remember(scope, "quilt", artifact_id="other")
    read = []
    for count in (1, 32):
        for index in range(1, count):
            remember(scope, "zebra", artifact_id=f"m{index:02}")
        with nothing_written(), captured_tables() as tables:
            tried = try_request(
                request_of(*ALL),
                wanted=identity_of(row, artifact_id=name),
                principal=LOCAL,
                runtime=Runtime(),
            )
        assert tried.answer is not None
        read.append(tables)
    assert read[0] == read[1]
