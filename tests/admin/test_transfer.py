"""Import and export in the admin: the files and rules of load_context and
export_context."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from prepare.models import Artifact, ArtifactRevision, Scope, Source
from tests.admin.pages import Browser, Page, page_url
from tests.commands.files import empty_database
from tests.commands.snapshots import stored
from tests.factories import collect, make_scope, remember, revise, source

DEMO = Path(__file__).parents[2] / "prepare/fixtures/demo.jsonl"
IMPORTING = (
    *("add_scope", "add_source", "add_artifact", "change_artifact", "add_candidate"),
    "view_scope",
)
EXPORTING = (
    *("view_scope", "view_source", "view_artifact", "view_artifactrevision"),
    *("view_memoryentryversion", "view_candidate"),
)


def scope_line(scope_id: str, **fields: Any) -> str:
    line = {"type": "scope", "scope_id": scope_id, "title": "T", "summary": "S"}
    return json.dumps({**line, "context_references": [], **fields})


def upload(browser: Browser, content: bytes, name: str = "context.jsonl") -> Page:
    return browser.open("scope_import").submit(file=SimpleUploadedFile(name, content))


def exported(browser: Browser, *scopes: Scope) -> bytes:
    """The download of these Scopes, or of everything."""
    if not scopes:
        answer = browser.client.get(page_url("scope_export"))
    else:
        page = browser.open("scope_changelist")
        values = {
            "csrfmiddlewaretoken": page.fields()["csrfmiddlewaretoken"],
            "action": "export_selected",
            "_selected_action": [scope.pk for scope in scopes],
        }
        answer = browser.client.post(page_url("scope_changelist"), values)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    name = answer.headers["Content-Disposition"]
    assert name.startswith('attachment; filename="context-')
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.getvalue()


def lines_of(*arguments: str) -> bytes:
    out = io.StringIO()
    call_command("export_context", *arguments, stdout=out)
    return out.getvalue().encode()


def revisions() -> set[tuple[Any, ...]]:
    return set(
        ArtifactRevision.objects.values_list(
            *("artifact__scope__scope_id", "artifact__family", "artifact__artifact_id"),
            *("revision", "content_digest", "created_at", "created_by"),
        )
    )


def test_a_round_trip_gives_the_same_revisions(admin: Browser) -> None:
    page = upload(admin, DEMO.read_bytes(), "demo.jsonl")
    assert page.messages == ["Imported demo.jsonl: 297 new, 0 already there."]
    assert page.url == page_url("scope_changelist")
    handbook = Scope.objects.get(scope_id="org:handbook")
    admin.act("artifact", "forget", Artifact.objects.filter(scope=handbook)[0])
    remember(handbook, "Odd:\u2028\u0085\r\n🩺.")
    before = stored()
    file = exported(admin)
    assert file == lines_of()
    empty_database()

    upload(admin, file)

    assert stored() == before
    assert exported(admin) == file


def test_the_export_of_selected_scopes_has_what_they_refer_to(admin: Browser) -> None:
    make_scope("target")
    chosen = make_scope("chosen", references=["target"])
    remember(chosen, "One.")
    remember(make_scope("other"), "Two.")

    file = exported(admin, chosen)

    assert file == lines_of("--scope", "chosen")
    assert b"target" in file
    assert b"other" not in file


def test_nothing_selected_exports_nothing(admin: Browser) -> None:
    remember(make_scope("s"), "One.")
    page = admin.act("scope", "export_selected")
    assert "Items must be selected" in page.messages[0]


def test_an_import_twice_changes_nothing(admin: Browser) -> None:
    scope = make_scope("s")
    revise(remember(scope, "One."), {"kind": "fact", "text": "Two."})
    collect(scope, [("e", "v", "Entry.")])
    source(scope, "src")
    file = exported(admin)
    before = revisions()

    page = upload(admin, file)

    assert page.messages[0].startswith("Imported context.jsonl: 0 new, ")
    assert revisions() == before


@pytest.mark.parametrize(
    ("second", "error"),
    [
        ("{", "Line 3: The line is not valid JSON."),
        ("[]", "Line 3: "),
        ('{"type": "scope", "scope_id": "b"}', "Line 3: title: "),
        (scope_line("b", context_references=["nowhere"]), "Line 3: there is no Scope"),
        (json.dumps({"type": "thing"}), "Line 3: type: "),
        ('{"type": "\xff"}', "Line 3: "),
    ],
)
def test_a_bad_line_is_named_and_nothing_stored(
    admin: Browser, second: str, error: str
) -> None:
    before = Scope.objects.count()
    content = f"{scope_line('a')}\n\n{second}\n".encode("latin-1")

    page = upload(admin, content)

    assert page.status == 422
    assert "Nothing was stored." in page.html
    assert page.context["problems"][0].startswith(error)
    assert Scope.objects.count() == before


def test_a_hostile_file_is_shown_as_text(admin: Browser) -> None:
    name = "<img src=x onerror=alert(1)>\u202e.jsonl"
    line = json.dumps({"type": "source", "scope_id": "<svg onload=alert(1)>\u202e"})
    page = upload(admin, line.encode(), name)
    assert page.status == 422
    assert "<svg onload" not in page.html
    assert "\u202e" not in page.html
    assert "<img src=x" not in upload(admin, b"", name).html


@pytest.mark.parametrize("content", [None, b""])
def test_no_file_is_said_so(admin: Browser, content: bytes | None) -> None:
    page = admin.open("scope_import")
    sent = {} if content is None else {"file": SimpleUploadedFile("a.jsonl", content)}
    assert page.submit(**sent).status == 422


def test_a_file_that_is_too_large(admin: Browser, settings, tmp_path: Path) -> None:
    settings.MAX_BODY_BYTES = 100_000
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "nowhere"  # the disk is never used
    assert upload(admin, scope_line("fits").encode().ljust(99_000)).status == 200
    before = Scope.objects.count()

    page = upload(admin, scope_line("large").encode().ljust(100_001))

    assert page.status == 413
    assert "more than 100,000 bytes" in page.context["problems"][0]
    assert "load_context" in page.context["problems"][0]
    assert Scope.objects.count() == before


@pytest.mark.parametrize("missing", IMPORTING[:-1])
def test_importing_needs_every_permission(staff, missing: str) -> None:
    browser = staff(*(name for name in IMPORTING if name != missing))
    assert browser.open("scope_import").status == 403
    file = SimpleUploadedFile("a.jsonl", scope_line("a").encode())
    assert browser.post(page_url("scope_import"), {"file": file}).status == 403
    assert page_url("scope_import") not in browser.open("scope_changelist").html
    assert not Scope.objects.filter(scope_id="a").exists()


def test_staff_with_the_permissions_import(staff) -> None:
    browser = staff(*IMPORTING)
    assert page_url("scope_import") in browser.open("scope_changelist").html
    assert upload(browser, scope_line("a").encode()).status == 200
    assert Scope.objects.filter(scope_id="a").exists()


@pytest.mark.parametrize("missing", EXPORTING[1:])
def test_exporting_needs_every_permission(staff, missing: str) -> None:
    scope = make_scope("s")
    browser = staff(*(name for name in EXPORTING if name != missing))
    assert browser.open("scope_export").status == 403
    listed = browser.open("scope_changelist")
    assert page_url("scope_export") not in listed.html
    assert "export_selected" not in listed.html
    values = {"action": "export_selected", "_selected_action": [scope.pk]}
    refused = browser.client.post(page_url("scope_changelist"), values)
    assert not refused.streaming


def test_staff_with_the_permissions_export(staff) -> None:
    scope = make_scope("s")
    browser = staff(*EXPORTING)
    assert page_url("scope_export") in browser.open("scope_changelist").html
    assert exported(browser, scope) == lines_of("--scope", "s")
    assert exported(browser) == lines_of()


def test_an_import_needs_its_csrf_token(admin: Browser) -> None:
    page = admin.open("scope_import")
    file = SimpleUploadedFile("a.jsonl", scope_line("a").encode())
    assert page.submit(file=file, csrfmiddlewaretoken="x" * 64).status == 403
    assert not Source.objects.exists()
