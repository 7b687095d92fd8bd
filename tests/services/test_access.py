"""Principals and roles (contract B.4, J-12)."""

import pytest

from prepare.errors import Conflict, Forbidden, NotFound, Unauthorized
from prepare.models import Grant, Scope, Token
from prepare.services import access
from prepare.services.access import LOCAL, Action, Principal
from tests.api import Api
from tests.factories import NOW, make_scope, remember, token
from tests.queries import captured_tables

READERS = {"viewer", "contributor", "reviewer", "delegator"}


@pytest.fixture
def scope(db) -> Scope:
    return make_scope("s")


def principal(secret: str) -> Principal:
    return access.authenticate(secret, service_token="")


@pytest.mark.clause("A-180")
@pytest.mark.parametrize("role", Grant.Role.values)
def test_what_a_role_allows(scope, role) -> None:
    other = make_scope("other")
    caller = principal(token("t", scope, role=role))
    allowed = {
        action
        for action in Action
        if access.allowed_scopes(caller, action, {scope.pk, other.pk})
    }
    own = {
        "viewer": set(),
        "contributor": {Action.CONTRIBUTE},
        "reviewer": {Action.REVIEW},
        "delegator": {Action.DELEGATE},
        "admin": {Action.ADMIN},
    }
    assert allowed == own[role] | ({Action.READ} if role in READERS else set())


@pytest.mark.clause("A-180", "A-181")
def test_decisions_are_all_or_nothing_in_one_statement(scope) -> None:
    rows = [scope, *(make_scope(f"r{number}") for number in range(20))]
    caller = principal(token("t", *rows))
    with captured_tables() as found:
        access.require(caller, Action.READ, rows)
    assert found == ["grant"]
    with pytest.raises(Forbidden):
        access.require(caller, Action.READ, [*rows, make_scope("hidden")])
    access.require(LOCAL, Action.READ, rows)


@pytest.mark.parametrize("is_admin", [True, False])
def test_server_admin_and_service_token_read_no_content(scope, is_admin) -> None:
    service = access.authenticate("secret", service_token="secret")
    admin = principal(token("t", server_admin=is_admin))
    for caller in (service, admin):
        with pytest.raises(Forbidden):
            access.require(caller, Action.READ, [scope])
    access.require_server_admin(service)
    if is_admin:
        access.require_server_admin(admin)
    else:
        with pytest.raises(Forbidden):
            access.require_server_admin(admin)


def test_tokens_are_stored_hashed_and_can_be_revoked(scope) -> None:
    secret = token("t", scope)
    row = Token.objects.get()
    assert secret not in (row.digest, row.name)
    assert row.digest == access.hash_token(secret)
    assert principal(secret).name == "t"
    with pytest.raises(Conflict):
        token("t")
    for wrong in ("", secret[:-1], secret.upper(), row.digest):
        with pytest.raises(Unauthorized):
            principal(wrong)
    access.revoke_token(name="t", now=NOW)
    with pytest.raises(Unauthorized):
        principal(secret)
    with pytest.raises(NotFound):
        access.revoke_token(name="t", now=NOW)


@pytest.mark.clause("A-180", "A-187")
def test_revoked_grants_count_at_once(api: Api, scope, settings) -> None:
    remember(scope, "zebra")
    settings.ACCESS_MODE = "enforced"
    caller = api.with_token(token("t", scope))
    assert caller.prepare("s", "zebra").status == 200
    Grant.objects.all().delete()
    assert caller.prepare("s", "zebra").status == 403
