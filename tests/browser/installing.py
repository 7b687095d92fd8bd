"""The server under test, its data and the persons who look at it."""

import json
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import StorageState

from tests.browser import hostile
from tests.commands.files import write_lines
from tests.serving import Server

READER = "<b>reader</b>@{{7*7}}"  # may read every Scope but the secret one
OPERATOR = "operator"  # a superuser, with the reader's roles
PASSWORD = "long enough words"

_MAKE_PERSON = """
from django.contrib.auth.models import User
from prepare.models import PersonGrant, Scope
person = User.objects.create_user(%r, password=%r, is_staff=%r, is_superuser=%r)
PersonGrant.objects.bulk_create(
    PersonGrant(person=person, scope=scope, role="reviewer")
    for scope in Scope.objects.exclude(scope_id=%r)
)
"""


class Site(Server):
    def __init__(self, data_dir: Path) -> None:
        environment = {
            "POWERCONTEXT_SERVER_ACCESS_MODE": "enforced",
            "POWERCONTEXT_SERVER_RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES": "26",
        }
        super().__init__(data_dir, environment, ["--workers", "1", "--threads", "4"])
        self.token = ""
        self.cookies: dict[str, StorageState] = {}  # of persons who have signed in

    def load(self, lines: Sequence[dict[str, Any]]) -> None:
        path = write_lines(self.data_dir / "lines.jsonl", lines)
        done = self.manage("load_context", str(path))
        assert done.returncode == 0, done.stderr

    def make_person(self, name: str) -> None:
        is_operator = name == OPERATOR
        values = (name, PASSWORD, is_operator, is_operator, hostile.SECRET)
        done = self.manage("shell", "-c", _MAKE_PERSON % values)
        assert done.returncode == 0, done.stderr

    def make_token(self) -> None:
        scopes = ("--scope", hostile.SCOPE, "--scope", hostile.OTHER)
        done = self.manage("create_token", "browser", *scopes)
        assert done.returncode == 0, done.stderr
        self.token = done.stdout.decode().strip()

    def prepare(self, scope_id: str, query: str, **options: Any) -> dict[str, Any]:
        """The answer of the API to this request."""
        request = urllib.request.Request(
            f"{self.base_url}/v1/context/prepare",
            data=json.dumps({"scope_id": scope_id, "query": query, **options}).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            answer: dict[str, Any] = json.load(response)
        return answer
