"""The accounts page: which roles on which Scopes a person has (contract B.4)."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from prepare.models import PersonGrant, Scope
from prepare.services.access import Action, Principal, scopes_with
from tests.admin.pages import Browser, Page
from tests.factories import make_scope


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


def account(browser: Browser, person: User) -> Page:
    return browser.get(f"/admin/auth/user/{person.pk}/change/")


def roles(person: User) -> set[tuple[str, str]]:
    rows = PersonGrant.objects.filter(person=person)
    return set(rows.values_list("scope__scope_id", "role"))


def readable(person: User) -> list[Scope]:
    principal = Principal(name=person.username, person_id=person.pk)
    return list(scopes_with(principal, Action.READ))


def add(page: Page, *rows: tuple[Any, str], **values: str) -> Page:
    sent: dict[str, Any] = {}
    held = int(page.fields()["scope_grants-INITIAL_FORMS"][0])
    for index, (scope, role) in enumerate(rows, start=held):
        sent[f"scope_grants-{index}-scope"] = str(getattr(scope, "pk", scope))
        sent[f"scope_grants-{index}-role"] = role
    sent["scope_grants-TOTAL_FORMS"] = str(held + len(rows))
    return page.submit(**sent, **values)


def test_roles_are_added_and_removed(admin: Browser, ann: User) -> None:
    old, new = make_scope("old"), make_scope("new")
    assert readable(ann) == []

    add(account(admin, ann), (old, "viewer"), (new, "admin"))
    assert roles(ann) == {("old", "viewer"), ("new", "admin")}
    assert readable(ann) == [old]  # scope.admin does not read

    add(account(admin, ann), (new, "reviewer"), **{"scope_grants-0-DELETE": "on"})
    assert roles(ann) == {("new", "admin"), ("new", "reviewer")}
    assert readable(ann) == [new]


def test_a_role_is_never_altered(admin: Browser, ann: User) -> None:
    scope, other = make_scope("s"), make_scope("other")
    add(account(admin, ann), (scope, "viewer"))

    page = account(admin, ann)
    assert "scope_grants-0-role" not in page.fields()
    page.submit(
        **{"scope_grants-0-role": "admin", "scope_grants-0-scope": str(other.pk)}
    )

    assert roles(ann) == {("s", "viewer")}


@pytest.mark.parametrize("scope", ["word", "99999999999999999999999", "-1", ""])
def test_an_unknown_scope_writes_nothing(admin: Browser, ann: User, scope: str) -> None:
    page = add(account(admin, ann), (scope, "viewer"))
    assert page.status == 200
    assert roles(ann) == set()


def test_a_repeated_role_writes_nothing(admin: Browser, ann: User) -> None:
    scope = make_scope("s")
    page = add(account(admin, ann), (scope, "viewer"), (scope, "viewer"))
    assert "duplicate" in page.html
    assert roles(ann) == set()


def test_the_page_says_what_roles_are(admin: Browser, operator: User) -> None:
    make_scope("s")
    page = account(admin, operator)
    assert "superuser is no role on any Scope" in page.html
    assert "everyone on this machine sees every Scope" in page.html
    assert readable(operator) == []


def test_a_new_account_gets_its_roles_afterwards(admin: Browser) -> None:
    page = admin.get("/admin/auth/user/add/")
    assert "Scope roles" not in page.html
    password = "long enough words"
    saved = page.submit(username="ben", password1=password, password2=password)
    assert "Scope roles" in saved.html


def test_the_list_counts_roles(admin: Browser, ann: User) -> None:
    add(account(admin, ann), (make_scope("a"), "viewer"), (make_scope("b"), "viewer"))
    listed = admin.get("/admin/auth/user/", q="ann")
    assert '<td class="field-role_count">2</td>' in listed.html


def test_staff_need_the_permission(staff, ann: User) -> None:
    scope = make_scope("s")
    browser = staff("view_user", "change_user")
    page = account(browser, ann)
    assert "Scope roles" not in page.html
    page.submit(
        **{
            "scope_grants-TOTAL_FORMS": "1",
            "scope_grants-INITIAL_FORMS": "0",
            "scope_grants-0-scope": str(scope.pk),
            "scope_grants-0-role": "viewer",
        }
    )
    assert roles(ann) == set()
