"""Artifact heads, immutable revisions, evidence, candidates (contract C).

Content is canonical JSON kept as text: a JSON column of the MySQL family does not give
back the bytes that the digest was made of.
"""

from django.db import models

from prepare import limits
from prepare.models.base import AppendOnlyModel
from prepare.models.scopes import Scope


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
