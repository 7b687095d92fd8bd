"""What people paste: real answers of the server, and texts nobody should trust."""

import copy
import json
from typing import Any

from tests.browser import hostile
from tests.browser.installing import Site
from tests.inspector.receipts import (
    CONTENT,
    code_item,
    config,
    full_receipt,
    historical_item,
)

Form = dict[str, Any]

SECTIONS = [
    {"family": "memory", "limit": 8},
    {"family": "experience", "limit": 2},
    {"family": "profile", "limit": 8},
    {"family": "topic-memory", "limit": 8},
]
FILE_NAME = "<img src=x onerror=alert(1)>{{7*7}}\u202e.json"


def _file(content: bytes) -> dict[str, Any]:
    return {"name": FILE_NAME, "mimeType": "text/html", "buffer": content}


def _answer(site: Site, **options: Any) -> dict[str, Any]:
    wanted = {"max_bytes": 32768, "include_receipt": True, **options}
    return site.prepare(hostile.SCOPE, hostile.QUERY_WITHOUT_ENTRY, **wanted)


def own_receipt(site: Site) -> Form:
    """The receipt of a real answer, as an uploaded file, with its content."""
    answer = _answer(site, assembly={"sections": SECTIONS})
    receipt = json.dumps(answer["receipt"]).encode()
    return {"receipt_file": _file(receipt), "content": answer["content"]}


def full(site: Site) -> Form:
    """26 historical items, 4 code items, 2 rerank configurations, 3 rounds."""
    content = CONTENT.decode()
    return {"receipt": json.dumps(full_receipt()), "content": content}


def hostile_receipt(site: Site) -> Form:
    """Valid, with markup wherever the schema admits a text."""
    receipt = copy.deepcopy(full_receipt())
    one = config("one", model=hostile.SHORT)
    one["policy_id"] = hostile.SHORT
    retrieval = receipt["retrieval"]
    retrieval["rerank_configs"] = [one]
    retrieval["reranks"] = [
        {**each, "config_id": one["config_id"]} for each in retrieval["reranks"]
    ]
    receipt["selected"] = [
        historical_item("atomic-memory", hostile.SCOPE, hostile.ATOMIC),
        historical_item("experience", hostile.LINE[:256], hostile.ID),
        code_item(0, scope_id=hostile.SCOPE, path=hostile.LINE),
    ]
    return {"receipt": json.dumps(receipt), "content": hostile.TEXT}


def broken_receipt(site: Site) -> Form:
    receipt = full_receipt() | {hostile.LINE: hostile.TEXT, "receipt_id": hostile.LINE}
    return {"receipt": json.dumps(receipt)}


def no_receipt(site: Site) -> Form:
    return {"receipt": hostile.TEXT, "content": hostile.TEXT}


def own_block(site: Site) -> Form:
    """A real block, within what a log puts around it."""
    content = _answer(site, assembly={"sections": SECTIONS})["content"]
    return {"text": f"{hostile.LINE}\n{content}\n{hostile.TEXT}"}


def own_envelope(site: Site) -> Form:
    """The JSON of earlier versions; its citations do not name their Scope."""
    return {"text_file": _file(_answer(site)["content"].encode()), "scope": "other"}


def forged_block(site: Site) -> Form:
    """Citations of what does not exist, and of what the reader may not see."""
    content = _answer(site, assembly={"sections": SECTIONS})["content"]
    for word in ("revision=1", "revision=2"):
        content = content.replace(word, "revision=77", 1)
    content = content.replace(json.dumps(hostile.OTHER), json.dumps(hostile.SECRET))
    return {"text": content.replace("lighthouse", hostile.SHORT)}


def no_block(site: Site) -> Form:
    return {"text": hostile.TEXT, "scope": hostile.SCOPE}


def search(site: Site) -> Form:
    return {"words": hostile.QUERY, "family": "experience"}


def search_in_vain(site: Site) -> Form:
    return {"words": "<script>alert(1)</script>zebra\u202e", "family": "topic-memory"}


_SECTIONS = {
    f"{part}_{section['family'].replace('-', '_')}": value  # type: ignore[attr-defined]
    for section in SECTIONS
    for part, value in (("use", True), ("limit", str(section["limit"])))
}


def request(site: Site) -> Form:
    return {
        "scope_id": hostile.SCOPE,
        "query": hostile.QUERY_WITHOUT_ENTRY,
        "max_bytes": "12000",
        "form": "text",
        "show_confidence": True,
        "show_recall_rank": True,
        **_SECTIONS,
    }


def request_dropped(site: Site) -> Form:
    """It selects an entry of a collection, which no receipt can name (H-3)."""
    return request(site) | {"query": hostile.QUERY, "max_bytes": "32768"}


def request_envelope(site: Site) -> Form:
    envelope = {"form": "envelope", "query": hostile.QUERY}
    return {"scope_id": hostile.SCOPE, "max_bytes": "12000", **envelope}


def request_in_vain(site: Site) -> Form:
    return {"scope_id": hostile.OTHER, "query": "zebra\u202e{{}}<>"}


def request_refused(site: Site) -> Form:
    return request(site) | {"max_bytes": "99", "pasted": hostile.TEXT}


def _wanted(scope_id: str, artifact_id: str) -> str:
    artifact = f'family="atomic-memory", id={json.dumps(artifact_id)}, revision=1'
    return f"    Scope: {json.dumps(scope_id)}\n    Artifact: {artifact}\n"


def why_forgotten(site: Site) -> Form:
    return request(site) | {"pasted": _wanted(hostile.SCOPE, hostile.FORGOTTEN)}


def why_selected(site: Site) -> Form:
    """In separate fields; the Scope is that of the request."""
    named = {"family": "atomic-memory", "id": hostile.TARGET, "revision": "1"}
    return request(site) | named


def why_secret(site: Site) -> Form:
    return request(site) | {"pasted": _wanted(hostile.SECRET, hostile.ID)}


def comparison(site: Site) -> Form:
    """Text against the envelope, and a smaller budget."""
    text = {
        f"a-{name}": value
        for name, value in request(site).items()
        if name not in ("scope_id", "query")
    }
    return {
        "scope_id": hostile.SCOPE,
        "query": hostile.QUERY_WITHOUT_ENTRY,
        **text,
        "b-max_bytes": "4000",
    }
