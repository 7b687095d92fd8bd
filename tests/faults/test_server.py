"""The same promises of a real server: several processes, several threads, a crash."""

import http.client
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.serving import Server

PREPARE = "/v1/context/prepare"
REMEMBER = "/v1/memory/remember"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, arguments=["--workers", "2", "--threads", "4"]) as server:
        body = {
            "scope_id": "s",
            "title": "T",
            "summary": "S.",
            "idempotency_key": "k",
        }
        assert send(server, "POST", "/v1/scopes", body)[0] == 201
        yield server


def send(server: Server, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(
        urlsplit(server.base_url).netloc, timeout=30
    )
    try:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def remember(server: Server, text: str) -> tuple[int, Any]:
    body = {"scope_id": "s", "kind": "fact", "text": text}
    return send(server, "POST", REMEMBER, body)


def prepare(server: Server) -> tuple[int, Any]:
    return send(server, "POST", PREPARE, {"scope_id": "s", "query": "zebra"})


def test_captures_and_prepares_over_processes(server: Server) -> None:
    """C-42, C-43: no 5xx, nothing lost, and the matching memory always there."""
    assert remember(server, "zebra unchanged")[0] == 200
    jobs = [partial(remember, server, f"other {number}") for number in range(20)]
    jobs += [partial(prepare, server)] * 20
    with ThreadPoolExecutor(len(jobs)) as pool:
        answers = list(pool.map(lambda job: job(), jobs * 2))
    assert Counter(status for status, _ in answers) == {200: 80}
    prepared = [body for _, body in answers if "content_bytes" in body]
    assert len(prepared) == 40
    assert all("zebra unchanged" in body["content"] for body in prepared)
    listing = {"scope_id": "s", "limit": 100}
    _, body = send(server, "POST", "/v1/memory/entries/list", listing)
    assert len(body["entries"]) == 41
    assert "locked" not in server.errors()


def test_killed_server_keeps_what_it_acknowledged(server: Server) -> None:
    """Every write that was answered is there, whole and findable, after a restart."""
    acknowledged: list[str] = []
    enough = threading.Event()

    def write(writer: int) -> None:
        for number in range(10_000):
            text = f"zebra{writer}x{number}"
            try:
                status, _ = remember(server, text)
            except (OSError, http.client.HTTPException):
                return
            assert status == 200
            acknowledged.append(text)
            if len(acknowledged) > 30:
                enough.set()

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, number) for number in range(4)]
        assert enough.wait(timeout=30)
        assert server.process is not None
        os.killpg(server.process.pid, signal.SIGKILL)
        for writer in writers:
            writer.result(timeout=60)
    server.stop()
    server.start()
    for text in (acknowledged[0], *acknowledged[-8:]):
        body = {"scope_id": "s", "query": text}
        status, found = send(server, "POST", PREPARE, body)
        assert status == 200
        assert text in found["content"]
    doctor = server.manage("doctor")
    assert doctor.returncode == 0, doctor.stdout
