"""Persons at the Inspector, in access mode `enforced` with CSRF checked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from prepare.models import ArtifactRevision, Grant, PersonGrant, Scope
from tests.api import Api
from tests.factories import make_scope, remember
from tests.inspector.pages import Visitor
from tests.services.verification import ask

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


@pytest.fixture
def scope(db: None) -> Scope:
    return make_scope("s")


@dataclass(frozen=True, kw_only=True)
class Injected:
    """One memory of the Scope `s`, what was injected of it, and the receipt."""

    row: ArtifactRevision
    content: bytes
    receipt: dict[str, Any]


@pytest.fixture
def injected(settings: Any, api: Api, scope: Scope) -> Injected:
    row = remember(scope, "zebra one", artifact_id="m1")
    settings.ACCESS_MODE = "disabled"
    content, receipt = ask(api)
    settings.ACCESS_MODE = "enforced"
    return Injected(row=row, content=content, receipt=receipt)
