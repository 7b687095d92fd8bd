"""The public client, installed unmodified, against our running server."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.serving import PROJECT, Server

pytestmark = pytest.mark.peer

PYTHON = PROJECT / ".venv-peer" / "bin" / "python"
SCRIPT = Path(__file__).with_name("official_client_script.py")


def drive(mode: str, server: Server, *tokens: str) -> None:
    """Run the script in the client's own environment, where this project is unknown."""
    assert PYTHON.is_file(), "no public client: run `tools/setup.sh test`"
    done = subprocess.run(
        [PYTHON, "-I", SCRIPT, mode, server.base_url],
        input="\n".join(tokens),
        cwd=server.data_dir,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "done\n", done.stderr
    assert done.returncode == 0


def test_client_is_the_public_one() -> None:
    assert PYTHON.is_file(), "no public client: run `tools/setup.sh test`"
    code = (
        "import json, importlib.metadata as m, powercontext;"
        "print(json.dumps([m.version('powercontext'), powercontext.__file__]))"
    )
    done = subprocess.run(
        [PYTHON, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    version, place = json.loads(done.stdout)
    assert version == "1.4.1"
    assert Path(place).is_relative_to(PROJECT / ".venv-peer")


@pytest.mark.clause("A-192", "A-195")
def test_every_operation_with_the_public_client(server: Server) -> None:
    drive("everything", server)


def test_access_errors_with_the_public_client(enforced_server: Server) -> None:
    scope = {"type": "scope", "scope_id": "client", "title": "T", "summary": "S"}
    file = enforced_server.data_dir / "client.jsonl"
    file.write_text(json.dumps(scope) + "\n")
    loaded = enforced_server.manage("load_context", str(file))
    assert loaded.returncode == 0, loaded.stderr

    def token(name: str, *options: str) -> str:
        made = enforced_server.manage("create_token", name, *options)
        assert made.returncode == 0, made.stderr
        return made.stdout.decode().strip()

    contributor = token("client", "--scope", "client", "--role", "contributor")
    drive("access", enforced_server, token("root", "--server-admin"), contributor)
