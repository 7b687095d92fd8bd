"""What is stored: Scopes, tokens, artifact heads and their immutable revisions, and the
search projection. Rows are written by `prepare.services` only.

Identity columns compare by code point on every database (case-, accent- and
width-sensitive): SQLite's default, and the database collation on the MySQL family.
Content is canonical JSON kept as text, because a JSON column of the MySQL family does
not return the bytes that the digest was made of.
"""

from typing import Any, NoReturn

from django.db import models

from prepare import limits


class ImmutableRowError(TypeError):
    """An append-only row was to be changed or deleted; write a new revision instead."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """Refuses what would rewrite history."""

    def update(self, **kwargs: Any) -> NoReturn:
        raise ImmutableRowError(f"{self.model.__name__} rows are never updated.")

    def delete(self) -> NoReturn:
        raise ImmutableRowError(f"{self.model.__name__} rows are never deleted.")

    def bulk_update(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImmutableRowError(f"{self.model.__name__} rows are never updated.")


class AppendOnlyModel(models.Model):
    """A row that is inserted once. The database keeps no way around `save`/`delete`."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise ImmutableRowError(f"{type(self).__name__} rows are never updated.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImmutableRowError(f"{type(self).__name__} rows are never deleted.")


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


class Artifact(models.Model):
    """The head of one logical artifact: current revision and lifecycle (C.1, C.2)."""

    class Lifecycle(models.TextChoices):
        ACTIVE = "active"
        DEPRECATED = "deprecated"
        RETIRED = "retired"

    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="artifacts")
    family = models.CharField(max_length=limits.IDENTITY_CHARS)
    artifact_id = models.CharField(max_length=limits.IDENTITY_CHARS)
    revision = models.PositiveIntegerField()
    lifecycle = models.CharField(
        max_length=16, choices=Lifecycle.choices, default=Lifecycle.ACTIVE
    )
    state_version = models.PositiveIntegerField(default=0)
    merged_into = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="inputs"
    )
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "family", "artifact_id"], name="artifact_once"
            ),
            models.CheckConstraint(
                condition=models.Q(revision__gte=1), name="artifact_revision_positive"
            ),
            models.CheckConstraint(
                condition=models.Q(merged_into=None) | models.Q(lifecycle="deprecated"),
                name="artifact_merged_is_deprecated",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.family}/{self.artifact_id}@{self.revision}"

    @property
    def state(self) -> str:
        """The atomic-memory word for lifecycle and merge target (contract C.2)."""
        if self.lifecycle == self.Lifecycle.DEPRECATED:
            return "forgotten" if self.merged_into_id is None else "merged"
        return str(self.lifecycle)


class ArtifactRevision(AppendOnlyModel):
    """One immutable revision. `content` is RFC 8785 JSON, `content_digest` its hash."""

    artifact = models.ForeignKey(
        Artifact, on_delete=models.PROTECT, related_name="revisions"
    )
    revision = models.PositiveIntegerField()
    content = models.TextField()
    content_digest = models.CharField(max_length=71)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=128, blank=True)
    restored_from_revision = models.PositiveIntegerField(null=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["artifact", "revision"], name="revision_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.artifact_id}@{self.revision}"


class Source(AppendOnlyModel):
    """Raw evidence that artifacts cite; never part of prepared text (A-081)."""

    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="sources")
    source_type = models.CharField(max_length=limits.SOURCE_TYPE_CHARS)
    source_id = models.CharField(max_length=limits.SOURCE_ID_CHARS)
    content = models.TextField()
    metadata = models.TextField(default="{}")
    content_digest = models.CharField(max_length=71)
    position = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "source_type", "source_id"], name="source_once"
            ),
            models.UniqueConstraint(
                fields=["scope", "position"], name="source_position_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source_type}/{self.source_id}"


class SourceEvidence(AppendOnlyModel):
    """A revision's link to a Source of the same Scope, in order (contract C.1)."""

    revision = models.ForeignKey(
        ArtifactRevision, on_delete=models.PROTECT, related_name="source_evidence"
    )
    source = models.ForeignKey(
        Source, on_delete=models.PROTECT, related_name="cited_by"
    )
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["revision", "position"], name="source_evidence_position_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.revision_id} <- {self.source_id}"


class ArtifactEvidence(AppendOnlyModel):
    """A revision's link to an exact revision of the same Scope, in order."""

    revision = models.ForeignKey(
        ArtifactRevision, on_delete=models.PROTECT, related_name="artifact_evidence"
    )
    target = models.ForeignKey(
        ArtifactRevision, on_delete=models.PROTECT, related_name="cited_by"
    )
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["revision", "position"], name="artifact_evidence_position_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.revision_id} <- {self.target_id}"


class MemoryEntryVersion(AppendOnlyModel):
    """One immutable version of one entry of a Memory collection (contract C.3, J-2)."""

    artifact = models.ForeignKey(
        Artifact, on_delete=models.PROTECT, related_name="entry_versions"
    )
    entry_id = models.CharField(max_length=limits.IDENTITY_CHARS)
    entry_version_id = models.CharField(max_length=limits.IDENTITY_CHARS)
    version = models.PositiveIntegerField()
    previous = models.ForeignKey("self", null=True, on_delete=models.PROTECT)
    kind = models.CharField(max_length=limits.KIND_CHARS)
    text = models.TextField()
    content_digest = models.CharField(max_length=71)
    created_in_revision = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["artifact", "entry_version_id"], name="entry_version_once"
            ),
            models.UniqueConstraint(
                fields=["artifact", "entry_id", "version"], name="entry_version_number"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id}/{self.entry_version_id}"


class Candidate(models.Model):
    """A proposal under review; never recalled, never an Artifact (contract C.7)."""

    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        REJECTED = "rejected"

    scope = models.ForeignKey(
        Scope, on_delete=models.PROTECT, related_name="candidates"
    )
    candidate_id = models.CharField(max_length=limits.IDENTITY_CHARS)
    version = models.PositiveIntegerField(default=1)
    family = models.CharField(max_length=limits.IDENTITY_CHARS)
    status = models.CharField(
        max_length=16, choices=Status.choices, default=Status.PENDING
    )
    proposal = models.TextField()
    evidence = models.TextField(default="{}")
    target = models.ForeignKey(
        ArtifactRevision, null=True, on_delete=models.PROTECT, related_name="proposals"
    )
    reason = models.TextField(blank=True)
    result = models.ForeignKey(
        ArtifactRevision, null=True, on_delete=models.PROTECT, related_name="approvals"
    )
    decision_reason = models.TextField(blank=True)
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "candidate_id"], name="candidate_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.candidate_id} ({self.status})"


class SearchPool(models.Model):
    """Statistics of one searched family in one Scope; BM25 never looks further."""

    scope = models.ForeignKey(
        Scope, on_delete=models.PROTECT, related_name="search_pools"
    )
    family = models.CharField(max_length=32)
    documents = models.PositiveIntegerField(default=0)
    total_length = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope", "family"], name="pool_once")
        ]

    def __str__(self) -> str:
        return f"{self.scope_id}/{self.family}"


class SearchDocument(models.Model):
    """One searchable head, or one active entry of a collection head.

    Written with the head in one transaction, so a hit always is the current, active
    revision. `terms` holds what deleting the postings needs: packed 8-byte term keys.
    Bodies are not here: they come from the authoritative revision (C-12).
    """

    pool = models.ForeignKey(
        SearchPool, on_delete=models.PROTECT, related_name="documents_indexed"
    )
    artifact = models.ForeignKey(
        Artifact, on_delete=models.PROTECT, related_name="search_documents"
    )
    artifact_key = models.CharField(max_length=limits.IDENTITY_CHARS)
    entry_key = models.CharField(max_length=limits.IDENTITY_CHARS, default="")
    revision = models.ForeignKey(
        ArtifactRevision, on_delete=models.PROTECT, related_name="+"
    )
    entry_version = models.ForeignKey(
        MemoryEntryVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    length = models.IntegerField()
    terms = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["artifact", "entry_key"], name="search_document_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.artifact_key} {self.entry_key}".strip()


class SearchChunk(models.Model):
    """A range of a topic memory's detail that may become a snippet (contract C.6).

    The text itself stays in the revision; `terms` are packed 8-byte term keys.
    """

    document = models.ForeignKey(
        SearchDocument, on_delete=models.CASCADE, related_name="chunks"
    )
    position = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    terms = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "position"], name="chunk_once")
        ]

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start}:{self.end}]"


class Posting(models.Model):
    """`term` occurs `frequency` times in a document of `length` terms.

    Clustered by its key: one Scope's term is one range of rows. No foreign keys and no
    second index, they would double the table.
    """

    pk = models.CompositePrimaryKey("pool_id", "term", "document_id")
    pool_id = models.BigIntegerField()
    term = models.BigIntegerField()
    document_id = models.BigIntegerField()
    frequency = models.IntegerField()
    length = models.IntegerField()

    class Meta:
        db_table = "prepare_posting"

    def __str__(self) -> str:
        return f"{self.pool_id}/{self.term}/{self.document_id}"


class Term(models.Model):
    """In how many documents of a pool a term occurs; rows at 0 are dead."""

    pk = models.CompositePrimaryKey("pool_id", "term")
    pool_id = models.BigIntegerField()
    term = models.BigIntegerField()
    frequency = models.IntegerField()

    class Meta:
        db_table = "prepare_term"

    def __str__(self) -> str:
        return f"{self.pool_id}/{self.term}"
