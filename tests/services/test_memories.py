"""Lifecycle, merge and listing of atomic memories (contract C.2, J-28)."""

from dataclasses import replace

import pytest

from prepare.errors import ArtifactNotFound, Conflict, InvalidRequest
from prepare.models import Artifact, ArtifactRevision, Scope
from prepare.services import memories
from prepare.services.memories import MemoryTarget
from prepare.values import ArtifactRef
from tests.api import Api
from tests.factories import BY_TEST, make_scope, ref, remember, revise, write

FACT = {"kind": "fact", "text": "zebra merged"}


@pytest.fixture
def scope(db) -> Scope:
    return make_scope("s")


def target(row: ArtifactRevision) -> MemoryTarget:
    head = Artifact.objects.get(pk=row.artifact_id)
    artifact = replace(ref(row), revision=head.revision)
    return MemoryTarget(artifact=artifact, state_version=head.state_version)


def change(row: ArtifactRevision, state: str) -> tuple[Artifact, bool]:
    return memories.change_state(
        scope=row.artifact.scope, target=target(row), state=state, authorship=BY_TEST
    )


def merge(*rows: ArtifactRevision) -> ArtifactRevision:
    row, _ = memories.merge_memories(
        scope=rows[0].artifact.scope,
        inputs=[target(row) for row in rows],
        content=FACT,
        authorship=BY_TEST,
    )
    return row


def put_in_state(scope: Scope, state: str) -> ArtifactRevision:
    row = remember(scope, "zebra", artifact_id="m")
    if state == "merged":
        merge(row, remember(scope, "other"))
    elif state != "active":
        change(row, state)
    return row


def is_found(api: Api, artifact_id: str = "m") -> bool:
    answer = api.prepare("s", "zebra")
    return f'"artifact_id":"{artifact_id}"' in (answer.body["content"] or "")


ALLOWED = {
    "active": {"active", "forgotten", "retired"},
    "forgotten": {"active", "forgotten", "retired"},
    "merged": set(),
    "retired": {"retired"},
}


@pytest.mark.parametrize("wanted", memories.STATES)
@pytest.mark.parametrize("state", ALLOWED)
def test_transitions(api: Api, scope, state, wanted) -> None:
    row = put_in_state(scope, state)
    version = target(row).state_version
    if wanted not in ALLOWED[state]:
        with pytest.raises(Conflict) as caught:
            change(row, wanted)
        assert caught.value.code == "invalid_memory_state"
        wanted, changed = state, False
    else:
        head, changed = change(row, wanted)
        assert head.state == wanted
        assert changed == (wanted != state)
    assert target(row).state_version == version + changed
    assert is_found(api) == (wanted == "active")


@pytest.mark.parametrize(
    ("state", "is_editable"),
    [("active", True), ("forgotten", True), ("merged", False), ("retired", False)],
)
def test_edits(api: Api, scope, state, is_editable) -> None:
    """A forgotten memory stays forgotten when it is edited."""
    row = put_in_state(scope, state)
    content = {"kind": "fact", "text": "zebra edited"}
    if is_editable:
        assert revise(row, content).revision == 2
    else:
        with pytest.raises(Conflict):
            revise(row, content)
    assert Artifact.objects.get(pk=row.artifact_id).state == state
    assert is_found(api) == (state == "active")
    if state == "forgotten":
        change(row, "active")
        assert "zebra edited" in api.content("s", "zebra")


@pytest.mark.parametrize(
    "stale", [{"state_version": 1}, {"revision": 2}, {"artifact_id": "other"}]
)
def test_stale_targets(scope, stale) -> None:
    row = put_in_state(scope, "active")
    seen = target(row)
    state_version = stale.pop("state_version", seen.state_version)
    wrong = MemoryTarget(
        artifact=replace(seen.artifact, **stale), state_version=state_version
    )
    with pytest.raises((Conflict, ArtifactNotFound)):
        memories.change_state(
            scope=scope, target=wrong, state="forgotten", authorship=BY_TEST
        )
    assert target(row) == seen


def test_only_atomic_memories_have_a_state(scope) -> None:
    row = write(scope, "profile", {"content": "One."})
    with pytest.raises(InvalidRequest):
        change(row, "forgotten")


def test_merge_freezes_its_inputs(api: Api, scope) -> None:
    first, second = (
        remember(scope, f"zebra {name}", artifact_id=name) for name in ("a", "b")
    )
    merged = merge(second, first)
    content = api.content("s", "zebra")
    assert merged.artifact.artifact_id in content
    assert not is_found(api, "a")
    assert not is_found(api, "b")
    exact = f"artifacts/atomic-memory/{merged.artifact.artifact_id}/revisions/1"
    body = api.get(f"/v1/scopes/s/{exact}").body
    assert [item["artifact_id"] for item in body["artifacts"]] == ["b", "a"]
    assert body["content"]["creation"] == {
        "type": "merge",
        "input_artifact_ids": ["b", "a"],
    }
    state = api.get("/v1/scopes/s/artifacts/atomic-memory/a/state").body
    assert state["merged_into_id"] == merged.artifact.artifact_id


@pytest.mark.parametrize("fault", ["alone", "repeated", "forgotten", "missing"])
def test_refused_merges(scope, fault) -> None:
    row, other = remember(scope, "one"), remember(scope, "two")
    inputs = [target(row), target(other)]
    error: type[Exception] = Conflict
    if fault == "alone":
        inputs, error = inputs[:1], InvalidRequest
    elif fault == "repeated":
        inputs = [*inputs, inputs[0]]
    elif fault == "forgotten":
        change(row, "forgotten")
        inputs[0] = target(row)
    else:
        missing = ArtifactRef(family="atomic-memory", artifact_id="x", revision=1)
        inputs.append(MemoryTarget(artifact=missing, state_version=0))
        error = ArtifactNotFound
    with pytest.raises(error):
        memories.merge_memories(
            scope=scope, inputs=inputs, content=FACT, authorship=BY_TEST
        )
    assert Artifact.objects.filter(scope=scope).count() == 2


def test_listing_filters_by_state_and_exact_kind(scope) -> None:
    """SQLite's LIKE would take kinds that differ in case as one."""
    kinds = ("fact", "Fact", "fact%", 'f"act', "事实")
    rows = {
        kind: remember(scope, f'text with "kind":"{kinds[0]}",', kind=kind)
        for kind in kinds
    }
    for kind, row in rows.items():
        found = memories.list_memories(scope=scope, states=["active"], kind=kind)
        assert [head.pk for head in found] == [row.artifact_id]
    change(rows["fact"], "retired")
    change(rows["Fact"], "forgotten")
    merge(rows["fact%"], rows["事实"])
    states = {
        state: memories.list_memories(scope=scope, states=[state]).count()
        for state in ("active", "forgotten", "merged", "retired")
    }
    assert states == {"active": 2, "forgotten": 1, "merged": 2, "retired": 1}
    both = memories.list_memories(scope=scope, states=["merged", "retired"])
    assert both.count() == 3
    assert not memories.list_memories(scope=scope, states=[]).exists()
