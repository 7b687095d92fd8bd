"""Two worker processes against one OceanBase engine that is killed and comes back."""

import http.client
import itertools
import json
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.engines.oceanbase import OceanBase
from tests.serving import PROJECT, Server

pytestmark = pytest.mark.oceanbase

CLIENTS = 8
PREPARE = "/v1/context/prepare"
REMEMBER = "/v1/memory/remember"
# Longer than any wait of the product for an engine that is away (settings.py: 5 s).
PATIENCE_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def is_retryable(self) -> bool:
        """503 as promised: the code, and when to come back."""
        return (
            self.status == 503
            and self.body["error"]["code"] == "runtime_not_ready"
            and self.headers.get("Retry-After") == "1"
        )


def send(
    server: Server, method: str, path: str, body: Any = None, **headers: str
) -> Reply:
    connection = http.client.HTTPConnection(
        urlsplit(server.base_url).netloc, timeout=PATIENCE_SECONDS
    )
    try:
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        connection.request(method, path, data, sent)
        response = connection.getresponse()
        return Reply(
            status=response.status,
            body=json.loads(response.read()),
            headers=dict(response.getheaders()),
        )
    finally:
        connection.close()


def remember(server: Server, text: str) -> Reply:
    body = {"scope_id": "s", "kind": "fact", "text": text}
    return send(server, "POST", REMEMBER, body)


def prepare(server: Server, query: str) -> Reply:
    return send(server, "POST", PREPARE, {"scope_id": "s", "query": query})


def together(job: Callable[[int], Any]) -> list[Any]:
    """Run the job for each client number at one moment."""
    barrier = threading.Barrier(CLIENTS)

    def start(number: int) -> Any:
        barrier.wait(timeout=PATIENCE_SECONDS)
        return job(number)

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(start, range(CLIENTS)))


@pytest.fixture(scope="module")
def server(
    engine: OceanBase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    url = engine.create_database("faults")
    folder = tmp_path_factory.mktemp("server")
    arguments = ["--workers", "2", "--threads", "4"]
    with Server(folder, {"DATABASE_URL": url}, arguments) as server:
        body = {
            "scope_id": "s",
            "title": "T",
            "summary": "S.",
            "idempotency_key": "k",
        }
        assert send(server, "POST", "/v1/scopes", body).status == 201
        yield server


def check_with_doctor(server: Server) -> None:
    doctor = server.manage("doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr


def test_concurrent_memories_are_all_there(server: Server) -> None:
    texts = [
        [f"orchid{client}x{number} blooms" for number in range(12)]
        for client in range(CLIENTS)
    ]
    replies = together(lambda client: [remember(server, t) for t in texts[client]])
    assert Counter(reply.status for row in replies for reply in row) == {200: 96}
    for text in (text for row in texts for text in row):
        assert text in prepare(server, text.split()[0]).body["content"]
    check_with_doctor(server)


def test_one_winner_for_each_version(server: Server) -> None:
    """Optimistic versions over two processes: each revision is one client's."""
    path = "/v1/scopes/s/artifacts/profile"
    body = {"family": "profile", "content": {"content": "First."}}
    created = send(server, "POST", "/v1/scopes/s/artifacts", body)
    assert created.status == 201, created.body
    for revision in range(1, 7):
        etag = f'"revision:{revision}"'

        def replace(client: int, revision: int = revision, etag: str = etag) -> Reply:
            text = f"By client {client} after {revision}.\n"
            return send(
                server,
                "PUT",
                f"{path}/profile",
                {"content": {"content": text}},
                If_Match=etag,
            )

        replies = together(replace)
        statuses = Counter(reply.status for reply in replies)
        assert statuses == {200: 1, 412: CLIENTS - 1}
        winner = next(n for n, reply in enumerate(replies) if reply.status == 200)
        head = send(server, "GET", f"{path}/profile").body
        assert head["revision"] == revision + 1
        said = f"By client {winner} after {revision}.\n"
        assert head["content"]["content"] == said


CONSTANT = "zebra fact that stays"


class Traffic:
    """Writers and readers, and what they met while the engine went and came back."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.acknowledged: list[str] = []
        self.read = 0
        self.refused = 0
        self.wrong: list[Any] = []
        self.is_over = False

    def write(self, client: int) -> None:
        for number in itertools.count():
            if self.is_over:
                return
            text = f"walrus{client}x{number}"
            reply = remember(self.server, text)
            if reply.status == 200:
                self.acknowledged.append(text)
            else:
                self._note_refusal(reply)

    def look(self, client: int) -> None:
        while not self.is_over:
            reply = prepare(self.server, "zebra")
            if reply.status != 200:
                self._note_refusal(reply)
            elif CONSTANT in (reply.body["content"] or ""):
                self.read += 1
            else:
                self.wrong.append(reply.body)

    def _note_refusal(self, reply: Reply) -> None:
        if reply.is_retryable:
            self.refused += 1
            time.sleep(0.05)
        else:
            self.wrong.append((reply.status, reply.body))

    def wait_for(self, more: int) -> None:
        """Until that many more writes and reads have succeeded."""
        written, answered = len(self.acknowledged) + more, self.read + more
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(self.acknowledged) < written or self.read < answered:
            assert time.monotonic() < deadline, (self.refused, self.wrong[:3])
            time.sleep(0.05)


def test_killed_engine_loses_nothing_and_workers_recover(
    engine: OceanBase, server: Server
) -> None:
    assert remember(server, CONSTANT).status == 200
    traffic = Traffic(server)
    with ThreadPoolExecutor(2 * CLIENTS) as pool:
        jobs = [
            pool.submit(job, client)
            for client in range(CLIENTS)
            for job in (traffic.write, traffic.look)
        ]
        try:
            traffic.wait_for(40)
            engine.kill()
            time.sleep(1)
            assert prepare(server, "zebra").is_retryable
            engine.start()
            traffic.wait_for(40)
        finally:
            traffic.is_over = True
        for job in jobs:
            job.result(timeout=PATIENCE_SECONDS)

    assert traffic.wrong == []
    assert traffic.refused > 0
    with ThreadPoolExecutor(CLIENTS) as pool:
        found = list(pool.map(partial(prepare, server), traffic.acknowledged))
    lost = [
        text
        for text, reply in zip(traffic.acknowledged, found, strict=True)
        if text not in (reply.body["content"] or "")
    ]
    assert lost == []
    check_with_doctor(server)


def test_absent_engine(engine: OceanBase, server: Server) -> None:
    engine.kill()
    try:
        assert prepare(server, "zebra").is_retryable
        assert remember(server, "words").is_retryable
        ready = send(server, "GET", "/health/ready")
        assert ready.status == 503
        assert ready.body["status"] == "not_ready"
        assert send(server, "GET", "/health/live").status == 200
        assert "zebra" not in server.errors()
    finally:
        engine.start()
    assert send(server, "GET", "/health/ready").status == 200


def test_ranking_reads_by_key(engine: OceanBase, tmp_path: Path) -> None:
    """Terms of one pool by range, everything else by primary key, no table whole."""
    oceanbase = Server(tmp_path, {"DATABASE_URL": engine.create_database("scale")})
    done = subprocess.run(
        [sys.executable, "bench/scale.py", "--documents", "600"],
        cwd=PROJECT,
        env=oceanbase.environment,
        capture_output=True,
        timeout=300,
        check=True,
    )
    plan = done.stdout.decode()
    assert re.search(r"TABLE RANGE SCAN +\|prepare_posting", plan), plan
    assert re.search(r"TABLE GET +\|document", plan), plan
    assert "FULL SCAN" not in plan


def query_sqlite(installation: Server, statement: str) -> list[Any]:
    database = installation.data_dir / "powercontext.sqlite3"
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(statement).fetchall()


def test_export_of_sqlite_is_the_same_on_oceanbase(
    engine: OceanBase, tmp_path: Path
) -> None:
    """Identities, digests and prepared bytes do not depend on the database."""
    export, again = tmp_path / "export.jsonl", tmp_path / "again.jsonl"
    sqlite = Server(tmp_path / "sqlite")
    sqlite.migrate()
    url = engine.create_database("imported")
    oceanbase = Server(tmp_path / "oceanbase", {"DATABASE_URL": url})
    oceanbase.migrate()

    def run(installation: Server, *arguments: str) -> bytes:
        done = installation.manage(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(sqlite, "load_context", "prepare/fixtures/demo.jsonl")
    # Without the Scope that migrating made, which is as old as its database.
    demo = ["export_context", "--scope", "project:harbor", "--output"]
    run(sqlite, *demo, str(export))
    assert len(export.read_bytes().splitlines()) == 297
    run(oceanbase, "load_context", str(export))
    run(oceanbase, *demo, str(again))
    assert again.read_bytes() == export.read_bytes()  # digests are of these contents

    forms = [[], ["--assembly", "{}", "--max-bytes", "2000"]]
    for query in ("how do we regenerate the clients", "修改接口后如何重新生成客户端"):
        for form in forms:
            asked = ["prepare", "--scope", "project:harbor", "--query", query, *form]
            content = run(sqlite, *asked)
            assert content
            assert run(oceanbase, *asked) == content
    held = "SELECT content_digest FROM prepare_artifactrevision ORDER BY 1"
    assert query_sqlite(sqlite, held) == engine.query("imported", held)
