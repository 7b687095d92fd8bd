"""Hostile text in every field and parameter is inert (C-56), and statements are few."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inspector.links import page_url, revision_url, source_url
from prepare.models import Scope
from prepare.services import scopes
from prepare.services.artifacts import Authorship, Lineage, create_artifact
from prepare.services.candidates import Proposal, propose, reject
from prepare.services.scopes import ExternalReference, ScopeFields
from prepare.services.sources import SourceContent, create_source
from prepare.values import Identity, SourceRef
from tests.factories import (
    NOW,
    collect,
    experience,
    make_scope,
    ref,
    remember,
    revise,
    source,
    write,
)
from tests.factories import propose as propose_one
from tests.inspector.pages import Page, Visitor
from tests.queries import nothing_written

SCRIPT = "<img src=x onerror=alert(1)>"
TEXTS = [
    SCRIPT + "{{ request.user.password }}{% now 'Y' %}{{7*7}}",
    "'\"--><svg onload=alert(1)>; DROP</textarea></pre></bdi></script>"
    "<script>alert(1)</script>",
    "bidi \u202eevil\u2066 \u200bzero \ufeffwidth \x01\x1b[31m\x85\u2028\u2029end",
    "javascript:alert(1) %s %(x)s %_\\ \U0001f600\U000e0041 \ud7ff\uffff\ufffd",
]
ID = "\"><svg/onload=alert(1)>'{{7*7}}</title></a>"  # what an ASCII id can hold


def assert_inert(page: Page) -> None:
    assert page.status < 500
    for markup in (SCRIPT, "<svg/onload", "<svg onload", "<script>alert"):
        assert markup not in page.html
    assert not any(link.startswith("javascript") for link in page.links)
    assert not set("\u202e\u2066\u200b\x01\x1b\x85\u2028\U000e0041") & set(_shown(page))


def _shown(page: Page) -> str:
    """The page without the fields in which a person gets back what was typed."""
    return re.sub(
        r"<textarea.*?</textarea>|<input[^>]*>", "", page.html, flags=re.DOTALL
    )


def write_families(scope: Scope, text: str, lineage: Lineage) -> list[Any]:
    """One revision of every family but collections."""
    line = " ".join(text.split())
    by_hostile = Authorship(now=NOW, author=line[:128], reason=line)
    return [
        create_artifact(
            scope=scope,
            family=family,
            content=content,
            authorship=by_hostile,
            artifact_id=artifact_id,
            lineage=lineage,
        )
        for family, artifact_id, content in (
            ("atomic-memory", ID, {"kind": line[:128], "text": text}),
            ("experience", ID, dict.fromkeys(experience(""), text)),
            (
                "topic-memory",
                ID,
                dict.fromkeys(("title", "summary", "detail"), text),
            ),
            ("profile", "profile", {"content": text}),
            (
                "prompt",
                "memory.extract",
                {
                    "schema_version": "powercontext.prompt.v1",
                    "mode": "custom",
                    "instructions": text,
                    "demonstrations": [{"input": text, "expected_output": {line: 1}}],
                },
            ),
        )
    ]


def make_hostile(text: str) -> list[str]:
    """Everything that is stored, full of `text`; the addresses of all pages."""
    line = " ".join(text.split())
    by_hostile = Authorship(now=NOW, author=line[:128], reason=line)
    make_scope(f"t {line}"[:200], title=line)
    scope = scopes.create_scope(
        fields=ScopeFields(
            title=line,
            summary=text,
            context_references=(f"t {line}"[:200],),
            parent_scope_id=f"t {line}"[:200],
            external_references=(ExternalReference(kind=line, value=text),),
        ),
        idempotency_key="k",
        now=NOW,
        scope_id=f"s {line}"[:200],
    )
    stored = create_source(
        scope=scope,
        source=SourceContent(
            source_type=line[:128],
            source_id=line,
            content=text,
            metadata={line: text},
        ),
        now=NOW,
    )
    lineage = Lineage(
        sources=(SourceRef(source_type=stored.source_type, source_id=stored.source_id),)
    )
    rows = write_families(scope, text, lineage)
    collection = collect(scope, [(ID, ID, text)], artifact_id=ID)
    proposed = propose(
        scope=scope,
        proposal=Proposal(
            family="profile",
            content={"content": text},
            lineage=lineage,
            target=ref(rows[3]),
            reason=text,
        ),
        authorship=by_hostile,
    )
    reject(
        scope=scope,
        candidate_id=proposed.candidate_id,
        expected_version=1,
        reason=text,
        authorship=by_hostile,
    )
    name = scope.scope_id
    return [
        page_url("scopes"),
        *(
            page_url(page, scope=name)
            for page in ("scope", "artifacts", "sources", "search", "candidates")
        ),
        page_url("candidate", scope=name, id=proposed.candidate_id),
        source_url(name, stored.source_type, stored.source_id),
        *(
            revision_url(Identity(scope_id=name, artifact=ref(row)))
            for row in [*rows, collection]
        ),
        revision_url(
            Identity(
                scope_id=name,
                artifact=ref(collection),
                entry_id=ID,
                entry_version_id=ID,
            )
        ),
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_stored_text_is_inert(person, text):
    urls = make_hostile(text)
    visitor = person(*Scope.objects.all(), role="viewer")
    for url in urls:
        page = visitor.get(url)
        assert page.status == 200, url
        assert_inert(page)
    scope_id = Scope.objects.get(scope_id__startswith="s ").scope_id
    for family in ("memory", "experience", "topic-memory"):
        sent = {"scope": scope_id, "family": family, "words": text}
        page = visitor.submit("search", sent)
        assert page.status == 200
        assert_inert(page)


PARAMETERS = {
    "scopes": ["beginning", "after"],
    "scope": ["scope"],
    "artifacts": ["scope", "family", "state", "day", "after"],
    "sources": ["scope", "after"],
    "search": ["scope", "family"],
    "candidates": ["scope", "status", "after"],
    "candidate": ["scope", "id"],
    "revision": [
        "scope",
        "family",
        "id",
        "revision",
        "entry",
        "entry_version",
        "after",
    ],
    "source": ["scope", "type", "id"],
}
GOOD = {
    "scope": "s",
    "family": "memory",
    "id": "x",
    "revision": 1,
    "type": "content",
    "entry": "e",
    "entry_version": "v",
}


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("text", [*TEXTS, "a\0b", "x" * 3000, ID])
def test_hostile_parameters_are_inert(person, settings, name, text):
    visitor = person(make_scope("s"))
    names = PARAMETERS[name]
    good = {each: GOOD[each] for each in names if each in GOOD}
    for mode in ("enforced", "disabled"):
        settings.ACCESS_MODE = mode
        for each in names:
            assert_inert(visitor.open(name, **(good | {each: text})))


def make_one(scope: Scope, number: int) -> None:
    """One more of everything that pages list."""
    target = make_scope(f"target-{number}")
    make_scope(f"reader-{number}", references=[scope.scope_id, target.scope_id])
    make_scope(f"other-{number}")
    made = source(scope, f"src-{number}")
    cited = remember(scope, f"zebra {number}", artifact_id=f"m{number}")
    lineage = Lineage(
        sources=(SourceRef(source_type="content", source_id=made.source_id),),
        artifacts=(ref(cited),),
    )
    write(scope, "experience", experience(f"zebra {number}."), lineage=lineage)
    propose_one(scope, "experience", experience(f"Lesson {number}."))


def _big_pages(scope: Scope, count: int) -> dict[str, Callable[[Visitor], Page]]:
    """Pages of things that have `count` of everything around them."""
    center = remember(scope, "zebra center", artifact_id=f"center-{count}")
    made = source(scope, f"center-{count}")
    head = center
    for number in range(count):
        head = revise(center, {"kind": "fact", "text": f"zebra center {number}"})
        write(
            scope,
            "experience",
            experience("Lesson."),
            lineage=Lineage(
                sources=(SourceRef(source_type="content", source_id=made.source_id),),
                artifacts=(ref(center),),
            ),
        )
        propose_one(scope, "profile", {"content": f"P {number}"}, target=None)
    collection = collect(
        scope,
        [(f"e{n}", f"v{n}", f"Entry {n}.") for n in range(count)],
        artifact_id=f"collection-{count}",
    )
    proposed = propose_one(scope, "experience", experience("Lesson."))
    name = scope.scope_id

    def exact(row, entry=None, version=None):
        url = revision_url(
            Identity(
                scope_id=name,
                artifact=ref(row),
                entry_id=entry,
                entry_version_id=version,
            )
        )
        return lambda visitor: visitor.get(url)

    def get(page: str, **parameters):
        return lambda visitor: visitor.open(page, **parameters)

    return {
        "scopes": get("scopes"),
        "scopes filtered": get("scopes", beginning="t"),
        "scope": get("scope", scope=name),
        "artifacts": get("artifacts", scope=name),
        "sources": get("sources", scope=name),
        "candidates": get("candidates", scope=name),
        "candidate": get("candidate", scope=name, id=proposed.candidate_id),
        "revision": exact(center),
        "head": exact(head),
        "collection": exact(collection),
        "entry": exact(collection, "e0", "v0"),
        "source": get("source", scope=name, type="content", id=f"center-{count}"),
        "search form": get("search", scope=name),
    }


def statements(open_page: Callable[[Visitor], Page], visitor: Visitor) -> int:
    with CaptureQueriesContext(connection) as queries, nothing_written():
        page = open_page(visitor)
    assert page.status == 200
    return len(queries)


def test_statements_do_not_grow(person):
    """SELECTs only, as many for 32 of everything as for one."""
    scope = make_scope("s")
    make_one(scope, 0)
    visitor = person(*Scope.objects.all(), name="few")
    few = {
        name: statements(page, visitor) for name, page in _big_pages(scope, 1).items()
    }
    for number in range(1, 12):
        make_one(scope, number)
    visitor = person(*Scope.objects.all(), name="many")
    many = {
        name: statements(page, visitor) for name, page in _big_pages(scope, 32).items()
    }
    assert many == few
    assert max(many.values()) <= 24


def test_statements_of_a_search_do_not_grow(person):
    scope = make_scope("s")
    visitor = person(scope)
    counts = []
    for total in (1, 32):
        for number in range(total):
            remember(scope, f"zebra {number}", artifact_id=f"m{total}-{number}")
        sent = {"scope": "s", "family": "memory", "words": "zebra"}
        with CaptureQueriesContext(connection) as queries, nothing_written():
            page = visitor.submit("search", sent)
        assert page.context["rows"]
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_stranger_sees_no_page(stranger):
    make_scope("s")
    for name in PARAMETERS:
        page = stranger.open(name, scope="s")
        assert page.status == 302
        assert page.location.startswith("/inspector/sign-in?next=")
