"""Search in one Scope: prepare's own, by POST, and a failure is never a result."""

import pytest

from prepare.models import SearchDocument
from prepare.services import memories
from prepare.services.memories import MemoryTarget
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    ref,
    remember,
    revise,
    topic,
    write,
)
from tests.inspector.pages import Page
from tests.queries import hidden_tables, nothing_written

WORDS = "zebra crossing"


def found(page: Page) -> list[tuple[int, str]]:
    return [
        (row.hit.rank, row.hit.candidate.identity.artifact.artifact_id)
        for row in page.context["rows"]
    ]


def search(visitor, **values: str) -> Page:
    sent = {"family": "memory", "words": WORDS} | values
    page: Page = visitor.submit("search", sent)
    return page


def test_memories_and_entries_are_found_best_first(person):
    scope = make_scope("s")
    remember(scope, "zebra crossing", artifact_id="best")
    remember(scope, "zebra crossing and many other words here", artifact_id="good")
    collect(scope, [("e1", "v1", "zebra crossing of a collection")])
    old = remember(scope, "zebra crossing, forgotten", artifact_id="gone")
    memories.change_state(
        scope=scope,
        target=MemoryTarget(artifact=ref(old), state_version=0),
        state="forgotten",
        authorship=BY_TEST,
    )
    page = search(person(scope), scope="s")
    assert page.status == 200
    assert found(page)[0] == (1, "best")
    assert {name for _, name in found(page)} == {"best", "good", "memory"}
    entry = "id=memory&revision=1&entry=e1&entry_version=v1"
    assert any(entry in link for link in page.links)
    assert WORDS in page.html
    assert "zebra" not in "".join(page.links)


@pytest.mark.parametrize("family", ["experience", "topic-memory"])
def test_other_families_are_searched_alone(person, family):
    scope = make_scope("s")
    remember(scope, WORDS)
    write(scope, "experience", experience(WORDS), artifact_id="an-experience")
    write(scope, "topic-memory", topic(WORDS), artifact_id="a-topic-memory")
    page = search(person(scope), scope="s", family=family)
    assert [name.endswith(family) for _, name in found(page)] == [True]


def test_the_revision_of_a_hit_is_the_newest(person):
    scope = make_scope("s")
    row = remember(scope, WORDS, artifact_id="m")
    revise(row, {"kind": "fact", "text": f"{WORDS} again"})
    page = search(person(scope), scope="s")
    assert "revision 2" in page.text
    assert "id=m&revision=2" in "".join(page.links)


def test_results_go_on_with_their_ranks(person):
    scope = make_scope("s")
    for number in range(60):
        remember(scope, WORDS, artifact_id=f"m{number:02}")
    visitor = person(scope)
    page, ranks = search(visitor, scope="s"), []
    while True:
        ranks += found(page)
        if page.context["next_start"] is None:
            break
        page = search(visitor, scope="s", start=str(page.context["next_start"]))
    assert ranks == [(n + 1, f"m{n:02}") for n in range(60)]
    assert "Nothing more follows" in search(visitor, scope="s", start="900").text


def test_nothing_found_says_over_how_many(person):
    scope = make_scope("s")
    visitor = person(scope)
    assert "holds nothing active of this family" in search(visitor, scope="s").text
    remember(scope, "Another animal.")
    page = search(visitor, scope="s")
    assert page.status == 200
    assert "Nothing found." in page.text
    assert "ran over 1 text" in page.text


def test_a_failed_search_is_not_an_empty_one(person):
    """C-12: a projection that does not fit, and a table that is gone."""
    scope = make_scope("s")
    row = remember(scope, WORDS)
    visitor = person(scope)
    with hidden_tables("prepare_posting"):
        gone = search(visitor, scope="s")
    assert (gone.status, "Nothing found" in gone.text) == (503, False)
    revise(row, {"kind": "fact", "text": f"{WORDS} again"})
    SearchDocument.objects.update(revision=row)
    stale = search(visitor, scope="s")
    assert (stale.status, "stale-projection" in stale.text) == (503, True)


def test_another_scope_is_never_searched(person):
    """C-48, C-49."""
    own, other = make_scope("proj"), make_scope("proj1")
    remember(other, WORDS)
    visitor = person(own)
    assert "holds nothing active" in search(visitor, scope="proj").text
    for name in ("proj1", "proj%", "nothing"):
        assert search(visitor, scope=name).status == 403


@pytest.mark.parametrize(
    "wrong",
    [{"words": "  "}, {"words": "x" * 8193}, {"family": "prompt"}, {"scope": ""}],
)
def test_wrong_input_is_named_and_kept(person, wrong):
    page = search(person(make_scope("s")), **({"scope": "s"} | wrong))
    assert page.status == 422
    assert "Please correct this" in page.text
    assert "Nothing found" not in page.text


def test_a_search_writes_nothing(person):
    scope = make_scope("s")
    remember(scope, WORDS)
    visitor = person(scope)
    with nothing_written():
        assert len(found(search(visitor, scope="s"))) == 1
