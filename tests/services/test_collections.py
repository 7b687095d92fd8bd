"""Memory collections: manifests of immutable entry versions (contract C.3, J-2)."""

import json

import pytest

from prepare.errors import Conflict, InvalidRequest
from prepare.models import MemoryEntryVersion, Scope
from prepare.services.collections import EntryChange, write_collection
from tests.api import Api
from tests.factories import BY_TEST, collect, make_scope


@pytest.fixture
def scope(db) -> Scope:
    return make_scope("s")


def switch(scope: Scope, entry_id: str, version_id: str, text: str, *, active: bool):
    change = EntryChange(
        entry_id=entry_id,
        entry_version_id=version_id,
        kind="fact",
        text=text,
        active=active,
    )
    return write_collection(
        scope=scope, artifact_id="memory", changes=[change], authorship=BY_TEST
    )


def cited(api: Api) -> list[tuple[int, str, str]]:
    """(revision, entry, version) of the entries that prepare delivers."""
    content = api.prepare("s", "zebra").body["content"]
    if content is None:
        return []
    items = json.loads(content.splitlines()[4])["items"]
    return [
        (
            item["citation"]["memory_ref"]["revision"],
            item["citation"]["entry_id"],
            item["citation"]["entry_version_id"],
        )
        for item in items
    ]


@pytest.mark.clause("A-099")
def test_unchanged_entries_are_cited_by_the_new_revision(api: Api, scope) -> None:
    collect(scope, [("e1", "v1", "zebra"), ("e2", "w1", "zebra")], revision=3)
    assert cited(api) == [(3, "e1", "v1"), (3, "e2", "w1")]
    row = collect(scope, [("e2", "w2", "zebra"), ("e0", "u1", "zebra")])
    assert cited(api) == [(4, "e0", "u1"), (4, "e1", "v1"), (4, "e2", "w2")]
    assert json.loads(row.content)["entries"] == [
        {"entry_id": entry, "entry_version_id": version, "state": "active"}
        for entry, version in (("e0", "u1"), ("e1", "v1"), ("e2", "w2"))
    ]


def test_inactive_entries_are_not_delivered_until_active_again(api, scope) -> None:
    collect(scope, [("e1", "v1", "zebra"), ("e2", "w1", "zebra")])
    switch(scope, "e1", "v1", "zebra", active=False)
    assert cited(api) == [(2, "e2", "w1")]
    switch(scope, "e1", "v1", "zebra", active=True)
    assert cited(api) == [(3, "e1", "v1"), (3, "e2", "w1")]
    assert MemoryEntryVersion.objects.count() == 2


def test_versions_count_and_link(scope) -> None:
    for number in (1, 2, 3):
        collect(scope, [("e1", f"v{number}", f"zebra {number}"), ("e2", "w", "z")])
    collect(scope, [("e1", "v1", "zebra 1")])  # back to an earlier version
    rows = MemoryEntryVersion.objects.filter(entry_id="e1").order_by("version")
    assert [(row.version, row.entry_version_id) for row in rows] == [
        (1, "v1"),
        (2, "v2"),
        (3, "v3"),
    ]
    assert [row.previous and row.previous.version for row in rows] == [None, 1, 2]
    assert [row.created_in_revision for row in rows] == [1, 2, 3]


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        ([("e1", "v1", "another text")], Conflict),
        ([("e2", "v1", "zebra")], Conflict),
        ([("e1", "v2", "a"), ("e1", "v3", "b")], Conflict),
        ([("e 1", "v2", "a")], InvalidRequest),
        ([("é", "v2", "a")], InvalidRequest),
        ([("e1", "v" * 129, "a")], InvalidRequest),
        ([("e3", "v2", " \n")], InvalidRequest),
    ],
)
def test_refused_changes(scope, entries, error) -> None:
    first = collect(scope, [("e1", "v1", "zebra")])
    with pytest.raises(error):
        collect(scope, entries)
    assert first.artifact.revisions.count() == 1
    assert MemoryEntryVersion.objects.count() == 1


@pytest.mark.parametrize("revision", [1, 4, 5])
def test_revisions_ascend(scope, revision) -> None:
    collect(scope, [("e1", "v1", "zebra")], revision=5)
    with pytest.raises(Conflict):
        collect(scope, [("e1", "v2", "zebra")], revision=revision)
    assert collect(scope, [("e1", "v2", "zebra")], revision=9).revision == 9


def test_collections_are_apart(api: Api, scope) -> None:
    """The same ids in two collections are two entries; ids differ by case."""
    collect(scope, [("e", "v", "zebra one"), ("E", "V", "zebra two")])
    collect(scope, [("e", "v", "zebra three")], artifact_id="other")
    assert len(cited(api)) == 3
    assert MemoryEntryVersion.objects.count() == 3
