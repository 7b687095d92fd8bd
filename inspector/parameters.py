"""Reading query strings strictly: what a page is asked for is there once, or it is 400.

Keys of the next page are what the last row shows (an id, a time), so a cursor tells
nothing of other Scopes.
"""

import base64
import binascii
import json
from datetime import UTC, datetime

from django.http import HttpRequest
from django.utils.translation import gettext as _

from prepare import limits
from prepare.errors import InvalidCursor, InvalidQueryString
from prepare.services.stored import CandidateKey, HeadKey
from prepare.values import ArtifactRef, Identity, SourceRef


def optional(request: HttpRequest, name: str) -> str | None:
    """Empty is as good as left out."""
    values = request.GET.getlist(name)
    if len(values) > 1:
        message = _("The address of this page has “%(name)s” more than once.")
        raise InvalidQueryString(message=message % {"name": name})
    return (values[0] or None) if values else None


def required(request: HttpRequest, name: str) -> str:
    value = optional(request, name)
    if value is None:
        message = _("The address of this page lacks “%(name)s”.")
        raise InvalidQueryString(message=message % {"name": name})
    return value


def number(request: HttpRequest, name: str) -> int | None:
    """A revision or position: 1 to 2³¹-1."""
    value = optional(request, name)
    if value is None:
        return None
    is_digits = value.isascii() and value.isdigit() and len(value) <= 10
    if not is_digits or not 1 <= int(value) <= limits.HIGHEST_REVISION:
        message = _("“%(name)s” in the address of this page is no whole number from 1.")
        raise InvalidQueryString(message=message % {"name": name})
    return int(value)


def identity(request: HttpRequest) -> Identity:
    """The exact identity that the address of a revision page names.

    Without a revision there is nothing to show: the newest is never meant (R-211).
    """
    scope_id = required(request, "scope")
    family, artifact_id = required(request, "family"), required(request, "id")
    required(request, "revision")
    revision = number(request, "revision")
    entry_id = optional(request, "entry")
    entry_version_id = optional(request, "entry_version")
    if (entry_id is None) != (entry_version_id is None):
        raise InvalidQueryString(
            message=_("An entry is named by “entry” and “entry_version” together.")
        )
    if entry_id is not None and family != limits.MEMORY_COLLECTION:
        raise InvalidQueryString(
            message=_("Only a Memory collection (family “memory”) has entries.")
        )
    return Identity(
        scope_id=scope_id,
        artifact=ArtifactRef(
            family=family, artifact_id=artifact_id, revision=revision or 0
        ),
        entry_id=entry_id,
        entry_version_id=entry_version_id,
    )


def source_of(request: HttpRequest) -> SourceRef:
    return SourceRef(
        source_type=required(request, "type"), source_id=required(request, "id")
    )


def head_cursor(key: HeadKey | None) -> str | None:
    if key is None:
        return None
    return _encode(key.updated_at.isoformat(), key.family, key.artifact_id)


def head_key(cursor: str | None) -> HeadKey | None:
    if cursor is None:
        return None
    moment, family, artifact_id = _decode(cursor, 3)
    return HeadKey(updated_at=_moment(moment), family=family, artifact_id=artifact_id)


def candidate_cursor(key: CandidateKey | None) -> str | None:
    if key is None:
        return None
    word = "decided" if key.is_decided else "pending"
    return _encode(word, key.created_at.isoformat(), key.candidate_id)


def candidate_key(cursor: str | None) -> CandidateKey | None:
    if cursor is None:
        return None
    word, moment, candidate_id = _decode(cursor, 3)
    return CandidateKey(
        is_decided=word == "decided",
        created_at=_moment(moment),
        candidate_id=candidate_id,
    )


def _encode(*parts: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def _decode(cursor: str, count: int) -> list[str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        parts = json.loads(base64.urlsafe_b64decode(padded.encode()))
    except (binascii.Error, ValueError, RecursionError):
        raise InvalidCursor from None
    is_list = isinstance(parts, list) and len(parts) == count
    if not is_list or not all(isinstance(part, str) for part in parts):
        raise InvalidCursor
    return [str(part) for part in parts]


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise InvalidCursor
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidCursor from None
