"""Drives a running server with the public client; run by `.venv-peer/bin/python -I`.

`official_client_script.py everything URL` or `... access URL`, tokens on stdin. Uses
what the client exports and nothing behind it. Any surprise is an AssertionError.
"""

import asyncio
import importlib
import re
import sys
from collections.abc import Awaitable
from typing import Any

# By name: for the tests' type checker `powercontext` is this project.
client: Any = importlib.import_module("powercontext.client")
wire: Any = importlib.import_module("powercontext.http")

ORCHID = "orchids like shade"
EXPERIENCE = {
    "situation": "An orchid wilted.",
    "action": "Moved it.",
    "outcome": "It grew.",
    "lesson": "orchids like mist",
}
CONTENTS: dict[str, dict[str, Any]] = {
    "atomic-memory": {"kind": "fact", "text": "orchids need bark"},
    "experience": EXPERIENCE,
    "topic-memory": {
        "title": "orchids",
        "summary": "flowers",
        "detail": "A long story.",
    },
    "profile": {"content": "# Orchid gardener\n"},
    "prompt": {
        "schema_version": "powercontext.prompt.v1",
        "mode": "custom",
        "instructions": "Choose with care.",
        "demonstrations": [{"input": {"a": 1}, "expected_output": [1]}],
    },
}


async def refused(call: Awaitable[Any], status: int, code: str) -> Any:
    """The client's typed error carries our status, code, message and request id."""
    error: Any = None
    try:
        await call
    except client.ServerResponseError as raised:
        error = raised
    assert error is not None, f"expected {status} {code}"
    seen = (error.status_code, error.code)
    assert seen == (status, code), (seen, error.server_message)
    assert error.server_message
    assert re.fullmatch("[0-9a-f]{16}", error.request_id)
    return error


def check_prepared(prepared: Any, marker: str) -> str:
    assert prepared.schema_.value == "powercontext.prepared-context.v1"
    assert prepared.status.value == "ready"
    assert prepared.content_bytes == len(prepared.content.encode())
    assert f"BEGIN_POWERCONTEXT_PREPARED_{marker}_V1" in prepared.content
    return str(prepared.content)


def scope_request(key: str, **fields: Any) -> Any:
    return wire.CreateScopeRequest(
        title="Garden", summary="Of orchids.", idempotency_key=key, **fields
    )


async def scopes(api: Any) -> str:
    scope = await api.create_scope(scope_request("script"))
    assert (await api.create_scope(scope_request("script"))) == scope
    other = await api.create_scope(
        scope_request(
            "other", context_references=[scope.scope_id], parent_scope_id=scope.scope_id
        )
    )
    assert [item.root for item in other.context_references] == [scope.scope_id]
    assert await api.get_scope(scope.scope_id) == scope
    page = await api.list_scopes(limit=1)
    listed = list(page.items)
    while page.next_cursor is not None:
        page = await api.list_scopes(limit=1, cursor=page.next_cursor)
        listed += page.items
    assert [item for item in listed if item in (scope, other)] == [scope, other]

    # A meaningful explicit null: the parent is taken away.
    changed = await api.update_scope(
        other.scope_id,
        wire.UpdateScopeRequest(
            expected_version=1, title="New", summary="S", parent_scope_id=None
        ),
    )
    assert (changed.version, changed.parent_scope_id) == (2, None)

    key = wire.ScopeBindingKey(integration="codex", kind="repo", external_id="a/b")
    binding = wire.ScopeBinding(key=key, scope_id=scope.scope_id)
    assert await api.set_scope_binding(wire.SetScopeBindingRequest(binding)) == binding
    resolve = wire.ResolveScopeBindingRequest
    assert await api.resolve_scope_binding(resolve(binding_keys=[key])) == scope
    assert (
        await api.clear_scope_binding(wire.ClearScopeBindingRequest(key=key))
    ).cleared
    default = await api.set_default_scope(
        wire.SetDefaultScopeRequest(scope_id=other.scope_id)
    )
    assert default == changed == await api.get_default_scope()
    assert await api.resolve_scope_binding(resolve()) == changed
    return str(scope.scope_id)


async def prepare(api: Any, scope_id: str) -> None:
    def request(**options: Any) -> Any:
        return wire.PrepareContextRequest(scope_id=scope_id, query="orchids", **options)

    empty = await api.prepare_context(request())
    assert (empty.status.value, empty.content, empty.content_bytes) == (
        "empty",
        None,
        0,
    )
    remembered = await api.remember_memory(
        wire.RememberMemoryRequest(
            scope_id=scope_id, kind="fact", text=ORCHID, reason=None
        )
    )
    [record] = remembered.records
    artifact_id = record.artifact.artifact_id

    legacy = check_prepared(await api.prepare_context(request()), "CONTEXT")
    assert ORCHID in legacy
    text = check_prepared(
        await api.prepare_context(request(assembly=wire.ContextAssembly())), "TEXT"
    )
    cited = re.search(r'Artifact: family="(.+)", id="(.+)", revision=(\d+)', text)
    assert cited is not None
    assert cited.groups() == ("atomic-memory", artifact_id, "1")
    exact = await api.get_artifact_revision(scope_id, *cited.groups()[:2], 1)
    assert exact.content["text"] == ORCHID
    assert f">     {ORCHID}\n" in text

    section = wire.ContextAssemblySection(family="memory", limit=1)
    chosen = wire.ContextAssembly(sections=[section], show=["confidence"])
    shown = check_prepared(
        await api.prepare_context(request(assembly=chosen, max_bytes=32768)), "TEXT"
    )
    assert "    Confidence: unknown (not assessed)\n" in shown
    nothing = wire.ContextAssembly(sections=[])
    empty = await api.prepare_context(request(assembly=nothing))
    assert (empty.status.value, empty.content_bytes) == ("empty", 0)

    error = await refused(
        api.prepare_context(request(assembly=None)), 422, "invalid_request"
    )
    assert error.details["errors"][0]["loc"] == ["body", "assembly"]
    eight = [
        wire.ContextAssemblySection(family=family, limit=8)
        for family in ("memory", "profile")
    ]
    too_many = request(assembly=wire.ContextAssembly(sections=eight))
    await refused(api.prepare_context(too_many), 422, "invalid_request")

    for search, name in (
        (api.search_memory, "SearchMemoryRequest"),
        (api.search_atomic_memory, "SearchAtomicMemoryRequest"),
    ):
        model = getattr(wire, name)
        found = await search(model(scope_id=scope_id, query="orchids"))
        assert [hit.memory for hit in found.hits] == [record]


async def artifacts(api: Any, scope_id: str) -> None:
    for family, content in CONTENTS.items():
        body = {"family": family, "content": content}
        if family == "prompt":
            body["prompt_key"] = "memory.rerank"
        created = await api.create_artifact(
            scope_id, wire.CreateArtifactRequest.model_validate(body)
        )
        place = (scope_id, family, created.artifact_id)
        assert created.family.value == family
        head = await api.get_artifact(*place)
        assert content.items() <= head.content.items()
        assert await api.get_artifact_revision(*place, 1) == head
        change = wire.ReplaceArtifactRequest.model_validate({"content": content})
        replaced = await api.replace_artifact(
            *place, change, expected_etag='"revision:1"'
        )
        assert replaced.revision == 2
        stale = api.replace_artifact(*place, change, expected_etag='"revision:1"')
        error = await refused(stale, 412, "revision_conflict")
        assert error.details["current_etag"] == '"revision:2"'
        heads = await api.list_artifacts(scope_id, family, wire.ListArtifactsRequest())
        assert created.artifact_id in [item.artifact_id for item in heads.items]
        revisions = await api.list_artifact_revisions(
            *place, wire.ListArtifactRevisionsRequest(limit=1)
        )
        assert [item.revision for item in revisions.items] == [1]
        assert revisions.next_cursor is not None
        missing = api.get_artifact_revision(*place, 3)
        await refused(missing, 404, "artifact_not_found")
    again = {"family": "profile", "content": CONTENTS["profile"]}
    twice = api.create_artifact(
        scope_id, wire.CreateArtifactRequest.model_validate(again)
    )
    error = await refused(twice, 409, "idempotency_conflict")
    assert error.details == {"kind": "artifact"}
    prompt = await api.get_prompt_configuration(scope_id, "memory.rerank")
    assert prompt.effective.instructions == "Choose with care."


async def exact_reads(api: Any, scope_id: str) -> None:
    found = await api.search_topic_memory(
        wire.SearchTopicMemoryRequest(scope_id=scope_id, query="orchids")
    )
    [hit] = found.hits
    topic = await api.get_topic_memory(
        wire.GetTopicMemoryRequest(scope_id=scope_id, artifact=hit.artifact)
    )
    assert topic.detail == "A long story."
    target = wire.LegacyMemoryTarget(
        type="memory_entry", family="memory", artifact_id="memory", entry_id="e1"
    )
    missing = api.get_memory_entry(
        wire.GetMemoryEntryRequest(scope_id=scope_id, target=target)
    )
    await refused(missing, 404, "not_found")


async def review(api: Any, scope_id: str) -> None:
    captured = await api.capture_content_source(
        wire.CaptureContentSourceRequest(
            scope_id=scope_id, source_id="session/1", content="said", metadata=None
        )
    )
    source = await api.get_source(scope_id, "content", "session/1")
    assert source.content == "said"
    await api.create_source(scope_id, wire.CreateSourceRequest(content={"a": [1]}))
    assert len((await api.list_sources(scope_id)).items) == 2

    async def propose() -> Any:
        return await api.propose_experience(
            wire.ProposeExperienceRequest(
                scope_id=scope_id,
                proposal=wire.ExperienceProposal(**EXPERIENCE),
                source_refs=[captured.source],
                artifact_refs=[],
            )
        )

    candidate, other = await propose(), await propose()
    address = {"scope_id": scope_id, "candidate_id": candidate.candidate_id}
    assert await api.get_candidate(wire.GetCandidateRequest(**address)) == candidate
    approve = wire.ApproveCandidateRequest(**address, expected_version=1)
    approved = await api.approve_candidate(approve)
    assert approved.status.value == "approved"
    assert await api.approve_candidate(approve) == approved
    experience = await api.get_experience(
        wire.GetExperienceRequest(scope_id=scope_id, artifact=approved.result_artifact)
    )
    assert experience.content.lesson == EXPERIENCE["lesson"]
    address["candidate_id"] = other.candidate_id
    rejected = await api.reject_candidate(
        wire.RejectCandidateRequest(**address, expected_version=1, reason="no proof")
    )
    assert rejected.decision_reason == "no proof"
    late = wire.ApproveCandidateRequest(**address, expected_version=2)
    await refused(api.approve_candidate(late), 409, "candidate_terminal")
    for status, expected in (("approved", [approved]), ("rejected", [rejected])):
        page = await api.list_candidates(
            wire.ListCandidatesRequest(scope_id=scope_id, status=status)
        )
        assert page.candidates == expected
    pending = await api.list_candidates(wire.ListCandidatesRequest(scope_id=scope_id))
    assert pending.candidates == []


async def lifecycle(api: Any, scope_id: str) -> None:
    listing = wire.ListAtomicMemoryRequest(scope_id=scope_id, tags=None, states=None)
    records = (await api.list_atomic_memories(listing)).items
    assert len(records) == 2
    entries = await api.list_memory_entries(
        wire.ListMemoryEntriesRequest(scope_id=scope_id)
    )
    assert entries.entries == records
    inputs = [
        wire.AtomicMemoryInput(artifact=record.artifact, state_version=0)
        for record in records
    ]
    content = wire.AtomicMemoryWriteContent(kind="fact", text="orchids, all of it")
    merged = await api.merge_atomic_memories(
        wire.MergeAtomicMemoryRequest(scope_id=scope_id, inputs=inputs, content=content)
    )
    result, *frozen = merged.records
    assert [record.merged_into_id for record in frozen] == [
        result.artifact.artifact_id
    ] * 2
    state = await api.get_atomic_memory_state(scope_id, frozen[0].artifact.artifact_id)
    assert state.state.value == "merged"

    forget = wire.AtomicMemoryLifecycleRequest(
        scope_id=scope_id,
        target=wire.AtomicMemoryInput(artifact=result.artifact, state_version=0),
        state="forgotten",
    )
    forgotten = await api.change_atomic_memory_lifecycle(forget)
    assert forgotten.records[0].state.value == "forgotten"
    again = api.change_atomic_memory_lifecycle(forget)
    await refused(again, 409, "atomic_memory_changed")
    section = wire.ContextAssemblySection(family="memory", limit=8)
    gone = await api.prepare_context(
        wire.PrepareContextRequest(
            scope_id=scope_id,
            query="orchids",
            assembly=wire.ContextAssembly(sections=[section]),
        )
    )
    assert gone.status.value == "empty"


async def everything(url: str, tokens: list[str]) -> None:
    api = client.PowerContextClient(url)
    assert (await api.get_liveness()).status == "ok"
    assert (await api.get_readiness()).status.value == "ready"
    capabilities = await api.get_capabilities()
    assert [item.value for item in capabilities.search_modes] == ["auto", "fts"]
    info = await api.get_server_info()
    assert (info.api_contract_version.major, info.api_contract_version.minor) == (1, 4)
    scope_id = await scopes(api)
    await prepare(api, scope_id)
    await artifacts(api, scope_id)
    await exact_reads(api, scope_id)
    await review(api, scope_id)
    await lifecycle(api, scope_id)
    await refused(api.get_scope("nope"), 404, "scope_not_found")
    unknown = wire.PrepareContextRequest(scope_id="nope", query="x")
    await refused(api.prepare_context(unknown), 404, "scope_not_found")
    # An operation of the public server that this one does not have.
    await refused(api.get_profile_policy(scope_id), 404, "not_found")
    await api.aclose()


async def access(url: str, tokens: list[str]) -> None:
    """`tokens`: a server admin, and a contributor to the Scope `client`."""
    admin_token, contributor_token = tokens
    request = wire.PrepareContextRequest(scope_id="client", query="orchids")
    for token in (None, "wrong"):
        api = client.PowerContextClient(url, token=token)
        error = await refused(api.prepare_context(request), 401, "unauthorized")
        assert isinstance(error, client.UnauthorizedResponseError)
        assert (await api.get_liveness()).status == "ok"
        await api.aclose()

    api = client.PowerContextClient(url, token=admin_token)
    assert (await api.get_scope("client")).scope_id == "client"
    error = await refused(api.prepare_context(request), 403, "forbidden")
    assert isinstance(error, client.ForbiddenResponseError)
    await api.aclose()

    api = client.PowerContextClient(url, token=contributor_token)
    await api.remember_memory(
        wire.RememberMemoryRequest(scope_id="client", kind="fact", text=ORCHID)
    )
    assert ORCHID in check_prepared(await api.prepare_context(request), "CONTEXT")
    missing = wire.PrepareContextRequest(scope_id="missing", query="orchids")
    await refused(api.prepare_context(missing), 403, "forbidden")
    await refused(api.create_scope(scope_request("x")), 403, "forbidden")
    await api.aclose()


if __name__ == "__main__":
    run = {"everything": everything, "access": access}[sys.argv[1]]
    asyncio.run(run(sys.argv[2], sys.stdin.read().split()))
    print("done")
