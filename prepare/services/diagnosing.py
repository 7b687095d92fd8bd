"""What `doctor` tries: write, find, pack and read one memory, and leave no trace."""

import secrets
from dataclasses import replace
from datetime import datetime

from django.db import transaction

from prepare import limits
from prepare.services import artifacts, reading
from prepare.services.access import LOCAL
from prepare.services.artifacts import Authorship
from prepare.services.health import READY
from prepare.services.prepare import prepare_context
from prepare.services.runtime import Runtime
from prepare.services.scopes import ScopeFields, create_scope
from prepare.values import Assembly, Identity, PrepareRequest, Section


def try_round_trip(*, runtime: Runtime, now: datetime) -> str:
    """`ready`, or what went wrong; the transaction is rolled back either way.

    Raises what the services raise. Holds the write lock for a moment.
    """
    with transaction.atomic():
        found = _round_trip(runtime, now)
        transaction.set_rollback(True)
    return found


def _round_trip(runtime: Runtime, now: datetime) -> str:
    name = f"doctor-{secrets.token_hex(8)}"
    text = f"The doctor {name} was here; 这一行会被撤销。"
    scope = create_scope(
        fields=ScopeFields(title=name, summary="Rolled back at once."),
        idempotency_key=name,
        now=now,
        scope_id=name,
    )
    row = artifacts.create_artifact(
        scope=scope,
        family=limits.ATOMIC_MEMORY,
        content={"kind": "note", "text": text},
        authorship=Authorship(now=now),
    )
    request = PrepareRequest(
        scope_id=name,
        query=text,
        assembly=Assembly(sections=(Section(family=limits.MEMORY, limit=1),)),
    )
    searching = replace(runtime, readers=frozenset({limits.MEMORY}))
    build = prepare_context(request, principal=LOCAL, runtime=searching).build
    if build.content is None or text not in build.content:
        return "what was just written was not found: rebuild_search"
    if build.content_bytes != len(build.content.encode()):
        return "content_bytes is not the length of the content"
    artifact = reading.revision_ref(row)
    if [item.identity for item in build.selected] != [
        Identity(scope_id=name, artifact=artifact)
    ]:
        return "the citation is not the one of what was written"
    held = reading.read_revision(scope=scope, artifact=artifact)
    if held.content_digest != row.content_digest or held.content["text"] != text:
        return "the exact read returned another text"
    return READY
