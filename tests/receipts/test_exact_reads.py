"""What a returned receipt names stays readable, as it was (R-201, R-208..R-214)."""

from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone

from prepare.models import ArtifactRevision, Grant, Scope, Token
from prepare.services import access
from tests.api import Answer, Api
from tests.factories import (
    experience,
    make_scope,
    profile,
    remember,
    revise,
    source,
    token,
    topic,
    write,
)
from tests.receipts.making import FAMILIES, ask, check_against, sections, sha256
from tests.services.documents import read_text

OPTIONS = {**sections(*FAMILIES), "max_bytes": 32768}


@pytest.fixture
def scope(db: None) -> Scope:
    return make_scope("项目/甲 1")


@pytest.fixture
def memory(scope: Scope) -> ArtifactRevision:
    source(scope, "evidence")
    return remember(scope, "zebra original", artifact_id="m")


def read(api: Api, item: dict[str, Any]) -> Answer:
    """The ordinary exact read of a selected item's address."""
    address = item["artifact_address"]
    artifact = address["artifact"]
    parts = (
        *("scopes", address["scope_id"], "artifacts", artifact["family"]),
        *(artifact["artifact_id"], "revisions", str(artifact["revision"])),
    )
    # The test client decodes a path as WSGI does; RAW_URI is what the server got.
    path = "/v1/" + "/".join(quote(part, safe="") for part in parts)
    response = api.client.get(path, RAW_URI=path, headers=_headers(api))
    return Answer(response.status_code, response.json(), dict(response.items()))


def _headers(api: Api) -> dict[str, str]:
    return {} if api.token is None else {"Authorization": f"Bearer {api.token}"}


def change(api: Api, row: ArtifactRevision, state: str) -> None:
    """Through the operation that a client would use."""
    artifact = {"family": "atomic-memory", "artifact_id": "m", "revision": 1}
    body = {
        "scope_id": row.artifact.scope.scope_id,
        "target": {"artifact": artifact, "state_version": 0},
        "state": state,
    }
    assert api.post("/v1/atomic-memory/lifecycle", body).status == 200


def merge(api: Api, row: ArtifactRevision) -> str:
    """Merge with another memory; returns the id of what they became."""
    remember(row.artifact.scope, "other original", artifact_id="other")
    body = {
        "scope_id": row.artifact.scope.scope_id,
        "inputs": [
            {
                "artifact": {
                    "family": "atomic-memory",
                    "artifact_id": artifact_id,
                    "revision": 1,
                },
                "state_version": 0,
            }
            for artifact_id in ("m", "other")
        ],
        "content": {"kind": "fact", "text": "zebra merged"},
        "source_refs": [{"name": "content", "source_id": "evidence"}],
    }
    answer = api.post("/v1/atomic-memory/merges", body)
    assert answer.status == 200, answer.body
    return str(answer.body["records"][0]["artifact"]["artifact_id"])


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("forgotten", marks=pytest.mark.clause("R-208")),
        pytest.param("merged", marks=pytest.mark.clause("R-209")),
        pytest.param("retired", marks=pytest.mark.clause("R-210")),
        pytest.param("revised", marks=pytest.mark.clause("R-211")),
    ],
)
@pytest.mark.clause("R-211", "R-214")
def test_the_exact_revision_outlives_its_head(api, scope, memory, what) -> None:
    """Same bytes before and after; neither a newer head nor a merge target instead."""
    before_body, receipt = ask(api, scope.scope_id, "zebra", **OPTIONS)
    [item] = receipt["selected"]
    before = read(api, item)
    if what == "revised":
        revise(memory, {"kind": "fact", "text": "zebra new"})
    elif what == "merged":
        merge(api, memory)
    else:
        change(api, memory, what)
    after = read(api, item)
    assert after.status == 200
    assert after.body == before.body
    assert after.body["content"]["text"] == "zebra original"
    assert after.body["artifact_id"] == "m"
    assert after.body["revision"] == 1
    # The receipt that was returned still fits the content that was injected.
    check_against(receipt, before_body, "zebra", 32768)
    again = ask(api, scope.scope_id, "zebra", **OPTIONS)
    named = [one["artifact_address"]["artifact"] for one in again.receipt["selected"]]
    assert {"family": "atomic-memory", "artifact_id": "m", "revision": 1} not in named
    assert again.body["content"] != before_body["content"]


@pytest.mark.clause("R-209", "R-211")
def test_a_merge_target_is_another_identity(api, scope, memory) -> None:
    [item] = ask(api, scope.scope_id, "zebra", **OPTIONS).receipt["selected"]
    target = merge(api, memory)
    [now] = ask(api, scope.scope_id, "zebra", **OPTIONS).receipt["selected"]
    assert now["artifact_address"]["artifact"]["artifact_id"] == target
    assert read(api, now).body["content"]["text"] == "zebra merged"
    assert read(api, item).body["content"]["text"] == "zebra original"


@pytest.mark.clause("R-211", "R-214")
def test_every_kind_reads_back_what_was_shown(api, scope, memory) -> None:
    """After each has a newer revision."""
    rows = [
        (write(scope, "experience", experience("zebra old")), experience("zebra new")),
        (write(scope, "topic-memory", topic("zebra", "old")), topic("zebra", "new")),
        (profile(scope, "zebra old"), {"content": "zebra new"}),
    ]
    body, receipt = ask(api, scope.scope_id, "zebra", **OPTIONS)
    for row, content in rows:
        revise(row, content)
    shown = {item.section: item.body for item in read_text(body["content"])}
    found = {}
    for item in receipt["selected"]:
        answer = read(api, item)
        assert answer.status == 200
        assert answer.body["revision"] == 1
        found[item["kind"]] = answer.body["content"]
    assert shown["Memory"] == found["atomic-memory"]["text"]
    assert f"Lesson: {found['experience']['lesson']}" in shown["Experience"]
    assert f"Summary: {found['topic-memory']['summary']}" in shown["Topic Memory"]
    assert shown["Profile"] == found["profile"]["content"]
    assert receipt["content_digest"] == sha256(body["content"].encode())


@pytest.mark.clause("R-212", "R-213")
def test_rights_are_those_of_the_moment_of_reading(
    api, scope, memory, settings
) -> None:
    """Not those with which the receipt was made, in either direction."""
    settings.ACCESS_MODE = "enforced"
    reader = api.with_token(token("reader", scope))
    late = api.with_token(token("late"))
    revoked = api.with_token(token("revoked", scope))
    [item] = ask(reader, scope.scope_id, "zebra", **OPTIONS).receipt["selected"]
    assert read(reader, item).status == 200
    denied = read(late, item)
    assert (denied.status, denied.code) == (403, "forbidden")
    assert "zebra" not in str(denied.body)

    Grant.objects.filter(token__name="reader").delete()
    access.revoke_token(name="revoked", now=timezone.now())
    Grant.objects.create(
        token=Token.objects.get(name="late"), scope=scope, role="viewer"
    )
    assert read(reader, item).status == 403
    assert read(revoked, item).status == 401
    assert read(late, item).body["content"]["text"] == "zebra original"


@pytest.mark.clause("R-212")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"artifact_id": "unknown"}, "artifact_not_found"),
        ({"revision": 2}, "artifact_not_found"),
        ({"family": "experience"}, "artifact_not_found"),
    ],
)
def test_an_unavailable_revision_is_404(api, scope, memory, changes, code) -> None:
    """As for any exact read; what is there instead is not shown."""
    [item] = ask(api, scope.scope_id, "zebra", **OPTIONS).receipt["selected"]
    item["artifact_address"]["artifact"] |= changes
    answer = read(api, item)
    assert (answer.status, answer.code) == (404, code)
    item["artifact_address"]["scope_id"] = "elsewhere"
    assert read(api, item).code == "scope_not_found"


@pytest.mark.clause("R-211")
def test_equal_ids_of_two_scopes_read_their_own(api, db) -> None:
    reference = make_scope("reference")
    scope = make_scope("s", references=["reference"])
    for each in (scope, reference):
        remember(each, f"zebra of {each.scope_id}", artifact_id="same")
    receipt = ask(api, "s", "zebra").receipt
    texts = [read(api, item).body["content"]["text"] for item in receipt["selected"]]
    assert texts == ["zebra of s", "zebra of reference"]
