"""Open a receipt, and verify a block of an agent's log.

Both read what is cited again, under the rights of the person now (R-205, R-213). What
was sent is held in memory for this answer and stored nowhere.
"""

from dataclasses import replace

from django import forms
from django.http import HttpRequest, HttpResponse

from inspector.forms.fields import source_field
from inspector.forms.receipts import BlockForm, ReceiptForm
from inspector.presenting.receipts import present_receipt
from inspector.presenting.verification import (
    ShownReport,
    present_blocks,
    present_content,
    present_report,
)
from inspector.views.base import InspectorView
from prepare.errors import InvalidRequest
from prepare.services.access import Principal
from prepare.services.verifying import verify_log, verify_receipt


class ReceiptView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("receipt.html", form=ReceiptForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        form = ReceiptForm(request.POST, request.FILES)
        if not form.is_valid():
            return _refused(self.page("receipt.html", form=form))
        content = form.content_value
        return self.page(
            "receipt.html",
            form=form,
            report=_verify(form, self.principal),
            shown=present_receipt(form.receipt_value),
            content=None if content is None else present_content(content),
        )


class BlockView(InspectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page("block.html", form=BlockForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        form = BlockForm(request.POST, request.FILES)
        if not form.is_valid():
            return _refused(self.page("block.html", form=form))
        try:
            blocks = verify_log(
                text=form.log,
                principal=self.principal,
                scope_id=form.cleaned_data["scope"] or None,
            )
        except InvalidRequest as error:
            field = source_field(form.cleaned_data, "text")
            form.add_error(field, forms.ValidationError(error.message))
            return _refused(self.page("block.html", form=form))
        return self.page("block.html", form=form, reports=present_blocks(blocks))


def _verify(form: ReceiptForm, principal: Principal) -> ShownReport:
    report = verify_receipt(
        content=form.content_value, receipt=form.receipt_value, principal=principal
    )
    problems = (*form.problems, *report.problems)
    return present_report(replace(report, problems=problems))


def _refused(page: HttpResponse) -> HttpResponse:
    page.status_code = 422
    return page
