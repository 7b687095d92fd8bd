"""Artifacts: written, replaced, listed, and read exactly (contract C.1, C.8)."""

import hashlib
import re
from typing import Any

import pytest
import rfc8785

from prepare.models import Scope
from tests.api import Answer, Api
from tests.contract.steps import (
    ARTIFACTS,
    CONTENTS,
    REF,
    REFERABLE,
    REVISION,
    create,
    failed,
    follow,
    locs,
    pages,
)
from tests.factories import (
    make_scope,
    remember,
    revise,
    topic,
    write,
)

pytestmark = pytest.mark.usefixtures("scope")


@pytest.mark.parametrize("family", CONTENTS)
def test_artifact_from_creation_to_its_revisions(api: Api, family: str) -> None:
    created = create(api, family)
    assert created.status == 201
    ref = {key: created.body[key] for key in REF}
    identifier = ref["artifact_id"]
    expected = {"profile": "profile", "prompt": "memory.rerank"}
    prefix = "exp_" if family == "experience" else "art_"
    pattern = expected.get(family, prefix + "[0-9a-f]{32}")
    assert re.fullmatch(pattern, identifier)
    assert created.body == {
        "scope_id": "contract",
        "family": family,
        "artifact_id": identifier,
        "revision": 1,
        "sources": [],
        "artifacts": [],
    }
    assert list(created.body)[:4] == ["scope_id", *REF]
    assert created.headers["ETag"] == '"revision:1"'

    path = f"{ARTIFACTS}/{family}/{identifier}"
    head = api.get(path)
    assert list(head.body) == REVISION
    assert head.headers["ETag"] == '"revision:1"'
    assert CONTENTS[family].items() <= head.body["content"].items()
    canonical = rfc8785.dumps(head.body["content"])
    digest = f"sha256:{hashlib.sha256(canonical).hexdigest()}"
    assert head.body["content_digest"] == digest
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", head.body["created_at"])
    assert api.get(f"{path}/revisions/1").body == head.body

    replaced = api.put(
        path,
        {"content": CONTENTS[family], "reason": "again", "restored_from_revision": 1},
        headers={"If-Match": head.headers["ETag"]},
    )
    assert (replaced.status, replaced.body["revision"]) == (200, 2)
    assert replaced.headers["ETag"] == '"revision:2"'
    assert replaced.body["reason"] == "again"
    assert replaced.body["restored_from_revision"] == 1
    assert api.get(path).body == replaced.body
    assert api.get(f"{path}/revisions/1").body == head.body

    revisions = api.get(f"{path}/revisions").body
    assert [item["revision"] for item in revisions["items"]] == [1, 2]
    heads = api.get(f"{ARTIFACTS}/{family}").body
    assert [item["revision"] for item in heads["items"]] == [2]
    summary = heads["items"][0]
    assert (summary["title"] is not None) == (family == "topic-memory")
    assert "content" not in summary


INVALID_CONTENTS: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("atomic-memory", {"text": None}, ["text"]),
    ("atomic-memory", {"text": " \n"}, ["text"]),
    ("atomic-memory", {"text": "x" * 8193}, ["text"]),
    ("atomic-memory", {"text": "契" * 2731}, ["text"]),
    ("atomic-memory", {"kind": ""}, ["kind"]),
    ("atomic-memory", {"kind": "x" * 129}, ["kind"]),
    ("atomic-memory", {"state": "active"}, ["state"]),
    ("atomic-memory", {"schema": "other"}, ["schema"]),
    ("atomic-memory", {"creation": {"type": "merge"}}, ["creation"]),
    ("experience", {"lesson": ""}, ["lesson"]),
    ("experience", {"lesson": "x" * 8001}, ["lesson"]),
    ("experience", {"lesson": ["x"]}, ["lesson"]),
    ("experience", {"confidence": 0.5}, ["confidence"]),
    ("experience", {"failure": {}}, ["repair_surface"]),
    ("topic-memory", {"title": "x" * 513}, ["title"]),
    ("topic-memory", {"summary": "x" * 8001}, ["summary"]),
    ("topic-memory", {"detail": "x" * 125_001}, ["detail"]),
    ("topic-memory", {"detail": 5}, ["detail"]),
    ("profile", {"content": "\n\n"}, ["content"]),
    ("profile", {"content": "x" * 262_145}, ["content"]),
    ("profile", {"media_type": "text/html"}, ["media_type"]),
    ("prompt", {"mode": "auto"}, ["mode"]),
    ("prompt", {"mode": "other"}, ["mode"]),
    ("prompt", {"instructions": "x" * 32_769}, ["instructions"]),
    ("prompt", {"demonstrations": [{}] * 51}, ["demonstrations"]),
    ("prompt", {"demonstrations": [{"input": 1}]}, ["demonstrations", 0]),
    ("prompt", {"schema_version": "v2"}, ["schema_version"]),
]


@pytest.mark.parametrize(("family", "change", "loc"), INVALID_CONTENTS)
def test_invalid_content(
    api: Api, family: str, change: dict[str, Any], loc: list[Any]
) -> None:
    content = CONTENTS[family] | change
    details = failed(create(api, family, content), 422, "invalid_request")
    assert locs(details) == [["body", "content", *loc]]
    create(api, family)
    [item] = api.get(f"{ARTIFACTS}/{family}").body["items"]
    refused = api.put(
        f"{ARTIFACTS}/{family}/{item['artifact_id']}",
        {"content": content},
        headers={"If-Match": '"revision:1"'},
    )
    assert locs(failed(refused, 422, "invalid_request")) == locs(details)


@pytest.mark.parametrize("family", CONTENTS)
def test_missing_content_field(api: Api, family: str) -> None:
    for name in CONTENTS[family]:
        content = {
            key: CONTENTS[family][key] for key in CONTENTS[family] if key != name
        }
        details = failed(
            create(api, family, content or {"x": 1}), 422, "invalid_request"
        )
        assert ["body", "content", name] in locs(details)


def test_create_artifact_errors(api: Api) -> None:
    memory = {"family": "memory", "content": {}}
    failed(api.post(ARTIFACTS, memory), 422, "legacy_memory_operation_unsupported")
    for request, loc in [
        ({"family": "skill", "content": {}}, "family"),
        ({"family": "atomic-memory", "content": []}, "content"),
        ({"family": "atomic-memory"}, "content"),
        ({"family": "prompt", "content": CONTENTS["prompt"]}, "prompt_key"),
        (
            {
                "family": "profile",
                "content": CONTENTS["profile"],
                "prompt_key": "memory.rerank",
            },
            "prompt_key",
        ),
        (
            {"family": "prompt", "content": CONTENTS["prompt"], "prompt_key": "x"},
            "prompt_key",
        ),
    ]:
        details = failed(api.post(ARTIFACTS, request), 422, "invalid_request")
        assert locs(details) == [["body", loc]]
    request = {"family": "atomic-memory", "content": CONTENTS["atomic-memory"]}
    unknown = api.post("/v1/scopes/nope/artifacts", request)
    failed(unknown, 404, "scope_not_found")


@pytest.mark.parametrize("family", ["profile", "prompt"])
def test_singletons(api: Api, family: str) -> None:
    assert create(api, family).status == 201
    details = failed(create(api, family), 409, "idempotency_conflict")
    assert details == {"kind": "artifact"}
    assert len(api.get(f"{ARTIFACTS}/{family}").body["items"]) == 1


def test_replace_needs_the_current_etag(api: Api) -> None:
    identifier = create(api, "atomic-memory").body["artifact_id"]
    path = f"{ARTIFACTS}/atomic-memory/{identifier}"
    request = {"content": {"kind": "fact", "text": "newer"}}

    def put(etag: str | None, path: str = path) -> Answer:
        headers = {} if etag is None else {"If-Match": etag}
        return api.put(path, request, headers=headers)

    failed(put(None), 428, "precondition_required")
    details = failed(put('"revision:2"'), 412, "revision_conflict")
    assert details == {
        "provided_etag": '"revision:2"',
        "current_etag": '"revision:1"',
    }
    assert put('"revision:1"').status == 200
    failed(put('"revision:1"'), 412, "revision_conflict")
    assert put('"revision:2"').status == 200
    failed(put('"revision:1"', f"{path}x"), 404, "artifact_not_found")
    legacy = put('"revision:1"', f"{ARTIFACTS}/memory/memory")
    failed(legacy, 422, "legacy_memory_operation_unsupported")


def test_artifact_reads_that_find_nothing(api: Api) -> None:
    identifier = create(api, "atomic-memory").body["artifact_id"]
    good = f"{ARTIFACTS}/atomic-memory/{identifier}"
    for path in (
        f"{good}x",
        f"{good}x/revisions",
        f"{good}x/revisions/1",
        f"{good}/revisions/2",
        f"{ARTIFACTS}/experience/{identifier}",
        f"{ARTIFACTS}/experience/{identifier}/revisions/1",
        f"{good}x/state",
    ):
        failed(api.get(path), 404, "artifact_not_found")
        elsewhere = path.replace("/contract/", "/nope/")
        failed(api.get(elsewhere), 404, "scope_not_found")
    for path, loc in [
        (f"{ARTIFACTS}/skill", "family"),
        (f"{ARTIFACTS}/skill/x", "family"),
        (f"{good}/revisions/0", "revision"),
    ]:
        details = failed(api.get(path), 422, "invalid_request")
        assert locs(details) == [["path", loc]]
    other = make_scope("other")
    remember(other, "theirs", artifact_id="theirs")
    theirs = f"{ARTIFACTS}/atomic-memory/theirs"
    failed(api.get(theirs), 404, "artifact_not_found")


def test_artifact_lists_page_by_page(api: Api, scope: Scope) -> None:
    rows = [remember(scope, f"text {n}", artifact_id=f"m{n}") for n in range(5)]
    write(scope, "experience", CONTENTS["experience"])
    items = pages(follow(api, f"{ARTIFACTS}/atomic-memory"), "items")
    assert [item["artifact_id"] for item in items] == [f"m{n}" for n in range(5)]
    assert list(items[0])[:6] == ["scope_id", *REF, "sources", "artifacts"]
    for number in range(4):
        revise(rows[0], {"kind": "fact", "text": f"new {number}"})
    path = f"{ARTIFACTS}/atomic-memory/m0/revisions"
    items = pages(follow(api, path), "items")
    assert [item["revision"] for item in items] == [1, 2, 3, 4, 5]


@pytest.mark.clause("A-183", "A-185", "A-186")
@pytest.mark.parametrize("family", REFERABLE)
def test_cited_revision_stays_readable(api: Api, scope: Scope, family: str) -> None:
    """The identity of a delivered item reads back, whatever came after it."""
    row = write(scope, family, CONTENTS[family])
    exact = f"{ARTIFACTS}/{family}/{row.artifact.artifact_id}/revisions/1"
    before = api.get(exact).body
    selector = "memory" if family == "atomic-memory" else family
    content = api.content(
        "contract",
        "orchids like shade",
        assembly={"sections": [{"family": selector, "limit": 1}]},
    )
    line = re.search(
        r'    Artifact: family="(.+)", id="(.+)", revision=(\d+)\n', content
    )
    assert line is not None
    assert line.groups() == (family, row.artifact.artifact_id, "1")

    newer = {key: f"{value} (newer)" for key, value in CONTENTS[family].items()}
    revise(row, newer)
    assert api.get(exact).body == before
    head = api.get(exact.removesuffix("/revisions/1")).body
    assert (head["revision"], head["content"]) != (1, before["content"])


@pytest.mark.parametrize("family", ["experience", "topic-memory"])
def test_exact_family_reads(api: Api, scope: Scope, family: str) -> None:
    row = write(scope, family, CONTENTS[family], artifact_id="a1")
    revise(
        row,
        CONTENTS[family]
        | {key: "newer" for key in ["lesson", "title"] if key in CONTENTS[family]},
    )
    path = f"/v1/{family}/get"

    def get(**ref: Any) -> Answer:
        artifact = {"family": family, "artifact_id": "a1", "revision": 1, **ref}
        return api.post(path, {"scope_id": "contract", "artifact": artifact})

    assert "newer" not in str(get().body)
    assert "newer" in str(get(revision=2).body)
    failed(get(revision=3), 404, "artifact_not_found")
    failed(get(artifact_id="A1"), 404, "artifact_not_found")
    details = failed(get(family="atomic-memory"), 422, "invalid_request")
    assert locs(details) == [["body", "artifact", "family"]]
    for bad in ({"revision": 0}, {"revision": "1"}, {"artifact_id": "a 1"}):
        failed(get(**bad), 422, "invalid_request")


@pytest.mark.clause("A-076")
def test_topic_memory(api: Api, scope: Scope) -> None:
    detail = "The whole story of orchids. " + "Nothing else matters here. " * 60
    write(scope, "topic-memory", topic("orchids", "in short", detail), artifact_id="t")
    found = api.post(
        "/v1/topic-memory/search", {"scope_id": "contract", "query": "orchids"}
    ).body
    assert list(found) == ["mode", "hits"]
    [hit] = found["hits"]
    assert list(hit) == [
        "artifact",
        "title",
        "summary",
        "snippet",
        "score",
        "matched_by",
    ]
    assert (hit["title"], hit["summary"]) == ("orchids", "in short")
    assert 0 < hit["score"] <= 100

    content = api.content(
        "contract",
        "orchids",
        assembly={"sections": [{"family": "topic-memory", "limit": 1}]},
    )
    assert (
        '    Scope: "contract"\n    Artifact: family="topic-memory", id="t"' in content
    )
    assert "revision=1" in content
    assert detail.strip() not in content.replace("\n>     ", " ")
    got = api.post(
        "/v1/topic-memory/get", {"scope_id": "contract", "artifact": hit["artifact"]}
    ).body
    assert list(got) == ["artifact", "title", "summary", "detail", "source_refs"]
    assert got["detail"] == detail


def test_prompts_are_written_as_artifacts(api: Api) -> None:
    path = "/v1/scopes/contract/prompts/memory.rerank"
    unset = api.get(path)
    assert list(unset.body) == [
        "scope_id",
        "prompt_key",
        "status",
        "reason",
        "mode",
        "artifact",
        "artifact_etag",
        "effective",
        "builtin",
    ]
    assert (unset.body["mode"], unset.body["artifact"]) == ("auto", None)
    create(api, "prompt")
    body = api.get(path).body
    assert body["mode"] == "custom"
    assert body["artifact"] == {
        "family": "prompt",
        "artifact_id": "memory.rerank",
        "revision": 1,
    }
    assert body["artifact_etag"] == '"revision:1"'
    assert body["effective"] == {
        key: CONTENTS["prompt"][key] for key in ("instructions", "demonstrations")
    }
    details = failed(api.get(path + "x"), 422, "invalid_request")
    assert locs(details) == [["path", "prompt_key"]]
    unknown = api.get("/v1/scopes/nope/prompts/memory.rerank")
    failed(unknown, 404, "scope_not_found")
