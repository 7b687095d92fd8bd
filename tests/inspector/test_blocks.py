"""Verify a block: texts out of a log, cited revisions as claims."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from inspector.links import page_url
from prepare.models import PersonGrant, Scope
from tests.api import Api
from tests.factories import collect, make_scope, profile, remember, revise, topic, write
from tests.inspector.conftest import MakeVisitor
from tests.inspector.pages import Page, Visitor
from tests.queries import captured_tables, nothing_written
from tests.services.building import pack_memories
from tests.services.verification import ALL, QUERY, make_mixed, merge, set_state, sql

FINE = "Everything was read and is fine."
NOT_FINE = "Not everything is fine."


def verify(visitor: Visitor, text: str | bytes, **values: Any) -> Page:
    """Uploaded, so that nothing is found in the form that comes back."""
    data = text.encode() if isinstance(text, str) else text
    upload = SimpleUploadedFile("log.txt", data)
    return visitor.submit("block", {"text_file": upload, **values})


def rows(page: Page) -> list[str]:
    """Each cited revision, as a reader sees it."""
    found = re.findall(
        r'<tr>\s*<th scope="row">(<bdi>[A-Za-z ]+ \d+</bdi>.*?)</tr>',
        page.html,
        re.DOTALL,
    )
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in found]


@pytest.fixture
def content(settings: Any, api: Api) -> Any:
    """Content as a host got it for the Scope `s`."""

    def ask(**options: Any) -> str:
        settings.ACCESS_MODE = "disabled"
        text: str = api.content("s", QUERY, **options)
        settings.ACCESS_MODE = "enforced"
        return text

    return ask


@pytest.mark.clause("R-205")
@pytest.mark.parametrize("options", [{"assembly": ALL}, {}])
def test_a_fresh_block_is_fine(
    person: MakeVisitor, content: Any, options: dict[str, Any]
) -> None:
    scope = make_mixed()
    text = content(**options)
    page = verify(person(*Scope.objects.all()), text, scope=scope.scope_id)
    assert page.status == 200
    assert FINE in page.text
    assert f"of {len(text.encode()):,} bytes" in page.text
    assert "as cited, unproven" in page.text
    assert len(rows(page)) == (7 if options else 5)
    for row in rows(page):
        assert "current" in row
        assert "same" in row
    assert "项目:二" in page.text


def test_pasted_line_ends_are_taken_back(
    person: MakeVisitor, scope: Scope, content: Any
) -> None:
    remember(scope, "zebra one\n\nand more")
    text = content(assembly=ALL).replace("\n", "\r\n")
    visitor = person(scope)
    assert FINE in visitor.submit("block", {"text": text}).text
    uploaded = verify(visitor, text)
    assert NOT_FINE in uploaded.text
    assert "CR in line ends" in uploaded.text


@pytest.mark.clause("R-211")
def test_what_became_of_each_claim(
    person: MakeVisitor, scope: Scope, content: Any
) -> None:
    names = ("current", "superseded", "forgotten", "merged", "retired", "altered")
    made = {name: remember(scope, f"zebra {name}", artifact_id=name) for name in names}
    text = content(assembly={"sections": [{"family": "memory", "limit": 8}]})
    revise(made["superseded"], {"kind": "fact", "text": "quagga"})
    for state in ("forgotten", "retired"):
        set_state(made[state], state)
    merge(made["merged"], remember(scope, "zebra other"))
    sql(
        "UPDATE prepare_artifactrevision SET content = '{}' WHERE id = %s",
        made["altered"].pk,
    )
    page = verify(person(scope), text)
    assert NOT_FINE in page.text
    found = {name: row for row in rows(page) for name in names if f" {name} rev" in row}
    assert found.keys() == set(names)
    for name in names[1:5]:
        assert f"in Scope s {name} " in found[name]
        assert "same" in found[name]  # as the cited revision, not as the head
    assert "Head: revision 2" in found["superseded"]
    assert "The stored content does not have its own digest" in found["altered"]
    assert "not comparable" in found["altered"]
    assert "quagga" not in page.html


def test_an_edited_body_is_altered(
    person: MakeVisitor, scope: Scope, content: Any
) -> None:
    remember(scope, "zebra one")
    text = content(assembly=ALL)
    (row,) = rows(verify(person(scope), text.replace("zebra one", "zebra two")))
    assert "altered The text is not what the cited revision says." in row


def test_a_cut_body_has_the_same_start(
    person: MakeVisitor, scope: Scope, content: Any
) -> None:
    remember(scope, "zebra " * 400)
    (row,) = rows(verify(person(scope), content(assembly=ALL, max_bytes=900)))
    assert "same start" in row


@pytest.mark.clause("R-212", "R-213")
def test_denied_and_missing_claims_show_nothing(
    person: MakeVisitor, scope: Scope, content: Any
) -> None:
    remember(scope, "zebra one", artifact_id="m1")
    text = content(assembly=ALL)
    visitor = person(scope)
    (missing,) = rows(verify(visitor, text.replace('id="m1"', 'id="m2"')))
    assert "missing 404" in missing
    PersonGrant.objects.all().delete()
    (denied,) = rows(verify(visitor, text))
    assert "denied 403" in denied
    (nowhere,) = rows(verify(visitor, text.replace('Scope: "s"', 'Scope: "x"')))
    assert nowhere.replace("Scope x", "Scope s") == denied


def test_short_citations_need_the_scope_of_the_request(
    person: MakeVisitor, scope: Scope, content: Any
) -> None:
    remember(scope, "zebra one", artifact_id="m1")
    text = content()
    visitor = person(scope)
    page = verify(visitor, text)
    assert "Scope unknown" in page.text
    assert "say which it was" in page.text
    assert not [link for link in page.links if "revision" in link]
    known = verify(visitor, text, scope="s")
    assert FINE in known.text
    url = page_url("revision", scope="s", family="atomic-memory", id="m1", revision=1)
    assert url in known.links
    wrong = verify(visitor, text, scope="x" * 300)
    assert (wrong.status, "No Scope can have this id." in wrong.text) == (422, True)


def test_entries_link_to_their_own_version(
    person: MakeVisitor, scope: Scope, content: Any
) -> None:
    collect(scope, [("e1", "v1", "zebra one")])
    page = verify(person(scope), content(assembly=ALL))
    assert FINE in page.text
    url = page_url(
        "revision",
        scope="s",
        family="memory",
        id="memory",
        revision=1,
        entry="e1",
        entry_version="v1",
    )
    assert url in page.links


def test_blocks_are_found_inside_a_log(
    person: MakeVisitor, scope: Scope, content: Any
) -> None:
    remember(scope, "zebra one")
    text, envelope = content(assembly=ALL), content()
    log = f"turn 1\n{text}\nturn 2\n{envelope}\nbye\n"
    page = verify(person(scope), log, scope="s")
    assert "2 blocks were found" in page.text
    assert "Block 1, from line 2" in page.text
    assert page.text.count("3 lines of the log outside the block were left out") == 2
    assert page.text.count(FINE) == 2
    labels = re.findall(r'role="region" aria-label="([^"]+)"', page.html)
    assert len(set(labels)) == len(labels) == 2  # landmarks differ
    lines = enumerate(text.split("\n"))
    stamped = "\n".join(f"12:00:0{n % 9} {line}" for n, line in lines)
    page = verify(person(scope), stamped)
    assert "9 characters before each line were left out" in page.text
    assert FINE in page.text


@pytest.mark.parametrize("text", ["hello", "", " ", "{}", b"\xff"])
def test_what_holds_no_block_is_refused(person: MakeVisitor, text: str | bytes) -> None:
    page = verify(person(), text)
    assert page.status == 422
    words = "It is not UTF-8." if isinstance(text, bytes) else "no PowerContext block"
    assert words in page.text


def test_one_of_paste_and_file_is_needed(person: MakeVisitor) -> None:
    visitor = person()
    none = visitor.submit("block", {"scope": "kept"})
    assert (none.status, none.fields["scope"]) == (422, "kept")
    assert "Paste a text or choose its file." in none.text
    upload = SimpleUploadedFile("log.txt", b"x")
    both = visitor.submit("block", {"text": "y", "text_file": upload})
    assert (both.status, "not both" in both.text) == (422, True)


def test_a_hostile_text_lists_no_endless_problems(person: MakeVisitor) -> None:
    text = pack_memories("x").content
    assert text is not None
    page = verify(person(), text.replace("## Memory", "junk\n\n" * 500 + "## Memory"))
    assert page.text.count("nothing else fits here") == 50
    assert re.search(r"and [0-9]{3} more", page.text)


def fill(number: int) -> None:
    """Scopes and artifacts for `number` of each family, two experiences."""
    others = [make_scope(f"o{n}") for n in range(number - 1)]
    scope = make_scope("s", references=[other.scope_id for other in others])
    for n, each in enumerate((scope, *others)):
        profile(each, "# zebra")
        remember(scope, f"zebra {n}")
        write(scope, "topic-memory", topic(f"zebra {n}"))


@pytest.mark.parametrize("each", [1, 8])
@pytest.mark.parametrize("form", ["text", "envelope"])
def test_the_page_costs_the_same_for_few_and_many_items(
    person: MakeVisitor, content: Any, settings: Any, form: str, each: int
) -> None:
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 24
    fill(each)
    families = ("memory", "topic-memory", "profile")
    sections = [{"family": name, "limit": each} for name in families]
    options = {"assembly": {"sections": sections}} if form == "text" else {}
    text = content(max_bytes=32768, **options)
    visitor = person(*Scope.objects.all())
    token = visitor.open("block").fields["csrfmiddlewaretoken"]
    sent = {"csrfmiddlewaretoken": token, "text": text, "scope": "s"}
    with nothing_written(), captured_tables() as tables:
        page = visitor.post(page_url("block"), sent)
    assert FINE in page.text
    assert len(rows(page)) == (3 * each if form == "text" else min(2 * each, 8))
    assert tables == [
        *("django_session", "auth_user"),
        *("scope", "persongrant", "artifact", "artifactrevision", "sourceevidence"),
    ]
