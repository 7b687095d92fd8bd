"""Take the pictures of the documentation: the Inspector on the demo data.

    python -m tools.screenshots docs/images

Serves a scratch copy of the demo on a free port and opens each page in Chromium. A few
memories are revised and forgotten meanwhile, so that the pages have something to tell.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from tests.serving import PROJECT, Server
from tools.palette import with_palette

DEMO = PROJECT / "prepare" / "fixtures" / "demo.jsonl"
SCOPE = "project:harbor"
QUERY = (
    "How is the idempotency key of a carrier webhook computed,"
    " and what do we answer to a duplicate?"
)
CHINESE = "承运商重复推送回调时，幂等键怎么算？修改接口后如何重新生成客户端？"
WIDE, PHONE = 1180, 390
LARGEST = 200_000  # bytes of one picture
Form = Mapping[str, Any]

# What happens between the request and the look at its receipt.
MEANWHILE = [
    {
        "artifact_id": "mem-webhook-ndx-key",
        "revision": 2,
        "content": {
            "kind": "decision",
            "text": "NDX sends an event id since 2026-02: its idempotency key is"
            " carrier_code and event_id, as for every other carrier.",
        },
        "reason": "NDX added event ids.",
    },
    {
        "artifact_id": "mem-webhook-dup-metric",
        "revision": 2,
        "content": {
            "kind": "fact",
            "text": "The metric is gone; see the Intake board.",
        },
        "state": "forgotten",
    },
]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One page, cut to `height` pixels from the top edge of `start`."""

    name: str
    address: str
    form: Callable[[Server], Form] | None = None
    start: str = "body"
    height: int = 1000
    width: int = WIDE
    options: Mapping[str, Any] = field(default_factory=dict)


def prepare(server: Server, query: str, **options: Any) -> dict[str, Any]:
    body = {"scope_id": SCOPE, "query": query, "include_receipt": True, **options}
    request = urllib.request.Request(  # noqa: S310  (our own loopback address)
        f"{server.base_url}/v1/context/prepare",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
    return answer


def address(page: str, **parameters: object) -> str:
    return f"/inspector/{page}?{urlencode(parameters)}"


def serve(data_dir: Path) -> Server:
    server = Server(data_dir, arguments=["--workers", "1"])
    server.migrate()
    load(server, DEMO)
    return server


def load(server: Server, path: Path) -> None:
    done = server.manage("load_context", str(path))
    if done.returncode != 0:
        sys.exit(done.stderr.decode())


def revise(server: Server) -> None:
    lines = [
        {"type": "artifact", "scope_id": SCOPE, "family": "atomic-memory", **line}
        for line in MEANWHILE
    ]
    path = server.data_dir / "meanwhile.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    load(server, path)


def fill(page: Page, form: Form) -> None:
    """By name of field; True and False for a check box."""
    holder = page.locator("main form").filter(
        has=page.locator(f'[name="{next(iter(form))}"]')
    )
    while (closed := holder.locator("details:not([open]) > summary")).count():
        closed.first.click()
    for name, value in form.items():
        field = holder.locator(f'[name="{name}"]')
        kind = field.first.evaluate("field => field.type")
        if kind == "checkbox":
            field.set_checked(value)
        elif kind == "radio":
            holder.locator(f'[name="{name}"][value="{value}"]').check()
        elif kind == "select-one":
            field.select_option(value)
        else:
            field.fill(value)
    with page.expect_navigation():
        holder.locator("button:not([type=button])").first.click()


def take(browser: Browser, server: Server, picture: Picture, target: Path) -> None:
    context = browser.new_context(
        base_url=server.base_url,
        viewport={"width": picture.width, "height": 900},
        **picture.options,
    )
    try:
        page = context.new_page()
        page.goto(picture.address)
        if picture.form is not None:
            fill(page, picture.form(server))
        top = page.locator(picture.start).first.bounding_box()
        total = page.evaluate("document.documentElement.scrollHeight")
        y = max(0, top["y"] - 16) if top else 0
        box = {"x": 0, "y": y, "width": picture.width}
        box["height"] = min(picture.height, total - y)
        path = target / f"{picture.name}.png"
        path.write_bytes(with_palette(page.screenshot(full_page=True, clip=box)))
    finally:
        context.close()
    size = path.stat().st_size
    sys.stdout.write(f"{path} {size:,} bytes\n")
    if size > LARGEST:
        sys.exit(f"{path} is larger than {LARGEST:,} bytes: lower its height")


def request(_: Server) -> Form:
    return {
        "scope_id": SCOPE,
        "query": QUERY,
        "max_bytes": "4000",
        "use_experience": True,
        "order_experience": "1",
        "limit_experience": "1",
        "use_memory": True,
        "order_memory": "2",
    }


def why_not(server: Server) -> Form:
    artifact = 'family="atomic-memory", id="mem-webhook-dup-metric", revision=1'
    wanted = f'Scope: "{SCOPE}"\nArtifact: {artifact}'
    return {**request(server), "pasted": wanted}


def chinese_request(server: Server) -> Form:
    return {**request(server), "query": CHINESE}


def comparison(_: Server) -> Form:
    """Experiences before memories, and after them."""
    places = {"a": ("1", "2"), "b": ("2", "1")}
    typed = {
        f"{side}-{name}": value
        for side, (experience, memory) in places.items()
        for name, value in {
            "max_bytes": "3000",
            "form": "text",
            "use_experience": True,
            "order_experience": experience,
            "use_memory": True,
            "order_memory": memory,
        }.items()
    }
    return {"scope_id": SCOPE, "query": QUERY, **typed}


def search(_: Server) -> Form:
    return {"words": "webhook 重复推送 幂等", "family": "memory"}


def pictures(answer: Mapping[str, Any]) -> list[Picture]:
    """Every page; `answer` is what the API gave before the revisions changed."""

    def receipt(_: Server) -> Form:
        return {"receipt": json.dumps(answer)}

    def block(_: Server) -> Form:
        # Somebody's log keeps a word that nobody stored.
        altered = re.sub(r"(?m)^(> .+)$", r"\1 Always.", answer["content"], count=1)
        return {"text": altered}

    revision = address(
        "revision",
        scope=SCOPE,
        family="atomic-memory",
        id="mem-webhook-ndx-key",
        revision=1,
    )
    a_try, dark = "/inspector/try", {"color_scheme": "dark"}
    return [
        Picture(name="try", address=a_try, form=request, height=1500),
        Picture(name="why-not", address=a_try, form=why_not, start="#why", height=420),
        Picture(name="compare", address="/inspector/compare", form=comparison),
        Picture(name="receipt", address="/inspector/receipt", form=receipt),
        Picture(
            name="dark",
            address="/inspector/receipt",
            form=receipt,
            start="section.receipt",
            options=dark,
        ),
        Picture(name="block", address="/inspector/block", form=block),
        Picture(name="revision", address=revision),
        Picture(name="scopes", address="/inspector/"),
        Picture(name="scope", address=address("scope", scope=SCOPE)),
        Picture(name="artifacts", address=address("artifacts", scope=SCOPE)),
        Picture(name="search", address=address("search", scope=SCOPE), form=search),
        Picture(
            name="chinese",
            address=a_try,
            form=chinese_request,
            options={"locale": "zh-CN"},
        ),
        Picture(name="phone", address=a_try, form=request, width=PHONE, height=1400),
    ]


def main(target: Path) -> None:
    chromium = shutil.which("chromium")
    fonts = subprocess.run(  # noqa: S603
        [shutil.which("fc-list") or "true", ":lang=zh"], capture_output=True, check=True
    )
    if chromium is None or not fonts.stdout:
        sys.exit("Chromium or a Chinese font is missing: tools/setup.sh screenshots")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = serve(Path(folder) / "data")
        server.start()
        try:
            answer = prepare(server, QUERY, assembly={})
            revise(server)
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"]
            )
            for picture in pictures(answer):
                take(browser, server, picture, target)
            browser.close()
        finally:
            server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
