"""Experiences, topic memories, candidates and prompts (contract C.4 - C.7)."""

import json
from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from prepare import limits
from prepare.errors import ArtifactNotFound, InvalidRequest, Violation
from prepare.models import Candidate
from prepare.openapi import responses
from prepare.serializers import artifacts as artifact_shapes
from prepare.serializers import memory as memory_shapes
from prepare.serializers import review as shapes
from prepare.services import artifacts as writer
from prepare.services import candidates as service
from prepare.services import contents, reading, searching
from prepare.services.access import Action
from prepare.services.artifacts import Lineage
from prepare.services.candidates import Proposal
from prepare.services.reading import RevisionView
from prepare.services.runtime import configured_runtime
from prepare.views import wire
from prepare.views.artifacts import ScopedView
from prepare.views.base import Page, paginate


def candidate_body(candidate: Candidate) -> dict[str, Any]:
    lineage = service.read_lineage(candidate)
    target, result = candidate.target, candidate.result
    return {
        "candidate_id": candidate.candidate_id,
        "version": candidate.version,
        "family": candidate.family,
        "status": candidate.status,
        "proposal": json.loads(candidate.proposal),
        "source_refs": wire.source_refs(lineage.sources),
        "artifact_refs": [wire.artifact_ref(item) for item in lineage.artifacts],
        "target": target and wire.artifact_ref(reading.revision_ref(target)),
        "reason": candidate.reason or None,
        "result_artifact": result and wire.artifact_ref(reading.revision_ref(result)),
        "decision_reason": candidate.decision_reason or None,
        "candidate_kind": "artifact",
    }


class ProposeExperienceView(ScopedView):
    @extend_schema(
        operation_id="propose_experience",
        request=shapes.ProposeExperienceRequestSerializer,
        responses=responses({201: shapes.CandidateSerializer}, 404),
        tags=["review"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.ProposeExperienceRequestSerializer)
        target = data.get("target")
        candidate = service.propose(
            scope=self.scope(data["scope_id"], Action.CONTRIBUTE),
            proposal=Proposal(
                family=limits.EXPERIENCE,
                content=data["proposal"],
                lineage=Lineage(
                    sources=wire.to_source_refs(data["source_refs"]),
                    artifacts=wire.to_artifact_refs(data["artifact_refs"]),
                ),
                target=wire.to_artifact_ref(target) if target else None,
                reason=data.get("reason") or "",
            ),
            authorship=self.authorship(),
        )
        return Response(candidate_body(candidate), status=201)


class CandidateListView(ScopedView):
    @extend_schema(
        operation_id="list_candidates",
        request=shapes.ListCandidatesRequestSerializer,
        responses=responses({200: shapes.CandidateListSerializer}, 400, 404),
        tags=["review"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.ListCandidatesRequestSerializer)
        scope = self.scope(data["scope_id"], Action.READ)
        rows = service.list_candidates(
            scope=scope, status=data.get("status"), family=data.get("family")
        )

        def shape(found: Sequence[Candidate]) -> list[Any]:
            return [candidate_body(candidate) for candidate in found]

        page = Page(limit=data["limit"], cursor=data.get("cursor"))
        items, cursor = paginate(rows, page, shape)
        return Response({"candidates": items, "next_cursor": cursor})


class CandidateView(ScopedView):
    @extend_schema(
        operation_id="get_candidate",
        request=shapes.GetCandidateRequestSerializer,
        responses=responses({200: shapes.CandidateSerializer}, 404),
        tags=["review"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.GetCandidateRequestSerializer)
        candidate = service.read_candidate(
            scope=self.scope(data["scope_id"], Action.READ),
            candidate_id=data["candidate_id"],
        )
        return Response(candidate_body(candidate))


class ApproveCandidateView(ScopedView):
    @extend_schema(
        operation_id="approve_candidate",
        request=shapes.ApproveCandidateRequestSerializer,
        responses=responses({200: shapes.CandidateSerializer}, 404, 409),
        tags=["review"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.ApproveCandidateRequestSerializer)
        candidate = service.approve(
            scope=self.scope(data["scope_id"], Action.REVIEW),
            candidate_id=data["candidate_id"],
            expected_version=data["expected_version"],
            authorship=self.authorship(),
        )
        return Response(candidate_body(candidate))


class RejectCandidateView(ScopedView):
    @extend_schema(
        operation_id="reject_candidate",
        request=shapes.RejectCandidateRequestSerializer,
        responses=responses({200: shapes.CandidateSerializer}, 404, 409),
        tags=["review"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(shapes.RejectCandidateRequestSerializer)
        candidate = service.reject(
            scope=self.scope(data["scope_id"], Action.REVIEW),
            candidate_id=data["candidate_id"],
            expected_version=data["expected_version"],
            reason=data["reason"],
            authorship=self.authorship(),
        )
        return Response(candidate_body(candidate))


class ExactFamilyView(ScopedView):
    """Exact read of one family by `{scope_id, artifact}`."""

    family: str

    def read_exact(self) -> RevisionView:
        data = self.read(memory_shapes.GetExactRequestSerializer)
        artifact = wire.to_artifact_ref(data["artifact"])
        if artifact.family != self.family:
            violation = Violation(
                type="enum",
                loc=("body", "artifact", "family"),
                msg=f"Input should be {self.family!r}",
            )
            raise InvalidRequest([violation])
        scope = self.scope(data["scope_id"], Action.READ)
        return reading.read_revision(scope=scope, artifact=artifact)


class ExperienceView(ExactFamilyView):
    family = limits.EXPERIENCE

    @extend_schema(
        operation_id="get_experience",
        request=memory_shapes.GetExactRequestSerializer,
        responses=responses({200: memory_shapes.ExperienceSerializer}, 404),
        tags=["artifacts"],
    )
    def post(self, request: Request) -> Response:
        view = self.read_exact()
        return Response(
            {
                "artifact": wire.artifact_ref(view.artifact),
                "content": view.content,
                "source_refs": wire.source_refs(view.sources),
                "artifact_refs": [wire.artifact_ref(item) for item in view.artifacts],
            }
        )


class TopicMemoryView(ExactFamilyView):
    family = limits.TOPIC_MEMORY

    @extend_schema(
        operation_id="get_topic_memory",
        request=memory_shapes.GetExactRequestSerializer,
        responses=responses({200: memory_shapes.TopicMemorySerializer}, 404),
        tags=["artifacts"],
    )
    def post(self, request: Request) -> Response:
        view = self.read_exact()
        return Response(
            {
                "artifact": wire.artifact_ref(view.artifact),
                "title": view.content["title"],
                "summary": view.content["summary"],
                "detail": view.content["detail"],
                "source_refs": wire.source_refs(view.sources),
            }
        )


class TopicMemorySearchView(ScopedView):
    @extend_schema(
        operation_id="search_topic_memory",
        request=memory_shapes.TopicSearchRequestSerializer,
        responses=responses({200: memory_shapes.TopicSearchSerializer}, 404),
        tags=["artifacts"],
    )
    def post(self, request: Request) -> Response:
        data = self.read(memory_shapes.TopicSearchRequestSerializer)
        found = searching.search_topics(
            scope=self.scope(data["scope_id"], Action.READ),
            query=data["query"],
            limit=data["limit"],
            runtime=configured_runtime(),
        )
        hits = [
            {
                "artifact": wire.artifact_ref(item.topic.identity.artifact),
                "title": item.topic.title,
                "summary": item.topic.summary,
                "snippet": item.topic.snippet,
                "score": 100 * searching.rank_score(item.rank) * 61,
                "matched_by": ["topic_fts"],
            }
            for item in found
        ]
        return Response({"mode": "fts", "hits": hits})


class PromptView(ScopedView):
    """No component uses prompts yet; what is stored can be read (contract C.7)."""

    @extend_schema(
        operation_id="get_prompt_configuration",
        responses=responses({200: artifact_shapes.PromptConfigurationSerializer}, 404),
        tags=["artifacts"],
    )
    def get(self, request: Request, scope_id: str, prompt_key: str) -> Response:
        if prompt_key not in contents.PROMPT_KEYS:
            violation = Violation(
                type="enum", loc=("path", "prompt_key"), msg="Unknown prompt key"
            )
            raise InvalidRequest([violation])
        scope = self.scope(scope_id, Action.READ)
        try:
            view = reading.read_head_revision(
                scope=scope, family=limits.PROMPT, artifact_id=prompt_key
            )
        except ArtifactNotFound:
            view = None
        content = None if view is None else view.content
        return Response(
            {
                "scope_id": scope_id,
                "prompt_key": prompt_key,
                "status": "disabled",
                "reason": "provider_not_configured",
                "mode": "auto" if content is None else content["mode"],
                "artifact": view and wire.artifact_ref(view.artifact),
                "artifact_etag": view and writer.etag(view.artifact.revision),
                "effective": content
                and {
                    "instructions": content["instructions"],
                    "demonstrations": content["demonstrations"],
                },
                "builtin": None,
            }
        )
