"""What `selftest` does: load known texts, prepare them, and leave no trace.

The answers must be the same on every database, byte for byte. The bounds are
fixed, whatever is configured, so that only the database can make a difference.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from prepare.services.access import LOCAL
from prepare.services.importing import NumberedLine, import_context
from prepare.services.prepare import prepare_context
from prepare.services.runtime import Runtime
from prepare.values import Identity, Prepared, parse_prepare_request

Json = dict[str, Any]

_RUNTIME = Runtime(assembly_max_entries=26)
# Of a receipt, what two runs have in common.
_VARYING = frozenset({"receipt_id", "stages"})


def run_selftest(
    *,
    lines: Iterable[NumberedLine],
    requests: Sequence[Mapping[str, Any]],
    now: datetime,
) -> list[Json]:
    """The answer to each request; the transaction is rolled back either way.

    Raises what the services raise. Holds the write lock meanwhile.
    """
    with transaction.atomic():
        import_context(lines=lines, now=now)
        answers = [_answer(request) for request in requests]
        transaction.set_rollback(True)
    return answers


def _answer(request: Mapping[str, Any]) -> Json:
    prepared = prepare_context(
        parse_prepare_request(request), principal=LOCAL, runtime=_RUNTIME
    )
    return _describe(prepared)


def _describe(prepared: Prepared) -> Json:
    """Identities in order and exact content, by line for a readable difference."""
    build = prepared.build
    answer: Json = {
        "identities": [_name(identity) for identity in build.origins],
        "content_bytes": build.content_bytes,
        "content": None if build.content is None else build.content.split("\n"),
    }
    if prepared.receipt is not None:
        answer["receipt"] = {
            key: value for key, value in prepared.receipt.items() if key not in _VARYING
        }
    return answer


def _name(identity: Identity) -> list[str | int]:
    artifact = identity.artifact
    name: list[str | int] = [identity.scope_id, artifact.family, artifact.artifact_id]
    name.append(artifact.revision)
    if identity.entry_id is not None and identity.entry_version_id is not None:
        name += [identity.entry_id, identity.entry_version_id]
    return name
