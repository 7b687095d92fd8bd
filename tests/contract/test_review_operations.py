"""Candidates from proposal to decision (contract C.7)."""

import re
from typing import Any

import pytest

from prepare.models import Scope
from tests.api import Answer, Api
from tests.contract.steps import (
    CANDIDATE,
    CONTENTS,
    failed,
    follow_body,
    is_prepared,
    pages,
)
from tests.factories import (
    propose,
    source,
    write,
)

pytestmark = pytest.mark.usefixtures("scope")


def proposal(**fields: Any) -> dict[str, Any]:
    return {
        "scope_id": "contract",
        "proposal": CONTENTS["experience"],
        "source_refs": [{"name": "content", "source_id": "src"}],
        "artifact_refs": [],
        **fields,
    }


def decide(api: Api, verb: str, candidate: dict[str, Any], **fields: Any) -> Answer:
    request = {
        "scope_id": "contract",
        "candidate_id": candidate["candidate_id"],
        "expected_version": candidate["version"],
        **fields,
    }
    return api.post(f"/v1/candidates/{verb}", request)


def test_propose_and_approve(api: Api, scope: Scope) -> None:
    source(scope, "src")
    answer = api.post("/v1/experience/propose", proposal(reason="seen twice"))
    assert answer.status == 201
    candidate = answer.body
    assert list(candidate) == CANDIDATE
    assert re.fullmatch(r"cand_[0-9a-f]{32}", candidate["candidate_id"])
    assert candidate == {
        "candidate_id": candidate["candidate_id"],
        "version": 1,
        "family": "experience",
        "status": "pending",
        "proposal": CONTENTS["experience"],
        "source_refs": [{"name": "content", "source_id": "src"}],
        "artifact_refs": [],
        "target": None,
        "reason": "seen twice",
        "result_artifact": None,
        "decision_reason": None,
        "candidate_kind": "artifact",
    }
    read = {"scope_id": "contract", "candidate_id": candidate["candidate_id"]}
    assert api.post("/v1/candidates/get", read).body == candidate
    assert not is_prepared(api)

    approved = decide(api, "approve", candidate).body
    result = approved["result_artifact"]
    assert (approved["status"], approved["version"]) == ("approved", 2)
    assert re.fullmatch(r"exp_[0-9a-f]{32}", result["artifact_id"])
    assert decide(api, "approve", candidate).body == approved
    assert api.post("/v1/candidates/get", read).body == approved
    assert api.content("contract", "orchids like shade", assembly={})

    got = api.post("/v1/experience/get", {"scope_id": "contract", "artifact": result})
    assert got.body == {
        "artifact": result,
        "content": CONTENTS["experience"],
        "source_refs": candidate["source_refs"],
        "artifact_refs": [],
    }
    failed(decide(api, "reject", approved, reason="no"), 409, "candidate_terminal")


def test_reject_is_final(api: Api, scope: Scope) -> None:
    source(scope, "src")
    candidate = api.post("/v1/experience/propose", proposal()).body
    for reason in ("", " ", None, "x" * 2001):
        refused = decide(api, "reject", candidate, reason=reason)
        failed(refused, 422, "invalid_request")
    rejected = decide(api, "reject", candidate, reason="no proof").body
    assert (rejected["status"], rejected["version"]) == ("rejected", 2)
    assert rejected["decision_reason"] == "no proof"
    assert rejected["result_artifact"] is None
    for version in (1, 2):
        again = candidate | {"version": version}
        failed(decide(api, "approve", again), 409, "candidate_terminal")
        failed(decide(api, "reject", again, reason="x"), 409, "candidate_terminal")
    assert not is_prepared(api)


def test_candidate_conflicts(api: Api, scope: Scope) -> None:
    row = write(scope, "experience", CONTENTS["experience"], artifact_id="exp-1")
    target = {"family": "experience", "artifact_id": "exp-1", "revision": 1}
    source(scope, "src")
    lesson = CONTENTS["experience"] | {"lesson": "orchids like mist"}
    replacing = proposal(target=target, artifact_refs=[target], proposal=lesson)
    candidate = api.post("/v1/experience/propose", replacing).body
    assert candidate["target"] == target
    stale = candidate | {"version": 2}
    failed(decide(api, "approve", stale), 409, "candidate_conflict")
    failed(decide(api, "reject", stale, reason="x"), 409, "candidate_conflict")
    approved = decide(api, "approve", candidate).body
    assert approved["result_artifact"] == target | {"revision": 2}
    second = api.post("/v1/experience/propose", proposal(target=target)).body
    failed(decide(api, "approve", second), 409, "artifact_conflict")
    read = {"scope_id": "contract", "candidate_id": second["candidate_id"]}
    assert api.post("/v1/candidates/get", read).body["status"] == "pending"
    assert row.artifact.artifact_id == "exp-1"

    missing = {"candidate_id": "nope", "version": 1}
    failed(decide(api, "approve", missing), 404, "candidate_not_found")
    failed(decide(api, "reject", missing, reason="x"), 404, "candidate_not_found")
    read = {"scope_id": "contract", "candidate_id": "nope"}
    failed(api.post("/v1/candidates/get", read), 404, "candidate_not_found")


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"source_refs": []}, 422, "invalid_request"),
        (
            {"source_refs": [{"name": "content", "source_id": "src"}] * 33},
            422,
            "invalid_request",
        ),
        (
            {
                "source_refs": [{"name": "content", "source_id": "src"}] * 32,
                "artifact_refs": [
                    {"family": "experience", "artifact_id": "x", "revision": 1}
                ],
            },
            422,
            "invalid_request",
        ),
        (
            {"source_refs": [{"name": "content", "source_id": "nope"}]},
            404,
            "source_not_found",
        ),
        (
            {
                "artifact_refs": [
                    {"family": "experience", "artifact_id": "x", "revision": 1}
                ]
            },
            404,
            "artifact_not_found",
        ),
        (
            {"target": {"family": "profile", "artifact_id": "profile", "revision": 1}},
            422,
            "invalid_request",
        ),
        ({"proposal": {"lesson": "x"}}, 422, "invalid_request"),
        ({"reason": "x" * 2001}, 422, "invalid_request"),
        ({"scope_id": "nope"}, 404, "scope_not_found"),
    ],
)
def test_refused_proposals(
    api: Api, scope: Scope, fields: dict[str, Any], status: int, code: str
) -> None:
    source(scope, "src")
    failed(api.post("/v1/experience/propose", proposal(**fields)), status, code)
    if status == 422:  # before the Scope is looked for (J-3)
        unknown = proposal(**fields) | {"scope_id": "nope"}
        failed(api.post("/v1/experience/propose", unknown), status, code)


def test_list_candidates(api: Api, scope: Scope) -> None:
    rows = [propose(scope, "experience", CONTENTS["experience"]) for _ in range(5)]
    ids = [row.candidate_id for row in rows]
    items = pages(follow_body(api, "/v1/candidates/list", status=None), "candidates")
    assert [item["candidate_id"] for item in items] == ids
    assert list(items[0]) == CANDIDATE
    decide(api, "reject", items[0], reason="no")
    unfiltered = pages(follow_body(api, "/v1/candidates/list"), "candidates")
    assert [item["candidate_id"] for item in unfiltered] == ids[1:]  # the pending ones
    for status, expected in [("pending", ids[1:]), ("rejected", ids[:1])]:
        found = pages(
            follow_body(api, "/v1/candidates/list", status=status), "candidates"
        )
        assert [item["candidate_id"] for item in found] == expected
    for fields, count in [({"family": "profile"}, 0), ({"family": "experience"}, 4)]:
        request = {"scope_id": "contract", **fields}
        answer = api.post("/v1/candidates/list", request)
        assert len(answer.body["candidates"]) == count
