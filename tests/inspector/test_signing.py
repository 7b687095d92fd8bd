"""Sign-in through sessions, sign-out, the language, and who sees anything at all."""

import pytest
from django.contrib.auth.models import User

from tests.inspector.pages import Page

PAGES = ["scopes", "try", "compare", "receipt", "block"]


@pytest.mark.parametrize("name", PAGES)
def test_a_stranger_is_asked_to_sign_in(stranger, name):
    page = stranger.open(name)
    assert page.status == 302
    assert page.location.startswith("/inspector/sign-in?next=/inspector/")


@pytest.mark.parametrize("name", PAGES)
def test_a_person_who_signed_in_sees_the_page(person, name):
    assert person().open(name).status == 200


@pytest.mark.parametrize("name", PAGES)
def test_without_access_control_no_sign_in_is_asked_for(settings, stranger, name):
    settings.ACCESS_MODE = "disabled"
    page = stranger.open(name)
    assert page.status == 200
    assert "access mode disabled" in page.text


def test_signing_in_leads_to_the_page_that_was_asked_for(stranger):
    User.objects.create_user("ann", password="long enough words")
    wrong = stranger.submit("sign-in", {"username": "ann", "password": "no"})
    assert wrong.status == 200
    assert "correct" in wrong.text
    form = stranger.get("/inspector/sign-in?next=/inspector/try")
    page = stranger.post(
        "/inspector/sign-in",
        form.fields | {"username": "ann", "password": "long enough words"},
    )
    assert page.location == "/inspector/try"
    assert stranger.open("try").status == 200


def test_signing_in_never_leads_to_another_host(stranger):
    User.objects.create_user("ann", password="long enough words")
    form = stranger.get("/inspector/sign-in?next=https://evil.invalid/")
    sent = form.fields | {"username": "ann", "password": "long enough words"}
    assert stranger.post("/inspector/sign-in", sent).location == "/inspector/"


def test_signing_out_ends_the_session(person):
    visitor = person()
    page = visitor.open("try")
    token = page.fields["csrfmiddlewaretoken"]
    left = visitor.post("/inspector/sign-out", {"csrfmiddlewaretoken": token})
    assert left.location == "/inspector/sign-in"
    assert visitor.open("try").status == 302


def test_a_form_without_its_token_is_refused(person):
    page = person().post("/inspector/language", {"language": "zh-hans"})
    assert page.status == 403
    assert "csrf_failed" in page.text


def test_the_language_is_chosen_by_header_and_by_button(person):
    visitor = person()
    chinese = visitor.get("/inspector/try", headers={"Accept-Language": "zh-CN"})
    assert 'lang="zh-hans"' in chinese.html
    page: Page = visitor.open("try")
    assert 'lang="en"' in page.html
    sent = {
        "csrfmiddlewaretoken": page.fields["csrfmiddlewaretoken"],
        "language": "zh-hans",
        "next": "/inspector/try",
    }
    assert visitor.post("/inspector/language", sent).location == "/inspector/try"
    assert 'lang="zh-hans"' in visitor.open("try").html


def test_the_language_is_chosen_without_a_page_to_go_back_to(person):
    visitor = person()
    token = visitor.open("try").fields["csrfmiddlewaretoken"]
    sent = {"csrfmiddlewaretoken": token, "language": "zh-hans"}
    assert visitor.post("/inspector/language", sent).location == "/inspector/"


def test_an_unknown_page_and_a_wrong_method_are_pages_too(person):
    visitor = person()
    missing = visitor.get("/inspector/nothing-here")
    assert (missing.status, "not_found" in missing.text) == (404, True)
    token = visitor.open("try").fields["csrfmiddlewaretoken"]
    wrong = visitor.post("/inspector/scope", {"csrfmiddlewaretoken": token})
    assert (wrong.status, "method_not_allowed" in wrong.text) == (405, True)


@pytest.mark.parametrize("host", ["evil.invalid", "localhost.evil.invalid"])
def test_a_foreign_host_is_refused_before_any_page(person, host):
    answer = person().client.get("/inspector/", headers={"Host": host})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_host"


@pytest.mark.parametrize("host", ["[::1]", "LOCALHOST", "127.0.0.1:9999"])
def test_own_hosts_are_answered_in_any_spelling(person, host):
    assert person().get("/inspector/", headers={"Host": host}).status == 200
