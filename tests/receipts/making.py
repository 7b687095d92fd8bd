"""Receipts for tests: asked for over HTTP, or made from values of the pure builder.

What every receipt must be is checked here on the way, by code of its own: the schema
file, sizes, digests, orders and sums.
"""

import hashlib
import json
import unicodedata
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from prepare.evidence import (
    PromptEvidence,
    RecallEvidence,
    RecallRound,
    RerankConfig,
    SearchCall,
    StageTiming,
)
from prepare.services.receipts import ReceiptOmitted, build_receipt
from prepare.values import (
    Build,
    CodeIdentity,
    Identity,
    Omission,
    PrepareRequest,
    Reason,
    SelectedItem,
    parse_prepare_request,
)
from tests.api import PREPARE, Api
from tests.services.building import identity

Json = dict[str, Any]
SCHEMA_FILE = Path(__file__).parents[2] / "openapi" / "receipt.schema.json"
POLICY = "powercontext.prepared-context-receipt.v1"
KEYS = [
    *("schema", "receipt_id", "policy_id", "query_digest", "content_digest"),
    *("requested_max_bytes", "used_bytes", "truncated", "non_deterministic"),
    *("retrieval", "selected", "omitted", "stages"),
]
FOUR_KEYS = ["schema", "status", "content", "content_bytes"]
RECEIPT_ID = "00000000-0000-4000-8000-000000000000"
FAMILIES = ("memory", "topic-memory", "experience", "profile")
FORMS = [
    pytest.param({}, id="legacy"),
    pytest.param({"assembly": {}}, id="default-sections"),
    pytest.param({"assembly": {"sections": []}}, id="no-sections"),
    pytest.param({"assembly": {"show": ["recall_rank"]}, "max_bytes": 900}, id="small"),
]


def sections(*chosen: tuple[str, int] | str) -> Json:
    """`{"assembly": ...}` with (family, limit) sections; a bare family has limit 2."""
    pairs = [(one, 2) if isinstance(one, str) else one for one in chosen]
    listed = [{"family": family, "limit": limit} for family, limit in pairs]
    return {"assembly": {"sections": listed}}


# --- over HTTP --------------------------------------------------------------------


class Answered(NamedTuple):
    """A checked answer and its checked receipt."""

    body: Json
    receipt: Json


def raw(api: Api, scope_id: str, query: str, **options: Any) -> bytes:
    """The exact bytes of a 200 answer."""
    body = {"scope_id": scope_id, "query": query, **options}
    answer = api.client.post(PREPARE, json.dumps(body), "application/json")
    assert answer.status_code == 200, answer.content
    return bytes(answer.content)


def ask(api: Api, scope_id: str, query: str, **options: Any) -> Answered:
    """Prepare with the flag; there must be a receipt, and it must be true."""
    answer = api.prepare(scope_id, query, include_receipt=True, **options)
    assert answer.status == 200, answer.body
    assert list(answer.body) == [*FOUR_KEYS, "receipt"]
    receipt = answer.body["receipt"]
    check_receipt(receipt)
    check_against(receipt, answer.body, query, options.get("max_bytes", 8000))
    return Answered(answer.body, receipt)


def omitted(receipt: Json) -> dict[tuple[str, str], int]:
    return {(one["family"], one["reason"]): one["count"] for one in receipt["omitted"]}


def searches(receipt: Json) -> dict[tuple[str, str, str], int]:
    """(family, mode, outcome) -> count; nothing here ever falls back."""
    groups = receipt["retrieval"]["searches"]
    assert {group["fallback_reason"] for group in groups} <= {"none"}
    return {
        (group["family"], group["mode"], group["outcome"]): group["count"]
        for group in groups
    }


def stages(receipt: Json) -> dict[str, int]:
    return {one["stage"]: one["count"] for one in receipt["stages"]}


def artifact_ids(receipt: Json) -> list[str]:
    return [
        one["artifact_address"]["artifact"]["artifact_id"]
        for one in receipt["selected"]
    ]


# --- what holds for every receipt -------------------------------------------------


@cache
def schema() -> Json:
    value: Json = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return value


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


def is_valid(receipt: Any) -> bool:
    return bool(_validator().is_valid(receipt))


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def query_digest(query: str) -> str:
    return sha256(unicodedata.normalize("NFC", query.strip()).encode())


def check_receipt(receipt: Json) -> None:
    """Schema, size, key order, group order, references inside the receipt."""
    _validator().validate(receipt)
    assert list(receipt) == KEYS
    assert len(compact(receipt)) <= 8192
    assert receipt["schema"] == receipt["policy_id"] == POLICY
    uuid.UUID(receipt["receipt_id"])
    retrieval = receipt["retrieval"]
    assert list(retrieval) == ["rounds", "searches", "rerank_configs", "reranks"]
    numbers = [one["round"] for one in retrieval["rounds"]]
    assert numbers == list(range(len(numbers)))
    _check_groups(
        retrieval["searches"], "round", "family", "mode", "outcome", "fallback_reason"
    )
    _check_groups(
        retrieval["reranks"], "round", "config_id", "outcome", "fallback_reason"
    )
    _check_groups(receipt["omitted"], "family", "reason")
    names = [one["stage"] for one in receipt["stages"]]
    assert names == sorted(set(names))
    configs = [one["config_id"] for one in retrieval["rerank_configs"]]
    assert configs == sorted({one["config_id"] for one in retrieval["reranks"]})
    assert receipt["truncated"] == any(one["truncated"] for one in receipt["selected"])


def _check_groups(groups: list[Json], *names: str) -> None:
    """Each group has these fields and a count, once, in the order of the fields."""
    assert all(list(group) == [*names, "count"] for group in groups)
    keys = [tuple(group[name] for name in names) for group in groups]
    assert keys == sorted(set(keys))


def check_against(receipt: Json, body: Json, query: str, max_bytes: int) -> None:
    """What the receipt says about one answer (R-024, R-028..R-030)."""
    content = body["content"]
    assert receipt["query_digest"] == query_digest(query)
    assert receipt["content_digest"] == (content and sha256(content.encode()))
    assert receipt["requested_max_bytes"] == max_bytes
    assert (
        receipt["used_bytes"] == body["content_bytes"] == len((content or "").encode())
    )
    assert bool(receipt["selected"]) == (body["status"] == "ready")


# --- from values ------------------------------------------------------------------


def request(**wire: Any) -> PrepareRequest:
    return parse_prepare_request({"scope_id": "s", "query": "q", **wire})


def code_identity(path: str = "src/app.py", **changes: Any) -> CodeIdentity:
    values: Json = {
        "scope_id": "project:demo",
        "fingerprint": "a" * 64,
        "path": path,
        "file_sha256": "b" * 64,
        "start_line": 1,
        "end_line": 20,
        "snippet_sha256": "c" * 64,
    }
    return CodeIdentity(**(values | changes))


def items(identities: Iterable[Identity | CodeIdentity]) -> tuple[SelectedItem, ...]:
    return tuple(
        SelectedItem(identity=one, rendered_bytes=100, truncated=False)
        for one in identities
    )


def build(
    *origins: Identity,
    code: Sequence[CodeIdentity] = (),
    omissions: Sequence[Omission] = (),
) -> Build:
    """A ready result of these identities, or an empty one."""
    return Build(
        content="content" if origins or code else None,
        origins=origins,
        code_origins=tuple(code),
        selected=items([*origins, *code]),
        omissions=tuple(omissions),
    )


def memories(count: int, **fields: Any) -> list[Identity]:
    return [identity(f"m{number}", **fields) for number in range(count)]


def omission(family: str, reason: Reason, count: int = 1) -> Omission:
    return Omission(family=family, reason=reason, count=count)


def call(
    family: str = "atomic-memory",
    mode: Any = "fts",
    outcome: Any = "completed",
    fallback_reason: Any = "none",
    *,
    round_number: int = 0,
    count: int = 1,
) -> SearchCall:
    return SearchCall(
        round=round_number,
        family=family,
        mode=mode,
        outcome=outcome,
        fallback_reason=fallback_reason,
        count=count,
    )


# What a legacy request must at least report.
LEGACY_CALLS = (call(), call("topic-memory"), call("experience"))
EVIDENCE = RecallEvidence(rounds=(RecallRound(round=0),), searches=LEGACY_CALLS)


def rounds(count: int) -> tuple[RecallRound, ...]:
    return tuple(RecallRound(round=number) for number in range(count))


def prompt(scope_id: str = "project:demo", **changes: Any) -> PromptEvidence:
    values: Json = {
        "scope_id": scope_id,
        "key": "memory.rerank",
        "definition_version": "powercontext.prompt.memory.rerank.v1",
        "builtin_version": "powercontext.memory.rerank.listwise.v1",
        "selection": "built_in",
        "selected_version": "powercontext.memory.rerank.listwise.v1",
        "compiled_digest": "d" * 64,
    }
    return PromptEvidence(**(values | changes))


def rerank_config(number: int = 0, **changes: Any) -> RerankConfig:
    values: Json = {
        "policy_id": "powercontext.memory.rerank.listwise.v1",
        "model": "provider:model",
        "effective_settings": {"temperature": 0},
        "timeout_seconds": 30.0,
        "max_requests": 2,
        "config_digest": f"sha256:{number:064x}",
        "prompt": prompt(),
        "non_deterministic": True,
    }
    return RerankConfig(**(values | changes))


def make(
    packed: Build | None = None,
    evidence: RecallEvidence = EVIDENCE,
    *,
    asked: PrepareRequest | None = None,
    timings: Sequence[StageTiming] = (),
) -> Json:
    """The wire form of a checked receipt; raises `ReceiptOmitted`."""
    wire = build_receipt(
        request=asked or request(),
        evidence=evidence,
        build=packed or build(),
        stages=timings,
        receipt_id=RECEIPT_ID,
    ).wire
    check_receipt(wire)
    return wire


def attempt(made: Callable[[], Json]) -> tuple[Json | None, str]:
    """A receipt, or why there is none."""
    try:
        return made(), ""
    except ReceiptOmitted as omitted:
        return None, omitted.reason


def reason_of(made: Callable[[], object]) -> str:
    """Why no receipt could be made."""
    with pytest.raises(ReceiptOmitted) as caught:
        made()
    return caught.value.reason


def with_evidence(**changes: Any) -> RecallEvidence:
    return replace(EVIDENCE, **changes)
