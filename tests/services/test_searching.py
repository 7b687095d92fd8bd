"""The search operations answer like prepare searches (J-18)."""

from typing import Any

import pytest

from prepare.errors import NotReady
from prepare.models import Artifact
from prepare.services import searching
from prepare.services.runtime import Runtime
from tests.factories import collect, make_scope, remember, topic, write
from tests.queries import captured_tables


def found_memories(scope, limit, *, kind=None) -> list[str]:
    found = searching.search_memories(
        scope=scope, query="zebra", limit=limit, runtime=Runtime(), kind=kind
    )
    assert [item.rank for item in found] == list(range(1, len(found) + 1))
    return [item.memory.text for item in found]


def test_collection_entries_take_no_place_of_memories(db) -> None:
    """C-09: entries rank above here, and are found in prepare, but not listed."""
    scope = make_scope("s")
    collect(scope, [(f"e{number}", f"v{number}", "zebra") for number in range(70)])
    for number in range(3):
        remember(scope, f"zebra and more words {number}", artifact_id=f"m{number}")
    expected = [f"zebra and more words {number}" for number in range(3)]
    assert found_memories(scope, 10) == expected
    assert found_memories(scope, 2) == expected[:2]


def test_kind_is_exact_and_looked_for_deep(db) -> None:
    scope = make_scope("s")
    for number in range(80):
        remember(scope, "zebra", kind="fact", artifact_id=f"a{number:02}")
    for kind in ("Fact", "factual"):
        remember(scope, f"zebra of kind {kind}", kind=kind, artifact_id=f"b-{kind}")
    assert found_memories(scope, 5, kind="Fact") == ["zebra of kind Fact"]
    assert found_memories(scope, 5, kind="fact") == ["zebra"] * 5
    assert found_memories(scope, 100) == ["zebra"] * 80 + [
        "zebra of kind Fact",
        "zebra of kind factual",
    ]


def test_limits_and_statements(db) -> None:
    scope = make_scope("s")
    for number in range(60):
        remember(scope, f"zebra {number}")
        write(scope, "topic-memory", topic(f"zebra {number}", detail="zebra"))
    expected = ["searchpool", "term", "ranking", "artifactrevision"]
    for limit in (1, 50):
        with captured_tables() as found:
            assert len(found_memories(scope, limit)) == limit
        assert found == expected
        with captured_tables() as found:
            topics = searching.search_topics(
                scope=scope, query="zebra", limit=limit, runtime=Runtime()
            )
        assert len(topics) == limit
        assert found == [*expected, "searchchunk"]


@pytest.mark.parametrize("family", ["memory", "topic-memory"])
def test_stale_projection_is_an_error(db, family) -> None:
    scope = make_scope("s")
    remember(scope, "zebra")
    write(scope, "topic-memory", topic("zebra"))
    Artifact.objects.all().update(lifecycle="retired")
    searches: dict[str, Any] = {
        "memory": searching.search_memories,
        "topic-memory": searching.search_topics,
    }
    with pytest.raises(NotReady) as caught:
        searches[family](scope=scope, query="zebra", limit=5, runtime=Runtime())
    assert caught.value.code == "stale-projection"
