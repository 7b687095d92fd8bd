"""Artifacts: create, replace, list and exact reads (contract C.1, C.8)."""

import re
from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from prepare import limits
from prepare.errors import (
    InvalidQueryString,
    InvalidRequest,
    PreconditionRequired,
    Unsupported,
    Violation,
)
from prepare.models import Artifact, ArtifactRevision, Scope
from prepare.openapi import PAGE_PARAMETERS, responses
from prepare.serializers import artifacts as shapes
from prepare.services import artifacts as writer
from prepare.services import contents, reading
from prepare.services.access import Action
from prepare.services.artifacts import Authorship
from prepare.services.reading import RevisionView
from prepare.services.scopes import authorized_scope
from prepare.values import ArtifactRef
from prepare.views import wire
from prepare.views.base import ContractView, paginate, query_page

_ETAG = re.compile(r'"revision:([1-9][0-9]{0,9})"')


class ScopedView(ContractView):
    """A view below /v1/scopes/{scope_id}."""

    def scope(self, scope_id: str, action: Action) -> Scope:
        return authorized_scope(
            scope_id=scope_id, principal=self.principal, action=action
        )

    def authorship(self, reason: str = "", restored: int | None = None) -> Authorship:
        return Authorship(
            now=timezone.now(),
            author="" if self.principal.unrestricted else self.principal.name,
            reason=reason,
            restored_from_revision=restored,
        )


def check_family(family: str) -> str:
    if family not in limits.STORED_FAMILIES:
        names = ", ".join(limits.STORED_FAMILIES)
        raise InvalidRequest(
            [
                Violation(
                    type="enum",
                    loc=("path", "family"),
                    msg=f"Input should be one of {names}",
                )
            ]
        )
    return family


class CreateArtifactView(ScopedView):
    @extend_schema(
        operation_id="create_artifact",
        request=shapes.CREATE_SCHEMA,
        responses=responses({201: shapes.ArtifactCreatedSerializer}, 404, 409),
        tags=["artifacts"],
    )
    def post(self, request: Request, scope_id: str) -> Response:
        data = self.read(shapes.CreateArtifactRequestSerializer)
        family = data["family"]
        _check_prompt_key(family, data.get("prompt_key"))
        if family == limits.MEMORY_COLLECTION:
            raise Unsupported(
                "Collections are imported, not written over HTTP;"
                " create an `atomic-memory`.",
                code="legacy_memory_operation_unsupported",
            )
        contents.normalize_content(family, data["content"])
        row = writer.create_artifact(
            scope=self.scope(scope_id, Action.CONTRIBUTE),
            family=family,
            content=data["content"],
            authorship=self.authorship(),
            artifact_id=data.get("prompt_key"),
        )
        body = {
            "scope_id": scope_id,
            **wire.artifact_ref(reading.revision_ref(row)),
            "sources": [],
            "artifacts": [],
        }
        headers = {"ETag": writer.etag(row.revision)}
        return Response(body, status=201, headers=headers)


def _check_prompt_key(family: str, prompt_key: str | None) -> None:
    if (family == limits.PROMPT) != (prompt_key is not None):
        raise InvalidRequest(
            [
                Violation(
                    type="prompt_key",
                    loc=("body", "prompt_key"),
                    msg="Required for family `prompt`, refused for all others.",
                )
            ]
        )


class ArtifactListView(ScopedView):
    @extend_schema(
        operation_id="list_artifacts",
        parameters=PAGE_PARAMETERS,
        responses=responses({200: shapes.ArtifactListSerializer}, 400, 404),
        tags=["artifacts"],
    )
    def get(self, request: Request, scope_id: str, family: str) -> Response:
        page = query_page(request)
        check_family(family)
        scope = self.scope(scope_id, Action.READ)

        def shape(heads: Sequence[Artifact]) -> list[Any]:
            rows = reading.head_revisions(heads)
            return [_summary(scope, rows[head.pk]) for head in heads]

        heads = reading.list_heads(scope=scope, family=family)
        items, cursor = paginate(heads, page, shape)
        return Response({"items": items, "next_cursor": cursor})


class ArtifactView(ScopedView):
    @extend_schema(
        operation_id="get_artifact",
        responses=responses({200: shapes.ArtifactRevisionSerializer}, 404),
        tags=["artifacts"],
    )
    def get(
        self, request: Request, scope_id: str, family: str, artifact_id: str
    ) -> Response:
        check_family(family)
        scope = self.scope(scope_id, Action.READ)
        view = reading.read_head_revision(
            scope=scope, family=family, artifact_id=artifact_id
        )
        return _revision_response(view)

    @extend_schema(
        operation_id="replace_artifact",
        parameters=[
            OpenApiParameter(
                "If-Match",
                str,
                OpenApiParameter.HEADER,
                required=True,
                description='The ETag last read, such as "revision:3".',
            )
        ],
        request=shapes.REPLACE_SCHEMA,
        responses=responses(
            {200: shapes.ArtifactRevisionSerializer}, 404, 409, 412, 428
        ),
        tags=["artifacts"],
    )
    def put(
        self, request: Request, scope_id: str, family: str, artifact_id: str
    ) -> Response:
        check_family(family)
        data = self.read(shapes.ReplaceArtifactRequestSerializer)
        if family == limits.MEMORY_COLLECTION:
            raise Unsupported(
                "Collections are imported, not written over HTTP.",
                code="legacy_memory_operation_unsupported",
            )
        contents.normalize_content(family, data["content"])
        expected = _expected_revision(request)
        scope = self.scope(scope_id, Action.CONTRIBUTE)
        row = writer.replace_artifact(
            scope=scope,
            family=family,
            artifact_id=artifact_id,
            content=data["content"],
            authorship=self.authorship(
                data.get("reason") or "", data.get("restored_from_revision")
            ),
            expected_revision=expected,
        )
        view = reading.read_revision(scope=scope, artifact=reading.revision_ref(row))
        return _revision_response(view)


def _expected_revision(request: Request) -> int:
    header = request.headers.get("If-Match")
    if header is None:
        raise PreconditionRequired
    match = _ETAG.fullmatch(header.strip())
    if match is None:
        violation = Violation(
            type="etag", loc=("header", "If-Match"), msg='An ETag like "revision:3"'
        )
        raise InvalidQueryString([violation])  # 400, as for limits (contract B.5)
    return int(match[1])


class RevisionListView(ScopedView):
    @extend_schema(
        operation_id="list_artifact_revisions",
        parameters=PAGE_PARAMETERS,
        responses=responses({200: shapes.ArtifactListSerializer}, 400, 404),
        tags=["artifacts"],
    )
    def get(
        self, request: Request, scope_id: str, family: str, artifact_id: str
    ) -> Response:
        page = query_page(request)
        check_family(family)
        scope = self.scope(scope_id, Action.READ)

        def shape(rows: Sequence[ArtifactRevision]) -> list[Any]:
            return [_summary(scope, row) for row in rows]

        rows = reading.list_revisions(
            scope=scope, family=family, artifact_id=artifact_id
        )
        items, cursor = paginate(rows, page, shape)
        return Response({"items": items, "next_cursor": cursor})


class ExactRevisionView(ScopedView):
    @extend_schema(
        operation_id="get_artifact_revision",
        responses=responses({200: shapes.ArtifactRevisionSerializer}, 404),
        tags=["artifacts"],
    )
    def get(
        self,
        request: Request,
        scope_id: str,
        family: str,
        artifact_id: str,
        revision: int,
    ) -> Response:
        check_family(family)
        if not 1 <= revision <= limits.HIGHEST_REVISION:
            raise InvalidRequest(
                [
                    Violation(
                        type="int_range", loc=("path", "revision"), msg="At least 1"
                    )
                ]
            )
        view = reading.read_revision(
            scope=self.scope(scope_id, Action.READ),
            artifact=ArtifactRef(
                family=family, artifact_id=artifact_id, revision=revision
            ),
        )
        return _revision_response(view)


def _revision_response(view: RevisionView) -> Response:
    headers = {"ETag": writer.etag(view.artifact.revision)}
    return Response(wire.revision(view), headers=headers)


def _summary(scope: Scope, row: ArtifactRevision) -> dict[str, Any]:
    view = reading.revision_view(scope, row)
    body = wire.revision(view)
    content = body.pop("content")
    is_topic = view.artifact.family == limits.TOPIC_MEMORY
    return body | {
        "title": content["title"] if is_topic else None,
        "summary": content["summary"] if is_topic else None,
        "published_at": None,
        "source_count": len(view.sources) if is_topic else None,
    }
