"""Tokens: shown once, stored hashed, granted per Scope, revoked (J-12)."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from prepare.errors import Conflict, Unauthorized
from prepare.models import Grant, Token
from prepare.services import access
from tests.admin.pages import Browser, page_url
from tests.factories import make_scope, token


def grants(*rows: tuple[Any, str]) -> dict[str, Any]:
    """The inline as a browser sends it after "Add another Grant"."""
    sent: dict[str, Any] = {"grants-TOTAL_FORMS": str(len(rows))}
    for index, (scope, role) in enumerate(rows):
        sent[f"grants-{index}-scope"] = str(getattr(scope, "pk", scope))
        sent[f"grants-{index}-role"] = role
    return sent


def create(admin: Browser, name: str, *rows: tuple[Any, str], **values: Any):
    return admin.open("token_add").submit(name=name, **grants(*rows), **values)


def shown_tokens(html: str) -> list[str]:
    return re.findall(r"pct_[\w-]+", html)


def test_created_token_works_and_is_shown_once(admin: Browser) -> None:
    reads, reviews = make_scope("reads"), make_scope("reviews")

    page = create(admin, "ci", (reads, "viewer"), (reviews, "reviewer"))

    [secret] = shown_tokens(page.html)
    row = Token.objects.get()
    assert row.digest == access.hash_token(secret)
    assert secret not in str(Token.objects.values().get())
    assert set(Grant.objects.values_list("scope__scope_id", "role")) == {
        ("reads", "viewer"),
        ("reviews", "reviewer"),
    }
    principal = access.authenticate(secret, service_token="")
    assert (principal.name, principal.is_server_admin) == ("ci", False)

    assert "no-store" in page.headers["Cache-Control"]
    assert not shown_tokens(str(admin.client.cookies))
    for name, key in (("token_changelist", ()), ("token_change", (row.pk,))):
        assert not shown_tokens(admin.open(name, *key).html)
    assert not shown_tokens(str(LogEntry.objects.values()))


def test_server_admin(admin: Browser) -> None:
    [secret] = shown_tokens(create(admin, "root", is_server_admin="on").html)

    assert access.authenticate(secret, service_token="").is_server_admin


def test_taken_name_is_a_form_error(admin: Browser) -> None:
    token("ci")

    page = create(admin, "ci")

    assert "already exists" in page.errors["name"][0]
    assert Token.objects.count() == 1


def test_repeated_grant_writes_nothing(admin: Browser) -> None:
    scope = make_scope("s")

    page = create(admin, "ci", (scope, "viewer"), (scope, "viewer"))

    assert not shown_tokens(page.html)
    assert "duplicate" in page.html
    assert Token.objects.count() == 0


@pytest.mark.parametrize("scope", ["word", "99999999999999999999999", "-1", ""])
def test_unknown_scope_writes_nothing(admin: Browser, scope: str) -> None:
    page = create(admin, "ci", (scope, "viewer"))

    assert page.status == 200
    assert Token.objects.count() == 0


def test_grants_are_added_and_removed(admin: Browser) -> None:
    old, new = make_scope("old"), make_scope("new")
    token("ci", old)
    row = Token.objects.get()

    page = admin.open("token_change", row.pk)
    page.submit(
        **{
            "grants-TOTAL_FORMS": "2",
            "grants-0-DELETE": "on",
            "grants-1-scope": str(new.pk),
            "grants-1-role": "contributor",
        }
    )

    [grant] = Grant.objects.all()
    assert (grant.scope, grant.role) == (new, "contributor")


def test_digest_and_name_are_not_editable(admin: Browser) -> None:
    token("ci")
    row = Token.objects.get()

    page = admin.open("token_change", row.pk)
    page.submit(digest="0" * 64, name="other", revoked_at="2020-01-01")

    again = Token.objects.get()
    assert (again.name, again.digest, again.revoked_at) == ("ci", row.digest, None)
    assert row.digest not in page.html


def test_revoke(admin: Browser) -> None:
    secret = token("ci")
    row = Token.objects.get()

    page = admin.open("token_change", row.pk).press("revoke")

    assert page.messages == ["Revoked: 1."]
    with pytest.raises(Unauthorized):
        access.authenticate(secret, service_token="")
    assert admin.act("token", "revoke", row).messages == ["Nothing to change: 1."]


def test_no_deletion(admin: Browser) -> None:
    token("ci")
    row = Token.objects.get()

    assert admin.get(page_url("token_delete", row.pk)).status == 403
    admin.act("token", "delete_selected", row, post="yes")

    assert Token.objects.count() == 1


def test_lost_race_is_a_message(
    admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**values: Any) -> str:
        raise Conflict("A token named 'ci' exists already.")

    monkeypatch.setattr("prepare.services.access.create_token", refuse)

    page = create(admin, "ci")

    assert page.messages == ["A token named 'ci' exists already."]
    assert Token.objects.count() == 0
