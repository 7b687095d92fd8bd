"""Scopes in the admin: create, order references, edit at a version, delete if empty."""

import pytest
from django.db.models import QuerySet

from prepare.models import Scope
from prepare.services import scopes
from prepare.services.scopes import ExternalReference, ScopeFields
from tests.admin.pages import Browser
from tests.factories import NOW, make_scope, remember, source


def own_scopes() -> QuerySet[Scope]:
    """Without the server's own default Scope."""
    return Scope.objects.exclude(idempotency_key="powercontext.default-scope")


def references(scope_id: str) -> list[str]:
    rows = Scope.objects.get(scope_id=scope_id).context_references.order_by("position")
    return [row.target.scope_id for row in rows]


def test_create_with_own_id_and_ordered_references(admin: Browser) -> None:
    make_scope("team:b")
    make_scope("team:a")

    page = admin.open("scope_add").submit(
        scope_id="project:demo",
        title=" Demo ",
        summary="All about it.",
        references="team:b\nteam:a\n",
    )

    scope = Scope.objects.get(scope_id="project:demo")
    assert (scope.title, scope.summary, scope.version) == ("Demo", "All about it.", 1)
    assert references("project:demo") == ["team:b", "team:a"]
    assert page.messages == ["Saved project:demo."]


def test_generated_id(admin: Browser) -> None:
    admin.open("scope_add").submit(title="T", summary="S")

    assert own_scopes().get().scope_id.startswith("scp_")


def test_double_click_makes_one_scope(admin: Browser) -> None:
    page = admin.open("scope_add")

    page.submit(title="T", summary="S")
    page.submit(title="T", summary="S")

    assert own_scopes().count() == 1


def test_taken_id_is_a_form_error(admin: Browser) -> None:
    make_scope("project:demo")

    page = admin.open("scope_add").submit(
        scope_id="project:demo", title="Other", summary="S"
    )

    assert "exists already" in page.errors["__all__"][0]
    assert own_scopes().get().title == "Test"


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ("team:x", "Not found: team:x"),
        ("team:a\nteam:a", "Repeated: team:a"),
        ('"team:a', "A line in quotes is not a JSON string."),
        ("[1]", "Not found: [1]"),
        ('"a\\u0000b"', "A line in quotes is not a JSON string."),
    ],
)
def test_bad_references(admin: Browser, lines: str, error: str) -> None:
    make_scope("team:a")

    page = admin.open("scope_add").submit(title="T", summary="S", references=lines)

    assert page.errors == {"references": [error]}
    assert own_scopes().count() == 1


def test_self_reference_is_a_form_error(admin: Browser) -> None:
    scope = make_scope("a")

    page = admin.open("scope_change", scope.pk).submit(references="a")

    assert "invalid_scope_relationship" in page.errors["__all__"][0]
    assert references("a") == []


def test_change_reorders_and_keeps_what_the_form_does_not_show(
    admin: Browser,
) -> None:
    parent = make_scope("parent")
    for name in ("a", "b", "c"):
        make_scope(name)
    scope = scopes.create_scope(
        fields=ScopeFields(
            title="T",
            summary="S",
            parent_scope_id="parent",
            context_references=("a", "b"),
            external_references=(ExternalReference(kind="repo", value="demo"),),
        ),
        idempotency_key="k",
        now=NOW,
        scope_id="s",
    )

    page = admin.open("scope_change", scope.pk)
    assert page.fields()["references"] == ["a\r\nb"]
    page.submit(title="New", references="c\nb\na")

    scope.refresh_from_db()
    assert (scope.title, scope.summary, scope.version) == ("New", "S", 2)
    assert references("s") == ["c", "b", "a"]
    assert scope.parent == parent
    assert scope.external_references == [{"kind": "repo", "value": "demo"}]


def test_stale_form_says_so_and_writes_nothing(admin: Browser) -> None:
    scope = make_scope("s")
    stale = admin.open("scope_change", scope.pk)
    admin.open("scope_change", scope.pk).submit(title="First")

    page = stale.submit(title="Second")

    assert "Someone saved it after you opened this page" in page.errors["__all__"][0]
    assert "Second" in page.html  # the operator's text is not lost
    assert own_scopes().get().title == "First"
    again = page.submit(title="Second")
    assert "another version" in again.errors["__all__"][0]


@pytest.mark.parametrize(
    "name", ["two\nlines", "bidi\u202eend", '"quoted"', "a\u2028b"]
)
def test_odd_scope_ids_survive_the_text_area(admin: Browser, name: str) -> None:
    make_scope(name)
    scope = make_scope("s", references=[name])

    admin.open("scope_change", scope.pk).submit(title="Changed")

    assert references("s") == [name]
    assert Scope.objects.get(scope_id="s").title == "Changed"


def test_delete_only_an_empty_scope(admin: Browser) -> None:
    empty, full, cited = make_scope("empty"), make_scope("full"), make_scope("cited")
    evidence = make_scope("evidence", references=["cited"])
    remember(full, "Something.")
    source(evidence, "src")

    assert "deletelink" in admin.open("scope_change", empty.pk).html
    for scope in (full, cited, evidence):
        assert "deletelink" not in admin.open("scope_change", scope.pk).html
        assert admin.open("scope_delete", scope.pk).status == 403
    admin.open("scope_delete", empty.pk).submit()

    left = set(own_scopes().values_list("scope_id", flat=True))
    assert left == {"full", "cited", "evidence"}


def test_the_default_scope_stays(admin: Browser) -> None:
    default = scopes.default_scope()

    assert admin.open("scope_delete", default.pk).status == 403


def test_no_bulk_deletion(admin: Browser) -> None:
    scope = make_scope("s")

    page = admin.act("scope", "delete_selected", scope, post="yes")

    assert page.status == 200
    assert own_scopes().count() == 1


def test_view_only_page_shows_references(staff) -> None:
    make_scope("a")
    scope = make_scope("s", references=["a"])

    page = staff("view_scope").open("scope_change", scope.pk)

    assert ">a</a>" in page.html
    assert 'name="title"' not in page.html
