"""Why one exact identity is not among the candidates of a request (demand row 1).

For the Inspector, which may name what it explains; a receipt only counts. The answer is
looked up in the snapshot that the candidates came from, under the same rights: of a
Scope that may not be read it says what it says of one that does not exist.
"""

import json
from dataclasses import dataclass, replace
from typing import Literal

from prepare import limits
from prepare.errors import Forbidden, ScopeNotFound
from prepare.models import (
    Artifact,
    ArtifactRevision,
    ContextReference,
    Scope,
    SearchDocument,
)
from prepare.search.lookup import PoolKey
from prepare.search.standing import SearchCause, Standing, find_standing
from prepare.services.access import Action, Principal
from prepare.services.reading import head_ref
from prepare.services.runtime import Runtime
from prepare.services.scopes import authorized_scope
from prepare.values import ArtifactRef, Identity, PrepareRequest

Cause = (
    Literal[
        "scope_hidden",  # unknown, or not readable: one answer for both
        "scope_not_read",
        "topics_of_reference",  # topic memories come from the current Scope only
        "family_never_recalled",
        "family_not_selected",
        "reader_not_configured",
        "not_stored",
        "revision_not_stored",
        "entry_needed",  # a Memory collection is offered entry by entry
        "forgotten",
        "merged",
        "retired",
        "not_head",
        "entry_not_held",
        "entry_inactive",
        "entry_superseded",
        "not_indexed",
    ]
    | SearchCause
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """`cause` is the first of all reasons, in the order in which a request meets them.

    `selector` is the section that could offer it. `current` is what recall offers of
    this Artifact now, or what it was merged into; `standing` counts the list it is not
    in, if this request searches that list.
    """

    cause: Cause
    selector: str | None = None
    current: Identity | None = None
    standing: Standing | None = None


def find_absence(
    wanted: Identity,
    *,
    request: PrepareRequest,
    principal: Principal,
    runtime: Runtime,
) -> Absence:
    """Why `wanted` is in no list of this request. Reads; the number of statements does
    not depend on what is stored."""
    try:
        scope = authorized_scope(
            scope_id=wanted.scope_id, principal=principal, action=Action.READ
        )
    except (Forbidden, ScopeNotFound):
        return Absence(cause="scope_hidden")
    selector = limits.SELECTORS.get(wanted.artifact.family)
    if selector is None:
        return Absence(cause="family_never_recalled")
    if scope_cause := _scope_cause(scope, selector, request):
        return Absence(cause=scope_cause, selector=selector)
    absence = _find_stored(scope, wanted, selector)
    if selector not in request.families:
        return replace(absence, cause="family_not_selected", standing=None)
    if selector not in runtime.readers:
        return replace(absence, cause="reader_not_configured", standing=None)
    if selector == limits.PROFILE:
        return absence
    document = None
    if absence.cause == "not_indexed":
        document = _find_document(scope, wanted)
    standing = find_standing(
        key=PoolKey(scope_id=scope.pk, family=selector),
        document=document,
        query=request.query,
        gate=runtime.gate,
        postings_cap=runtime.postings_cap,
        bound=limits.POOL_CAPS[selector],
    )
    return replace(absence, cause=standing.cause or absence.cause, standing=standing)


def _scope_cause(scope: Scope, selector: str, request: PrepareRequest) -> Cause | None:
    """Whether this request reads `selector` in this Scope (B.2, J-11)."""
    if scope.scope_id == request.scope_id:
        return None
    is_reference = ContextReference.objects.filter(
        scope__scope_id=request.scope_id, target=scope
    ).exists()
    if not is_reference:
        return "scope_not_read"
    is_crossing = selector in limits.CROSSING_FAMILIES
    return None if is_crossing else "topics_of_reference"


def _find_document(scope: Scope, wanted: Identity) -> SearchDocument | None:
    """The searchable text of a current identity; projection and head agree, or recall
    would have failed."""
    return SearchDocument.objects.filter(
        artifact__scope=scope,
        artifact__family=wanted.artifact.family,
        artifact_key=wanted.artifact.artifact_id,
        entry_key=wanted.entry_id or "",
    ).first()


def _find_stored(scope: Scope, wanted: Identity, selector: str) -> Absence:
    """What the Scope holds of it; `not_indexed` says that it is stored and current."""

    def absent(cause: Cause, current: Identity | None = None) -> Absence:
        return Absence(cause=cause, selector=selector, current=current)

    artifact = wanted.artifact
    head = (
        Artifact.objects.filter(
            scope=scope, family=artifact.family, artifact_id=artifact.artifact_id
        )
        .select_related("merged_into")
        .first()
    )
    # A database that pads would find `a` for `a `.
    if head is None or head.artifact_id != artifact.artifact_id:
        return absent("not_stored")
    manifests = _read_manifests(head, artifact.revision)
    if artifact.revision not in manifests:
        return absent("revision_not_stored", _current(scope, head_ref(head)))
    if head.merged_into is not None:
        return absent("merged", _current(scope, head_ref(head.merged_into)))
    if head.state == "forgotten":
        return absent("forgotten")
    if head.state == "retired":
        return absent("retired")
    if artifact.family == limits.MEMORY_COLLECTION:
        return _find_entry(scope, wanted, head, manifests)
    if artifact.revision != head.revision:
        return absent("not_head", _current(scope, head_ref(head)))
    return absent("not_indexed")


def _current(scope: Scope, artifact: ArtifactRef) -> Identity:
    return Identity(scope_id=scope.scope_id, artifact=artifact)


# Entry id -> (entry version id, state), of one revision; empty for other families.
_Manifest = dict[str, tuple[str, str]]


def _read_manifests(head: Artifact, revision: int) -> dict[int, _Manifest]:
    """Of this revision and the head, those that are stored; one statement."""
    rows = ArtifactRevision.objects.filter(
        artifact=head, revision__in={revision, head.revision}
    )
    is_collection = head.family == limits.MEMORY_COLLECTION
    return {
        row.revision: {
            entry["entry_id"]: (entry["entry_version_id"], entry["state"])
            for entry in (json.loads(row.content)["entries"] if is_collection else ())
        }
        for row in rows
    }


def _find_entry(
    scope: Scope, wanted: Identity, head: Artifact, manifests: dict[int, _Manifest]
) -> Absence:
    """An entry is offered as the head revision of its collection holds it (J-2)."""

    def absent(cause: Cause, current: Identity | None = None) -> Absence:
        return Absence(cause=cause, selector=limits.MEMORY, current=current)

    if wanted.entry_id is None:
        return absent("entry_needed")
    version_id, _ = manifests[wanted.artifact.revision].get(
        wanted.entry_id, (None, None)
    )
    if version_id is None or version_id != wanted.entry_version_id:
        return absent("entry_not_held")
    current_id, state = manifests[head.revision][wanted.entry_id]
    if state != "active":
        return absent("entry_inactive")
    current = replace(wanted, artifact=head_ref(head), entry_version_id=current_id)
    if current_id != wanted.entry_version_id:
        return absent("entry_superseded", current)
    if wanted.artifact.revision != head.revision:
        return absent("not_head", current)
    return absent("not_indexed")
