"""Scopes: only readable ones, found by their beginning, drawn with what they read."""

import pytest

from prepare.models import Grant, Scope
from prepare.services import overview
from prepare.services.access import LOCAL
from prepare.services.scopes import ScopeFields, update_scope
from tests.factories import (
    collect,
    experience,
    make_scope,
    propose,
    remember,
    source,
    write,
)
from tests.inspector.pages import Page

PREFIXES = ["proj", "proj1", "proj:1", "proj%", "proj_"]


def listed(page: Page) -> list[str]:
    return [card.scope_id for card in page.context["listing"].cards.rows]


def test_a_person_sees_exactly_the_readable_scopes(person):
    """C-48: of the others no name, no title, no count and no reference."""
    own = make_scope("own", title="Own title")
    hidden = make_scope("hidden", references=["own"], title="Hidden title")
    remember(hidden, "A secret.")
    page = person(own).open("scopes")
    assert listed(page) == ["own"]
    assert "1 Scope that you may read" in page.text
    assert "Hidden" not in page.html
    assert "hidden" not in page.text
    assert "None of these Scopes reads another one" in page.text


def test_a_role_that_configures_does_not_read(person):
    visitor = person(make_scope("own"), role=Grant.Role.ADMIN)
    assert "no Scope that you may read" in visitor.open("scopes").text
    assert visitor.open("scope", scope="own").status == 403


def test_without_a_readable_scope_the_page_says_how_to_get_one(person):
    """The same words, whether there are Scopes or none: that tells nothing."""
    visitor = person()
    empty = visitor.open("scopes")
    make_scope("hidden")
    assert visitor.open("scopes").text == empty.text
    assert "gives you a role on a Scope" in empty.text


def test_without_any_scope_the_page_says_how_to_make_one(settings, stranger):
    settings.ACCESS_MODE = "disabled"
    Scope.objects.all().delete()
    assert "There is no Scope yet" in stranger.open("scopes").text


@pytest.mark.parametrize(
    ("beginning", "expected"),
    [
        ("proj", sorted(PREFIXES)),
        ("proj1", ["proj1"]),
        ("proj%", ["proj%"]),
        ("proj_", ["proj_"]),
        ("proj:", ["proj:1"]),
        ("%", []),
        ("_roj", []),
        ("PROJ:", ["proj:1"]),
        ("harbor t", ["other"]),
        ("tracking", []),
    ],
)
def test_the_beginning_of_an_id_or_title_has_no_wildcards(person, beginning, expected):
    """C-49."""
    scopes = [make_scope(name) for name in PREFIXES]
    scopes.append(make_scope("other", title="Harbor tracking"))
    page = person(*scopes).open("scopes", beginning=beginning)
    assert listed(page) == expected
    assert ("No Scope that you may read begins so" in page.text) == (not expected)


@pytest.mark.parametrize("name", PREFIXES)
def test_similar_ids_are_different_scopes(person, name):
    """C-49: rights and counts of `proj` are not those of `proj1` or `proj%`."""
    scopes = {each: make_scope(each) for each in PREFIXES}
    remember(scopes["proj"], "A fact.", artifact_id="only")
    visitor = person(scopes[name])
    for other in PREFIXES:
        assert visitor.open("scope", scope=other).status == (
            200 if other == name else 403
        )
    rows = visitor.open("artifacts", scope=name).context["rows"]
    assert len(rows) == (1 if name == "proj" else 0)


@pytest.mark.parametrize(
    "name", ["a/b", "a b", "q\"uo'te", "100%25", "项目:甲", "a+b&c=d#e"]
)
def test_ids_with_any_characters_lead_to_their_pages(person, name):
    visitor = person(make_scope(name, title="Odd"))
    [link] = [one for one in visitor.open("scopes").links if "/scope?" in one][:1]
    page = visitor.get(link)
    assert page.status == 200
    assert page.context["scope"].scope_id == name
    for link in page.links:
        if "scope=" in link:
            assert visitor.get(link).status == 200


def test_pages_of_scopes_are_stable(person):
    scopes = [make_scope(f"s{number:03}") for number in range(90)]
    visitor = person(*scopes)
    page = visitor.open("scopes")
    found = listed(page)
    assert page.context["drawing"] is None
    assert "too many for one drawing" in page.text
    make_scope("s0000")  # one more, before what comes next and not readable
    while page.context["next_url"]:
        page = visitor.get(page.context["next_url"])
        found += listed(page)
    assert found == [scope.scope_id for scope in scopes]


def test_a_scope_shows_what_it_holds(person):
    scope = make_scope("s", title="A title")
    remember(scope, "One.")
    collect(scope, [("e1", "v1", "Entry."), ("e2", "v2", "Entry.")])
    write(scope, "experience", experience("Lesson."))
    propose(scope, "experience", experience("Other."))
    source(scope, "one")
    page = person(scope).open("scope", scope="s")
    shown = page.context["scope"]
    counted = {one.family: (one.total, one.entries) for one in shown.families}
    assert counted == {
        "atomic-memory": (1, 0),
        "memory": (1, 2),
        "experience": (1, 0),
        "profile": (0, 0),
        "topic-memory": (0, 0),
        "prompt": (0, 0),
    }
    assert (shown.pending, shown.decided, shown.sources) == (1, 0, 2)
    assert "2026-03-01 12:00:00 UTC" in page.text
    assert "/inspector/try?scope=s" in page.links
    assert "/inspector/candidates?scope=s&status=pending" in page.links


def test_references_are_shown_in_order_and_hidden_ones_without_a_name(person):
    """C-48: that there is one explains a 403; how many and where stays unsaid."""
    for name in ("b", "a", "hidden-1", "hidden-2"):
        make_scope(name, title=f"Title {name}")
    scope = make_scope("s", references=["hidden-1", "b", "hidden-2", "a"])
    make_scope("reader", references=["s"])
    make_scope("secret-reader", references=["s"])
    readable = Scope.objects.filter(scope_id__in=["s", "a", "b", "reader"])
    page = person(*readable).open("scope", scope="s")
    shown = page.context["scope"]
    assert [one.scope_id for one in shown.reads] == ["b", "a"]
    assert [one.scope_id for one in shown.read_by.rows] == ["reader"]
    assert page.text.count("a Scope you may not read") == 1
    assert "hidden-" not in page.html
    assert "secret" not in page.html
    everything = overview.read_scope(principal=LOCAL, scope_id=scope.scope_id)
    assert len(everything.reads) == 4
    assert not everything.hides_reference


def test_parent_and_children_are_shown_if_readable(person):
    parent, child = make_scope("parent"), make_scope("child")
    scope, hidden = make_scope("s"), make_scope("hidden-child")
    for row, above in ((scope, "parent"), (child, "s"), (hidden, "s")):
        update_scope(
            scope=row,
            fields=ScopeFields(title="T", summary="S", parent_scope_id=above),
            expected_version=1,
        )
    shown = person(parent, scope, child).open("scope", scope="s").context["scope"]
    assert shown.parent.scope_id == "parent"
    assert [one.scope_id for one in shown.children.rows] == ["child"]
    assert person(scope).open("scope", scope="s").context["scope"].parent is None


def test_a_missing_and_a_forbidden_scope_look_the_same(person):
    make_scope("hidden")
    visitor = person(make_scope("own"))
    for name in ("scope", "artifacts", "sources", "candidates"):
        denied = visitor.open(name, scope="hidden")
        assert denied.status == 403
        assert denied.text == visitor.open(name, scope="nothing").text


def test_a_scope_that_is_missing_or_repeated_in_the_address_is_refused(person):
    visitor = person(make_scope("own"))
    lacking = visitor.open("scope")
    assert (lacking.status, "lacks “scope”" in lacking.text) == (400, True)
    twice = visitor.get("/inspector/scope?scope=own&scope=own")
    assert (twice.status, "more than once" in twice.text) == (400, True)
