"""Sources are written once and read exactly (contract C.1)."""

import pytest

from prepare import limits
from prepare.errors import Conflict, InvalidRequest, SourceNotFound
from prepare.models import Scope, Source
from prepare.services import sources
from prepare.services.sources import SourceContent
from tests.factories import NOW, make_scope, source


@pytest.fixture
def scope(db) -> Scope:
    return make_scope("s")


def test_same_id_is_the_same_source_unless_it_differs(scope) -> None:
    first = source(scope, "a", {"b": 1, "a": [1.0, "é"]})
    assert source(scope, "a", {"a": [1, "é"], "b": 1}) == first
    with pytest.raises(Conflict) as caught:
        source(scope, "a", {"b": 2, "a": [1.0, "é"]})
    assert caught.value.code == "source_conflict"
    assert Source.objects.count() == 1


def test_positions_are_dense_in_each_scope(scope) -> None:
    other = make_scope("other")
    made = [source(scope, name) for name in ("a", "b", "a", "c")]
    assert [row.position for row in made] == [1, 2, 1, 3]
    assert source(other, "a").position == 1
    with pytest.raises(Conflict):
        source(scope, "a", "different")
    assert source(scope, "d").position == 4


@pytest.mark.parametrize(
    "content", ["\ud83d\ude00 𠮷", "", None, 0, False, [], {"a": {"b": [None, "\0"]}}]
)
def test_content_comes_back_as_it_was(scope, content) -> None:
    if isinstance(content, str):
        content = content.encode("utf-16", "surrogatepass").decode("utf-16")
    source(scope, "a", content)
    row = sources.read_source(scope=scope, source_type="content", source_id="a")
    assert sources.source_value(row) == content
    assert row.content_digest.startswith("sha256:")


@pytest.mark.parametrize(
    "source_id", ["café", "cafe\u0301", "CAFÉ", "cafe", "ｃafe", "a b/c"]
)
def test_ids_compare_by_code_point(scope, source_id) -> None:
    for other in ("café", "cafe\u0301", "CAFÉ", "cafe", "ｃafe", "a b/c"):
        source(scope, other, other)
    row = sources.read_source(scope=scope, source_type="content", source_id=source_id)
    assert sources.source_value(row) == source_id


def test_unknown_sources(scope) -> None:
    source(make_scope("other"), "a")
    for source_type, source_id in (("content", "a"), ("content", "b"), ("x", "a")):
        with pytest.raises(SourceNotFound):
            sources.read_source(
                scope=scope, source_type=source_type, source_id=source_id
            )


@pytest.mark.parametrize(
    ("source_type", "source_id", "content"),
    [
        ("content", "a ", 1),
        ("content", "a\0b", 1),
        ("content", "x" * 257, 1),
        ("x" * 129, "a", 1),
        ("", "a", 1),
        ("content", "a", "x" * limits.SOURCE_CONTENT_CHARS),
        ("content", "a", float("nan")),
        ("content", "a", 2**60),
        ("content", "a", "\ud800"),
    ],
)
def test_refused_sources(scope, source_type, source_id, content) -> None:
    value = SourceContent(source_type=source_type, source_id=source_id, content=content)
    with pytest.raises(InvalidRequest):
        sources.create_source(scope=scope, source=value, now=NOW)
    assert not Source.objects.exists()
    assert source(scope, "a").position == 1
