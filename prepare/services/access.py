"""Who may do what: principals, roles, and one batched decision per request (B.4).

In access mode `disabled` there is no principal and no check (J-12). In `enforced` mode
a denied Scope and a missing Scope look the same to the caller (J-3).
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from prepare.errors import Conflict, Forbidden, NotFound, Unauthorized
from prepare.models import Grant, PersonGrant, Scope, Token
from prepare.services.writing import write_transaction

Role = Grant.Role


class Action(StrEnum):
    READ = "scope.read"
    CONTRIBUTE = "scope.contribute"
    REVIEW = "scope.review"
    DELEGATE = "scope.delegate"
    ADMIN = "scope.admin"


# scope.admin configures a Scope and does not read it (contract B.4).
_ROLES_WITH = {
    Action.READ: (Role.VIEWER, Role.CONTRIBUTOR, Role.REVIEWER, Role.DELEGATOR),
    Action.CONTRIBUTE: (Role.CONTRIBUTOR,),
    Action.REVIEW: (Role.REVIEWER,),
    Action.DELEGATE: (Role.DELEGATOR,),
    Action.ADMIN: (Role.ADMIN,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is asking: a token, or a person signed in to the Inspector.

    `unrestricted` is access mode `disabled`; without either id it is the configured
    service token, which has no grants of its own."""

    name: str
    token_id: int | None = None
    person_id: int | None = None
    is_server_admin: bool = False
    unrestricted: bool = False

    # DRF asks its request.user for this.
    @property
    def is_authenticated(self) -> bool:
        return True


LOCAL = Principal(name="local", is_server_admin=True, unrestricted=True)


def authenticate(token: str, *, service_token: str) -> Principal:
    """The principal of a bearer token; raises `Unauthorized`."""
    if service_token and hmac.compare_digest(token.encode(), service_token.encode()):
        return Principal(name="service", is_server_admin=True)
    row = Token.objects.filter(digest=hash_token(token), revoked_at=None).first()
    if row is None:
        raise Unauthorized
    return Principal(
        name=row.name, token_id=row.pk, is_server_admin=row.is_server_admin
    )


def hash_token(token: str) -> str:
    """Tokens carry 256 random bits, so one fast hash is enough to store."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


@write_transaction
def create_token(
    *,
    name: str,
    now: datetime,
    is_server_admin: bool = False,
    scopes: Collection[Scope] = (),
    role: str = Role.VIEWER,
) -> str:
    """Create a principal; returns the token, which is shown this once (J-12)."""
    if Token.objects.filter(name=name).exists():
        raise Conflict(f"A token named {name!r} exists already.")
    token = f"pct_{secrets.token_urlsafe(32)}"
    row = Token.objects.create(
        name=name,
        digest=hash_token(token),
        is_server_admin=is_server_admin,
        created_at=now,
    )
    Grant.objects.bulk_create(
        Grant(token=row, scope=scope, role=role) for scope in scopes
    )
    return token


def revoke_token(*, name: str, now: datetime) -> None:
    active = Token.objects.filter(name=name, revoked_at=None)
    # Compared once more: a database that pads would find `a` for `a `.
    if name not in active.values_list("name", flat=True):
        raise NotFound(f"No active token is named {name!r}.")
    active.update(revoked_at=now)


@write_transaction
def grant_person(*, username: str, scopes: Collection[Scope], role: str) -> int:
    """Give a person the role on each Scope; returns on how many it is new.

    Raises `NotFound` for an unknown user name.
    """
    person = _find_person(username)
    held = PersonGrant.objects.filter(person=person, scope__in=scopes, role=role)
    known = set(held.values_list("scope_id", flat=True))
    new = [scope for scope in scopes if scope.pk not in known]
    PersonGrant.objects.bulk_create(
        PersonGrant(person=person, scope=scope, role=role) for scope in new
    )
    return len(new)


def revoke_person(
    *, username: str, scopes: Collection[Scope], role: str | None = None
) -> int:
    """Take the role, or every role, on each Scope away; returns how many were held."""
    held = PersonGrant.objects.filter(person=_find_person(username), scope__in=scopes)
    if role is not None:
        held = held.filter(role=role)
    return held.delete()[0]


def _find_person(username: str) -> User:
    person = User.objects.filter(username=username).first()
    if person is None:
        raise NotFound(f"No account is named {username!r}.")
    return person


def allowed_scopes(
    principal: Principal, action: Action, scope_ids: Collection[int]
) -> set[int]:
    """Which of these Scopes (primary keys) the principal may act on; one query."""
    if principal.unrestricted:
        return set(scope_ids)
    if not scope_ids:
        return set()
    return set(_granted(principal, action).filter(scope_id__in=scope_ids))


def _granted(principal: Principal, action: Action) -> QuerySet[Any, int]:
    """Primary keys of the Scopes that the principal's roles allow this in."""
    grants: QuerySet[Any] = Grant.objects.none()
    if principal.person_id is not None:
        grants = PersonGrant.objects.filter(person_id=principal.person_id)
    elif principal.token_id is not None:
        grants = Grant.objects.filter(token_id=principal.token_id)
    roles = _ROLES_WITH[action]
    return grants.filter(role__in=roles).values_list("scope_id", flat=True)


def scopes_with(principal: Principal, action: Action) -> QuerySet[Scope]:
    """Every Scope that the principal may act on."""
    if principal.unrestricted:
        return Scope.objects.all()
    return Scope.objects.filter(pk__in=_granted(principal, action))


def require(principal: Principal, action: Action, scopes: Collection[Scope]) -> None:
    """All or nothing over the Scopes; raises `Forbidden` (A-180, A-181)."""
    wanted = {scope.pk for scope in scopes}
    if allowed_scopes(principal, action, wanted) != wanted:
        raise Forbidden


def require_server_admin(principal: Principal) -> None:
    if not principal.is_server_admin:
        raise Forbidden
