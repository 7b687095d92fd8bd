"""Open a receipt, and verify a block of an agent's log."""

from django.http import HttpRequest, HttpResponse

from inspector.views.base import InspectorView


class ReceiptView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("receipt.html")


class BlockView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("block.html")
