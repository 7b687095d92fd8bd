"""`manage.py export_context`: what is loaded again is what was stored."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from prepare import limits
from prepare.models import (
    Artifact,
    ArtifactRevision,
    Scope,
)
from prepare.services import artifacts, candidates, collections, memories, scopes
from prepare.services.artifacts import Lineage, SourceRef
from prepare.services.collections import EntryChange
from prepare.services.memories import MemoryTarget
from prepare.services.scopes import ExternalReference, ScopeFields
from prepare.services.sources import SourceContent, create_source
from tests import factories
from tests.commands import files
from tests.commands.conftest import Printed
from tests.commands.snapshots import stored
from tests.factories import BY_TEST, NOW

pytestmark = pytest.mark.django_db
Manage = Callable[..., Printed]

HOSTILE = "𠮷野家で😀 \0 a\r\nb\u2028c\u2029d\u0085e \u202e\ufeff 修改 \ud7ff\x1b[31m"
FORMS: list[dict[str, Any]] = [
    {},
    {"assembly": {}},
    {
        "assembly": {
            "sections": [
                {"family": "profile", "limit": 8},
                {"family": "topic-memory", "limit": 8},
                {"family": "memory", "limit": 8},
                {"family": "experience", "limit": 2},
            ]
        },
        "max_bytes": 32768,
    },
]


def change_state(row: ArtifactRevision, state: str) -> None:
    head = Artifact.objects.get(pk=row.artifact_id)
    memories.change_state(
        scope=head.scope,
        target=target(row, head),
        state=state,
        authorship=BY_TEST,
    )


def target(row: ArtifactRevision, head: Artifact | None = None) -> MemoryTarget:
    version = 0 if head is None else head.state_version
    return MemoryTarget(artifact=factories.ref(row), state_version=version)


def make_scopes() -> tuple[Scope, Scope]:
    """Two Scopes that refer to each other, with Chinese and hostile names."""
    main = scopes.create_scope(
        fields=ScopeFields(
            title=HOSTILE,
            summary=HOSTILE,
            external_references=(ExternalReference(kind="k", value=HOSTILE),),
        ),
        idempotency_key="main",
        now=NOW,
        scope_id='项目:甲 "quoted" \u2028😀',
    )
    other = factories.make_scope("other", references=[main.scope_id])
    fields = ScopeFields(
        title=main.title,
        summary=main.summary,
        parent_scope_id="other",
        context_references=("other",),
        external_references=(ExternalReference(kind="k", value=HOSTILE),),
    )
    return scopes.update_scope(scope=main, fields=fields, expected_version=1), other


def make_contents(scope: Scope) -> None:
    """Every family, several revisions, every state, evidence in a set order."""
    evidence = [HOSTILE, {"numbers": [1e17, 1e21, 0.1, -0.0, 2**53 - 1], "b": [None]}]
    for position, content in enumerate(evidence):
        create_source(
            scope=scope,
            source=SourceContent(
                source_type="内容",
                source_id=f"源 {position} 😀",
                content=content,
                metadata={"k": HOSTILE} if position else None,
            ),
            now=NOW,
        )
    older = factories.remember(scope, f"older words {HOSTILE}", artifact_id="older")
    both = Lineage(
        sources=tuple(
            SourceRef(source_type="内容", source_id=f"源 {position} 😀")
            for position in (1, 0)
        ),
        artifacts=(factories.ref(older),),
    )
    content = {"kind": HOSTILE, "text": f"cited words {HOSTILE}"}
    cited = factories.write(scope, "atomic-memory", content, lineage=both)
    factories.revise(older, {"kind": "fact", "text": "newer words"})
    artifacts.replace_artifact(
        scope=scope,
        family="atomic-memory",
        artifact_id=cited.artifact.artifact_id,
        content=content | {"text": "third words"},
        authorship=artifacts.Authorship(
            now=NOW, author="someone", reason=HOSTILE, restored_from_revision=1
        ),
        revision=9,
        lineage=both,
    )
    change_state(factories.remember(scope, "forgotten words"), "forgotten")
    change_state(factories.remember(scope, "retired words"), "retired")
    inputs = [factories.remember(scope, f"input words {name}") for name in "ab"]
    memories.merge_memories(
        scope=scope,
        inputs=[target(row) for row in inputs],
        content={"kind": "fact", "text": "merged words"},
        authorship=BY_TEST,
    )
    experience = factories.write(
        scope, "experience", factories.experience(f"words {HOSTILE}")
    )
    factories.write(scope, "topic-memory", factories.topic("Words", detail=HOSTILE))
    factories.profile(scope, f"# Profile\r\n{HOSTILE}")
    make_collection(scope)
    make_candidates(scope, experience)


def make_collection(scope: Scope) -> None:
    def write(*changes: tuple[str, str, str, bool]) -> None:
        collections.write_collection(
            scope=scope,
            artifact_id="memory",
            changes=[
                EntryChange(
                    entry_id=entry_id,
                    entry_version_id=version_id,
                    kind="fact",
                    text=text,
                    active=active,
                )
                for entry_id, version_id, text, active in changes
            ],
            authorship=BY_TEST,
        )

    write(
        ("z", "z-v1", f"last entry words {HOSTILE}", True),
        ("a", "a-v1", "entry words", True),
    )
    write(("a", "a-v2", "changed entry words", True))
    write(("a", "a-v2", "changed entry words", False))
    write()  # changes nothing
    write(("a", "a-v1", "entry words", True), ("m", "m-v1", "more words", True))


def make_candidates(scope: Scope, experience: ArtifactRevision) -> None:
    factories.propose(scope, "experience", factories.experience("proposal"))
    rejected = factories.propose(
        scope, "experience", factories.experience("not this"), target=experience
    )
    candidates.reject(
        scope=scope,
        candidate_id=rejected.candidate_id,
        expected_version=1,
        reason=HOSTILE,
        authorship=BY_TEST,
    )


def prepared(*scope_ids: str) -> list[Any]:
    return [
        files.prepare(scope_id, query, **options)
        for scope_id in scope_ids
        for query in ("words", "修改 entry words", "😀 proposal")
        for options in FORMS
    ]


def test_an_export_loaded_into_an_empty_database_is_the_same(
    manage: Manage, tmp_path: Path
) -> None:
    main, other = make_scopes()
    make_contents(main)
    factories.remember(other, "words of the other Scope")
    before = stored(), prepared(main.scope_id, "other")
    assert all(content for content, _ in before[1][:3])

    path = tmp_path / "export.jsonl"
    said = manage("export_context", "--output", path).out
    count = len(path.read_bytes().splitlines())
    assert said == f"{path}: {count} lines\n"
    assert manage("export_context").out == path.read_bytes().decode()

    files.empty_database()
    assert not Scope.objects.exists()
    loaded = manage("load_context", path).out
    assert loaded == f"{path}: {count} new, 0 already there\n"
    assert (stored(), prepared(main.scope_id, "other")) == before

    again = manage("load_context", path).out
    assert again == f"{path}: 0 new, {count} already there\n"
    assert manage("export_context").out == path.read_bytes().decode()


def test_the_demo_comes_back(manage: Manage, tmp_path: Path) -> None:
    files.empty_database()
    manage("load_context", files.DEMO)
    before = stored(), prepared("project:harbor", "team:platform")
    path = tmp_path / "export.jsonl"
    manage("export_context", "--output", path)
    files.empty_database()
    assert "297 new" in manage("load_context", path).out
    assert (stored(), prepared("project:harbor", "team:platform")) == before


def test_every_line_is_one_line_for_every_reader(manage: Manage) -> None:
    main, _ = make_scopes()
    make_contents(main)
    exported = manage("export_context").out
    assert exported.splitlines() == exported.rstrip("\n").split("\n")
    lines = [json.loads(line) for line in exported.splitlines()]
    assert {line["type"] for line in lines} == {
        "scope",
        "source",
        "artifact",
        "memory_entry",
        "candidate",
    }
    moments = [datetime.fromisoformat(line["created_at"]) for line in lines]
    assert all(moment.utcoffset() is not None for moment in moments)
    assert "修改" in exported


def test_one_scope_brings_what_it_refers_to(manage: Manage) -> None:
    base = factories.make_scope("base")
    middle = factories.make_scope("middle", references=["base"])
    factories.make_scope("top", references=["middle"])
    factories.make_scope("aside")
    factories.remember(base, "words")
    factories.remember(middle, "words")
    exported = manage("export_context", "--scope", "top", "--scope", "middle").out
    lines = [json.loads(line) for line in exported.splitlines()]
    found = [(line["type"], line["scope_id"]) for line in lines]
    assert found == [
        ("scope", "base"),
        ("scope", "middle"),
        ("scope", "top"),
        ("artifact", "base"),
        ("artifact", "middle"),
    ]


def test_an_unknown_scope_leaves_the_old_file(manage: Manage, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text("old")
    with pytest.raises(CommandError, match="Scope was not found"):
        manage("export_context", "--scope", "nowhere", "--output", path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(manage: Manage, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        manage("export_context", "--output", tmp_path / "no" / "export.jsonl")


def test_only_the_owner_may_read_the_file(manage: Manage, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    manage("export_context", "--output", path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_approved_candidates_are_the_artifact_they_became(manage: Manage) -> None:
    scope = factories.make_scope("s")
    row = factories.propose(scope, limits.EXPERIENCE, factories.experience("lesson"))
    candidates.approve(
        scope=scope,
        candidate_id=row.candidate_id,
        expected_version=1,
        authorship=BY_TEST,
    )
    exported = manage("export_context", "--scope", "s").out
    types = [json.loads(line)["type"] for line in exported.splitlines()]
    assert types == ["scope", "source", "artifact"]
