"""The search projection: pools, documents, postings, term counts."""

from django.db import models

from prepare import limits
from prepare.models.artifacts import Artifact, ArtifactRevision, MemoryEntryVersion
from prepare.models.scopes import Scope


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
