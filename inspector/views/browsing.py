"""Scopes, their references, and what is stored in them."""

from django.http import HttpRequest, HttpResponse

from inspector.views.base import InspectorView


class ScopesView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("scopes.html")


class ScopeView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("scope.html")


class ArtifactsView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("artifacts.html")


class SearchView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("search.html")


class CandidatesView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("candidates.html")


class CandidateView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("candidate.html")
