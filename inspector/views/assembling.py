"""Try a request, ask why something is not in it, and compare two.

The forms are POST and answer with the page itself: no query is ever in a URL, and
nothing is stored (J-14).
"""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _

from inspector.forms.assembling import (
    ENVELOPE,
    SCOPES_LISTED,
    QueryForm,
    VariantForm,
    WantedForm,
    read_request,
)
from inspector.presenting.comparing import compare_results
from inspector.presenting.content import Result, present_result
from inspector.presenting.receipts import present_receipt
from inspector.views.base import InspectorView
from prepare.errors import (
    Forbidden,
    InvalidRequest,
    NotFound,
    NotReady,
    PowerContextError,
)
from prepare.handlers import status_of
from prepare.services.access import Action, scopes_with
from prepare.services.runtime import configured_runtime
from prepare.services.trying import try_request
from prepare.services.variants import SectionCost, prepare_variants

# What a person can answer with another request; everything else is an error page.
REFUSALS = (InvalidRequest, Forbidden, NotFound, NotReady)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two that are compared."""

    letter: str
    result: Result
    costs: tuple[SectionCost, ...]


class AssemblingView(InspectorView):
    """What both pages share: Scope and query, and refusals beside what was typed."""

    template = ""

    def query_form(self, request: HttpRequest) -> QueryForm:
        scopes = scopes_with(self.principal, Action.READ).order_by("scope_id")
        return QueryForm(
            _data(request),
            initial={"scope_id": request.GET.get("scope", "")},
            scopes=list(scopes.values_list("scope_id", "title")[: SCOPES_LISTED + 1]),
        )

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        response = self.page(self.template, **context)
        response.status_code = status
        return response

    def refuse(
        self, error: PowerContextError, query: QueryForm, **forms: Any
    ) -> HttpResponse:
        """The request was well formed, and the service refused it."""
        message = error.message
        if isinstance(error, InvalidRequest):
            highest = configured_runtime().assembly_max_entries
            message = _("The limits of all sections may add up to %(highest)s.") % {
                "highest": highest
            }
        query.add_error(None, f"{message} ({error.code})")
        response = self.show(status=status_of(error), query=query, **forms)
        if response.status_code == 503:
            response["Retry-After"] = "1"
        return response


def _data(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


class TryView(AssemblingView):
    template = "try.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show(**self._forms(request))

    def post(self, request: HttpRequest) -> HttpResponse:
        forms = self._forms(request)
        query, [variant], wanted = forms["query"], forms["variants"], forms["wanted"]
        asked = read_request(query, variant)
        identity = None
        if wanted.is_valid():
            # A request that was refused names no Scope; the identity is not used then.
            scope_id = "-" if asked is None else asked.scope_id
            identity = wanted.read_identity(scope_id=scope_id)
        if asked is None or wanted.errors:
            return self.show(status=422, **forms)
        try:
            tried = try_request(
                asked,
                wanted=identity,
                principal=self.principal,
                runtime=configured_runtime(),
            )
        except REFUSALS as error:
            return self.refuse(error, **forms)
        receipt = tried.prepared.receipt
        return self.show(
            **forms,
            result=present_result(asked, tried.prepared, tried.ranks),
            answer=tried.answer,
            shown=None if receipt is None else present_receipt(receipt),
            scope_id=asked.scope_id,
        )

    def _forms(self, request: HttpRequest) -> dict[str, Any]:
        """A link may name a Scope and an identity, in the words of a revision's page;
        never a query."""
        data = _data(request)
        named = {name: request.GET.get(name, "") for name in WantedForm.NAMES}
        is_identity = bool(named["id"])
        return {
            "query": self.query_form(request),
            "variants": [VariantForm(data)],
            "wanted": WantedForm(data, initial=named if is_identity else {}),
        }


class CompareView(AssemblingView):
    template = "compare.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show(**self._forms(request))

    def post(self, request: HttpRequest) -> HttpResponse:
        forms = self._forms(request)
        asked = [read_request(forms["query"], form) for form in forms["variants"]]
        requests = [one for one in asked if one is not None]
        if len(requests) < len(asked):
            return self.show(status=422, **forms)
        try:
            variants = prepare_variants(
                requests, principal=self.principal, runtime=configured_runtime()
            )
        except REFUSALS as error:
            return self.refuse(error, **forms)
        first, second = (
            Side(
                letter=letter,
                result=present_result(variant.request, variant.prepared),
                costs=variant.costs,
            )
            for letter, variant in zip("AB", variants, strict=True)
        )
        return self.show(
            **forms,
            sides=(first, second),
            changes=compare_results(first.result, second.result),
        )

    def _forms(self, request: HttpRequest) -> dict[str, Any]:
        data = _data(request)
        return {
            "query": self.query_form(request),
            "variants": [
                VariantForm(data, prefix="a"),
                VariantForm(data, prefix="b", initial={"form": ENVELOPE}),
            ],
        }
