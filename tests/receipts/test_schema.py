"""The published schema and what is produced cannot disagree (R-013, R-036, C-66)."""

import copy
import importlib.util
import json
from collections.abc import Iterator
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

from prepare import limits
from prepare.evidence import RecallEvidence, RerankCall, StageTiming
from prepare.values import ArtifactRef
from tests.api import openapi
from tests.receipts.making import (
    SCHEMA_FILE,
    build,
    call,
    code_identity,
    is_valid,
    make,
    memories,
    omission,
    prompt,
    request,
    rerank_config,
    rounds,
    schema,
)

Path_ = tuple[str | int, ...]


def full() -> dict[str, Any]:
    """A receipt with everything that a receipt can have, unset options included."""
    custom = prompt(
        selection="artifact",
        artifact=ArtifactRef(family="prompt", artifact_id="memory.rerank", revision=2),
    )
    every_setting = {
        "temperature": 0,
        "top_p": 0.5,
        "max_tokens": 100,
        "seed": -1,
        "presence_penalty": 0.1,
        "frequency_penalty": -0.1,
        "top_k": 5,
        "parallel_tool_calls": True,
        "service_tier": "auto",
    }
    reranks = (
        RerankCall(
            round=0,
            config=rerank_config(1, prompt=custom, effective_settings=every_setting),
            outcome="selected",
        ),
        RerankCall(
            round=1,
            config=rerank_config(2),
            outcome="failed",
            fallback_reason="invalid_output",
        ),
    )
    calls = [call(), call("topic-memory"), call("experience"), call("code", "code")]
    return make(
        build(
            *memories(2, scope_id="项目"),
            code=[code_identity()],
            omissions=[omission("memory", "family_limit")],
        ),
        RecallEvidence(rounds=rounds(2), searches=tuple(calls), reranks=reranks),
        asked=request(include_code=True),
        timings=[StageTiming(stage="context.build", duration_ms=0.25)],
    )


def objects(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of all objects in a value."""
    children: Any = ()
    if isinstance(value, dict):
        yield path
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for key, child in children:
        yield from objects(child, (*path, key))


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    children: Any = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    else:
        yield path
    for key, child in children:
        yield from leaves(child, (*path, key))


def at(value: Any, path: Path_) -> Any:
    for key in path:
        value = value[key]
    return value


OPTIONAL = "effective_settings"  # a setting that was not passed is not there


@pytest.mark.clause("R-013", "R-036")
def test_no_object_is_open() -> None:
    found = [schema(), *schema()["$defs"].values()]
    closed = [one for one in found if "properties" in one]
    for one in closed:
        assert one["type"] == "object"
        assert one["additionalProperties"] is False
    for name, one in schema()["$defs"].items():
        if name == "RerankSettings":
            assert "required" not in one
        elif "properties" in one:
            assert sorted(one["required"]) == sorted(one["properties"]), name
        else:
            assert list(one) == ["oneOf"], name
    assert sorted(schema()["required"]) == sorted(schema()["properties"])
    Draft202012Validator.check_schema(schema())


@pytest.mark.clause("R-013", "R-036", "R-042")
def test_a_missing_key_at_any_level_is_invalid() -> None:
    receipt = full()
    assert is_valid(receipt)
    tried = 0
    for path in objects(receipt):
        for key in at(receipt, path):
            if OPTIONAL in path:
                continue
            changed = copy.deepcopy(receipt)
            del at(changed, path)[key]
            assert not is_valid(changed), (*path, key)
            tried += 1
    assert tried > 100


@pytest.mark.clause("R-013", "R-036", "R-042")
def test_another_key_at_any_level_is_invalid() -> None:
    """C-66: a renamed field is one missing and one more; either is noticed."""
    receipt = full()
    for path in objects(receipt):
        for name in ("another", "omission_reason", "score", "artifact_address", "body"):
            changed = copy.deepcopy(receipt)
            target = at(changed, path)
            if name in target:
                continue
            target[name] = copy.deepcopy(
                receipt["selected"][0]["artifact_address"]
                if name == "artifact_address"
                else 1
            )
            assert not is_valid(changed), (*path, name)


@pytest.mark.clause("R-036")
@pytest.mark.parametrize("other", [{}, [], True, -1.5, None])
def test_a_value_of_another_type_at_any_place_is_invalid(other) -> None:
    receipt = full()
    nullable = ("content_digest", "prompt", "model")
    for path in leaves(receipt):
        was = at(receipt, path)
        if type(was) is type(other) or (other is None and path[-1] in nullable):
            continue
        if OPTIONAL in path and isinstance(other, float):
            continue  # a penalty may be -1.5
        changed = copy.deepcopy(receipt)
        at(changed, path[:-1])[path[-1]] = other
        assert not is_valid(changed), path


@pytest.mark.clause("R-151")
@pytest.mark.parametrize(
    ("path", "word"),
    [
        (("retrieval", "searches", 0, "mode"), "auto"),
        (("retrieval", "searches", 0, "mode"), "text"),
        (("retrieval", "searches", 0, "family"), "memory"),
        (("retrieval", "searches", 0, "outcome"), "empty"),
        (("retrieval", "searches", 0, "fallback_reason"), "expansion_failed"),
        (("retrieval", "searches", 0, "count"), 0),
        (("retrieval", "rounds", 0, "round"), 3),
        (("retrieval", "rounds", 0, "outcome"), "failed"),
        (("omitted", 0, "reason"), "over_budget"),
        (("omitted", 0, "family"), "memory"),
        (("omitted", 0, "count"), 0),
        (("stages", 0, "stage"), "code.search"),
        (("stages", 0, "duration_ms"), -0.1),
        (("selected", 0, "kind"), "memory"),
        (("selected", 0, "kind"), "code"),
        (("selected", 2, "kind"), "profile"),
        (("query_digest",), "a" * 64),
        (("content_digest",), "sha256:" + "A" * 64),
        (("schema",), "powercontext.prepared-context.v1"),
    ],
)
def test_words_outside_the_closed_lists_are_invalid(path, word) -> None:
    changed = copy.deepcopy(full())
    at(changed, path[:-1])[path[-1]] = word
    assert not is_valid(changed)


@pytest.mark.clause("R-013", "R-181")
def test_the_schema_has_the_caps() -> None:
    caps = {
        ("selected",): limits.RECEIPT_SELECTED,
        ("omitted",): limits.RECEIPT_OMITTED,
        ("stages",): limits.RECEIPT_STAGES,
    }
    for (name,), cap in caps.items():
        assert schema()["properties"][name]["maxItems"] == cap
    retrieval = schema()["$defs"]["Retrieval"]["properties"]
    found = {name: one["maxItems"] for name, one in retrieval.items()}
    assert found == {"rounds": 3, "searches": 32, "rerank_configs": 8, "reranks": 32}


@pytest.mark.clause("R-075", "R-190")
def test_no_field_can_hold_free_text() -> None:
    """A string is a closed word, a digest, a UUID, or a name that something has."""
    names = {
        *("scope_id", "family", "artifact_id", "path"),
        *("policy_id", "model", "key", "definition_version", "builtin_version"),
        "selected_version",
    }
    for one in [schema(), *schema()["$defs"].values()]:
        for name, described in one.get("properties", {}).items():
            types = described.get("type", "")
            if "string" not in types or "enum" in described:
                continue
            is_digest = "[0-9a-f]{64}" in described.get("pattern", "")
            assert is_digest or described.get("format") == "uuid" or name in names


@pytest.mark.clause("R-013")
def test_the_file_is_the_component_and_both_are_the_serializers() -> None:
    path = SCHEMA_FILE.parents[1] / "tools" / "receipt_schema.py"
    spec = importlib.util.spec_from_file_location("receipt_schema", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.extract(openapi()) == schema()
    generator = SchemaGenerator()
    live = generator.get_schema(public=True)
    assert tool.extract(json.loads(json.dumps(live))) == schema()
