"""What is stored. Rows are written by `prepare.services` only.

Identity columns compare by code point on every database (case-, accent- and
width-sensitive): SQLite's default, and the database collation on the MySQL family.
Django finds models in this package, so it names them all.
"""

from prepare.models.artifacts import (
    Artifact,
    ArtifactEvidence,
    ArtifactRevision,
    Candidate,
    MemoryEntryVersion,
    Source,
    SourceEvidence,
)
from prepare.models.base import (
    AppendOnlyModel,
    AppendOnlyQuerySet,
    ImmutableRowError,
)
from prepare.models.scopes import (
    ContextReference,
    Grant,
    PersonGrant,
    Scope,
    ScopeBinding,
    ServerState,
    Token,
)
from prepare.models.search import (
    Posting,
    SearchChunk,
    SearchDocument,
    SearchPool,
    Term,
)

__all__ = [
    "AppendOnlyModel",
    "AppendOnlyQuerySet",
    "Artifact",
    "ArtifactEvidence",
    "ArtifactRevision",
    "Candidate",
    "ContextReference",
    "Grant",
    "ImmutableRowError",
    "MemoryEntryVersion",
    "PersonGrant",
    "Posting",
    "Scope",
    "ScopeBinding",
    "SearchChunk",
    "SearchDocument",
    "SearchPool",
    "ServerState",
    "Source",
    "SourceEvidence",
    "Term",
    "Token",
]
