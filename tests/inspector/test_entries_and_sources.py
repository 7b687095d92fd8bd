"""Memory collections with their entries, and Sources: exactly what was cited."""

import pytest

from inspector.links import revision_url, source_url
from prepare.models import Artifact
from prepare.services.artifacts import Lineage
from prepare.services.collections import EntryChange, write_collection
from prepare.values import ArtifactRef, Identity, SourceRef
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    remember,
    source,
    write,
)
from tests.inspector.exact import BODY, alter, identity, read
from tests.queries import nothing_written


def test_a_collection_is_shown_in_pages_of_entries(person):
    scope = make_scope("s")
    entries = [(f"e{n:04}", f"v{n}", f"Entry {n}.") for n in range(130)]
    row = collect(scope, entries)
    write_collection(
        scope=scope,
        artifact_id="memory",
        changes=[
            EntryChange(
                entry_id="e0000",
                entry_version_id="v0",
                kind="fact",
                text="Entry 0.",
                active=False,
            )
        ],
        authorship=BY_TEST,
    )
    visitor = person(scope)
    page, found = read(visitor, row), []
    assert "130 entries in this revision, 130 of them active" in page.text
    while True:
        lines = page.context["manifest"].entries.rows
        found += [(line.entry_id, line.entry_version_id, line.text) for line in lines]
        if page.context["further_url"] is None:
            break
        page = visitor.get(page.context["further_url"])
    assert found == entries
    second = ArtifactRef(family="memory", artifact_id="memory", revision=2)
    page = visitor.get(revision_url(Identity(scope_id="s", artifact=second)))
    assert "130 entries in this revision, 129 of them active" in page.text
    assert "inactive" in page.text


@pytest.mark.clause("R-205", "R-211")
def test_an_exact_entry_version_is_shown(person):
    """A-184: the version that this revision holds, whatever a later one holds."""
    scope = make_scope("s")
    first = collect(scope, [("e1", "v1", BODY), ("e2", "v9", "Other.")])
    second = collect(scope, [("e1", "v2", "Newer.")])
    visitor = person(scope)
    page = visitor.get(revision_url(identity(first, "e1", "v1")))
    assert page.pre("literal") == BODY
    assert "Newer." not in page.text
    assert page.pre("citation").split("\n")[2] == 'Entry: id="e1", version="v1"'
    later = revision_url(identity(second, "e1", "v2"))
    assert later in page.links
    page = visitor.get(later)
    assert page.pre("literal") == "Newer."
    assert revision_url(identity(first, "e1", "v1")) in page.links


@pytest.mark.clause("R-212", "R-211")
def test_an_entry_that_the_revision_does_not_hold_is_404(person):
    scope = make_scope("s")
    first = collect(scope, [("e1", "v1", BODY), ("e2", "v9", "Other.")])
    second = collect(scope, [("e1", "v2", "Newer.")])
    visitor = person(scope)
    for row, entry, version in (
        (first, "e1", "v2"),
        (second, "e1", "v1"),
        (first, "e2", "v1"),
        (first, "e3", "v1"),
    ):
        page = visitor.get(revision_url(identity(row, entry, version)))
        assert (page.status, "memory_not_found" in page.text) == (404, True)
        assert "Newer." not in page.text
        assert "Line one" not in page.text


def test_a_manifest_that_cannot_be_read_is_said(person):
    scope = make_scope("s")
    row = collect(scope, [("e1", "v1", BODY)])
    alter(row, '{"entries": [1]}')
    visitor = person(scope)
    assert "altered" in read(visitor, row).text
    page = visitor.get(revision_url(identity(row, "e1", "v1")))
    assert page.status == 200
    assert "cannot be read" in page.text
    assert visitor.open("artifacts", scope="s").status == 200


def test_a_source_is_shown_with_who_cites_it(person):
    scope = make_scope("s")
    text = source(scope, 'a/b "c" %', BODY)
    made = source(scope, "object", {"b": [1], "a": "二"})
    row = write(
        scope,
        "experience",
        experience("Lesson."),
        artifact_id="x",
        lineage=Lineage(
            sources=(
                SourceRef(source_type="content", source_id=text.source_id),
                SourceRef(source_type="content", source_id=made.source_id),
            )
        ),
    )
    visitor = person(scope)
    page = visitor.get(source_url("s", "content", 'a/b "c" %'))
    assert page.pre("literal") == BODY
    assert revision_url(identity(row)) in page.links
    assert (text.content_digest in page.text, "intact" in page.text) == (True, True)
    page = visitor.get(source_url("s", "content", "object"))
    assert page.pre("literal") == '{\n  "a": "二",\n  "b": [\n    1\n  ]\n}'
    alter(made, '"other"')
    assert "altered" in visitor.get(source_url("s", "content", "object")).text
    for source_type, name in (("content", "x"), ("Content", "object"), ("x", "object")):
        page = visitor.get(source_url("s", source_type, name))
        assert (page.status, "source_not_found" in page.text) == (404, True)


def test_reading_writes_nothing(person):
    scope = make_scope("s")
    row = remember(scope, BODY)
    collection = collect(scope, [("e1", "v1", BODY)])
    made = source(scope, "one")
    visitor = person(scope)
    with nothing_written():
        for url in (
            revision_url(identity(row)),
            revision_url(identity(collection)),
            revision_url(identity(collection, "e1", "v1")),
            source_url("s", made.source_type, made.source_id),
        ):
            assert visitor.get(url).status == 200
    assert Artifact.objects.get(artifact_id="memory").revision == 1
