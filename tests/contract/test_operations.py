"""System operations and the answers of prepare, key by key (wire facts)."""

import re

import pytest

from prepare.models import Scope
from tests.api import Api
from tests.contract.steps import (
    MODES,
)
from tests.factories import (
    make_scope,
    remember,
)

pytestmark = pytest.mark.usefixtures("scope")


def test_health(api: Api) -> None:
    assert api.get("/health/live").body == {"status": "ok"}
    ready = api.get("/health/ready")
    assert (ready.status, ready.body["status"]) == (200, "ready")
    assert set(ready.body["checks"].values()) == {"ready"}


def test_capabilities(api: Api) -> None:
    body = api.get("/v1/capabilities").body
    assert body["context_versions"] == ["powercontext.prepared-context.v1"]
    assert {"atomic-memory", "experience", "profile"} <= {*body["artifact_families"]}
    assert body["search_modes"] == ["auto", "fts"]
    assert body["source_types"] == ["content"]


def test_server_info(api: Api) -> None:
    body = api.get("/v1/server-info").body
    assert body["product"] == "powercontext"
    assert body["api_contract_version"] == {"major": 1, "minor": 4}
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", body["server_id"])
    assert body["server_id"] == api.get("/v1/server-info").body["server_id"]
    for contract in body["feature_contracts"].values():
        assert contract["operations"]


def test_request_id_is_made_here(api: Api) -> None:
    sent = "0123456789abcdef"
    headers = {"X-PowerContext-Request-ID": sent}
    seen = {
        api.get("/health/live", headers=headers).headers["X-PowerContext-Request-ID"]
        for _ in range(5)
    }
    assert len(seen) == 5
    assert sent not in seen


@pytest.mark.clause("A-170", "A-171", "A-173")
def test_prepare_answers(api: Api, scope: Scope) -> None:
    for mode in [*MODES, {"assembly": {"sections": []}}]:
        empty = api.prepare("contract", "orchid", **mode)
        assert (empty.status, list(empty.body.items())) == (
            200,
            [
                ("schema", "powercontext.prepared-context.v1"),
                ("status", "empty"),
                ("content", None),
                ("content_bytes", 0),
            ],
        )
    remember(scope, "orchid")
    for mode in MODES:
        ready = api.prepare("contract", "orchid", **mode).body
        assert list(ready) == ["schema", "status", "content", "content_bytes"]
        assert ready["schema"] == "powercontext.prepared-context.v1"
        assert ready["status"] == "ready"
        assert ready["content_bytes"] == len(ready["content"].encode())
    # A citation that does not fit is not cut: nothing is delivered.
    long = "contract " + "x" * 247
    remember(make_scope(long), "orchid")
    unfit = api.prepare(long, "orchid", assembly={}, max_bytes=512)
    assert (unfit.status, unfit.body["status"]) == (200, "empty")
