"""One exact revision, Memory collection entry or Source."""

from django.http import HttpRequest, HttpResponse

from inspector.views.base import InspectorView


class RevisionView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("revision.html")


class SourceView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("source.html")
