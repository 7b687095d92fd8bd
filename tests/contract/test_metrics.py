"""`/metrics`: counters without content, summed over worker processes."""

import json
import urllib.request
from pathlib import Path

import pytest
from django.test import Client

from tests.api import Api
from tests.factories import make_scope, remember
from tests.serving import Server

CANARY = "canary-scope-7"


@pytest.mark.django_db
def test_counts_routes_and_names_nothing_a_caller_wrote(api: Api) -> None:
    scope = make_scope(CANARY)
    remember(scope, "The zebra lives here.")
    api.content(CANARY, "zebra")
    api.get(f"/v1/scopes/{CANARY}")
    answer = Client().get("/metrics")
    text = answer.content.decode()
    assert answer["Content-Type"].startswith("text/plain")
    assert 'route="v1/context/prepare",status="200"' in text
    assert 'route="v1/scopes/<segment:scope_id>",status="200"' in text
    assert "canary" not in text
    assert "zebra" not in text


def test_sums_over_worker_processes(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        for _ in range(12):
            with urllib.request.urlopen(f"{server.base_url}/health/live") as answer:
                assert json.load(answer) == {"status": "ok"}
        with urllib.request.urlopen(f"{server.base_url}/metrics") as answer:
            lines = answer.read().decode().splitlines()
    [line] = [
        line
        for line in lines
        if line.startswith("powercontext_requests_total") and "health/live" in line
    ]
    assert float(line.split()[-1]) >= 12
