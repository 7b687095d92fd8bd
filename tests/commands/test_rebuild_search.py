"""`manage.py rebuild_search`: the projection is what writing it step by step gave."""

from collections.abc import Callable
from typing import Any

import pytest

from prepare.models import (
    Artifact,
    Posting,
    SearchChunk,
    SearchDocument,
    SearchPool,
    Term,
)
from prepare.search import index
from prepare.services import memories, rebuilding
from prepare.services.health import check_thoroughly
from tests import factories
from tests.commands import files
from tests.commands.conftest import Printed
from tests.factories import BY_TEST

pytestmark = pytest.mark.django_db
Manage = Callable[..., Printed]


def projection() -> dict[str, Any]:
    """All rows of the projection, by what they stand for instead of by keys."""
    pools = {
        pool.pk: (pool.scope.scope_id, pool.family) for pool in SearchPool.objects.all()
    }
    documents = {
        row.pk: (row.artifact.scope.scope_id, row.artifact_key, row.entry_key)
        for row in SearchDocument.objects.all()
    }
    return {
        "pools": sorted(
            (*pools[row.pk], row.documents, row.total_length)
            for row in SearchPool.objects.all()
        ),
        "documents": sorted(
            (
                *documents[row.pk],
                pools[row.pool_id],
                row.revision.revision,
                row.entry_version.entry_version_id if row.entry_version else "",
                row.length,
                bytes(row.terms),
            )
            for row in SearchDocument.objects.all()
        ),
        "chunks": sorted(
            (*documents[row.document_id], row.position, row.start, row.end)
            for row in SearchChunk.objects.all()
        ),
        "postings": sorted(
            (
                pools[row.pool_id],
                row.term,
                documents[row.document_id],
                row.frequency,
                row.length,
            )
            for row in Posting.objects.all()
        ),
        "terms": sorted(
            (pools[row.pool_id], row.term, row.frequency)
            for row in Term.objects.all()
            if row.frequency
        ),
    }


@pytest.fixture
def stored(manage: Manage) -> None:
    """The demo, then changed: revised, forgotten, and a collection moved on."""
    manage("load_context", files.DEMO)
    scope = factories.make_scope("s")
    revised = factories.remember(scope, "first words", artifact_id="revised")
    factories.revise(revised, {"kind": "fact", "text": "second words"})
    gone = factories.remember(scope, "forgotten words")
    memories.change_state(
        scope=scope,
        target=memories.MemoryTarget(artifact=factories.ref(gone), state_version=0),
        state="forgotten",
        authorship=BY_TEST,
    )
    factories.collect(scope, [("a", "a1", "entry a"), ("b", "b1", "entry b")])
    factories.collect(scope, [("a", "a2", "entry a again")])


@pytest.mark.usefixtures("stored")
def test_the_projection_is_the_same_after_a_rebuild(
    manage: Manage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = projection()
    printed = manage("rebuild_search")
    assert projection() == before
    documents = SearchDocument.objects.count()
    assert printed.out.startswith(f"{documents} texts of ")

    monkeypatch.setattr(rebuilding, "_TEXTS_PER_WRITE", 2)
    manage("rebuild_search")
    assert projection() == before
    assert check_thoroughly().is_ready


@pytest.mark.usefixtures("stored")
def test_a_lost_projection_comes_back(manage: Manage) -> None:
    before = projection()
    found = files.prepare("s", "words entry", assembly={})
    index.clear()
    SearchPool.objects.create(
        scope=Artifact.objects.filter(family="profile").first().scope,  # type: ignore[union-attr]
        family="memory",
        documents=7,
    )
    assert files.prepare("s", "words entry", assembly={}) == (None, [])
    manage("rebuild_search")
    assert projection() == before
    assert files.prepare("s", "words entry", assembly={}) == found


@pytest.mark.usefixtures("stored")
def test_a_failing_rebuild_changes_nothing(
    manage: Manage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = projection()

    def fail(**arguments: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(index, "add_documents", fail)
    with pytest.raises(RuntimeError):
        manage("rebuild_search")
    assert projection() == before


def test_nothing_to_index(manage: Manage) -> None:
    assert manage("rebuild_search").out == "0 texts of 0 artifacts are searchable\n"
