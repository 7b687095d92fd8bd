"""Memory, atomic memory and collection entries (contract C.2, C.3, J-2, J-28)."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from prepare import limits
from prepare.errors import Unsupported
from prepare.models import Artifact
from prepare.openapi import responses
from prepare.serializers import memory as shapes
from prepare.services import artifacts as writer
from prepare.services import contents, memories, reading, searching
from prepare.services.access import Action
from prepare.services.artifacts import Lineage
from prepare.services.memories import MemoryTarget
from prepare.services.runtime import configured_runtime
from prepare.services.searching import FoundMemory
from prepare.values import Identity
from prepare.views import wire
from prepare.views.artifacts import ScopedView
from prepare.views.base import Page, paginate


def refuse_tags(data: dict[str, Any]) -> None:
    """Tags are not stored here; a filter that cannot be applied is not ignored."""
    if data.get("tag_filter") is not None or data.get("tags"):
        raise Unsupported(
            "Tag filters are not supported.", code="capability_not_supported"
        )


def refuse_vectors(mode: str) -> None:
    if mode in ("vector", "hybrid"):
        raise Unsupported(
            f"Search mode {mode!r} needs an embedding model, and none is configured.",
            code="capability_not_supported",
        )


def _search_body(found: Sequence[FoundMemory]) -> dict[str, Any]:
    return {
        "mode": "text",
        "hits": [
            {
                "memory": wire.memory_record(item.memory),
                "score": searching.rank_score(item.rank),
                "matched_by": ["text"],
            }
            for item in found
        ],
    }


def _memory_records(heads: Sequence[Artifact]) -> list[Any]:
    return [wire.memory_record(view) for view in reading.memory_views(heads)]


class RememberView(ScopedView):
    @extend_schema(
        operation_id="remember_memory",
        request=shapes.RememberRequestSerializer,
        responses=responses({200: shapes.MemoryChangeSerializer}, 404, 409),
        tags=["memory"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.RememberRequestSerializer)
        content = {"kind": data["kind"], "text": data["text"]}
        contents.normalize_content(limits.ATOMIC_MEMORY, content)
        row = writer.create_artifact(
            scope=self.scope(data["scope_id"], Action.CONTRIBUTE),
            family=limits.ATOMIC_MEMORY,
            content=content,
            authorship=self.authorship(data.get("reason") or ""),
        )
        record = wire.memory_record(reading.memory_view(row.artifact, row))
        return Response({"changed": True, "records": [record]})


class MemorySearchView(ScopedView):
    @extend_schema(
        operation_id="search_memory",
        request=shapes.MemorySearchRequestSerializer,
        responses=responses({200: shapes.MemorySearchSerializer}, 404),
        tags=["memory"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.MemorySearchRequestSerializer)
        refuse_vectors(data["mode"])
        refuse_tags(data)
        found = searching.search_memories(
            scope=self.scope(data["scope_id"], Action.READ),
            query=data["query"],
            limit=data["limit"],
            runtime=configured_runtime(),
        )
        return Response(_search_body(found))


class AtomicMemorySearchView(ScopedView):
    @extend_schema(
        operation_id="search_atomic_memory",
        request=shapes.AtomicMemorySearchRequestSerializer,
        responses=responses({200: shapes.MemorySearchSerializer}, 404),
        tags=["memory"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.AtomicMemorySearchRequestSerializer)
        refuse_vectors(data["mode"])
        refuse_tags(data)
        found = searching.search_memories(
            scope=self.scope(data["scope_id"], Action.READ),
            query=data["query"],
            limit=data["limit"],
            runtime=configured_runtime(),
            kind=data.get("kind"),
        )
        return Response(_search_body(found))


class MemoryEntryListView(ScopedView):
    @extend_schema(
        operation_id="list_memory_entries",
        request=shapes.ListEntriesRequestSerializer,
        responses=responses({200: shapes.EntryListSerializer}, 400, 404),
        tags=["memory"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.ListEntriesRequestSerializer)
        refuse_tags(data)
        scope = self.scope(data["scope_id"], Action.READ)
        states = shapes.ALL_STATES if data["include_inactive"] else ["active"]
        entries, cursor = paginate(
            memories.list_memories(scope=scope, states=states),
            Page(limit=data["limit"], cursor=data.get("cursor")),
            _memory_records,
        )
        return Response({"entries": entries, "next_cursor": cursor})


class AtomicMemoryListView(ScopedView):
    @extend_schema(
        operation_id="list_atomic_memories",
        request=shapes.ListAtomicMemoriesRequestSerializer,
        responses=responses({200: shapes.AtomicMemoryListSerializer}, 400, 404),
        tags=["memory"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.ListAtomicMemoriesRequestSerializer)
        refuse_tags(data)
        scope = self.scope(data["scope_id"], Action.READ)
        states = data.get("states")
        items, cursor = paginate(
            memories.list_memories(
                scope=scope,
                states=["active"] if states is None else states,
                kind=data.get("kind"),
            ),
            Page(limit=data["limit"], cursor=data.get("cursor")),
            _memory_records,
        )
        return Response({"items": items, "next_cursor": cursor})


class MemoryEntryView(ScopedView):
    @extend_schema(
        operation_id="get_memory_entry",
        request=shapes.GetEntryRequestSerializer,
        responses=responses({200: shapes.ENTRY_SCHEMA}, 404),
        tags=["memory"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.GetEntryRequestSerializer)
        scope = self.scope(data["scope_id"], Action.READ)
        target = data.get("target")
        if target is not None:
            view = reading.read_current_entry(
                scope=scope,
                artifact_id=target["artifact_id"],
                entry_id=target["entry_id"],
            )
            return Response(wire.memory_record(view))
        citation = data["citation"]
        identity = Identity(
            scope_id=scope.scope_id,
            artifact=wire.to_artifact_ref(citation["memory_ref"]),
            entry_id=citation["entry_id"],
            entry_version_id=citation["entry_version_id"],
        )
        return Response(wire.entry(reading.read_entry(scope=scope, identity=identity)))


class AtomicMemoryStateView(ScopedView):
    @extend_schema(
        operation_id="get_atomic_memory_state",
        responses=responses({200: shapes.MemoryStateSerializer}, 404),
        tags=["memory"],
    )
    def get(self, request: Request, scope_id: str, artifact_id: str) -> Response:
        head = reading.find_head(
            scope=self.scope(scope_id, Action.READ),
            family=limits.ATOMIC_MEMORY,
            artifact_id=artifact_id,
        )
        body = {
            "artifact": wire.artifact_ref(reading.head_ref(head)),
            "state": head.state,
            "state_version": head.state_version,
            "merged_into_id": head.merged_into.artifact_id
            if head.merged_into
            else None,
        }
        return Response(body, headers={"ETag": writer.etag(head.revision)})


def _target(data: dict[str, Any]) -> MemoryTarget:
    return MemoryTarget(
        artifact=wire.to_artifact_ref(data["artifact"]),
        state_version=data["state_version"],
    )


class AtomicMemoryLifecycleView(ScopedView):
    @extend_schema(
        operation_id="change_atomic_memory_lifecycle",
        request=shapes.LifecycleRequestSerializer,
        responses=responses({200: shapes.MemoryChangeSerializer}, 404, 409),
        tags=["memory"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.LifecycleRequestSerializer)
        head, changed = memories.change_state(
            scope=self.scope(data["scope_id"], Action.CONTRIBUTE),
            target=_target(data["target"]),
            state=data["state"],
            authorship=self.authorship(),
        )
        return Response({"changed": changed, "records": _memory_records([head])})


class AtomicMemoryMergeView(ScopedView):
    @extend_schema(
        operation_id="merge_atomic_memories",
        request=shapes.MergeRequestSerializer,
        responses=responses({200: shapes.MemoryChangeSerializer}, 404, 409),
        tags=["memory"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.MergeRequestSerializer)
        row, inputs = memories.merge_memories(
            scope=self.scope(data["scope_id"], Action.CONTRIBUTE),
            inputs=[_target(item) for item in data["inputs"]],
            content=dict(data["content"]),
            authorship=self.authorship(),
            lineage=Lineage(
                sources=wire.to_source_refs(data.get("source_refs") or ()),
                artifacts=wire.to_artifact_refs(data.get("artifact_refs") or ()),
            ),
        )
        records = _memory_records([row.artifact, *inputs])
        return Response({"changed": True, "records": records})
