"""The retrieval path as real requests report it (R-071, R-080..R-100)."""

from dataclasses import replace

import pytest

from prepare.models import Scope
from prepare.services import prepare as prepare_service
from prepare.services.recall import recall
from tests.api import Api
from tests.factories import (
    experience,
    make_scope,
    profile,
    remember,
    topic,
    write,
)
from tests.queries import captured_tables
from tests.receipts.making import FAMILIES, ask, omitted, raw, searches, sections

ALL = sections(*FAMILIES)
WORDS = {"memory": "atomic-memory"}


@pytest.fixture
def three(db: None) -> Scope:
    """A Scope that references two others; something to find in each."""
    for name in ("first", "second"):
        make_scope(name)
    scope = make_scope("s", references=["first", "second"])
    for each in Scope.objects.all():
        remember(each, "zebra")
        write(each, "experience", experience("zebra"))
        write(each, "topic-memory", topic("zebra"))
        profile(each, "Zebras.")
    return scope


@pytest.mark.clause("R-071", "R-080", "R-083", "R-084", "R-087", "R-095", "R-106")
def test_every_call_is_counted(api: Api, three) -> None:
    """One ranking per searched pool, one read of all profiles, and no more."""
    receipt = ask(api, "s", "zebra", **ALL).receipt
    assert receipt["retrieval"]["rounds"] == [
        {"round": 0, "outcome": "completed", "retained": True}
    ]
    assert searches(receipt) == {
        ("atomic-memory", "fts", "completed"): 3,
        ("experience", "fts", "completed"): 3,
        ("topic-memory", "fts", "completed"): 1,
        ("profile", "snapshot", "completed"): 1,
    }
    names = ["round", "family", "mode", "outcome", "fallback_reason", "count"]
    groups = receipt["retrieval"]["searches"]
    assert all(list(group) == names for group in groups)


@pytest.mark.clause("R-095", "R-170", "R-171")
def test_the_counts_are_those_of_the_statements(api: Api, three) -> None:
    with captured_tables() as tables:
        answered = ask(api, "s", "zebra")
    groups = answered.receipt["retrieval"]["searches"]
    assert sum(group["count"] for group in groups) == tables.count("ranking")


@pytest.mark.clause("R-096", "R-097")
def test_references_multiply_only_what_really_ran(api: Api, three) -> None:
    """Topics are searched in the current Scope, profiles of all Scopes read at once."""
    for references in range(3):
        names = ["first", "second"][:references]
        make_scope(f"with-{references}", references=names)
        found = searches(ask(api, f"with-{references}", "zebra", **ALL).receipt)
        assert found["topic-memory", "fts", "completed"] == 1
        assert found["profile", "snapshot", "completed"] == 1
        assert found["atomic-memory", "fts", "completed"] == 1 + references
    receipt = ask(api, "s", "zebra", **ALL).receipt
    groups = receipt["retrieval"]["searches"]
    assert {group["round"] for group in groups} == {0}


@pytest.mark.clause("R-090", "R-157")
@pytest.mark.parametrize("family", FAMILIES)
def test_an_unselected_family_has_no_group(api: Api, three, family) -> None:
    receipt = ask(api, "s", "nothing like it", **sections(family)).receipt
    word = WORDS.get(family, family)
    assert {group["family"] for group in receipt["retrieval"]["searches"]} == {word}
    assert {group["family"] for group in receipt["omitted"]} <= {word}
    others = [one for one in FAMILIES if one != family]
    receipt = ask(api, "s", "zebra", **sections(*others)).receipt
    assert word not in {group["family"] for group in receipt["retrieval"]["searches"]}
    assert word not in {group["family"] for group in receipt["omitted"]}


@pytest.mark.clause("R-091", "R-095", "R-155")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_missing_reader_is_not_run(api: Api, three, settings, family) -> None:
    """The count is the Scopes it would have read (H-11)."""
    settings.READERS = frozenset(FAMILIES) - {family}
    receipt = ask(api, "s", "zebra", **ALL).receipt
    word = WORDS.get(family, family)
    skipped = 1 if family == "topic-memory" else 3
    groups = [one for one in receipt["retrieval"]["searches"] if one["family"] == word]
    assert groups == [
        {
            "round": 0,
            "family": word,
            "mode": "none",
            "outcome": "not_run",
            "fallback_reason": "none",
            "count": skipped,
        }
    ]
    assert omitted(receipt)[word, "not_retrieved"] == 1


@pytest.mark.clause("R-092", "R-093", "R-094")
@pytest.mark.parametrize("query", ["zebra", "the", "..."])
def test_nothing_stored_is_still_a_search_that_ran(api: Api, db, query) -> None:
    """No family here needs a head to be searched: zero hits in the actual mode."""
    make_scope("bare")
    receipt = ask(api, "bare", query, **ALL).receipt
    assert searches(receipt) == {
        ("atomic-memory", "fts", "completed"): 1,
        ("experience", "fts", "completed"): 1,
        ("topic-memory", "fts", "completed"): 1,
        ("profile", "snapshot", "completed"): 1,
    }


@pytest.mark.clause("R-098", "R-099", "R-100")
def test_plain_words_are_fts_without_a_cause(api: Api, three) -> None:
    """The request policy is `auto`; what ran is `fts`, and nothing fell back."""
    assert "auto" in api.get("/v1/capabilities").body["search_modes"]
    for options in ({}, ALL):
        receipt = ask(api, "s", "zebra", **options).receipt
        groups = receipt["retrieval"]["searches"]
        assert {one["mode"] for one in groups} <= {"fts", "snapshot"}
        assert {one["fallback_reason"] for one in groups} == {"none"}


@pytest.mark.clause("R-075", "R-191")
def test_no_round_no_group_no_item_says_more_than_it_must(api: Api, three) -> None:
    """No score, hit count, verdict, threshold or query word anywhere."""
    receipt = ask(api, "s", "zebra", **ALL).receipt
    assert receipt["retrieval"]["rerank_configs"] == []
    assert receipt["retrieval"]["reranks"] == []
    assert receipt["non_deterministic"] is False
    words = str(receipt)
    for word in ("zebra", "score", "rank", "mass", "hits", "admitted", "floor"):
        assert word not in words.replace("rerank_configs", "").replace("reranks", "")


@pytest.mark.clause("R-089", "R-186")
@pytest.mark.parametrize("family", ["experience", "atomic-memory"])
def test_a_reader_that_does_not_report_its_mode(
    api: Api, three, monkeypatch, caplog, family
) -> None:
    """Nothing is inferred from a reader's presence; injection goes on unchanged."""
    without = raw(api, "s", "zebra")

    def silent(**arguments):
        recalled = recall(**arguments)
        calls = tuple(
            replace(one, mode=None) if one.family == family else one
            for one in recalled.evidence.searches
        )
        return replace(recalled, evidence=replace(recalled.evidence, searches=calls))

    monkeypatch.setattr(prepare_service, "recall", silent)
    assert raw(api, "s", "zebra", include_receipt=True) == without
    [record] = [one for one in caplog.records if "receipt" in one.message]
    assert "reason=missing_evidence" in record.message


@pytest.mark.clause("R-012", "R-157")
def test_code_that_is_asked_for_and_not_configured(api: Api, three) -> None:
    """H-17: the family is disabled unless asked for; asked for, it did not run."""
    plain = ask(api, "s", "zebra")
    asked = ask(api, "s", "zebra", include_code=True)
    assert asked.body["content"] == plain.body["content"]
    assert searches(asked.receipt) == {
        **searches(plain.receipt),
        ("code", "none", "not_run"): 1,
    }
    assert ("code", "not_retrieved") not in omitted(plain.receipt)
    assert omitted(asked.receipt)["code", "not_retrieved"] == 1


def test_another_scope_leaves_no_trace(api: Api, three) -> None:
    """C-48: what only a foreign Scope holds changes no count of a receipt."""
    make_scope("lonely")
    before = ask(api, "lonely", "unicorn", **ALL).receipt
    remember(Scope.objects.get(scope_id="first"), "unicorn")
    after = ask(api, "lonely", "unicorn", **ALL).receipt
    for name in ("retrieval", "omitted", "selected", "used_bytes"):
        assert before[name] == after[name]
    assert "first" not in str(after)
