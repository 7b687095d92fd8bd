"""Write the whole search projection anew from the stored heads.

Part of the writer: heads and revisions stay as they are, and one transaction replaces
what finds them. Needed when the analysis changes, or when a health check says so.
"""

import json
from collections.abc import Callable, Iterable, Iterator

from django.db.models import F, QuerySet

from prepare import limits
from prepare.models import Artifact, ArtifactRevision, MemoryEntryVersion
from prepare.search import index
from prepare.search.index import IndexedText
from prepare.services import contents
from prepare.services.writing import write_transaction

_TEXTS_PER_WRITE = 200


def count_heads() -> int:
    """How many heads `rebuild_search` will go through."""
    return _searchable_heads().count()


@write_transaction
def rebuild_search(*, report: Callable[[int], object]) -> int:
    """Replace the projection; returns the number of documents.

    `report` is called with the number of heads done since the last call.
    """
    index.clear()
    documents = 0
    for family, texts in _batches(_texts(report)):
        index.add_documents(family=family, texts=texts)
        documents += len(texts)
    return documents


def _searchable_heads() -> QuerySet[ArtifactRevision]:
    """The current revisions of active heads, one pool's neighbours together."""
    return (
        ArtifactRevision.objects.filter(
            revision=F("artifact__revision"),
            artifact__lifecycle=Artifact.Lifecycle.ACTIVE,
            artifact__family__in=list(index.POOL_FAMILIES),
        )
        .select_related("artifact")
        .order_by("artifact__scope", "artifact__family", "pk")
    )


def _texts(report: Callable[[int], object]) -> Iterator[IndexedText]:
    for row in _searchable_heads().iterator(chunk_size=_TEXTS_PER_WRITE):
        if row.artifact.family == limits.MEMORY_COLLECTION:
            yield from _entry_texts(row)
        else:
            yield _text(row)
        report(1)


def _text(row: ArtifactRevision) -> IndexedText:
    content = json.loads(row.content)
    is_topic = row.artifact.family == limits.TOPIC_MEMORY
    return IndexedText(
        artifact=row.artifact,
        revision=row,
        text=contents.searchable_text(row.artifact.family, content),
        detail=content["detail"] if is_topic else None,
    )


def _entry_texts(row: ArtifactRevision) -> Iterator[IndexedText]:
    active = {
        entry["entry_version_id"]
        for entry in json.loads(row.content)["entries"]
        if entry["state"] == "active"
    }
    versions = MemoryEntryVersion.objects.filter(artifact=row.artifact).order_by("pk")
    for version in versions.iterator(chunk_size=_TEXTS_PER_WRITE):
        if version.entry_version_id in active:
            yield IndexedText(
                artifact=row.artifact,
                revision=row,
                text=version.text,
                entry_version=version,
            )


def _batches(texts: Iterable[IndexedText]) -> Iterator[tuple[str, list[IndexedText]]]:
    """Texts of one Scope and family, a bounded number at a time."""
    batch: list[IndexedText] = []
    for text in texts:
        if batch and (len(batch) == _TEXTS_PER_WRITE or _pool(batch[0]) != _pool(text)):
            yield batch[0].artifact.family, batch
            batch = []
        batch.append(text)
    if batch:
        yield batch[0].artifact.family, batch


def _pool(text: IndexedText) -> tuple[int, str]:
    return text.artifact.scope_id, text.artifact.family
