"""Prepared answers over HTTP: four fields, exact sizes, order, both forms."""

import json
from typing import Any

import pytest

from prepare.values import Prepared
from tests.api import Api
from tests.factories import (
    experience,
    make_scope,
    profile,
    remember,
    topic,
    write,
)
from tests.services.building import pack_envelope, pack_memories
from tests.services.documents import (
    BEGIN,
    BEGIN_LEGACY,
    check_as_host,
    read_citation,
    read_envelope,
    read_text,
)

QUERY = "sourdough oven"
EMPTY = {
    "schema": "powercontext.prepared-context.v1",
    "status": "empty",
    "content": None,
    "content_bytes": 0,
}
BOTH_FORMS: list[dict[str, Any]] = [{}, {"assembly": {}}]


@pytest.mark.clause("A-123", "A-170", "A-172")
def test_empty_answers_are_all_the_same(api: Api) -> None:
    """No hit, no family, nothing that fits with its citation (RFC 1489 budget)."""
    scope = make_scope("s" * 256)
    remember(scope, f"{QUERY} {'x' * 100}", artifact_id="a" * 128)
    sections = [{"family": "memory", "limit": 8}]

    requests: list[tuple[str, dict[str, Any]]] = [
        ("nothing alike", {}),
        ("nothing alike", {"assembly": {}}),
        (QUERY, {"assembly": {"sections": []}}),
        (QUERY, {"assembly": {"sections": [{"family": "profile", "limit": 1}]}}),
        (QUERY, {"assembly": {"sections": sections}, "max_bytes": 512}),
        (QUERY, {"max_bytes": 512}),
    ]
    for query, options in requests:
        answer = api.prepare(scope.scope_id, query, **options)
        assert answer.status == 200
        assert answer.body == EMPTY
        assert list(answer.body) == list(EMPTY)
    assert Prepared(build=pack_memories()).as_wire() == EMPTY
    assert Prepared(build=pack_envelope()).as_wire() == EMPTY


@pytest.mark.clause("A-171", "A-172", "A-173", "A-174")
def test_ready_answers_have_four_fields(api: Api) -> None:
    scope = make_scope()
    remember(scope, f"{QUERY} 😀\n")
    show = {"show": ["confidence", "recall_rank"]}

    requests: list[tuple[dict[str, Any], str]] = [
        ({}, BEGIN_LEGACY),
        ({"assembly": {}}, BEGIN),
        ({"assembly": show}, BEGIN),
        ({"assembly": show, "max_bytes": 700, "include_receipt": False}, BEGIN),
    ]
    for options, marker in requests:
        body = api.prepare(scope.scope_id, QUERY, **options).body
        content = body["content"]
        assert list(body) == ["schema", "status", "content", "content_bytes"]
        assert body["schema"] == "powercontext.prepared-context.v1"
        assert body["status"] == "ready"
        assert body["content_bytes"] == len(content.encode("utf-8"))
        assert marker in content.split("\n")


@pytest.mark.clause("A-192")
@pytest.mark.parametrize("max_bytes", [512, 650, 700, 1500, 8000, 32768])
@pytest.mark.parametrize(
    "options", [{}, {"assembly": {}}, {"assembly": {"sections": []}}], ids=str
)
def test_strict_hosts_accept_every_answer(api: Api, options, max_bytes: int) -> None:
    scope = make_scope()
    for number in range(4):
        remember(scope, f"{QUERY} 汉😀\t" * 60, artifact_id=f"m{number}")
    write(scope, "experience", experience(QUERY))

    for query in (QUERY, "nothing alike"):
        answer = api.prepare(scope.scope_id, query, max_bytes=max_bytes, **options)
        check_as_host(answer.body, host_budget=max_bytes)
        decoded = json.loads(json.dumps(answer.body, ensure_ascii=True))
        check_as_host(decoded, host_budget=max_bytes)


@pytest.mark.parametrize(
    "fault",
    [
        {"receipt": None},
        {"schema": "powercontext.prepared-context.v2"},
        {"status": "ok"},
        {"status": "empty"},
        {"content": None},
        {"content": "", "content_bytes": 0},
        {"content_bytes": 4},
        {"content_bytes": 3.0},
        {"content": "x" * 601, "content_bytes": 601},
    ],
    ids=str,
)
def test_the_host_of_these_tests_is_strict(fault) -> None:
    good = dict(zip(EMPTY, [EMPTY["schema"], "ready", "汉", 3], strict=True))
    check_as_host(good, host_budget=600)

    with pytest.raises(AssertionError):
        check_as_host(good | fault, host_budget=600)


@pytest.mark.clause("A-152", "A-162")
@pytest.mark.parametrize("options", BOTH_FORMS, ids=["legacy", "text"])
def test_the_budget_is_of_the_content_alone(api: Api, options) -> None:
    """The HTTP body doubles quotes and line feeds and adds keys: not counted."""
    scope = make_scope()
    remember(scope, f'{QUERY} "\\\n' * 20)
    whole = api.prepare(scope.scope_id, QUERY, **options).body

    exact = api.prepare(
        scope.scope_id, QUERY, max_bytes=whole["content_bytes"], **options
    )

    assert exact.body == whole
    assert len(json.dumps(whole, ensure_ascii=False)) > whole["content_bytes"] + 95
    less = api.prepare(
        scope.scope_id, QUERY, max_bytes=whole["content_bytes"] - 1, **options
    )
    assert less.body["content_bytes"] < whole["content_bytes"]


@pytest.mark.clause("A-090", "A-092", "A-093", "A-096")
def test_a_better_hit_elsewhere_never_comes_first(api: Api) -> None:
    """The referenced Scopes, in configured order, answer better than the current."""
    better, best = make_scope("zeta"), make_scope("alpha")
    scope = make_scope("current", references=["zeta", "alpha"])
    for target, text in (
        (scope, f"An oven among many other words that say nothing: {'so ' * 40}"),
        (better, QUERY),
        (best, f"{QUERY} {QUERY}"),
    ):
        remember(target, text)
        remember(target, f"Second oven of {target.scope_id}.")

    for options in BOTH_FORMS:
        content = api.content("current", QUERY, **options)
        if options:
            found = [read_citation(item)[0] for item in read_text(content)]
        else:
            found = [
                item["citation"].get("artifact", {}).get("scope_id", "current")
                for item in read_envelope(content)
            ]
        assert found[:3] == ["current", "zeta", "alpha"]


@pytest.mark.clause("A-135")
@pytest.mark.parametrize(
    "scope_id", ["my-group", 'ap"erp', "a\\b", "项目:甲 🍞", "s" * 256], ids=ascii
)
def test_odd_scope_ids_are_found_and_cited(api: Api, scope_id: str) -> None:
    """C-28: no id reaches a search grammar, and each reads back from its line."""
    remember(make_scope(scope_id), QUERY, artifact_id='a"\\-1')

    (item,) = read_text(api.content(scope_id, QUERY, assembly={}))
    assert read_citation(item)[:3] == (scope_id, "atomic-memory", 'a"\\-1')
    (legacy,) = read_envelope(api.content(scope_id, QUERY))
    assert legacy["citation"]["artifact_ref"]["artifact_id"] == 'a"\\-1'


@pytest.mark.clause("A-091")
def test_a_reference_of_a_reference_adds_nothing(api: Api) -> None:
    far = make_scope("far")
    make_scope("near", references=["far"])
    make_scope("here", references=["near"])
    remember(far, QUERY)
    write(far, "experience", experience(QUERY))
    write(far, "topic-memory", topic(QUERY))

    for options in BOTH_FORMS:
        assert api.prepare("here", QUERY, **options).body == EMPTY
        assert api.content("near", QUERY, **options)


@pytest.mark.clause("A-190", "A-191", "A-174")
def test_old_requests_keep_their_own_limits(api: Api) -> None:
    """Eight items in rotation, not memory 6 then experience 2."""
    scope = make_scope()
    for number in range(9):
        remember(scope, f"{QUERY} {number}", artifact_id=f"m{number}")
    for number in range(3):
        write(
            scope,
            "experience",
            experience(f"{QUERY} {number}"),
            artifact_id=f"x{number}",
        )
    profile(scope, QUERY)

    old = api.prepare(scope.scope_id, QUERY).body
    new = api.prepare(scope.scope_id, QUERY, assembly={}).body

    kinds = [item["kind"] for item in read_envelope(old["content"])]
    assert kinds == ["atomic-memory", "experience"] * 2 + ["atomic-memory"] * 4
    titles = [item.section for item in read_text(new["content"])]
    assert titles == ["Memory"] * 6 + ["Experience"] * 2
    assert old["schema"] == new["schema"] == "powercontext.prepared-context.v1"
    assert BEGIN_LEGACY in old["content"].split("\n")
    assert BEGIN not in old["content"]
    assert BEGIN in new["content"].split("\n")
    assert BEGIN_LEGACY not in new["content"]


@pytest.mark.clause("A-191")
def test_only_memories_fill_an_old_request(api: Api) -> None:
    scope = make_scope()
    for number in range(12):
        remember(scope, f"{QUERY} {number}")

    assert len(read_envelope(api.content(scope.scope_id, QUERY))) == 8
    text = api.content(scope.scope_id, QUERY, assembly={})
    assert len(read_text(text)) == 6


@pytest.mark.clause("A-190", "A-192")
def test_envelope_over_http(api: Api) -> None:
    """Stored text unchanged, Chinese readable, exact citations (C-39)."""
    other = make_scope("项目:乙")
    scope = make_scope("项目:甲", references=["项目:乙"])
    body = f"{QUERY}，修改 OpenAPI 后\u2028\u200b\t重新生成"
    row = remember(scope, body, artifact_id="m1")
    remember(other, QUERY, artifact_id="m2")
    write(scope, "topic-memory", topic(QUERY, "汉", "d"), artifact_id="t1")

    answer = api.prepare(scope.scope_id, QUERY).body

    check_as_host(answer, host_budget=8000)
    assert "修改 OpenAPI 后\\u2028\u200b\\t重新生成" in answer["content"]
    first, second, third = read_envelope(answer["content"])
    assert first["content"] == json.loads(row.content)["text"] == body
    assert first["citation"]["artifact_ref"]["artifact_id"] == "m1"
    topic_content = json.loads(second["content"])
    assert list(topic_content)[:2] == ["title", "summary"]
    assert topic_content["summary"] == "汉"
    assert third["citation"]["artifact"]["scope_id"] == "项目:乙"
