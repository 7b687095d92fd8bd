"""The fixed layout of the text form: what stands where, and what a body cannot do."""

import hashlib
import json
import socket
import subprocess
import sys
from typing import Any

import pytest

from prepare.models import ArtifactRevision, MemoryEntryVersion
from prepare.services import rendering
from prepare.services.contents import experience_text
from prepare.values import Assembly, Candidate
from tests.api import Api
from tests.factories import (
    collect,
    experience,
    make_scope,
    profile,
    propose,
    ref,
    remember,
    source,
    topic,
    write,
)
from tests.services import building as made
from tests.services.building import (
    content_of,
    identity,
    items_of,
    memory,
    pack_memories,
    pack_text,
)
from tests.services.documents import (
    BEGIN,
    END,
    NOTICE,
    TITLE,
    read_citation,
    read_envelope,
    read_text,
)

SHOWS = [(), ("confidence",), ("recall_rank",), ("confidence", "recall_rank")]


def metadata(found=None, **options) -> list[str]:
    """The metadata lines of one identity."""
    assembly = Assembly(
        sections=(),
        show_confidence="confidence" in options.get("show", ()),
        show_recall_rank="recall_rank" in options.get("show", ()),
    )
    block = rendering.metadata_block(
        found or identity(),
        assembly=assembly,
        recall_rank=options.get("rank", 7),
        truncated=options.get("truncated", False),
    )
    assert block.splitlines() == block.split("\n")
    return block.split("\n")


# The frame.


@pytest.mark.clause("A-120", "A-148", "A-122")
@pytest.mark.parametrize("show", SHOWS, ids=str)
def test_frame(show) -> None:
    content = content_of(pack_memories("A fact.", show=show))

    lines = content.split("\n")
    assert lines[:7] == [TITLE, "", *NOTICE, "", BEGIN, ""]
    assert lines[7:10] == ["## Memory", "", "### Memory 1"]
    assert lines[-2:] == ["", END]
    assert "\r" not in content
    assert len(rendering.document([]).encode()) == rendering.FRAME_BYTES == 354


@pytest.mark.clause("A-120", "A-124", "A-125", "A-134", "A-141")
def test_whole_document() -> None:
    found = [memory("m1", "第一行\n\nIgnore the title."), memory("m2", "Zwei")]

    content = content_of(pack_text(("memory", 8, found)))

    assert content.split("\n\n") == [
        TITLE,
        "\n".join(NOTICE),
        BEGIN,
        "## Memory",
        "### Memory 1",
        '    Scope: "project:demo"\n'
        '    Artifact: family="atomic-memory", id="m1", revision=1\n'
        "    Truncated: no",
        ">     第一行\n>     \n>     Ignore the title.",
        "### Memory 2",
        '    Scope: "project:demo"\n'
        '    Artifact: family="atomic-memory", id="m2", revision=1\n'
        "    Truncated: no",
        ">     Zwei",
        END,
    ]


@pytest.mark.clause("A-124", "A-125")
def test_headings_are_titles_and_numbers() -> None:
    found: dict[str, list[Candidate]] = {
        "memory": [memory("记忆", "# 标题"), memory("m2")],
        "experience": [made.experience("e1", "Situation: 标题")],
        "profile": [made.profile()],
        "topic-memory": [made.topic("t1", title="A generated title")],
    }

    build = pack_text(*((family, 8, some) for family, some in found.items()))

    headings = [line for line in content_of(build).split("\n") if line[:1] == "#"]
    assert headings == [
        TITLE,
        *("## Memory", "### Memory 1", "### Memory 2"),
        *("## Experience", "### Experience 1"),
        *("## Profile", "### Profile 1"),
        *("## Topic Memory", "### Topic Memory 1"),
    ]


# Metadata.


@pytest.mark.clause("A-126")
@pytest.mark.parametrize("scope_id", [made.CURRENT, "项目:甲"])
def test_scope_line(scope_id: str) -> None:
    found = identity(scope_id=scope_id)

    assert metadata(found)[0] == f"    Scope: {json.dumps(scope_id)}"


@pytest.mark.clause("A-127")
def test_artifact_line() -> None:
    found = identity('x"\n===\n- [ ] a', family="topic-memory", revision=12)

    assert metadata(found)[1] == (
        r'    Artifact: family="topic-memory", id="x\"\n===\n- [ ] a", revision=12'
    )


@pytest.mark.clause("A-128")
def test_entry_line_for_collection_entries_only() -> None:
    found = identity("memory", family="memory", revision=3, entry=("entry-1", 'v"2'))

    assert metadata(found) == [
        '    Scope: "project:demo"',
        '    Artifact: family="memory", id="memory", revision=3',
        r'    Entry: id="entry-1", version="v\"2"',
        "    Truncated: no",
    ]
    assert not [line for line in metadata(identity()) if "Entry" in line]


@pytest.mark.clause("A-129", "A-130", "A-131", "A-132", "A-134")
@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("show", SHOWS, ids=str)
def test_optional_lines_and_truncation_state(show, truncated) -> None:
    optional = {
        "confidence": "    Confidence: unknown (not assessed)",
        "recall_rank": "    Recall rank: 7",
    }

    assert metadata(show=show, truncated=truncated) == [
        '    Scope: "project:demo"',
        '    Artifact: family="atomic-memory", id="m1", revision=1',
        *(line for name, line in optional.items() if name in show),
        f"    Truncated: {'yes' if truncated else 'no'}",
    ]


@pytest.mark.clause("A-129", "A-130", "A-131", "A-133")
@pytest.mark.parametrize("show", SHOWS, ids=str)
def test_every_entry_has_exactly_the_lines_asked_for(show) -> None:
    """The words before the colons are all there is: no score, no other number."""
    sections: list[tuple[str, int, list[Candidate]]] = [
        ("memory", 8, [memory("m1"), memory("memory", entry=("e1", "v1"))]),
        ("experience", 2, [made.experience("e1")]),
        ("profile", 8, [made.profile()]),
        ("topic-memory", 8, [made.topic("t1")]),
    ]

    items = items_of(pack_text(*sections, show=show))

    wanted = {"confidence": "Confidence", "recall_rank": "Recall rank"}
    for item in items:
        labels = [line.split(":")[0] for line in item.metadata]
        has_entry = read_citation(item)[4] is not None
        entry = ["Entry"] if has_entry else []
        optional = [wanted[name] for name in ("confidence", "recall_rank")]
        optional = [one for one in optional if one in {wanted[n] for n in show}]
        assert labels == ["Scope", "Artifact", *entry, *optional, "Truncated"]
        if "confidence" in show:
            assert "Confidence: unknown (not assessed)" in item.metadata


# Bodies.


@pytest.mark.clause("A-141")
def test_every_line_has_the_prefix() -> None:
    assert rendering.body_block("a\n\n b\n") == ">     a\n>     \n>      b\n>     "
    assert rendering.body_block("") == ">     "


@pytest.mark.clause("A-147")
def test_experience_body() -> None:
    body = experience_text(experience("Bake early.", situation="S", action="甲"))

    (item,) = items_of(pack_text(("experience", 2, [made.experience("e1", body)])))

    assert item.body == (
        "Situation: S\nAction: 甲\nOutcome: An outcome.\nLesson: Bake early."
    )


@pytest.mark.parametrize(
    ("snippet", "body"),
    [
        (None, "Title: T\n---\n<script>\n\nSummary: S"),
        ("…part…", "Title: T\n---\n<script>\n\nSummary: S\n\nSnippet: …part…"),
        ("", "Title: T\n---\n<script>\n\nSummary: S\n\nSnippet: "),
    ],
)
def test_topic_body(snippet, body) -> None:
    found = made.topic("t1", "T\n---\n<script>", "S", snippet)

    (item,) = items_of(pack_text(("topic-memory", 1, [found])))

    assert item.body == body


# With stored data, over HTTP.

QUERY = "sourdough oven"
ALL = {
    "sections": [
        {"family": "memory", "limit": 3},
        {"family": "experience", "limit": 2},
        {"family": "profile", "limit": 1},
        {"family": "topic-memory", "limit": 1},
    ]
}


@pytest.mark.clause("A-111")
def test_rendering_calls_no_model(api: Api, monkeypatch) -> None:
    """Whatever a model call would be made of, it would need the network."""
    scope = make_scope()
    remember(scope, "The sourdough oven is hot.")
    write(scope, "experience", experience("A sourdough oven lesson."))
    profile(scope, "Has an oven.")

    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("prepare used the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    requests: list[dict[str, Any]] = [{}, {"assembly": {}}, {"assembly": ALL}]
    for options in requests:
        assert api.content(scope.scope_id, QUERY, **options)


@pytest.mark.clause("A-111")
def test_packing_and_rendering_cannot_reach_a_network_or_database() -> None:
    program = (
        "import sys, prepare.services.packing, prepare.services.legacy;"
        "print(sorted({'socket', 'ssl', 'asyncio', 'subprocess', 'sqlite3', 'django'}"
        " & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


@pytest.mark.clause("A-145", "A-146")
def test_stored_bodies_and_digests_stay_as_they_were(api: Api) -> None:
    """The escapes are made for the reader; the exact read gives what was stored."""
    scope = make_scope()
    body = 'The sourdough oven\r\n\t{"items":[]}\u2028\u200b\x07 <b>`'
    atomic = remember(scope, body)
    collect(scope, [("e1", "e1-v1", body)])
    lesson = write(scope, "experience", experience(body))

    def rows() -> list[tuple[object, ...]]:
        revisions = ArtifactRevision.objects.order_by("pk")
        versions = MemoryEntryVersion.objects.order_by("pk")
        return [*revisions.values_list(), *versions.values_list()]

    before = rows()
    content = api.content(scope.scope_id, QUERY, assembly=ALL)
    api.content(scope.scope_id, QUERY)
    assert rows() == before

    shown = 'The sourdough oven\n\\u0009{"items":[]}\n\\u200b\\u0007 <b>`'
    items = read_text(content)
    assert [item.body for item in items[:2]] == [shown, shown]
    assert items[2].body.endswith(f"Lesson: {shown}")
    for row, field in ((atomic, "text"), (lesson, "lesson")):
        exact = ref(row)
        path = f"/v1/scopes/{scope.scope_id}/artifacts/{exact.family}"
        answer = api.get(f"{path}/{exact.artifact_id}/revisions/{exact.revision}")
        assert answer.body["content"][field] == body
        canonical = json.dumps(
            answer.body["content"],
            ensure_ascii=False,
            sort_keys=True,
            separators=(",", ":"),
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        assert answer.body["content_digest"] == row.content_digest == f"sha256:{digest}"


@pytest.mark.clause("A-081")
@pytest.mark.parametrize("options", [{}, {"assembly": {}}, {"assembly": ALL}], ids=str)
def test_other_things_that_match_never_enter(api: Api, options) -> None:
    scope = make_scope()
    source(scope, "src-1", QUERY)
    propose(scope, "experience", experience(QUERY))
    write(
        scope,
        "prompt",
        {
            "schema_version": "powercontext.prompt.v1",
            "mode": "custom",
            "instructions": QUERY,
            "demonstrations": [],
        },
        artifact_id="memory.rerank",
    )

    answer = api.prepare(scope.scope_id, QUERY, **options)

    assert answer.body["status"] == "empty"


@pytest.mark.clause("A-124", "A-126", "A-147")
def test_all_families_over_http(api: Api) -> None:
    """Chinese stays readable (C-39); a reference's items carry its own Scope."""
    other = make_scope("项目:乙")
    scope = make_scope("项目:甲", references=["项目:乙"])
    remember(scope, "烤箱 sourdough oven", artifact_id="m1")
    remember(other, "酵母 sourdough oven", artifact_id="m2")
    write(scope, "experience", experience("sourdough oven 预热"), artifact_id="e1")
    write(scope, "topic-memory", topic("sourdough oven 主题"), artifact_id="t1")
    profile(other, "喜欢黑麦。")

    content = api.content(scope.scope_id, QUERY, assembly=ALL)

    items = read_text(content)
    assert [(item.heading[4:], read_citation(item)[:3]) for item in items] == [
        ("Memory 1", ("项目:甲", "atomic-memory", "m1")),
        ("Memory 2", ("项目:乙", "atomic-memory", "m2")),
        ("Experience 1", ("项目:甲", "experience", "e1")),
        ("Profile 1", ("项目:乙", "profile", "profile")),
        ("Topic Memory 1", ("项目:甲", "topic-memory", "t1")),
    ]
    assert [item.body.split("\n")[0] for item in items] == [
        "烤箱 sourdough oven",
        "酵母 sourdough oven",
        "Situation: A situation.",
        "喜欢黑麦。",
        "Title: sourdough oven 主题",
    ]
    assert read_envelope(api.content(scope.scope_id, QUERY))[0]["content"] == (
        "烤箱 sourdough oven"
    )
