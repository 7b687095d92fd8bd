"""Exact revisions: what was cited, for ever, or a state; never something newer."""

import pytest

from inspector.links import page_url, revision_url, source_url
from prepare.models import Grant, PersonGrant
from prepare.services import candidates, memories
from prepare.services.artifacts import Authorship, Lineage, replace_artifact
from prepare.services.memories import MemoryTarget
from prepare.values import SourceRef
from tests.factories import (
    BY_TEST,
    NOW,
    experience,
    make_scope,
    profile,
    propose,
    ref,
    remember,
    revise,
    source,
    write,
)
from tests.inspector.exact import BODY, alter, identity, read

FAILURE = {
    "signature": {"recall_cue": "A cue.", "symptom": "A symptom."},
    "repair_surface": "working_state",
    "verification": {"condition": "A condition.", "check_subject": "A check."},
}


def change_state(row, state: str) -> None:
    memories.change_state(
        scope=row.artifact.scope,
        target=MemoryTarget(artifact=ref(row), state_version=0),
        state=state,
        authorship=BY_TEST,
    )


@pytest.mark.clause("R-205", "R-211")
def test_the_cited_revision_is_shown_and_the_head_only_named(person):
    scope = make_scope("s")
    first = remember(scope, BODY, artifact_id="m")
    for number in range(2, 6):
        last = revise(first, {"kind": "fact", "text": f"Newer {number}."})
    visitor = person(scope)
    page = read(visitor, first)
    assert page.pre("literal") == BODY
    assert "You see revision 1. The newest is 5." in page.text
    assert "Newer" not in page.text
    assert page.pre("citation") == (
        'Scope: "s"\nArtifact: family="atomic-memory", id="m", revision=1'
    )
    assert revision_url(identity(last)) in page.links
    newest = read(visitor, last)
    assert newest.pre("literal") == "Newer 5."
    assert "You see revision 5, the newest one." in newest.text


@pytest.mark.clause("R-208", "R-210")
@pytest.mark.parametrize("state", ["forgotten", "retired"])
def test_a_revision_stays_readable_after(person, state):
    scope = make_scope("s")
    row = remember(scope, BODY)
    change_state(row, state)
    page = read(person(scope), row)
    assert (page.status, page.pre("literal")) == (200, BODY)
    assert f"The artifact is now: {state}" in page.text
    assert "intact" in page.text


@pytest.mark.clause("R-209", "R-211")
def test_a_merged_revision_stays_itself(person):
    scope = make_scope("s")
    rows = [remember(scope, f"Part {n}.", artifact_id=f"m{n}") for n in range(2)]
    result, _ = memories.merge_memories(
        scope=scope,
        inputs=[MemoryTarget(artifact=ref(row), state_version=0) for row in rows],
        content={"kind": "fact", "text": "Both."},
        authorship=BY_TEST,
    )
    visitor = person(scope)
    page = read(visitor, rows[0])
    assert page.pre("literal") == "Part 0."
    assert "Both." not in page.text
    assert "It was merged into" in page.text
    assert revision_url(identity(result)) in page.links
    made = read(visitor, result)
    assert [one.artifact_id for one in made.context["record"].artifacts] == ["m0", "m1"]
    assert revision_url(identity(rows[1])) in made.links
    cited = page.context["record"].cited_by.rows
    assert [one.artifact_id for one in cited] == [result.artifact.artifact_id]


@pytest.mark.clause("R-212", "R-211")
@pytest.mark.parametrize(
    "change",
    [
        {"revision": 3},
        {"id": "other"},
        {"id": "M"},
        {"id": "m "},
        {"id": "m%"},
        {"family": "experience"},
        {"family": "nothing"},
    ],
)
def test_what_is_not_there_is_404_and_nothing_else(person, change):
    scope = make_scope("s")
    revise(remember(scope, BODY, artifact_id="m"), {"kind": "fact", "text": "Newer."})
    asked = {"scope": "s", "family": "atomic-memory", "id": "m", "revision": 2}
    page = person(scope).open("revision", **(asked | change))
    assert page.status == 404
    assert "artifact_not_found" in page.text
    assert "Nothing else is shown in its place" in page.text
    assert "Newer" not in page.text
    assert "What was asked for" in page.text


@pytest.mark.clause("R-212", "R-213", "R-207")
def test_rights_count_at_the_time_of_looking(person):
    scope = make_scope("s")
    row = write(
        scope,
        "experience",
        experience("Lesson."),
        lineage=Lineage(
            sources=(
                SourceRef(
                    source_type="content", source_id=source(scope, "one").source_id
                ),
            )
        ),
    )
    visitor = person(scope)
    link = source_url("s", "content", "one")
    assert link in read(visitor, row).links
    assert visitor.get(link).pre("literal") == "evidence"
    PersonGrant.objects.all().delete()
    for denied in (read(visitor, row), visitor.get(link)):
        assert denied.status == 403
        assert "forbidden" in denied.text
        assert "Lesson" not in denied.text
        assert "evidence" not in denied.text
    user = visitor.client.session["_auth_user_id"]
    PersonGrant.objects.create(person_id=user, scope=scope, role=Grant.Role.VIEWER)
    assert read(visitor, row).status == 200


@pytest.mark.clause("R-212")
def test_a_missing_scope_looks_like_a_forbidden_one(person, settings):
    row = remember(make_scope("hidden"), BODY, artifact_id="m")
    visitor = person(make_scope("own"))
    missing = {"family": "atomic-memory", "id": "m", "revision": 1}
    denied, unknown = (
        read(visitor, row),
        visitor.open("revision", scope="no", **missing),
    )
    assert denied.status == unknown.status == 403
    assert denied.text.replace("hidden", "no") == unknown.text
    settings.ACCESS_MODE = "disabled"
    unknown = visitor.open("revision", scope="no", **missing)
    assert (unknown.status, "scope_not_found" in unknown.text) == (404, True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"revision": None}, "lacks “revision”"),
        ({"revision": ""}, "lacks “revision”"),
        ({"revision": "latest"}, "no whole number"),
        ({"revision": "0"}, "no whole number"),
        ({"revision": "-1"}, "no whole number"),
        ({"revision": "1.0"}, "no whole number"),
        ({"revision": "٢"}, "no whole number"),
        ({"revision": 2**31}, "no whole number"),
        ({"revision": "9" * 5000}, "no whole number"),
        ({"id": None}, "lacks “id”"),
        ({"family": None}, "lacks “family”"),
        ({"scope": None}, "lacks “scope”"),
        ({"entry": "e1"}, "together"),
        ({"entry_version": "v1"}, "together"),
        ({"entry": "e1", "entry_version": "v1"}, "Only a Memory collection"),
        ({"before": "x"}, "no whole number"),
    ],
)
def test_an_address_that_names_nothing_exact_is_refused(person, change, words):
    """R-211: without a revision the newest one is not meant."""
    scope = make_scope("s")
    remember(scope, BODY, artifact_id="m")
    asked = {"scope": "s", "family": "atomic-memory", "id": "m", "revision": 1}
    page = person(scope).open("revision", **(asked | change))
    assert page.status == 400
    assert words in page.text
    assert "Line one" not in page.text


@pytest.mark.parametrize("name", ["a/b", "q\"uo'te", "%2F%", "?a=b&c#d", "+1"])
def test_ids_with_any_characters_are_read_exactly(person, name):
    scope = make_scope("项目 甲/乙")
    row = remember(scope, BODY, artifact_id=name)
    visitor = person(scope)
    assert read(visitor, row).pre("literal") == BODY
    [link] = [
        one
        for one in visitor.open("artifacts", scope="项目 甲/乙").links
        if "/revision?" in one
    ]
    assert visitor.get(link).context["record"].artifact.artifact_id == name


def test_contents_are_shown_by_their_parts(person):
    scope = make_scope("s")
    rows = [
        write(scope, "experience", experience("A lesson.") | {"failure": FAILURE}),
        write(scope, "topic-memory", {"title": "T", "summary": "Sum", "detail": "Det"}),
        profile(scope, "# Who\n"),
        write(
            scope,
            "prompt",
            {
                "schema_version": "powercontext.prompt.v1",
                "mode": "custom",
                "instructions": "Do it.",
                "demonstrations": [{"input": "in", "expected_output": ["out"]}],
            },
            artifact_id="memory.extract",
        ),
    ]
    visitor = person(scope)
    shown = [
        {part.name: part.text for part in read(visitor, row).context["content"].parts}
        for row in rows
    ]
    assert list(shown[0].items())[3:] == [
        ("lesson", "A lesson."),
        ("failure.signature.recall_cue", "A cue."),
        ("failure.signature.symptom", "A symptom."),
        ("failure.repair_surface", "working_state"),
        ("failure.verification.condition", "A condition."),
        ("failure.verification.check_subject", "A check."),
    ]
    assert shown[1] == {"title": "T", "summary": "Sum", "detail": "Det"}
    assert shown[2]["content"] == "# Who\n"
    assert shown[3] == {
        "mode": "custom",
        "instructions": "Do it.",
        "demonstrations.input": "in",
        "demonstrations.expected_output": '[\n  "out"\n]',
    }
    assert "Demonstration, input (1)" in read(visitor, rows[3]).text


@pytest.mark.parametrize(
    "content",
    [
        '{"kind":"fact","schema":"powercontext.atomic-memory.v1","text":"Changed."}',
        "no json at all <b>",
        "[1, 2]",
        '{"text": {"a": 1}, "failure": {"x": 1}, "demonstrations": [1]}',
        "[" * 2000,
    ],
)
def test_altered_content_is_shown_and_said(person, content):
    scope = make_scope("s")
    row = remember(scope, BODY)
    visitor = person(scope)
    assert "altered" not in read(visitor, row).text
    alter(row, content)
    page = read(visitor, row)
    assert page.status == 200
    assert "altered" in page.text
    assert "changed in the database" in page.text
    assert visitor.open("artifacts", scope="s").status == 200


def test_what_made_a_revision_is_linked(person):
    scope = make_scope("s")
    first = write(scope, "experience", experience("Old."), artifact_id="x")
    proposed = propose(scope, "experience", experience("New."), target=first)
    visitor = person(scope)
    assert "Proposes the next revision" in read(visitor, first).text
    candidates.approve(
        scope=scope,
        candidate_id=proposed.candidate_id,
        expected_version=1,
        authorship=Authorship(now=NOW, author="ann"),
    )
    proposed.refresh_from_db()
    page = read(visitor, proposed.result)
    assert "Approved as this revision" in page.text
    assert page_url("candidate", scope="s", id=proposed.candidate_id) in page.links
    assert page.context["record"].created_by == "ann"
    restored = replace_artifact(
        scope=scope,
        family="experience",
        artifact_id="x",
        content=experience("Old."),
        authorship=Authorship(now=NOW, reason="Was better.", restored_from_revision=1),
    )
    page = read(visitor, restored)
    assert "Was better." in page.text
    assert "Restored from" in page.text


def test_all_revisions_are_listed_in_pages(person):
    scope = make_scope("s")
    row = remember(scope, "Version 1.")
    for number in range(2, 61):
        revise(row, {"kind": "fact", "text": f"Version {number}."})
    visitor = person(scope)
    page, found = read(visitor, row), []
    while True:
        assert page.pre("literal") == "Version 1."
        found += [line.revision for line in page.context["record"].revisions.rows]
        if page.context["older_url"] is None:
            break
        page = visitor.get(page.context["older_url"])
    assert found == list(range(60, 0, -1))
