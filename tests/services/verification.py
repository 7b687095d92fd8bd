"""Prepared responses to verify, and what may happen to their rows afterwards."""

from collections.abc import Mapping
from typing import Any

from django.db import connection

from prepare.models import ArtifactRevision, Scope
from prepare.services import memories
from prepare.services.access import LOCAL, Principal
from prepare.services.memories import MemoryTarget
from prepare.services.reports import ItemReport, VerificationReport
from prepare.services.verifying import verify_receipt
from tests.api import Api
from tests.factories import (
    BY_TEST,
    experience,
    make_scope,
    profile,
    ref,
    remember,
    topic,
    write,
)

QUERY = "zebra"
ALL = {
    "sections": [
        {"family": "memory", "limit": 3},
        {"family": "experience", "limit": 2},
        {"family": "profile", "limit": 2},
        {"family": "topic-memory", "limit": 1},
    ]
}


def ask(api: Api, scope_id: str = "s", **options: Any) -> tuple[bytes, dict[str, Any]]:
    """Content and receipt of one response, as a harness stores them."""
    options = {"include_receipt": True, "assembly": ALL, **options}
    body = api.prepare(scope_id, QUERY, **options).body
    return (body["content"] or "").encode(), body["receipt"]


def check(
    content: bytes, receipt: Mapping[str, Any], principal: Principal = LOCAL
) -> VerificationReport:
    return verify_receipt(content=content, receipt=receipt, principal=principal)


def only(report: VerificationReport) -> ItemReport:
    (item,) = report.items
    return item


def set_state(row: ArtifactRevision, state: str) -> None:
    row.artifact.refresh_from_db()
    memories.change_state(
        scope=row.artifact.scope,
        target=MemoryTarget(
            artifact=ref(row), state_version=row.artifact.state_version
        ),
        state=state,
        authorship=BY_TEST,
    )


def merge(row: ArtifactRevision, other: ArtifactRevision) -> ArtifactRevision:
    merged, _ = memories.merge_memories(
        scope=row.artifact.scope,
        inputs=[
            MemoryTarget(artifact=ref(one), state_version=0) for one in (row, other)
        ],
        content={"kind": "fact", "text": "zebra merged"},
        authorship=BY_TEST,
    )
    return merged


def sql(statement: str, *values: Any) -> None:
    """What no service does: change a stored row in place."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount == 1


def make_mixed() -> Scope:
    """Every family that a receipt can name, in two Scopes."""
    other = make_scope("项目:二")
    scope = make_scope("s", references=[other.scope_id])
    for each in (scope, other):
        remember(each, "zebra — 条纹\n\n第二段", artifact_id="m1")
        write(each, "experience", experience("zebra"), artifact_id="x1")
        profile(each, "# Zebra\n\n- one")
        write(each, "topic-memory", topic("zebra", detail="zebra " * 9))
    return scope
