"""What the tests of single operations share: shapes, contents, and small steps."""

from collections.abc import Iterator
from typing import Any

from tests.api import Answer, Api
from tests.factories import experience, topic

RECORD = ["artifact", "kind", "text", "state", "state_version", "merged_into_id"]
REF = ["family", "artifact_id", "revision"]
DESCRIPTOR = [
    "scope_id",
    "title",
    "summary",
    "parent_scope_id",
    "context_references",
    "external_references",
    "version",
]
REVISION = [
    "scope_id",
    "family",
    "artifact_id",
    "revision",
    "content",
    "sources",
    "artifacts",
    "content_digest",
    "created_at",
    "created_by",
    "restored_from_revision",
    "reason",
]
CANDIDATE = [
    "candidate_id",
    "version",
    "family",
    "status",
    "proposal",
    "source_refs",
    "artifact_refs",
    "target",
    "reason",
    "result_artifact",
    "decision_reason",
    "candidate_kind",
]
SOURCE = [
    "receipt_identity",
    "scope_id",
    "source_type",
    "source_id",
    "content",
    "position",
    "content_digest",
]

CONTENTS: dict[str, dict[str, Any]] = {
    "atomic-memory": {"kind": "fact", "text": "orchids like shade"},
    "experience": experience("orchids like shade"),
    "topic-memory": topic("orchids", "about orchids", "orchids like shade"),
    "profile": {"content": "# Gardener\n"},
    "prompt": {
        "schema_version": "powercontext.prompt.v1",
        "mode": "custom",
        "instructions": "Choose with care.",
        "demonstrations": [{"input": {"a": 1}, "expected_output": [1]}],
    },
}
REFERABLE = [family for family in CONTENTS if family != "prompt"]


# The two forms of output.
MODES: list[dict[str, Any]] = [{}, {"assembly": {}}]


def failed(answer: Answer, status: int, code: str) -> Any:
    """The details of an error answer that is this one."""
    assert (answer.status, answer.code) == (status, code), answer.body
    return answer.body["error"]["details"]


def locs(details: Any) -> list[Any]:
    return [error["loc"] for error in details["errors"]]


def pages(answers: Iterator[Answer], key: str) -> list[Any]:
    return [item for answer in answers for item in answer.body[key]]


def follow(api: Api, path: str, limit: int = 2) -> Iterator[Answer]:
    """GET all pages of a listing."""
    answer = api.get(f"{path}?limit={limit}")
    yield answer
    while (cursor := answer.body["next_cursor"]) is not None:
        answer = api.get(f"{path}?limit={limit}&cursor={cursor}")
        yield answer


def follow_body(api: Api, path: str, **request: Any) -> Iterator[Answer]:
    """POST for all pages of a listing."""
    request = {"scope_id": "contract", "limit": 2, **request}
    answer = api.post(path, request)
    yield answer
    while (cursor := answer.body["next_cursor"]) is not None:
        answer = api.post(path, request | {"cursor": cursor})
        yield answer


ARTIFACTS = "/v1/scopes/contract/artifacts"


def create(api: Api, family: str, content: Any = None) -> Answer:
    request = {"family": family, "content": content or CONTENTS[family]}
    if family == "prompt":
        request["prompt_key"] = "memory.rerank"
    return api.post(ARTIFACTS, request)


def set_state(api: Api, record: dict[str, Any], state: str) -> Answer:
    target = {key: record[key] for key in ("artifact", "state_version")}
    request = {"scope_id": "contract", "target": target, "state": state}
    return api.post("/v1/atomic-memory/lifecycle", request)


def recorded(api: Api, text: str = "orchid") -> dict[str, Any]:
    request = {"scope_id": "contract", "kind": "fact", "text": text}
    [record] = api.post("/v1/memory/remember", request).body["records"]
    assert isinstance(record, dict)
    return record


def is_prepared(api: Api) -> bool:
    return bool(api.prepare("contract", "orchid").body["status"] == "ready")
