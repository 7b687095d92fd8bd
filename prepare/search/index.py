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
    rows: list[vendors.PostingRow] = []
    document_frequencies: Counter[int] = Counter()
    for text, frequencies, length in zip(texts, counted, lengths, strict=True):
        document = _create_document(pool, text, frequencies, length)
        rows += [
            (pool.pk, term, document.pk, frequency, length)
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


def _create_document(
    pool: SearchPool, text: IndexedText, frequencies: dict[int, int], length: int
) -> SearchDocument:
    version = text.entry_version
    document = SearchDocument.objects.create(
        pool=pool,
        artifact=text.artifact,
        artifact_key=text.artifact.artifact_id,
        entry_key="" if version is None else version.entry_id,
        revision=text.revision,
        entry_version=version,
        length=length,
        terms=pack_terms(frequencies),
    )
    if text.detail is not None:
        SearchChunk.objects.bulk_create(
            SearchChunk(
                document=document,
                position=position,
                start=start,
                end=end,
                terms=pack_terms(_count_terms(text.detail[start:end])),
            )
            for position, (start, end) in enumerate(chunk_spans(text.detail))
        )
    return document


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
