"""The search projection: documents and postings, written in the writer's transaction.

A pool is one searched family of one Scope. Its row is updated first, so writers of one
pool queue behind each other and nothing that follows can deadlock.
"""

import struct
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import F

from prepare import limits
from prepare.models import (
    Artifact,
    ArtifactRevision,
    MemoryEntryVersion,
    Posting,
    SearchChunk,
    SearchDocument,
    SearchPool,
    Term,
)
from prepare.search import vendors
from prepare.search.analysis import document_terms, term_key
from prepare.search.snippets import chunk_spans

# Stored family -> the selector whose search finds it. Profiles and prompts are read by
# name, never searched.
POOL_FAMILIES = {
    limits.ATOMIC_MEMORY: limits.MEMORY,
    limits.MEMORY_COLLECTION: limits.MEMORY,
    limits.EXPERIENCE: limits.EXPERIENCE,
    limits.TOPIC_MEMORY: limits.TOPIC_MEMORY,
}


_DOCUMENTS_PER_STATEMENT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedText:
    """One text to find: a revision, or one entry version of a collection revision."""

    artifact: Artifact
    revision: ArtifactRevision
    text: str
    entry_version: MemoryEntryVersion | None = None
    detail: str | None = None  # cut into snippet chunks; topic memories only


def pack_terms(keys: Collection[int]) -> bytes:
    """Sorted signed 64-bit keys, 8 bytes each."""
    return struct.pack(f"<{len(keys)}q", *sorted(keys))


def unpack_terms(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(packed) // 8}q", packed)


def add_documents(*, family: str, texts: Sequence[IndexedText]) -> None:
    """Make the texts findable. All belong to one Scope and one stored `family`."""
    if not texts:
        return
    scope_id = texts[0].artifact.scope_id
    pool, _ = SearchPool.objects.get_or_create(
        scope_id=scope_id, family=POOL_FAMILIES[family]
    )
    counted = [_count_terms(text.text) for text in texts]
    lengths = [sum(frequencies.values()) for frequencies in counted]
    SearchPool.objects.filter(pk=pool.pk).update(
        documents=F("documents") + len(texts),
        total_length=F("total_length") + sum(lengths),
    )
    documents = _create_documents(pool, texts, counted, lengths)
    rows: list[vendors.PostingRow] = []
    document_frequencies: Counter[int] = Counter()
    for document, frequencies in zip(documents, counted, strict=True):
        rows += [
            (pool.pk, term, document.pk, frequency, document.length)
            for term, frequency in frequencies.items()
        ]
        document_frequencies.update(frequencies.keys())
    vendors.insert_postings(rows)
    vendors.add_term_counts(pool.pk, document_frequencies)


def _count_terms(text: str) -> dict[int, int]:
    counts: Counter[int] = Counter()
    for term, frequency in document_terms(text).items():
        counts[term_key(term)] += frequency
    return counts


def _create_documents(
    pool: SearchPool,
    texts: Sequence[IndexedText],
    counted: Sequence[dict[int, int]],
    lengths: Sequence[int],
) -> list[SearchDocument]:
    documents = [
        SearchDocument(
            pool=pool,
            artifact=text.artifact,
            artifact_key=text.artifact.artifact_id,
            entry_key="" if text.entry_version is None else text.entry_version.entry_id,
            revision=text.revision,
            entry_version=text.entry_version,
            length=length,
            terms=pack_terms(frequencies),
        )
        for text, frequencies, length in zip(texts, counted, lengths, strict=True)
    ]
    _insert(documents)
    SearchChunk.objects.bulk_create(
        SearchChunk(
            document=document,
            position=position,
            start=start,
            end=end,
            terms=pack_terms(_count_terms(text.detail[start:end])),
        )
        for document, text in zip(documents, texts, strict=True)
        if text.detail is not None
        for position, (start, end) in enumerate(chunk_spans(text.detail))
    )
    return documents


def _insert(documents: Sequence[SearchDocument]) -> None:
    """One statement for many, with their keys, which not every database returns."""
    if len(documents) == 1:
        documents[0].save(force_insert=True)
        return
    SearchDocument.objects.bulk_create(documents, batch_size=_DOCUMENTS_PER_STATEMENT)
    if all(document.pk for document in documents):
        return
    stored = SearchDocument.objects.filter(
        artifact__in={document.artifact_id for document in documents}
    ).values_list("artifact_id", "entry_key", "pk")
    keys = {(artifact, entry): key for artifact, entry, key in stored}
    for document in documents:
        document.pk = keys[document.artifact_id, document.entry_key]


def remove_documents(documents: Sequence[SearchDocument]) -> None:
    """Take documents of one pool out of every search, by their own terms."""
    if not documents:
        return
    pool_id = documents[0].pool_id
    SearchPool.objects.filter(pk=pool_id).update(
        documents=F("documents") - len(documents),
        total_length=F("total_length") - sum(item.length for item in documents),
    )
    document_frequencies: Counter[int] = Counter()
    for document in documents:
        terms = unpack_terms(bytes(document.terms))
        document_frequencies.update(terms)
        for batch in range(0, len(terms), 1000):
            Posting.objects.filter(
                pool_id=pool_id,
                term__in=terms[batch : batch + 1000],
                document_id=document.pk,
            ).delete()
    vendors.add_term_counts(
        pool_id, {term: -count for term, count in document_frequencies.items()}
    )
    SearchDocument.objects.filter(pk__in=[item.pk for item in documents]).delete()


def remove_artifact(artifact: Artifact) -> None:
    remove_documents(list(SearchDocument.objects.filter(artifact=artifact)))


def move_collection(artifact: Artifact, revision: ArtifactRevision) -> None:
    """Unchanged entries are cited by the collection's new head revision (C.3)."""
    SearchDocument.objects.filter(artifact=artifact).update(revision=revision)


def clear() -> None:
    """Drop the whole projection; `rebuild_search` writes it anew."""
    Posting.objects.all().delete()
    Term.objects.all().delete()
    SearchChunk.objects.all().delete()
    SearchDocument.objects.all().delete()
    SearchPool.objects.all().delete()
