"""Scopes, their references and bindings, tokens and grants (contract B.1, B.2, B.4)."""

from django.conf import settings
from django.db import models

from prepare import limits


class Scope(models.Model):
    """The only durable ownership boundary (contract B.1)."""

    scope_id = models.CharField(max_length=limits.SCOPE_ID_CHARS, unique=True)
    title = models.CharField(max_length=limits.TITLE_CHARS)
    summary = models.TextField()
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )
    external_references = models.JSONField(default=list, blank=True)
    version = models.PositiveIntegerField(default=1)
    idempotency_key = models.CharField(
        max_length=limits.IDEMPOTENCY_KEY_CHARS, unique=True
    )
    idempotency_digest = models.CharField(max_length=71)
    next_source_position = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.scope_id


class ServerState(models.Model):
    """One row: this server's public id and its default Scope (J-27)."""

    server_id = models.UUIDField()
    default_scope = models.ForeignKey(
        Scope, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    def __str__(self) -> str:
        return str(self.server_id)


class ContextReference(models.Model):
    """`scope` may read `target` in prepare; order as configured (B.2, H-2)."""

    scope = models.ForeignKey(
        Scope, on_delete=models.CASCADE, related_name="context_references"
    )
    target = models.ForeignKey(
        Scope, on_delete=models.PROTECT, related_name="referenced_by"
    )
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "position"], name="reference_position_once"
            ),
            models.UniqueConstraint(
                fields=["scope", "target"], name="reference_target_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.scope_id} -> {self.target_id}"


class ScopeBinding(models.Model):
    """A durable external key of a Scope (contract B.1, J-27)."""

    integration = models.CharField(max_length=128)
    kind = models.CharField(max_length=64)
    external_id = models.CharField(max_length=256)
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="bindings")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["integration", "kind", "external_id"], name="binding_key_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.integration}/{self.kind}/{self.external_id}"


class Token(models.Model):
    """A principal that authenticates with a bearer token, stored hashed (J-12)."""

    name = models.CharField(max_length=128, unique=True)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    is_server_admin = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class Grant(models.Model):
    """One role of one token on one Scope (contract B.4)."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        CONTRIBUTOR = "contributor"
        REVIEWER = "reviewer"
        DELEGATOR = "delegator"
        ADMIN = "admin"

    token = models.ForeignKey(Token, on_delete=models.CASCADE, related_name="grants")
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="grants")
    role = models.CharField(max_length=16, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["token", "scope", "role"], name="grant_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.token_id}: {self.role}"


class PersonGrant(models.Model):
    """One role of one person on one Scope: what the Inspector shows that person."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="scope_grants"
    )
    scope = models.ForeignKey(
        Scope, on_delete=models.CASCADE, related_name="person_grants"
    )
    role = models.CharField(max_length=16, choices=Grant.Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "scope", "role"], name="person_grant_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.person_id}: {self.role}"
