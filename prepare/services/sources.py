"""Sources: raw evidence, written once, read exactly (contract C.1, wire section 6)."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prepare import limits
from prepare.errors import Conflict, InvalidRequest, SourceNotFound, Violation
from prepare.models import Scope, Source
from prepare.services import contents
from prepare.services.identifiers import check_name, new_identifier
from prepare.services.writing import write_transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContent:
    """`content` is any JSON value; `metadata` a JSON object."""

    source_type: str
    source_id: str | None
    content: Any
    metadata: dict[str, Any] | None = None


@write_transaction
def create_source(*, scope: Scope, source: SourceContent, now: datetime) -> Source:
    """Store a Source; the same id with the same content is the same Source.

    Raises `Conflict` (`source_conflict`) for the same id with other content.
    """
    source_id = source.source_id or new_identifier("src")
    check_name(source_id, limits.SOURCE_ID_CHARS, "source_id")
    check_name(source.source_type, limits.SOURCE_TYPE_CHARS, "source_type")
    content = contents.canonical_json(source.content)
    if len(content) > limits.SOURCE_CONTENT_CHARS:
        raise InvalidRequest(
            [Violation(type="too_large", loc=("body", "content"), msg="Too large")]
        )
    digest = contents.digest(content)
    # The Scope row is taken first, so that writers of one Scope queue: positions are
    # dense and never collide, and the same id twice at once is one Source.
    owner = Scope.objects.select_for_update().get(pk=scope.pk)
    existing = _find(scope, source.source_type, source_id)
    if existing is not None:
        if existing.content_digest != digest:
            raise Conflict(
                "The Source identity has different content.", code="source_conflict"
            )
        return existing
    position = owner.next_source_position
    owner.next_source_position += 1
    owner.save(update_fields=["next_source_position"])
    return Source.objects.create(
        scope=scope,
        source_type=source.source_type,
        source_id=source_id,
        content=content,
        metadata=contents.canonical_json(source.metadata or {}),
        content_digest=digest,
        position=position,
        created_at=now,
    )


def read_source(*, scope: Scope, source_type: str, source_id: str) -> Source:
    """Exactly this Source; raises `SourceNotFound`."""
    source = _find(scope, source_type, source_id)
    if source is None:
        raise SourceNotFound
    return source


def source_value(source: Source) -> Any:
    return json.loads(source.content)


def _find(scope: Scope, source_type: str, source_id: str) -> Source | None:
    row = Source.objects.filter(
        scope=scope, source_type=source_type, source_id=source_id
    ).first()
    return row if row is not None and row.source_id == source_id else None
