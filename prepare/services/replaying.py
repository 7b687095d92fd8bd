"""Pack recorded candidates again, without a database. Pure.

A recording holds what recall found, the request and the answer; packing it again must
give the same bytes (A-110, A-190). Identities are not validated: a recorded Scope id
may be one that no request could carry.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prepare import limits
from prepare.errors import InvalidRequest, InvariantViolated
from prepare.services.jsonobject import JsonObject
from prepare.services.legacy import pack_legacy
from prepare.services.packing import pack
from prepare.services.text import dump_legacy
from prepare.values import (
    ArtifactRef,
    BodyCandidate,
    Build,
    Candidate,
    Identity,
    Pools,
    Prepared,
    PrepareRequest,
    ScopePool,
    TopicCandidate,
    parse_prepare_request,
)

Response = Mapping[str, Any]

_NOT_READ = ("name", "source", "delivered_origins", "omissions", "entry_limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recorded call; `response` None if the file has none to compare with."""

    current_scope_id: str
    request: PrepareRequest
    pools: Pools
    needs_code: bool
    response: Response | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """`build` None if packing refused the candidates, as `response` then says."""

    response: Response
    build: Build | None


def read_recording(data: object) -> Recording:
    """Read one decoded file; raises `InvalidRequest` if it is no recording."""
    fields = JsonObject(
        data,
        ("current_scope_id", "candidates", "request"),
        ("settings", "response", *_NOT_READ),
    )
    current = fields.text("current_scope_id")
    # The Scope is taken from the recording, so any valid id serves the parser.
    request = parse_prepare_request(fields.object("request") | {"scope_id": "replay"})
    _check_total(request, fields)
    candidates = _lists(fields)
    response = fields.data.get("response")
    return Recording(
        current_scope_id=current,
        request=request,
        pools=_pools(candidates, current),
        needs_code=request.include_code or bool(candidates.data.get("code")),
        response=None if response is None else fields.object("response"),
    )


def replay(recording: Recording) -> Replayed:
    """Pack and render the recorded candidates; an invariant error is an answer too."""
    request = recording.request
    try:
        if request.assembly is None:
            build = pack_legacy(
                recording.pools,
                current_scope_id=recording.current_scope_id,
                max_bytes=request.max_bytes,
            )
        else:
            build = pack(
                recording.pools,
                assembly=request.assembly,
                max_bytes=request.max_bytes,
            )
    except InvariantViolated as error:
        return Replayed(response={"exception": str(error)}, build=None)
    return Replayed(response=Prepared(build=build).as_wire(), build=build)


def compare(recorded: Response, replayed: Response) -> list[str]:
    """A unified diff of the keys that the recording has; empty if they are equal.

    Of an exception only its occurrence is compared: its wording is ours.
    """
    if "exception" in recorded and "exception" in replayed:
        return []
    wanted = _response_lines(recorded)
    got = _response_lines({name: replayed.get(name) for name in recorded})
    return list(difflib.unified_diff(wanted, got, "recorded", "replayed", lineterm=""))


def _response_lines(response: Response) -> list[str]:
    """One line per key, and one per line of the content, each as printable JSON."""
    lines = []
    for name, value in response.items():
        if isinstance(value, str) and "\n" in value:
            lines.append(f"{name}:")
            lines += [f"  {dump_legacy(line)}" for line in value.split("\n")]
        else:
            lines.append(f"{name}: {dump_legacy(value)}")
    return lines


def _check_total(request: PrepareRequest, fields: JsonObject) -> None:
    """The total cap of the recorded Runtime (A-023), 8 unless the file says more."""
    highest: int = limits.ASSEMBLY_ENTRIES_DEFAULT
    if fields.data.get("settings") is not None:
        settings = JsonObject(
            fields.data["settings"], ("context_assembly_max_entries",), path="settings"
        )
        highest = settings.revision("context_assembly_max_entries")
    if request.assembly is None:
        return
    if sum(section.limit for section in request.assembly.sections) > highest:
        raise InvalidRequest(message=f"request.assembly: more than {highest} entries")


def _lists(fields: JsonObject) -> JsonObject:
    """The recorded lists by family; `candidates` null stands for no recall at all."""
    return JsonObject(
        fields.data["candidates"] or {},
        (),
        ("memory", "experience", "topic_memory", "profile", "code"),
        path="candidates",
    )


def _pools(lists: JsonObject, current_scope_id: str) -> Pools:
    topics = lists.objects("topic_memory", (*_HIT_KEYS, "title", "summary"), _EXTRAS)
    profiles = lists.objects("profile", ("scope_id", *_HIT_KEYS, "body"), _EXTRAS)
    return {
        limits.MEMORY: _grouped(lists, "memory"),
        limits.EXPERIENCE: _grouped(lists, "experience"),
        # Topic memories are those of the current Scope (contract B.2).
        limits.TOPIC_MEMORY: (
            ScopePool(
                scope_id=current_scope_id,
                candidates=tuple(_topic(hit, current_scope_id) for hit in topics),
            ),
        ),
        limits.PROFILE: tuple(
            ScopePool(
                scope_id=hit.text("scope_id"),
                candidates=(_body(hit, hit.text("scope_id")),),
            )
            for hit in profiles
        ),
    }


_HIT_KEYS = ("family", "artifact_id", "revision")
_EXTRAS = ("kind", "content", "snippet", "entry_id", "entry_version_id")


def _grouped(lists: JsonObject, name: str) -> tuple[ScopePool, ...]:
    return tuple(
        ScopePool(
            scope_id=group.text("scope_id"),
            candidates=tuple(
                _body(hit, group.text("scope_id"))
                for hit in group.objects("hits", (*_HIT_KEYS, "body"), _EXTRAS)
            ),
        )
        for group in lists.objects(name, ("scope_id", "hits"))
    )


def _body(hit: JsonObject, scope_id: str) -> Candidate:
    return BodyCandidate(identity=_identity(hit, scope_id), body=hit.text("body"))


def _topic(hit: JsonObject, scope_id: str) -> Candidate:
    return TopicCandidate(
        identity=_identity(hit, scope_id),
        title=hit.text("title"),
        summary=hit.text("summary"),
        snippet=hit.optional_text("snippet"),
    )


def _identity(hit: JsonObject, scope_id: str) -> Identity:
    return Identity(
        scope_id=scope_id,
        artifact=ArtifactRef(
            family=hit.text("family"),
            artifact_id=hit.text("artifact_id"),
            revision=hit.revision("revision"),
        ),
        entry_id=hit.optional_text("entry_id"),
        entry_version_id=hit.optional_text("entry_version_id"),
    )
