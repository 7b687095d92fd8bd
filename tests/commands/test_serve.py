"""`manage.py serve`: start, answer, stop, and refuse to start (C-47, J-12)."""

import http.client
import json
import os
import re
import signal
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving import Installation, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("serve") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    installation = Installation(tmp_path_factory.mktemp("refuse") / "data")
    installation.migrate()
    return installation


def call(server: Server, path: str, body: Any = None) -> tuple[int, Any]:
    request = urllib.request.Request(
        server.base_url + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def make_scope(server: Server, scope_id: str) -> None:
    fields = {"scope_id": scope_id, "title": "T", "summary": "S"}
    status, _ = call(server, "/v1/scopes", fields | {"idempotency_key": scope_id})
    assert status == 201


def test_it_answers_and_logs_no_query(server: Server) -> None:
    make_scope(server, "answers")
    status, body = call(
        server, "/v1/context/prepare", {"scope_id": "answers", "query": "canary-7391"}
    )
    assert (status, body["status"]) == (200, "empty")
    status, _ = call(server, "/v1/scopes?limit=3&x=canary-7391")
    assert status in (200, 400)
    assert "canary-7391" not in server.errors()


def test_an_encoded_slash_stays_inside_its_segment(server: Server) -> None:
    """gunicorn must hand over the raw path (J-16)."""
    make_scope(server, "a/b")
    status, body = call(server, "/v1/scopes/a%2Fb")
    assert (status, body["scope_id"]) == (200, "a/b")


def test_ids_of_full_length_fit_into_the_request_line(server: Server) -> None:
    scope_id = "𠮷" * 256
    make_scope(server, scope_id)
    quoted = urllib.parse.quote(scope_id, safe="")
    source_id = urllib.parse.quote("😀" * 256, safe="")
    status, body = call(server, f"/v1/scopes/{quoted}")
    assert (status, body["scope_id"]) == (200, scope_id)
    status, body = call(server, f"/v1/scopes/{quoted}/sources/content/{source_id}")
    assert (status, body["error"]["code"]) == (404, "source_not_found")


def test_a_client_cannot_replace_the_path_by_a_header(server: Server) -> None:
    host = server.base_url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=30)
    try:
        headers = {"PATH_INFO": "/v1/server-info", "SCRIPT_NAME": "/x"}
        connection.request("GET", "/health/live", headers=headers)
        response = connection.getresponse()
        body = json.load(response)
    finally:
        connection.close()
    assert response.status == 200
    assert "status" in body


def test_data_stay_after_a_restart(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        make_scope(server, "kept")
        secret = (server.data_dir / "secret_key").read_text()
        assert server.stop() == 0
        server.start()
        assert call(server, "/v1/scopes/kept")[0] == 200
        assert (server.data_dir / "secret_key").read_text() == secret
        assert server.errors() == ""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_quickly_with_exit_code_0(tmp_path: Path, how: signal.Signals) -> None:
    with Server(tmp_path / "data") as server:
        started = time.monotonic()
        assert server.stop(how) == 0
        assert time.monotonic() - started < 10
        assert server.errors() == ""
        with pytest.raises(urllib.error.URLError):
            call(server, "/health/live")


def test_an_interrupt_of_the_whole_group_lets_a_running_request_finish(
    tmp_path: Path,
) -> None:
    """What Ctrl-C in a terminal does: every process of the group gets SIGINT."""
    with Server(tmp_path / "data", arguments=["--workers", "1"]) as server:
        make_scope(server, "slow")
        host, port = server.base_url.removeprefix("http://").split(":")
        body = json.dumps({"scope_id": "slow", "query": "x"}).encode()
        with socket.create_connection((host, int(port)), timeout=30) as client:
            head = (
                "POST /v1/context/prepare HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                "Content-Type: application/json\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            client.sendall(head.encode() + body[:1])
            time.sleep(0.5)  # a thread has the request and waits for its body
            assert server.process is not None
            os.killpg(server.process.pid, signal.SIGINT)
            time.sleep(0.5)
            client.sendall(body[1:])
            answer = b""
            while received := client.recv(65536):
                answer += received
        assert answer.startswith(b"HTTP/1.1 200")
        assert server.process.wait(20) == 0


def test_many_clients_at_once(server: Server) -> None:
    make_scope(server, "many")
    statuses: list[int] = []

    def ask() -> None:
        request = {"scope_id": "many", "query": "anything"}
        statuses.extend(
            call(server, "/v1/context/prepare", request)[0] for _ in range(10)
        )

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 80


def test_the_database_folder_is_made(tmp_path: Path) -> None:
    database = tmp_path / "not" / "there" / "yet" / "db.sqlite3"
    environment = {"DATABASE_URL": f"sqlite:///{database}"}
    with Server(tmp_path / "data", environment) as server:
        assert call(server, "/health/ready")[0] == 200
    assert database.is_file()


def test_settings_come_from_the_environment(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"POWERCONTEXT_SERVER_PORT": str(port)}
    installation = Installation(tmp_path / "data", environment)
    described = installation.manage("serve", "--help").stdout.decode()
    assert f"(default: {port})" in " ".join(described.split())


def test_enforced_mode_may_listen_anywhere(tmp_path: Path) -> None:
    environment = {"POWERCONTEXT_SERVER_ACCESS_MODE": "enforced"}
    with Server(tmp_path / "data", environment, ["--host", "0.0.0.0"]) as server:
        assert re.match(r"http://0\.0\.0\.0:\d+\Z", server.base_url)
        server.base_url = server.base_url.replace("0.0.0.0", "127.0.0.1")
        assert call(server, "/v1/scopes/x")[0] == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_disabled_mode_refuses_other_hosts(migrated: Installation, host: str) -> None:
    refused = migrated.manage("serve", "--host", host)
    assert refused.returncode == 1
    assert refused.stdout == b""
    [line] = refused.stderr.decode().splitlines()
    assert line.startswith("Refusing to listen on ")
    assert "POWERCONTEXT_SERVER_ACCESS_MODE=enforced" in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "no-such-host.invalid"], "Cannot listen on no-such-host.invalid"),
        (["--host", "x" * 300], "Cannot listen on xxx"),
        (["--host", ""], "Cannot listen on :8000"),
        (["--port", "70000"], "--port must be between 0 and 65535."),
        (["--workers", "0"], "--workers and --threads must be at least 1."),
        (["--threads", "0"], "--workers and --threads must be at least 1."),
    ],
)
def test_bad_options_are_one_line(
    migrated: Installation, arguments: list[str], message: str
) -> None:
    refused = migrated.manage("serve", *arguments)
    assert refused.returncode == 1
    [line] = refused.stderr.decode().splitlines()
    assert line.startswith(message)


def test_a_taken_port_is_one_line(migrated: Installation) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = migrated.manage("serve", "--port", str(port))
    assert refused.returncode == 1
    [line] = refused.stderr.decode().splitlines()
    assert line == f"Cannot listen on 127.0.0.1:{port}: Address already in use."


def test_missing_migrations_are_one_line(tmp_path: Path) -> None:
    refused = Installation(tmp_path / "data").manage("serve", "--port", "0")
    assert refused.returncode == 1
    [line] = refused.stderr.decode().splitlines()
    assert re.fullmatch(
        r"The database lacks \d+ migrations: run `manage.py migrate`\.", line
    )
