"""Lists of artifacts, Sources and Candidates: filters, order, pages that are stable."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Permission, User

from prepare.services import artifacts, candidates, memories
from prepare.services.artifacts import Authorship
from prepare.services.memories import MemoryTarget
from tests.factories import (
    BY_TEST,
    collect,
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
from tests.inspector.pages import Page, Visitor

PROMPT = {
    "schema_version": "powercontext.prompt.v1",
    "mode": "custom",
    "instructions": "Extract facts.\nOne line each.",
    "demonstrations": [{"input": "Depot 7", "expected_output": ["Depot 7 is one"]}],
}


def at(moment: datetime) -> Authorship:
    return Authorship(now=moment, author="test")


def remember_at(scope, artifact_id: str, moment: datetime):
    return artifacts.create_artifact(
        scope=scope,
        family="atomic-memory",
        content={"kind": "fact", "text": f"Fact {artifact_id}."},
        authorship=at(moment),
        artifact_id=artifact_id,
    )


def ids(page: Page) -> list[str]:
    return [row.head.artifact.artifact_id for row in page.context["rows"]]


def pages_of(visitor: Visitor, page: Page) -> list[Page]:
    found = [page]
    while found[-1].context["next_url"]:
        found.append(visitor.get(found[-1].context["next_url"]))
    return found


def test_every_family_is_listed_with_a_first_line(person):
    scope = make_scope("s")
    remember(scope, "A memory.", artifact_id="m")
    collect(scope, [("e1", "v1", "Entry."), ("e2", "v2", "Entry.")])
    write(scope, "experience", experience("A lesson."), artifact_id="x")
    profile(scope, "\n# A profile\n\nMore.")
    write(scope, "topic-memory", {"title": "A topic", "summary": "S", "detail": "D"})
    write(scope, "prompt", PROMPT, artifact_id="memory.extract")
    page = person(scope).open("artifacts", scope="s")
    gists = {row.head.artifact.family: row.gist for row in page.context["rows"]}
    assert {name: one.line for name, one in gists.items()} == {
        "atomic-memory": "A memory.",
        "memory": "",
        "experience": "A lesson.",
        "profile": "# A profile",
        "topic-memory": "A topic",
        "prompt": "Extract facts.",
    }
    assert gists["memory"].entries == 2
    assert "2 entries" in page.text
    only = person(scope).open("artifacts", scope="s", family="prompt")
    assert ids(only) == ["memory.extract"]


def test_states_are_shown_and_filtered(person):
    scope = make_scope("s")
    for name in ("active", "forgotten", "retired"):
        row = remember(scope, f"Is {name}.", artifact_id=name)
        memories.change_state(
            scope=scope,
            target=MemoryTarget(artifact=ref(row), state_version=0),
            state=name,
            authorship=BY_TEST,
        )
    inputs = [remember(scope, f"Part {n}.", artifact_id=f"in{n}") for n in range(2)]
    memories.merge_memories(
        scope=scope,
        inputs=[MemoryTarget(artifact=ref(row), state_version=0) for row in inputs],
        content={"kind": "fact", "text": "Both parts."},
        authorship=BY_TEST,
    )
    visitor = person(scope)
    expected = {
        "forgotten": ["forgotten"],
        "retired": ["retired"],
        "merged": ["in0", "in1"],
    }
    for state, found in expected.items():
        page = visitor.open("artifacts", scope="s", state=state)
        assert ids(page) == found
        assert {row.head.state for row in page.context["rows"]} == {state}
    none = visitor.open("artifacts", scope="s", state="retired", family="profile")
    assert "No artifact of this Scope is like that" in none.text


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles", "UTC"])
def test_a_day_is_a_day_of_utc(person, monkeypatch, zone):
    """C-62: also where the host's clock has another day."""
    with monkeypatch.context() as context:
        context.setenv("TZ", zone)
        time.tzset()
        check_days(person)
    time.tzset()


def check_days(person) -> None:
    scope = make_scope("s")
    midnight = datetime(2026, 3, 2, tzinfo=UTC)
    remember_at(scope, "before", midnight - timedelta(microseconds=1))
    remember_at(scope, "first", midnight)
    remember_at(scope, "last", midnight + timedelta(days=1, microseconds=-1))
    remember_at(scope, "after", midnight + timedelta(days=1))
    page = person(scope).open("artifacts", scope="s", day="2026-03-02")
    assert ids(page) == ["last", "first"]
    assert "2026-03-02 23:59:59 UTC" in page.text
    assert "Last changed on (UTC)" in page.text


@pytest.mark.parametrize(
    "wrong",
    [{"day": "31.3.2026"}, {"day": "2026-02-30"}, {"state": "x"}, {"family": "x"}],
)
def test_a_wrong_filter_is_named_and_kept(person, wrong):
    page = person(make_scope("s")).open("artifacts", scope="s", **wrong)
    assert page.status == 422
    assert "Please correct this" in page.text
    assert "Nothing is stored" not in page.text


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01"])
def test_the_first_and_the_last_day_there_is(person, day):
    assert person(make_scope("s")).open("artifacts", scope="s", day=day).status == 200


def test_pages_of_artifacts_are_stable(person):
    """Newest first, ties by name; what is written in between is seen at the front."""
    scope = make_scope("s")
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    expected = []
    for number in range(120):
        name = f"m{number:03}"
        remember_at(scope, name, moment - timedelta(hours=number // 7))
        expected.append(name)
    visitor = person(scope)
    first = visitor.open("artifacts", scope="s", family="atomic-memory")
    remember_at(scope, "newer", moment + timedelta(hours=1))
    pages = pages_of(visitor, first)
    assert [len(ids(page)) for page in pages] == [50, 50, 20]
    assert [name for page in pages for name in ids(page)] == expected
    first_page = "/inspector/artifacts?scope=s&family=atomic-memory"
    assert first_page in pages[-1].links
    assert all("family=atomic-memory" in p.context["next_url"] for p in pages[:-1])


@pytest.mark.parametrize("cursor", ["x", "%", "W10", "WyJhIiwiYiIsImMiXQ", "a" * 5000])
def test_a_cursor_that_was_not_made_here_is_refused(person, cursor):
    visitor = person(make_scope("s"))
    for name in ("artifacts", "candidates"):
        page = visitor.open(name, scope="s", after=cursor)
        assert (page.status, "invalid_cursor" in page.text) == (400, True)
    assert visitor.open("sources", scope="s", after=cursor).status == 400


def test_sources_are_listed_with_who_cites_them(person):
    scope = make_scope("s")
    source(scope, "plain", "First line\nSecond line \u202e")
    source(scope, "object", {"a": [1, 2]})
    propose(scope, "experience", experience("Lesson."))
    [pending] = scope.candidates.all()
    candidates.approve(
        scope=scope,
        candidate_id=pending.candidate_id,
        expected_version=1,
        authorship=BY_TEST,
    )
    rows = person(scope).open("sources", scope="s").context["rows"]
    assert [row.row.position for row in rows] == [3, 2, 1]
    assert [row.row.citations for row in rows] == [1, 0, 0]
    assert [row.line for row in rows][1:] == ['{"a":[1,2]}', "First line"]


def test_pages_of_sources_are_stable(person):
    scope = make_scope("s")
    for number in range(60):
        source(scope, f"src-{number}", 'a "quoted" \\ line ' * 50)
    visitor = person(scope)
    pages = pages_of(visitor, visitor.open("sources", scope="s"))
    positions = [row.row.position for page in pages for row in page.context["rows"]]
    assert positions == list(range(60, 0, -1))
    assert pages[0].context["rows"][0].line.startswith('a "quoted" \\ line a')


def test_candidates_await_review_first(person):
    scope = make_scope("s")
    old = write(scope, "experience", experience("Old."), artifact_id="old")
    rejected = propose(scope, "experience", experience("Bad."))
    approved = propose(scope, "experience", experience("Good."))
    waiting = propose(scope, "experience", experience("Better."), target=old)
    candidates.reject(
        scope=scope,
        candidate_id=rejected.candidate_id,
        expected_version=1,
        reason="Not true.",
        authorship=BY_TEST,
    )
    candidates.approve(
        scope=scope,
        candidate_id=approved.candidate_id,
        expected_version=1,
        authorship=BY_TEST,
    )
    visitor = person(scope)
    page = visitor.open("candidates", scope="s")
    found = [row.row.candidate_id for row in page.context["rows"]]
    decided = sorted([rejected.candidate_id, approved.candidate_id])
    assert found == [waiting.candidate_id, *decided]
    assert page.context["rows"][0].gist.line == "Better."
    only = visitor.open("candidates", scope="s", status="rejected")
    assert [row.row.status for row in only.context["rows"]] == ["rejected"]

    shown = visitor.open("candidate", scope="s", id=rejected.candidate_id)
    assert "Not true." in shown.text
    assert "Bad." in shown.text
    shown = visitor.open("candidate", scope="s", id=waiting.candidate_id)
    assert "experience/old" in shown.text
    assert any("/inspector/source?" in link for link in shown.links)
    assert "cannot be approved any more" not in shown.text
    revise(old, experience("Newer."))
    shown = visitor.open("candidate", scope="s", id=waiting.candidate_id)
    assert "cannot be approved any more" in shown.text


def test_pages_of_candidates_are_stable(person):
    scope = make_scope("s")
    made = [propose(scope, "profile", {"content": f"P{n}"}) for n in range(110)]
    for one in made[:70]:
        candidates.reject(
            scope=scope,
            candidate_id=one.candidate_id,
            expected_version=1,
            reason="",
            authorship=BY_TEST,
        )
    visitor = person(scope)
    pages = pages_of(visitor, visitor.open("candidates", scope="s"))
    found = [row.row.candidate_id for page in pages for row in page.context["rows"]]
    assert found == [
        *sorted(one.candidate_id for one in made[70:]),
        *sorted(one.candidate_id for one in made[:70]),
    ]


def test_only_staff_who_may_decide_see_the_way_to_the_admin(person):
    scope = make_scope("s")
    row = propose(scope, "experience", experience("Lesson."))
    visitor = person(scope, name="ann")
    ann = User.objects.get(username="ann")

    def leads_to_admin() -> bool:
        page = visitor.open("candidate", scope="s", id=row.candidate_id)
        assert page.status == 200
        return f"/admin/prepare/candidate/{row.pk}/change/" in page.links

    assert not leads_to_admin()
    ann.is_staff = True
    ann.save()
    assert not leads_to_admin()
    ann.user_permissions.add(Permission.objects.get(codename="change_candidate"))
    assert leads_to_admin()


def test_a_candidate_of_another_scope_is_not_found(person):
    own, other = make_scope("own"), make_scope("other")
    row = propose(other, "experience", experience("Lesson."))
    page = person(own).open("candidate", scope="own", id=row.candidate_id)
    assert (page.status, "candidate_not_found" in page.text) == (404, True)
    assert person(own).open("candidate", scope="own").status == 400
