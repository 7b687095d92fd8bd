"""Lists: counts, search without wildcards, and statements that do not grow."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from prepare.models import Scope, Token
from tests.admin.pages import Browser
from tests.factories import (
    collect,
    experience,
    make_scope,
    propose,
    remember,
    token,
)


def make_rows(number: int) -> None:
    """One more of everything a list shows."""
    target = make_scope(f"target-{number}")
    scope = make_scope(f"scope-{number}", references=[target.scope_id])
    remember(scope, f"Fact {number}.")
    collect(scope, [("e1", f"v-{number}", "Entry.")])
    propose(scope, "experience", experience("Lesson."))
    token(f"token-{number}", scope, target)


MODELS = [
    "artifact",
    "artifactrevision",
    "candidate",
    "memoryentryversion",
    "scope",
    "source",
    "token",
]


def statements(admin: Browser, model: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        page = admin.open(f"{model}_changelist")
    assert page.status == 200
    return len(queries)


def test_statements_do_not_grow(admin: Browser) -> None:
    """Session, user, count of the found rows, one page of rows."""
    for number in range(3):
        make_rows(number)
    few = {model: statements(admin, model) for model in MODELS}
    for number in range(3, 60):
        make_rows(number)
    many = {model: statements(admin, model) for model in MODELS}

    assert many == few == dict.fromkeys(MODELS, 4)
    for model in MODELS:
        listed = admin.open(f"{model}_changelist").context["cl"]
        assert (listed.result_count >= 60, len(listed.result_list)) == (True, 50)


def test_token_page_does_not_grow(admin: Browser) -> None:
    for number in range(3):
        make_scope(f"few-{number}")
    token("few", *Scope.objects.filter(scope_id__startswith="few"))
    for number in range(60):
        make_scope(f"many-{number}")
    token("many", *Scope.objects.filter(scope_id__startswith="many"))
    # The first page of a process also asks for the content types.
    admin.open("token_change", Token.objects.earliest("pk").pk)
    seen = []
    for row in Token.objects.order_by("name"):
        with CaptureQueriesContext(connection) as queries:
            page = admin.open("token_change", row.pk)
        assert page.status == 200
        seen.append(len(queries))

    assert seen[0] == seen[1]


def test_scope_counts_do_not_multiply(admin: Browser) -> None:
    make_scope("a")
    make_scope("b")
    scope = make_scope("s", references=["a", "b"])
    for number in range(3):
        remember(scope, f"Fact {number}.")

    page = admin.open("scope_changelist", q="s")

    [row] = [row for row in page.context["cl"].result_list if row.scope_id == "s"]
    assert (row.references, row.held_artifacts) == (2, 3)
    artifacts = admin.open("artifact_changelist", scope__id__exact=str(scope.pk))
    assert artifacts.context["cl"].result_count == 3


def found(admin: Browser, **query: str) -> set[str]:
    page = admin.open("artifact_changelist", **query)
    return {row.artifact_id for row in page.context["cl"].result_list}


def test_search_is_a_prefix_and_knows_no_wildcards(admin: Browser) -> None:
    scope = make_scope("my scope_1")
    other = make_scope("my scopeX1")
    for name in ("mem_1", "memX1", "100%", "100x", "back\\slash"):
        remember(scope, "x", artifact_id=name)
    remember(other, "x", artifact_id="elsewhere")

    assert found(admin, q="mem_") == {"mem_1"}
    assert found(admin, q="100%") == {"100%"}
    assert found(admin, q="%") == set()
    assert found(admin, q="_") == set()
    assert found(admin, q="em_1") == set()
    assert found(admin, q="back\\") == {"back\\slash"}
    assert found(admin, q="elsewhere") == {"elsewhere"}
    assert found(admin, q=" my scopeX1 ") == {"elsewhere"}
    assert "elsewhere" not in found(admin, q="my scope_")


def test_search_tells_case_accent_and_width_apart(admin: Browser) -> None:
    """On every database; LIKE would not on SQLite."""
    for name in ("Alpha", "alpha", "café", "cafe", "ａlpha"):
        remember(make_scope(name), "x", artifact_id=f"in-{name.encode().hex()}")
    for name in ("Alph", "alph", "caf\u00e9", "cafe", "ａ"):
        rows = found(admin, q=name)
        assert len(rows) == 1
        [artifact_id] = rows
        assert bytes.fromhex(artifact_id[3:]).decode().startswith(name)


def test_filters(admin: Browser) -> None:
    scope = make_scope("s")
    kept = remember(scope, "x", artifact_id="kept").artifact
    gone = remember(scope, "x", artifact_id="gone").artifact
    collect(scope, [("e1", "v1", "Entry.")])
    admin.act("artifact", "forget", gone)

    assert found(admin, family="memory") == {"memory"}
    assert found(admin, family="atomic-memory") == {"kept", "gone"}
    assert found(admin, family="nothing") == set()
    assert found(admin, state="forgotten") == {"gone"}
    assert found(admin, state="merged") == found(admin, state="retired") == set()
    assert kept.artifact_id in found(admin, state="active")


def test_scopes_are_completed_by_their_beginning(admin: Browser) -> None:
    scope = make_scope("project:demo", title="A demo")
    make_scope("other")
    query = {"app_label": "prepare", "model_name": "artifact", "field_name": "scope"}

    for term in ("project", "A dem"):
        answer = admin.client.get("/admin/autocomplete/", {**query, "term": term})
        assert answer.json()["results"] == [
            {"id": str(scope.pk), "text": "project:demo"}
        ]
    answer = admin.client.get("/admin/autocomplete/", {**query, "term": "%"})
    assert answer.json()["results"] == []
