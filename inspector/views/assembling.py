"""Try a request, ask why something is not in it, and compare two."""

from django.http import HttpRequest, HttpResponse

from inspector.views.base import InspectorView


class TryView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("try.html")


class CompareView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("compare.html")
