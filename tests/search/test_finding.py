"""What prepare finds: query text, folding, isolation, from write to read (C-01 ...)."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from prepare.models import ArtifactRevision, SearchDocument
from prepare.services import memories
from prepare.services.memories import MemoryTarget
from tests.api import Api
from tests.factories import (
    BY_TEST,
    collect,
    experience,
    make_scope,
    profile,
    ref,
    remember,
    revise,
    token,
    topic,
    write,
)

MEMORIES = {"sections": [{"family": "memory", "limit": 8}]}


def found(api: Api, query: str, scope_id: str = "s", **options: Any) -> list[str]:
    """The bodies prepare delivers, in order; every fault fails the test."""
    answer = api.prepare(scope_id, query, **options)
    assert answer.status == 200, answer.body
    if answer.body["content"] is None:
        return []
    items = json.loads(answer.body["content"].splitlines()[4])["items"]
    return [item["content"] for item in items]


def is_found(api: Api, text: str, query: str) -> bool:
    """In both forms."""
    answer = api.prepare("s", query, assembly=MEMORIES)
    in_text = text in (answer.body["content"] or "")
    assert in_text == any(text in body for body in found(api, query))
    return in_text


# Query syntax is text, never a grammar.


def test_hyphenated_token(api: Api, db) -> None:
    """C-01."""
    remember(make_scope("s"), "marker is oceanbase-blue-116")
    assert is_found(api, "oceanbase-blue-116", "oceanbase-blue-116 add search")


@pytest.mark.parametrize(
    "query",
    [
        "TODO: fix",
        "don't use agents",
        "plan (draft)?",
        "AND",
        "OR",
        "NOT",
        "NEAR(",
        "NEAR/2 fix",
        "-verify",
        "{b}: x",
        "ubuntu 20.04",
        "'; DROP TABLE x;--",
        'say "unterminated',
        "col:*",
        "100%",
        "a_b",
        "C++ C# .NET",
        "x\0y",
        "\\",
    ],
)
def test_everyday_punctuation(api: Api, db, query) -> None:
    """C-02: found whenever the query has a word in common."""
    scope = make_scope("s")
    remember(scope, f"noise {query.replace(chr(0), ' ')} noise", artifact_id="m")
    remember(scope, "unrelated entirely", artifact_id="other")
    has_words = any(char.isalnum() for char in query)
    assert len(found(api, query)) == has_words


@pytest.mark.parametrize("query", ["parser broken today", "col:parser*"])
def test_one_rare_word_of_three_is_enough(api: Api, db, query) -> None:
    """C-02: one shared word finds the entry, also among others."""
    scope = make_scope("s")
    remember(scope, "the parser", artifact_id="m")
    for number in range(20):
        remember(scope, f"something else, number {number}")
    assert found(api, query) == ["the parser"]


@pytest.mark.parametrize("query", ['"', "*", "()", "%", "__", "?!", "---", "\0", "…"])
def test_symbols_alone_find_nothing(api: Api, db, query) -> None:
    remember(make_scope("s"), f"zebra {query} zebra".replace("\0", ""))
    assert found(api, query) == []
    assert api.prepare("s", query, assembly={}).body["status"] == "empty"


# The folding rule (docs: prepare/search/analysis.py).


@pytest.mark.parametrize(
    ("text", "queries", "misses"),
    [
        # C-04
        (
            "重跑gen-itgc后50条悬空引用清零",
            ["悬空引用", "itgc", "悬空", "gen-itgc"],
            ["漂浮"],
        ),
        # C-06
        (
            "qh agent spec agentscope",
            ["qh-agent-spec-agentscope", "qh", "AgentScope"],
            [],
        ),
        ("the UI of it", ["UI", "ui"], ["u"]),
        # C-07
        ("naïve café", ["cafe", "CAFÉ", "cafe\u0301", "naive"], ["caf"]),
        ("ＡＰＩ契约", ["api", "API", "契约", "ＡＰＩ"], ["ap"]),
        ("straße", ["strasse", "STRASSE", "straße"], ["strase"]),
        ("İstanbul", ["istanbul", "İSTANBUL"], ["stanbul"]),
        ("write_boolean", ["writeBoolean", "write-boolean", "boolean"], ["bool"]),
        ("𠮷野家で😀", ["𠮷野家", "野家", "😀"], ["😁"]),
        ("переменные окружения", ["ПЕРЕМЕННЫЕ"], ["перемен"]),
    ],
)
def test_folding(api: Api, db, text, queries, misses) -> None:
    scope = make_scope("s")
    remember(scope, text)
    remember(scope, "something else", artifact_id="z")
    assert {query: is_found(api, text, query) for query in queries} == (
        dict.fromkeys(queries, True)
    )
    assert {query: found(api, query) for query in misses} == {
        query: [] for query in misses
    }


# Isolation.

VARIANTS = ("Alpha", "alpha", "café", "cafe", "cafe\u0301", "ａlpha", "ALPHA")
PREFIXES = ("proj", "proj1", "proj:1", "proj%", "proj_", "proj*", "pro", "%", "_____")


@pytest.mark.parametrize("names", [VARIANTS, PREFIXES])
def test_scopes_with_similar_ids_are_isolated(api: Api, db, names) -> None:
    """C-41, C-49: case, accent, width, normal form, prefix and wildcard variants."""
    for number, name in enumerate(names):
        remember(make_scope(name), f"zebra of scope {number}")
    for number, name in enumerate(names):
        assert found(api, "zebra", name) == [f"zebra of scope {number}"]
    assert api.prepare("Proj", "zebra").code == "scope_not_found"


@pytest.mark.parametrize("scope_id", ["s ", " s", "s\n", "s\u3000"])
def test_padded_scope_id_is_not_the_scope(api: Api, db, scope_id) -> None:
    """C-41: refused when made, and never taken for its trimmed twin."""
    remember(make_scope("s"), "zebra")
    answer = api.prepare(scope_id, "zebra")
    assert (answer.status, answer.code) == (404, "scope_not_found")


@pytest.mark.clause("A-061", "A-181")
def test_another_scopes_match_leaves_no_trace(api: Api, db, settings) -> None:
    """C-48: alone, and with a reference that may not be read."""
    other = make_scope("other-scope")
    remember(other, "zebra secret", artifact_id="secret-id")
    collect(other, [("secret-entry", "v", "zebra secret")])
    write(other, "experience", experience("zebra secret"))
    write(other, "topic-memory", topic("zebra secret"))
    profile(other, "zebra secret")
    scope = make_scope("s")
    sections = [
        {"family": family, "limit": 2}
        for family in ("memory", "experience", "profile", "topic-memory")
    ]
    requests: list[dict[str, Any]] = [{}, {"assembly": {"sections": sections}}]
    empty = api.prepare("s", "entirely unknown").body
    for request in requests:
        assert api.prepare("s", "zebra secret", **request).body == empty
    settings.ACCESS_MODE = "enforced"
    make_scope("t", references=["s", "other-scope"])
    caller = api.with_token(token("t", scope))
    for request in requests:
        answer = caller.prepare("t", "zebra secret", **request)
        assert (answer.status, answer.code) == (403, "forbidden")
        assert "secret" not in json.dumps(answer.body)


def test_same_artifact_id_in_two_scopes(api: Api, db) -> None:
    for name in ("s", "t"):
        remember(make_scope(name), f"zebra in {name}", artifact_id="m")
    assert found(api, "zebra") == ["zebra in s"]


# From write to read.


def change_state(row: ArtifactRevision, state: str) -> None:
    row.artifact.refresh_from_db()
    target = MemoryTarget(artifact=ref(row), state_version=row.artifact.state_version)
    memories.change_state(
        scope=row.artifact.scope, target=target, state=state, authorship=BY_TEST
    )


def test_found_after_write_gone_after_forget(api: Api, db) -> None:
    """C-51."""
    scope = make_scope("s")
    row = remember(scope, "my token is SMOKE-14806012")
    query = "SMOKE-14806012"
    assert is_found(api, query, query)
    change_state(row, "forgotten")
    assert not is_found(api, query, query)
    change_state(row, "active")
    assert is_found(api, query, query)
    change_state(row, "retired")
    assert not is_found(api, query, query)


@pytest.mark.parametrize("family", ["atomic-memory", "experience", "topic-memory"])
def test_only_the_current_revision_is_found(api: Api, db, family) -> None:
    contents: dict[str, Callable[[str], dict[str, Any]]] = {
        "atomic-memory": lambda word: {"kind": "fact", "text": word},
        "experience": experience,
        "topic-memory": topic,
    }
    row = write(make_scope("s"), family, contents[family]("zebra"))
    revise(row, contents[family]("giraffe"))
    assert found(api, "zebra") == []
    [body] = found(api, "giraffe")
    assert "giraffe" in body


def test_pool_cap_is_counted_not_hidden(api: Api, db) -> None:
    """C-09, C-10: 16 equal questions and the answer; equal bodies both stay."""
    scope = make_scope("s")
    question = "What does ORCHID mean?"
    for number in range(16):
        remember(scope, question, artifact_id=f"q{number:02}")
    remember(scope, "ORCHID means the leak check", artifact_id="answer")
    bodies = found(api, question)
    assert len(bodies) == 8
    assert set(bodies) <= {question, "ORCHID means the leak check"}
    ids = re.findall(r'"artifact_id":"(\w+)"', api.content("s", question))
    assert ids == sorted(ids)
    few = {"sections": [{"family": "memory", "limit": 5}]}
    assert api.content("s", question, assembly=few).count("### Memory") == 5


# A projection that was altered behind our back (C-12).


def alter(statement: str, *parameters: int | str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        assert cursor.rowcount > 0


@pytest.mark.clause("A-079", "A-185")
@pytest.mark.parametrize(
    "column", ["older revision", "other scope", "older entry", "other scope's entry"]
)
@pytest.mark.parametrize("assembly", [None, MEMORIES])
def test_altered_projection_is_an_error_not_a_body(api, db, column, assembly) -> None:
    scope, other = make_scope("s"), make_scope("other")
    first = remember(scope, "zebra old", artifact_id="m")
    revise(first, {"kind": "fact", "text": "zebra new"})
    foreign = remember(other, "zebra foreign")
    for each, text in ((scope, "zebra"), (other, "zebra foreign")):
        collect(each, [("e", "v1", f"{text} old")])
        collect(each, [("e", "v2", f"{text} new")])
    entries = SearchDocument.objects.exclude(entry_key="")
    mine = entries.get(artifact__scope=scope)
    theirs = entries.get(artifact__scope=other)
    assert mine.entry_version is not None
    assert theirs.entry_version is not None
    earlier = mine.entry_version.previous
    assert earlier is not None
    name, value, entry_key = {
        "older revision": ("revision_id", first.pk, ""),
        "other scope": ("revision_id", foreign.pk, ""),
        "older entry": ("entry_version_id", earlier.pk, "e"),
        "other scope's entry": ("entry_version_id", theirs.entry_version.pk, "e"),
    }[column]
    alter(
        f"UPDATE prepare_searchdocument SET {name} = %s WHERE entry_key = %s AND"
        " pool_id = (SELECT id FROM prepare_searchpool WHERE scope_id = %s)",
        value,
        entry_key,
        scope.pk,
    )
    options = {} if assembly is None else {"assembly": assembly}
    answer = api.prepare("s", "zebra", **options)
    assert (answer.status, answer.code) == (503, "stale-projection")
    assert "zebra" not in json.dumps(answer.body)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE prepare_searchdocument SET artifact_key = 'spoilt', length = 99",
        "UPDATE prepare_searchdocument SET terms = x'00'",
        "UPDATE prepare_posting SET frequency = 77, length = 3",
        "UPDATE prepare_searchpool SET documents = 0, total_length = 0",
        "UPDATE prepare_term SET frequency = 1000000",
    ],
)
def test_body_never_comes_from_the_projection(api: Api, db, statement) -> None:
    """Spoilt statistics may cost order or a hit, never a wrong byte."""
    remember(make_scope("s"), "zebra exact text", artifact_id="m")
    alter(statement)
    assert found(api, "zebra") == ["zebra exact text"]
    assert 'id="m", revision=1' in api.content("s", "zebra", assembly=MEMORIES)
