"""`manage.py load_context`: what is stored, what is left alone, what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from prepare.models import (
    Artifact,
    ArtifactRevision,
    Candidate,
    MemoryEntryVersion,
    Scope,
    Source,
)
from prepare.services import reading, scopes
from prepare.values import ArtifactRef, Identity
from tests.commands import files
from tests.commands.conftest import Printed
from tests.commands.files import entry, memory, reference, scope, source, write_lines

pytestmark = pytest.mark.django_db
Manage = Callable[..., Printed]


def test_the_demo_loads_once_and_answers_its_questions(manage: Manage) -> None:
    first = manage("load_context", "--if-missing", files.DEMO)
    assert first.out == f"{files.DEMO}: 297 new, 0 already there\n"
    assert first.err == ""
    counts = files.row_counts()

    again = manage("load_context", files.DEMO)
    assert again.out == f"{files.DEMO}: 0 new, 297 already there\n"
    skipped = manage("load_context", "--if-missing", files.DEMO)
    assert skipped.out == f"{files.DEMO}: skipped, Scope org:handbook exists\n"
    assert files.row_counts() == counts

    for query, expected in DEMO_QUERIES.items():
        forms: list[dict[str, Any]] = [{}, {"assembly": {}}]
        for options in forms:
            _, found = files.prepare("project:harbor", query, **options)
            assert expected <= set(found), query


DEMO_QUERIES = {
    "How is the idempotency key of an NDX carrier webhook computed, and what do we"
    " answer to a duplicate?": {
        "mem-webhook-ndx-key",
        "mem-webhook-idempotency-key",
        "mem-webhook-duplicate-200",
        "exp-duplicate-delivered-sms",
    },
    "migrate failed with Duplicate column name after Transaction is timeout, can I use"
    " --fake?": {
        "mem-trx-timeout",
        "mem-runbook-half-applied-migration",
        "exp-half-applied-0087",
    },
    "修改接口后如何重新生成客户端，没有 Java 怎么办？": {"mem-regenerate-clients-zh"},
    "SHIP-1432": {"mem-webhook-idempotency-key"},
}


def test_every_field_of_a_scope_is_stored(load: Callable[..., str]) -> None:
    full = scope(
        "child",
        parent_scope_id="s",
        context_references=["other", "s"],
        external_references=[{"kind": "repository", "value": "git:x"}],
        created_at="2026-03-01T20:00:00.5+08:00",
    )
    assert load(scope(), scope("other"), full) == "3 new, 0 already there"
    row = scopes.find_scope("child")
    assert row.parent == scopes.find_scope("s")
    assert [
        link.target.scope_id for link in row.context_references.order_by("position")
    ] == ["other", "s"]
    assert row.external_references == [{"kind": "repository", "value": "git:x"}]
    assert row.created_at.isoformat() == "2026-03-01T12:00:00.500000+00:00"
    assert row.idempotency_key == "import:child"


def test_scopes_may_refer_to_each_other_and_to_later_ones(
    load: Callable[..., str],
) -> None:
    lines = [
        scope("s", context_references=["b"], parent_scope_id="b"),
        scope("b", context_references=["s"]),
        memory("m", "words"),
    ]
    assert load(*lines) == "3 new, 0 already there"
    assert scopes.find_scope("s").parent == scopes.find_scope("b")
    assert load(*lines) == "0 new, 3 already there"


def test_a_scope_id_of_full_length(load: Callable[..., str]) -> None:
    lines = [scope("𠮷" * 256), scope("𠮷" * 255 + "家")]
    assert load(*lines) == "2 new, 0 already there"
    assert load(*lines) == "0 new, 2 already there"


def test_revisions_keep_their_numbers_and_evidence(load: Callable[..., str]) -> None:
    lines = [
        scope(),
        source("first", {"a": [1, None, "x"]}, metadata={"path": "p"}),
        source("second"),
        memory("old", "an older memory", revision=3),
        memory(
            "m",
            "seventh",
            revision=7,
            sources=[
                {"source_type": "content", "source_id": "second"},
                {"source_type": "content", "source_id": "first"},
            ],
            artifacts=[reference("old", 3)],
        ),
        memory("m", "ninth", revision=9, created_by="someone", reason="a reason"),
    ]
    assert load(*lines) == "6 new, 0 already there"
    row = scopes.find_scope("s")
    seventh = reading.read_revision(
        scope=row,
        artifact=ArtifactRef(family="atomic-memory", artifact_id="m", revision=7),
    )
    assert [item.source_id for item in seventh.sources] == ["second", "first"]
    assert [(item.artifact_id, item.revision) for item in seventh.artifacts] == [
        ("old", 3)
    ]
    head = reading.read_head_revision(
        scope=row, family="atomic-memory", artifact_id="m"
    )
    assert head.artifact.revision == 9
    assert (head.created_by, head.reason) == ("someone", "a reason")
    assert files.prepare("s", "seventh")[1] == []
    assert files.prepare("s", "ninth")[1] == ["m"]
    assert load(*lines) == "0 new, 6 already there"


def test_states_follow_the_revision(load: Callable[..., str]) -> None:
    lines = [
        scope(),
        memory("gone", "forgotten words", state="forgotten"),
        memory("out", "retired words", state="retired"),
        memory("in", "active words", state="active"),
    ]
    load(*lines)
    states = {head.artifact_id: head.state for head in Artifact.objects.all()}
    assert states == {"gone": "forgotten", "out": "retired", "in": "active"}
    assert files.prepare("s", "words")[1] == ["in"]
    assert load(*lines) == "0 new, 4 already there"


def test_merged_memories_point_to_a_later_line(load: Callable[..., str]) -> None:
    lines = [
        scope(),
        memory("a", "one half", state="merged", merged_into="c"),
        memory("b", "other half", state="merged", merged_into="c"),
        memory("c", "both", artifacts=[reference("a"), reference("b")]),
    ]
    lines[3]["content"]["creation"] = {
        "type": "merge",
        "input_artifact_ids": ["a", "b"],
    }
    assert load(*lines) == "4 new, 0 already there"
    merged = Artifact.objects.get(artifact_id="a")
    assert merged.state == "merged"
    assert merged.merged_into == Artifact.objects.get(artifact_id="c")
    assert files.prepare("s", "half both")[1] == ["c"]
    assert load(*lines) == "0 new, 4 already there"


def test_a_profile_without_generation_is_the_same_when_loaded_again(
    load: Callable[..., str],
) -> None:
    lines = [
        scope(),
        files.artifact("profile", "profile", {"content": "# P\r\n\ufeffx"}),
    ]
    assert load(*lines) == "2 new, 0 already there"
    assert load(*lines) == "0 new, 2 already there"


def test_consecutive_entries_form_one_collection_revision(
    load: Callable[..., str],
) -> None:
    lines = [
        scope(),
        entry("e1", "e1-v1", "first wording", revision=4),
        entry("e2", "e2-v1", "unchanged", revision=4),
        entry("e1", "e1-v2", "second wording", revision=6),
        entry("e3", "e3-v1", "not in use", revision=6, state="inactive"),
    ]
    assert load(*lines) == "5 new, 0 already there"
    revisions = ArtifactRevision.objects.order_by("revision")
    assert list(revisions.values_list("revision", flat=True)) == [4, 6]
    row = scopes.find_scope("s")

    def read(revision: int, entry_id: str, version_id: str) -> str:
        identity = Identity(
            scope_id="s",
            artifact=ArtifactRef(
                family="memory", artifact_id="memory", revision=revision
            ),
            entry_id=entry_id,
            entry_version_id=version_id,
        )
        view = reading.read_entry(scope=row, identity=identity)
        return f"{view.text} {view.version} {view.state}"

    assert read(4, "e1", "e1-v1") == "first wording 1 active"
    assert read(6, "e1", "e1-v2") == "second wording 2 active"
    assert read(6, "e2", "e2-v1") == "unchanged 1 active"
    assert read(6, "e3", "e3-v1") == "not in use 1 inactive"
    found = files.prepare("s", "unchanged wording use")[1]
    assert sorted(found) == ["memory/e1", "memory/e2"]
    assert load(*lines) == "0 new, 5 already there"


def test_candidates_wait_for_review(load: Callable[..., str]) -> None:
    content = {"situation": "s", "action": "a", "outcome": "o", "lesson": "l"}
    pending = {
        "type": "candidate",
        "scope_id": "s",
        "family": "experience",
        "content": content,
        "sources": [{"source_type": "content", "source_id": "e"}],
    }
    rejected = pending | {
        "target": reference("x", family="experience"),
        "artifacts": [reference("x", family="experience")],
        "reason": "why",
        "status": "rejected",
        "decision_reason": "no",
    }
    experience = files.artifact("experience", "x", content)
    lines = [scope(), source("e"), experience, pending, rejected]
    assert load(*lines) == "5 new, 0 already there"
    statuses = Candidate.objects.order_by("pk").values_list("status", flat=True)
    assert list(statuses) == ["pending", "rejected"]
    assert load(*lines) == "0 new, 5 already there"


def test_hostile_text_is_stored_exactly(load: Callable[..., str]) -> None:
    text = "𠮷野家で😀 \0 a\r\nb\u2028c\u0085d \u202e 修改"
    content = {"text": text, "list": [1.5, -0.0, 1e21, True, None]}
    lines = [scope("项目:甲"), source("源 1", content), memory("m", text)]
    for line in lines[1:]:
        line["scope_id"] = "项目:甲"
    assert load(*lines) == "3 new, 0 already there"
    row = scopes.find_scope("项目:甲")
    head = reading.read_head_revision(
        scope=row, family="atomic-memory", artifact_id="m"
    )
    assert head.content["text"] == text
    assert json.loads(Source.objects.get().content)["text"] == text
    assert load(*lines) == "0 new, 3 already there"


def test_a_byte_order_mark_blank_lines_and_crlf_are_fine(
    manage: Manage, tmp_path: Path
) -> None:
    path = tmp_path / "windows.jsonl"
    text = f"{json.dumps(scope())}\r\n\r\n{json.dumps(memory('m', 'words'))}"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert "2 new" in manage("load_context", path).out


def test_an_earlier_file_stays_when_a_later_one_fails(
    manage: Manage, tmp_path: Path
) -> None:
    good = write_lines(tmp_path / "good.jsonl", [scope("good")])
    bad = write_lines(tmp_path / "bad.jsonl", [scope("bad"), {"type": "x"}])
    with pytest.raises(CommandError):
        manage("load_context", good, bad)
    assert set(Scope.objects.values_list("scope_id", flat=True)) >= {"good"}
    assert not Scope.objects.filter(scope_id="bad").exists()


def test_nothing_new_is_written_by_a_second_load(load: Callable[..., str]) -> None:
    lines = [scope(), entry("e", "v", "text"), memory("m", "text")]
    load(*lines)
    before = files.row_counts(), MemoryEntryVersion.objects.get().pk
    load(*lines)
    assert (files.row_counts(), MemoryEntryVersion.objects.get().pk) == before
