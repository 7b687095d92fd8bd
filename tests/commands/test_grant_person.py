"""`manage.py grant_person`: what a person sees in the Inspector (contract B.4)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management.base import CommandError

from prepare.models import PersonGrant
from prepare.services.access import Action, Principal, scopes_with
from tests import factories
from tests.commands.conftest import Printed

pytestmark = pytest.mark.django_db
Manage = Callable[..., Printed]


@pytest.fixture(autouse=True)
def enforced(settings: Any) -> None:
    settings.ACCESS_MODE = "enforced"


@pytest.fixture
def ann() -> User:
    return User.objects.create_superuser("ann")


def readable(person: User) -> list[str]:
    principal = Principal(name="ann", person_id=person.pk)
    rows = scopes_with(principal, Action.READ).order_by("scope_id")
    return list(rows.values_list("scope_id", flat=True))


def test_roles_are_given_and_taken_away(manage: Manage, ann: User) -> None:
    for name in ("a", "b", "c"):
        factories.make_scope(name)
    assert readable(ann) == []

    printed = manage("grant_person", "ann", "--scope=a", "--scope=b", "--scope=a")
    assert (printed.out, printed.err) == ("'ann': 2 roles given\n", "")
    assert readable(ann) == ["a", "b"]
    assert manage("grant_person", "ann", "--scope=a").out == "'ann': 0 roles given\n"
    manage("grant_person", "ann", "--scope=a", "--role=reviewer")

    gone = manage("grant_person", "ann", "--scope=b", "--role=viewer", "--revoke")
    assert gone.out == "'ann': 1 roles taken away\n"
    assert readable(ann) == ["a"]
    manage("grant_person", "ann", "--scope=a", "--role=viewer", "--revoke")
    assert readable(ann) == ["a"]  # as a reviewer
    manage("grant_person", "ann", "--scope=a", "--scope=c", "--revoke")
    assert readable(ann) == []


def test_only_that_person_gets_it(manage: Manage, ann: User) -> None:
    ben = User.objects.create_user("ben")
    factories.make_scope("a")
    manage("grant_person", "ann", "--scope=a")
    assert readable(ben) == []
    manage("grant_person", "ben", "--scope=a", "--revoke")
    assert readable(ann) == ["a"]


def test_a_note_where_roles_change_nothing(
    manage: Manage, ann: User, settings: Any
) -> None:
    settings.ACCESS_MODE = "disabled"
    factories.make_scope("a")
    assert "sees everything" in manage("grant_person", "ann", "--scope=a").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody", "--scope=a"], "No account is named 'nobody'."),
        (["nobody", "--scope=a", "--revoke"], "No account is named 'nobody'."),
        (["ann", "--scope=a", "--scope=nowhere"], "The requested Scope was not found."),
        (["ann"], "the following arguments are required: --scope"),
        (["ann", "--scope=a", "--role=king"], "invalid choice"),
    ],
)
def test_refusals(
    manage: Manage, ann: User, arguments: list[str], message: str
) -> None:
    factories.make_scope("a")
    with pytest.raises(CommandError, match=message):
        manage("grant_person", *arguments)
    assert not PersonGrant.objects.exists()
