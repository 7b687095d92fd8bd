"""A receipt beside its schema and beside the bytes, without reading anything."""

import copy
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.services.checking import SCHEMA_FILE, check_content, check_receipt

SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
CONTENT = "Ein Satz — 一句话。\n".encode()
DIGEST = f"sha256:{'0' * 64}"
HEX = "a" * 64


def address(artifact_id: str = "m1", **fields: Any) -> dict[str, Any]:
    artifact = {"family": "atomic-memory", "artifact_id": artifact_id, "revision": 1}
    return {"scope_id": "project:demo", "artifact": artifact | fields}


def item(artifact_id: str = "m1", size: int = 5, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "atomic-memory",
        "artifact_address": address(artifact_id),
        "rendered_bytes": size,
        "truncated": False,
        **fields,
    }


def code_item() -> dict[str, Any]:
    evidence = {
        "scope_id": "project:demo",
        "fingerprint": HEX,
        "path": "api/keys.py",
        "file_sha256": HEX,
        "start_line": 1,
        "end_line": 9,
        "snippet_sha256": HEX,
    }
    return {
        "kind": "code",
        "code_evidence": evidence,
        "rendered_bytes": 2,
        "truncated": False,
    }


def config(config_id: str = DIGEST, **fields: Any) -> dict[str, Any]:
    prompt = {
        "scope_id": "project:demo",
        "key": "memory.rerank",
        "definition_version": "1",
        "builtin_version": "1",
        "selection": "built_in",
        "selected_version": "1",
        "compiled_digest": HEX,
        "artifact_address": None,
    }
    return {
        "config_id": config_id,
        "policy_id": "powercontext.memory-rerank.v1",
        "model": "openai/gpt-4.1-mini",
        "effective_settings": {"temperature": 0.0, "max_tokens": 512},
        "timeout_seconds": 10.0,
        "max_requests": 1,
        "config_digest": config_id,
        "prompt": prompt,
        "non_deterministic": True,
        **fields,
    }


def receipt_of(content: bytes = CONTENT, **fields: Any) -> dict[str, Any]:
    """A receipt with every kind of group, for `content`."""
    search = {"round": 0, "family": "atomic-memory", "mode": "fts"}
    rerank = {"round": 0, "config_id": DIGEST, "outcome": "selected"}
    return {
        "schema": limits.RECEIPT_SCHEMA,
        "receipt_id": "b8cfa6a4-6f3d-4c4a-8f57-9d3f2f6c8a11",
        "policy_id": limits.RECEIPT_SCHEMA,
        "query_digest": DIGEST,
        "content_digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "requested_max_bytes": 8000,
        "used_bytes": len(content),
        "truncated": False,
        "non_deterministic": True,
        "retrieval": {
            "rounds": [{"round": 0, "outcome": "completed", "retained": True}],
            "searches": [
                search | {"outcome": "completed", "fallback_reason": "none", "count": 2}
            ],
            "rerank_configs": [config()],
            "reranks": [rerank | {"fallback_reason": "none", "count": 1}],
        },
        "selected": [item(), item("m2"), code_item()],
        "omitted": [{"family": "profile", "reason": "not_retrieved", "count": 1}],
        "stages": [{"stage": "memory.search", "duration_ms": 0.25, "count": 2}],
        **fields,
    }


def without_address() -> dict[str, Any]:
    return {key: value for key, value in item().items() if key != "artifact_address"}


EMPTY: dict[str, Any] = {"content_digest": None, "used_bytes": 0, "selected": []}


def outcomes(content: bytes, receipt: dict[str, Any]) -> list[str]:
    return [check.outcome for check in check_content(content, receipt).checks]


def test_the_bytes_of_the_receipt_match() -> None:
    result = check_content(CONTENT, receipt_of())
    assert [check.name for check in result.checks] == [
        "content_digest",
        "content_bytes",
    ]
    assert {check.outcome for check in result.checks} == {"match"}
    assert (result.problems, result.notes) == ((), ())
    assert len(result.citations) == 3


@pytest.mark.clause("R-028")
def test_one_changed_byte_is_a_mismatch() -> None:
    for position in range(len(CONTENT)):
        changed = bytearray(CONTENT)
        changed[position] ^= 1
        assert outcomes(bytes(changed), receipt_of()) == ["mismatch", "match"]
    assert outcomes(CONTENT[:-1], receipt_of()) == ["mismatch", "mismatch"]


@pytest.mark.clause("R-028", "R-030")
def test_an_empty_receipt_fits_no_content_only() -> None:
    receipt = receipt_of(**EMPTY)
    assert outcomes(b"", receipt) == ["match", "match"]
    assert outcomes(b"x", receipt) == ["mismatch", "mismatch"]
    assert outcomes(b"", receipt_of()) == ["mismatch", "mismatch"]


@pytest.mark.parametrize(
    ("stored", "what"),
    [
        (b"a\nb\n", "one line feed at its end"),
        (b"a\r\nb", "CR in its line ends"),
        (b"\xef\xbb\xbfa\nb", "a byte order mark"),
        (
            b"\xef\xbb\xbfa\r\nb\r\n",
            "a byte order mark and CR in its line ends and one line feed at its end",
        ),
    ],
)
def test_what_files_add_is_explained_and_stays_a_mismatch(
    stored: bytes, what: str
) -> None:
    result = check_content(stored, receipt_of(b"a\nb"))
    assert result.checks[0].outcome == "mismatch"
    (note,) = result.notes
    assert note.startswith(f"without {what} the content matches")


def test_nothing_is_parsed_out_of_the_content() -> None:
    """A content that cites something else is as good as any other: bytes are bytes."""
    content = b'    Artifact: family="atomic-memory", id="other", revision=9'
    result = check_content(content, receipt_of(content))
    assert [check.outcome for check in result.checks] == ["match", "match"]


CONTRADICTIONS: list[tuple[str, dict[str, Any]]] = [
    ("one identity twice", {"selected": [item(), item()]}),
    ("being empty", {"selected": []}),
    ("being empty", EMPTY | {"selected": [item(size=0)]}),
    ("above requested_max_bytes", {"requested_max_bytes": 512, "used_bytes": 513}),
    ("more rendered_bytes", {"selected": [item(size=99)]}),
    ("truncated disagrees", {"truncated": True}),
    ("truncated disagrees", {"selected": [item(truncated=True)]}),
    ("non_deterministic disagrees", {"non_deterministic": False}),
]


@pytest.mark.parametrize(("problem", "fields"), CONTRADICTIONS)
def test_a_contradiction_is_reported(problem: str, fields: dict[str, Any]) -> None:
    (found,) = check_content(CONTENT, receipt_of(**fields)).problems
    assert problem in found


def test_rerank_groups_and_configurations_belong_together() -> None:
    receipt = receipt_of()
    receipt["retrieval"]["reranks"] = []
    (found,) = check_content(CONTENT, receipt).problems
    assert "different configurations" in found
    receipt = receipt_of()
    receipt["retrieval"]["rerank_configs"] *= 2
    (found,) = check_content(CONTENT, receipt).problems
    assert "a configuration twice" in found


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("receipt.schema: is not in the closed list", {"schema": "v2"}),
    ("receipt.receipt_id: should be a UUID", {"receipt_id": "7"}),
    ("query_digest: does not have its fixed form", {"query_digest": DIGEST + "\n"}),
    ("used_bytes: should be integer", {"used_bytes": True}),
    ("used_bytes: should be integer", {"used_bytes": 5.0}),
    ("requested_max_bytes: is below 512", {"requested_max_bytes": 511}),
    ("requested_max_bytes: is above 32768", {"requested_max_bytes": 32769}),
    ("receipt: has an unknown key", {"query": "secret"}),
    ("omitted: should be array", {"omitted": None}),
    ("selected: holds more than 32 items", {"selected": [item("m")] * 33}),
    ("receipt: has more than 8192 bytes", {"selected": [item("m" * 128)] * 31}),
    ("selected.0.kind: is not in the closed", {"selected": [item(kind="code")]}),
    (
        "selected.0: has an unknown key",
        {"selected": [item() | {"code_evidence": code_item()["code_evidence"]}]},
    ),
    ("selected.0.artifact_address: is missing", {"selected": [without_address()]}),
    ("selected.0: has a kind and a family", {"selected": [item(kind="profile")]}),
    ("outside the bounds", {"selected": [item("m" * 129)]}),
    ("outside the bounds", {"selected": [item("m 1")]}),
    (
        "outside the bounds",
        {"selected": [item(artifact_address=address(revision=2**63))]},
    ),
    ("lone surrogate", {"selected": [item("\ud800")]}),
]


@pytest.mark.clause("R-013", "R-042", "R-180")
@pytest.mark.parametrize(("message", "fields"), REFUSED)
def test_what_is_no_receipt_is_refused(message: str, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_receipt(receipt_of(**fields))
    found = [
        f"{'.'.join(map(str, one.loc))}: {one.msg}" for one in refused.value.violations
    ]
    assert any(message in one for one in found), found


@pytest.mark.parametrize("value", [None, [], "x", 7])
def test_a_receipt_is_an_object(value: object) -> None:
    with pytest.raises(InvalidRequest):
        check_receipt(value)


@pytest.mark.parametrize("name", sorted(receipt_of()))
def test_every_field_is_required(name: str) -> None:
    receipt = receipt_of()
    del receipt[name]
    with pytest.raises(InvalidRequest):
        check_receipt(receipt)


# The reader of the schema, beside a full implementation of JSON Schema.

_KEYWORDS = {
    *("$schema", "$defs", "$ref", "title", "description", "type", "format", "enum"),
    *("pattern", "minimum", "maximum", "properties", "required", "items", "maxItems"),
    *("additionalProperties", "oneOf"),
}


def schemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
        *schema.get("oneOf", []),
        *([schema["items"]] if "items" in schema else []),
    ]
    return [schema, *(found for one in inner for found in schemas(one))]


def test_the_schema_uses_no_keyword_that_we_do_not_read() -> None:
    for schema in schemas(SCHEMA):
        assert set(schema) <= _KEYWORDS
        assert schema.get("format", "uuid") in ("uuid", "double")
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
        if schema.get("type") == "array":
            assert schema.keys() >= {"items", "maxItems"}


VALUES = [None, True, 0, -1, 3, 0.5, 10**30, "", "x", DIGEST, [], {}, [1], {"x": 1}]


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a JSON value."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [path, *(found for key, one in inner for found in paths(one, (*path, key)))]


_PATHS = paths(receipt_of())[1:]


@settings(max_examples=400)
@given(st.sampled_from(_PATHS), st.sampled_from([*VALUES, "delete", "add"]))
def test_it_agrees_with_json_schema(path: tuple[Any, ...], change: Any) -> None:
    receipt = copy.deepcopy(receipt_of())
    parent: Any = receipt
    for key in path[:-1]:
        parent = parent[key]
    if change == "delete":
        del parent[path[-1]]
    elif change == "add" and isinstance(parent, dict):
        parent["surplus"] = 1
    else:
        parent[path[-1]] = change
    validator = Draft202012Validator(SCHEMA, format_checker=FormatChecker())
    try:
        check_receipt(receipt)
    except InvalidRequest as refused:
        ours = {one.msg for one in refused.violations}
        beyond = ("kind and a family", "bounds of identities")
        if not any(word in msg for word in beyond for msg in ours):
            assert not validator.is_valid(receipt)
    else:
        assert validator.is_valid(receipt)


def test_without_the_content_nothing_is_compared() -> None:
    checked = check_content(None, receipt_of(truncated=True))
    assert (checked.checks, checked.notes) == ((), ())
    assert checked.problems == ("truncated disagrees with the items",)
    assert len(checked.citations) == 3


def test_no_more_violations_are_gathered_than_anybody_reads() -> None:
    wrong = receipt_of(selected=[{str(n): n for n in range(5000)}] * 40)
    with pytest.raises(InvalidRequest) as caught:
        check_receipt(wrong | {str(n): n for n in range(5000)})
    assert len(caught.value.violations) == 100
