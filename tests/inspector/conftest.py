"""Persons at the Inspector, in access mode `enforced` with CSRF checked."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from prepare.models import Grant, PersonGrant, Scope
from tests.inspector.pages import Visitor

MakeVisitor = Callable[..., Visitor]


@pytest.fixture(autouse=True)
def _enforced(settings) -> None:
    settings.ACCESS_MODE = "enforced"


@pytest.fixture
def person(db: None) -> MakeVisitor:
    """Makes a signed-in person with `role` on exactly these Scopes."""

    def make(*scopes: Scope, role: str = Grant.Role.VIEWER, name: str = "") -> Visitor:
        user = User.objects.create_user(name or f"person-{User.objects.count()}")
        PersonGrant.objects.bulk_create(
            PersonGrant(person=user, scope=scope, role=role) for scope in scopes
        )
        client = Client(enforce_csrf_checks=True)
        client.force_login(user)
        return Visitor(client)

    return make


@pytest.fixture
def stranger(db: None) -> Visitor:
    """Somebody who has not signed in."""
    return Visitor(Client(enforce_csrf_checks=True))
