"""Paths of the contract (reference: wire facts). No path ends in a slash (J-16)."""

from django.urls import path, re_path, register_converter

from prepare.middleware import ENCODED_SLASH
from prepare.views import artifacts, context, memory, review, scopes, sources, system


class SegmentConverter:
    """One path segment; an encoded slash inside it comes back as a slash."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        return value.replace(ENCODED_SLASH, "/")

    def to_url(self, value: str) -> str:
        return value


register_converter(SegmentConverter, "segment")

_ARTIFACT = "v1/scopes/<segment:scope_id>/artifacts/<segment:family>"
_ARTIFACT_ID = f"{_ARTIFACT}/<segment:artifact_id>"

urlpatterns = [
    path("health/live", system.LivenessView.as_view()),
    path("health/ready", system.ReadinessView.as_view()),
    path("openapi.json", system.OpenAPIView.as_view(), name="openapi"),
    path("docs", system.DocsView.as_view()),
    path("metrics", system.MetricsView.as_view()),
    path("v1/capabilities", system.CapabilitiesView.as_view()),
    path("v1/server-info", system.ServerInfoView.as_view()),
    path("v1/context/prepare", context.PrepareContextView.as_view()),
    path("v1/scopes", scopes.ScopesView.as_view()),
    path("v1/scopes/default", scopes.DefaultScopeView.as_view()),
    path("v1/scopes/<segment:scope_id>", scopes.ScopeView.as_view()),
    path("v1/scope-bindings", scopes.ScopeBindingsView.as_view()),
    path("v1/scope-bindings/clear", scopes.ClearScopeBindingView.as_view()),
    path("v1/scope-bindings/resolve", scopes.ResolveScopeBindingView.as_view()),
    path(
        "v1/scopes/<segment:scope_id>/artifacts", artifacts.CreateArtifactView.as_view()
    ),
    path(_ARTIFACT, artifacts.ArtifactListView.as_view()),
    path(
        "v1/scopes/<segment:scope_id>/artifacts/atomic-memory/<segment:artifact_id>"
        "/state",
        memory.AtomicMemoryStateView.as_view(),
    ),
    path(_ARTIFACT_ID, artifacts.ArtifactView.as_view()),
    path(f"{_ARTIFACT_ID}/revisions", artifacts.RevisionListView.as_view()),
    path(
        f"{_ARTIFACT_ID}/revisions/<int:revision>",
        artifacts.ExactRevisionView.as_view(),
    ),
    path(
        "v1/scopes/<segment:scope_id>/prompts/<segment:prompt_key>",
        review.PromptView.as_view(),
    ),
    path("v1/scopes/<segment:scope_id>/sources", sources.SourcesView.as_view()),
    path(
        "v1/scopes/<segment:scope_id>/sources/<segment:source_type>"
        "/<segment:source_id>",
        sources.SourceView.as_view(),
    ),
    path("v1/sources/content", sources.CaptureContentSourceView.as_view()),
    path("v1/memory/remember", memory.RememberView.as_view()),
    path("v1/memory/search", memory.MemorySearchView.as_view()),
    path("v1/memory/entries/list", memory.MemoryEntryListView.as_view()),
    path("v1/memory/entries/get", memory.MemoryEntryView.as_view()),
    path("v1/atomic-memory/list", memory.AtomicMemoryListView.as_view()),
    path("v1/atomic-memory/search", memory.AtomicMemorySearchView.as_view()),
    path("v1/atomic-memory/lifecycle", memory.AtomicMemoryLifecycleView.as_view()),
    path("v1/atomic-memory/merges", memory.AtomicMemoryMergeView.as_view()),
    path("v1/experience/propose", review.ProposeExperienceView.as_view()),
    path("v1/experience/get", review.ExperienceView.as_view()),
    path("v1/topic-memory/search", review.TopicMemorySearchView.as_view()),
    path("v1/topic-memory/get", review.TopicMemoryView.as_view()),
    path("v1/candidates/list", review.CandidateListView.as_view()),
    path("v1/candidates/get", review.CandidateView.as_view()),
    path("v1/candidates/approve", review.ApproveCandidateView.as_view()),
    path("v1/candidates/reject", review.RejectCandidateView.as_view()),
    re_path("", system.UnknownPathView.as_view()),  # stays last
]
