"""`manage.py create_token` and `revoke_token` (J-12, C-73)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management.base import CommandError

from prepare.errors import Unauthorized
from prepare.models import Grant, Token
from prepare.services.access import authenticate
from tests import factories
from tests.commands.conftest import Printed

pytestmark = pytest.mark.django_db
Manage = Callable[..., Printed]


@pytest.fixture(autouse=True)
def enforced(settings: Any) -> None:
    settings.ACCESS_MODE = "enforced"


def test_the_token_alone_is_printed_and_works(manage: Manage, api: Any) -> None:
    scope = factories.make_scope("项目")
    factories.remember(scope, "some words")
    factories.make_scope("hidden")
    printed = manage("create_token", "reader", "--scope", "项目", "--scope", "项目")
    token = printed.out.removesuffix("\n")
    assert token.isascii()
    assert len(token.split()) == 1
    assert token not in printed.err
    assert printed.err == "token 'reader', shown this once\nviewer of 项目\n"

    reader = api.with_token(token)
    assert reader.prepare("项目", "words").body["status"] == "ready"
    assert reader.prepare("hidden", "words").status == 403
    row = Token.objects.get()
    assert token not in (row.digest, row.name)

    assert manage("revoke_token", "reader").out == "revoked 'reader'\n"
    assert reader.prepare("项目", "words").status == 401
    with pytest.raises(CommandError, match="No active token is named 'reader'"):
        manage("revoke_token", "reader")


def test_roles_and_server_admin(manage: Manage) -> None:
    factories.make_scope("a")
    factories.make_scope("b")
    options = ["--scope=a", "--scope=b", "--role=reviewer", "--server-admin"]
    printed = manage("create_token", "boss", *options)
    assert authenticate(printed.out.strip(), service_token="").is_server_admin
    assert list(Grant.objects.values_list("scope__scope_id", "role")) == [
        ("a", "reviewer"),
        ("b", "reviewer"),
    ]
    assert printed.err.splitlines()[1:] == [
        "reviewer of a",
        "reviewer of b",
        "server admin",
    ]


def test_notes_on_what_will_not_work(manage: Manage, settings: Any) -> None:
    settings.ACCESS_MODE = "disabled"
    notes = manage("create_token", "useless").err
    assert "it may do nothing: give --scope or --server-admin" in notes
    assert "no token is asked for until POWERCONTEXT_SERVER_ACCESS_MODE" in notes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["known"], "A token named 'known' exists already."),
        (["new", "--scope=nowhere"], "The requested Scope was not found."),
        (["new", "--role=admin"], "--role goes with --scope."),
        (["new", "--role=king", "--scope=s"], "invalid choice"),
        ([""], "NAME: 1 to 128 characters"),
        ([" new"], "NAME: 1 to 128 characters"),
        (["x" * 129], "NAME: 1 to 128 characters"),
    ],
)
def test_refusals(manage: Manage, arguments: list[str], message: str) -> None:
    manage("create_token", "known")
    with pytest.raises(CommandError, match=message):
        manage("create_token", *arguments)
    assert Token.objects.count() == 1


def test_a_revoked_token_is_unauthorized(manage: Manage) -> None:
    token = manage("create_token", "gone").out.strip()
    manage("revoke_token", "gone")
    with pytest.raises(Unauthorized):
        authenticate(token, service_token="")
