"""Everything works below a path prefix behind a proxy with TLS and another Host (C-57).

Each test runs behind a proxy that takes the prefix off and behind one that does not.
"""

import json
from collections.abc import Iterable
from urllib.parse import quote

import pytest

from tests.proxy.conftest import PASSWORD
from tests.proxy.forwarding import PREFIX, PUBLIC_HOST, Answer, Proxy, send
from tests.proxy.visiting import Page, Traveller
from tests.serving import Server

INSPECTOR = f"{PREFIX}/inspector/"
ADMIN = f"{PREFIX}/admin/"
SIGN_IN = f"{PREFIX}/inspector/sign-in"
MENU = ["", "try", "compare", "receipt", "block"]
_MOST_PAGES = 150


def follow_everything(traveller: Traveller, starts: Iterable[str]) -> list[Page]:
    """Every page that links lead to, breadth first; all addresses keep the prefix."""
    waiting, seen = list(starts), set(starts)
    pages: list[Page] = []
    while waiting and len(pages) < _MOST_PAGES:
        page = traveller.get(waiting.pop(0))
        assert page.answer.status == 200, page.url
        if not page.answer.headers["Content-Type"].startswith("text/html"):
            continue
        pages.append(page)
        for url in sorted({*page.references, *(form.action for form in page.forms)}):
            assert url.startswith((f"{PREFIX}/", "data:")), f"{page.url} -> {url}"
        for url in sorted(page.references - seen):
            if url.startswith("/"):
                seen.add(url)
                waiting.append(url)
    return pages


def call(proxy: Proxy, token: str, method: str, path: str, body: object = None):
    answer = send(
        proxy.address,
        method,
        PREFIX + path,
        body=None if body is None else json.dumps(body).encode(),
        headers={
            "Host": PUBLIC_HOST,
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
        },
    )
    return answer.status, json.loads(answer.body)


def test_signing_in_and_out(traveller: Traveller) -> None:
    asked = traveller.send("GET", f"{INSPECTOR}try")
    assert asked.location == f"{SIGN_IN}?next={quote(f'{INSPECTOR}try')}"

    page = traveller.sign_in(f"{INSPECTOR}try", "olga", PASSWORD)

    assert (page.url, page.answer.status) == (f"{INSPECTOR}try", 200)
    assert traveller.cookies_seen == {"powercontext_session", "powercontext_csrf"}
    left = traveller.submit(page.form(f"{PREFIX}/inspector/sign-out"))
    assert left.location == SIGN_IN
    assert traveller.get(INSPECTOR).url.startswith(SIGN_IN)


def test_every_link_of_the_inspector(olga: Traveller) -> None:
    pages = follow_everything(olga, [INSPECTOR])

    assert {f"{INSPECTOR}{name}" for name in MENU} <= {page.url for page in pages}


def test_every_link_of_the_admin(olga: Traveller) -> None:
    pages = follow_everything(olga, [ADMIN])

    assert f"{ADMIN}prepare/scope/" in {page.url for page in pages}
    assert any(page.url.endswith("/change/") for page in pages)


@pytest.mark.parametrize("name", MENU)
def test_forms_of_the_inspector(olga: Traveller, name: str) -> None:
    """Sent as they come: read or refused by the page, never lost on the way."""
    for form in olga.get(f"{INSPECTOR}{name}").forms:
        if form.action.endswith("/sign-out"):
            continue
        answer = olga.submit(form)
        assert answer.status in (200, 302, 422), (form, answer.text)


def test_the_language_is_kept(olga: Traveller) -> None:
    page = olga.get(f"{INSPECTOR}try")
    form = page.form(f"{PREFIX}/inspector/language")

    answer = olga.submit(form, language="zh-hans")

    assert answer.location == f"{INSPECTOR}try"
    assert "powercontext_language" in olga.cookies_seen
    assert 'lang="zh-hans"' in olga.get(answer.location).answer.text


def test_admin_login_and_a_form(traveller: Traveller) -> None:
    url = f"{ADMIN}prepare/scope/add/"
    asked = traveller.send("GET", url)
    assert asked.location.startswith(f"{ADMIN}login/?next={PREFIX}/admin/")

    page = traveller.sign_in(url, "olga", PASSWORD)
    form = page.form(url)
    saved = traveller.submit(form, title="Made behind a proxy", summary="S")

    assert saved.location.startswith(f"{ADMIN}prepare/scope/")
    assert "Made behind a proxy" in traveller.get(saved.location).answer.text


@pytest.mark.parametrize("origin", ["https://evil.invalid", f"http://{PUBLIC_HOST}"])
def test_a_form_of_another_origin_is_refused(olga: Traveller, origin: str) -> None:
    form = olga.get(INSPECTOR).form(f"{PREFIX}/inspector/language")

    answer = olga.send("POST", form.action, form.fields, Origin=origin)

    assert answer.status == 403


def test_the_api(proxy: Proxy, token: str) -> None:
    """An encoded slash stays inside its segment, and nothing is redirected."""
    scope_id = f"a/b {proxy.strips}"
    fields = {"scope_id": scope_id, "title": "T", "summary": "S"}
    made = call(
        proxy, token, "POST", "/v1/scopes", fields | {"idempotency_key": scope_id}
    )
    assert made[0] == 201
    path = f"/v1/scopes/{quote(scope_id, safe='')}"
    assert call(proxy, token, "GET", path) == (200, made[1])
    assert call(proxy, token, "GET", path.replace("%2F", "%2f"))[0] == 200
    assert call(proxy, token, "GET", path.replace("%2F", "/"))[0] == 404
    assert call(proxy, token, "GET", "/v1/scopes/")[0] == 404
    assert call(proxy, token, "GET", "/")[0] == 404


def test_the_document_names_the_prefix(proxy: Proxy, token: str) -> None:
    status, document = call(proxy, token, "GET", "/openapi.json")

    assert status == 200
    assert document["servers"] == [{"url": PREFIX}]
    assert "/v1/context/prepare" in document["paths"]


def test_the_page_of_the_document(proxy: Proxy, token: str) -> None:
    def get(url: str) -> Answer:
        headers = {"Host": PUBLIC_HOST, "Authorization": f"Bearer {token}"}
        return send(proxy.address, "GET", url, headers=headers)

    url = f"{PREFIX}/docs"
    page = Page(url, get(url))

    assert f'"{PREFIX}/openapi.json"' in page.answer.text
    assert len(page.references) >= 3
    for asset in page.references:
        assert asset.startswith(f"{PREFIX}/static/")
        assert get(asset).status == 200


@pytest.mark.parametrize(
    "path",
    [
        f"{PREFIX}X/inspector/",
        f"{PREFIX}X/v1/scopes/a%2Fb",
        f"{PREFIX.upper()}/inspector/",
        f"{PREFIX.replace('/m', '%2Fm')}/inspector/",
        "/tools/inspector/",
    ],
)
def test_what_only_looks_like_the_prefix(proxy: Proxy, token: str, path: str) -> None:
    headers = {"Host": PUBLIC_HOST, "Authorization": f"Bearer {token}"}
    answer = send(proxy.address, "GET", path, headers=headers)
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (
        404,
        "not_found",
    )


def test_an_encoded_letter_of_the_prefix(proxy: Proxy, token: str) -> None:
    """Two spellings of one path, with an encoded slash behind it."""
    if proxy.strips:
        pytest.skip("which spellings it strips is the proxy's affair")
    headers = {"Host": PUBLIC_HOST, "Authorization": f"Bearer {token}"}
    path = PREFIX.replace("m", "%6D") + "/v1/scopes/no%2Fwhere"
    answer = send(proxy.address, "GET", path, headers=headers)
    assert json.loads(answer.body)["error"]["code"] == "scope_not_found"


@pytest.mark.parametrize("host", ["evil.invalid", f"{PUBLIC_HOST}.evil.invalid"])
def test_another_host_is_refused_with_and_without_a_session(
    traveller: Traveller, host: str
) -> None:
    for signs_in in (True, False):
        for url in (INSPECTOR, ADMIN, f"{PREFIX}/v1/capabilities"):
            answer = traveller.send("GET", url, Host=host)
            assert answer.status == 400
            assert json.loads(answer.body)["error"]["code"] == "invalid_host"
        if signs_in:
            traveller.sign_in(INSPECTOR, "olga", PASSWORD)


def test_a_headers_claim_of_a_prefix_is_not_believed(proxy: Proxy, token: str) -> None:
    headers = {
        "Host": PUBLIC_HOST,
        "Authorization": f"Bearer {token}",
        "X-Forwarded-Prefix": "/evil",
        "X-Script-Name": "/evil",
        "X-Forwarded-Host": "evil.invalid",
    }
    answer = send(proxy.address, "GET", f"{PREFIX}/docs", headers=headers)
    assert answer.status == 200
    assert "evil" not in answer.text


def test_serve_prints_an_address_that_works(prefixed: Server, token: str) -> None:
    assert prefixed.base_url.endswith(PREFIX)
    host = prefixed.base_url.removeprefix("http://").removesuffix(PREFIX)
    name, port = host.split(":")
    answer = send((name, int(port)), "GET", f"{PREFIX}/health/live")
    assert answer.status == 200


def test_only_a_trusted_proxy_is_believed(
    tmp_path, proxy: Proxy, prefixed: Server
) -> None:
    """Without X-Forwarded-Proto the origin of the form is a foreign one."""
    environment = {
        name: value
        for name, value in prefixed.environment.items()
        if name.startswith("POWERCONTEXT_") and not name.endswith("DATA_DIR")
    } | {"POWERCONTEXT_SERVER_TRUSTED_PROXIES": "192.0.2.0/24,2001:db8::1"}
    with (
        Server(tmp_path / "data", environment, ["--workers", "1"]) as server,
        Proxy(server.base_url, strips=proxy.strips) as untrusted,
    ):
        traveller = Traveller(untrusted)
        form = traveller.get(SIGN_IN).form(SIGN_IN)
        refused = traveller.submit(form, username="olga", password=PASSWORD)
    assert refused.status == 403
    assert "csrf_failed" in refused.text
