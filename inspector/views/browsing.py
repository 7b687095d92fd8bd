"""Scopes, their references, and what is stored in them."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from inspector import parameters
from inspector.forms.browsing import (
    ArtifactsFilter,
    CandidatesFilter,
    ScopesFilter,
    SearchForm,
)
from inspector.links import next_url, page_url
from inspector.presenting import browsing as lines
from inspector.presenting import graph
from inspector.presenting.revisions import read_content
from inspector.views.base import InspectorView
from prepare.models import Scope
from prepare.services import browsing, overview, searching
from prepare.services.access import Action
from prepare.services.runtime import configured_runtime
from prepare.services.scopes import authorized_scope
from prepare.services.stored import CandidateRecord, ScopeName, ScopeOverview

SEARCH_PAGE = 25


class ScopesView(InspectorView):
    """The Scopes that the person may read, and how they read each other."""

    def get(self, request: HttpRequest) -> HttpResponse:
        form = ScopesFilter(request.GET)
        if not form.is_valid():
            return self.page("scopes.html", status=422, form=form)
        beginning = form.cleaned_data["beginning"]
        after = parameters.optional(request, "after")
        listing = overview.list_scopes(
            principal=self.principal, beginning=beginning, after=after
        )
        cards = listing.cards
        names = [
            ScopeName(scope_id=card.scope_id, title=card.title) for card in cards.rows
        ]
        is_whole = len(cards.rows) == listing.total
        return self.page(
            "scopes.html",
            form=form,
            listing=listing,
            is_first=after is None,
            next_url=next_url("scopes", cards.last, beginning=beginning or None),
            first_url=page_url("scopes", beginning=beginning or None),
            drawing=graph.draw_scopes(names, listing.references) if is_whole else None,
            reading=graph.reading_lists(names, listing.references),
        )


class ScopeView(InspectorView):
    """One Scope: its neighbours and what it holds by family and state."""

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = overview.read_scope(
            principal=self.principal, scope_id=parameters.required(request, "scope")
        )
        names = _neighbours(scope)
        return self.page(
            "scope.html",
            scope=scope,
            scope_id=scope.scope_id,
            drawing=graph.draw_scopes(names, scope.references, focus=scope.scope_id),
            reading=graph.reading_lists(names, scope.references),
            has_neighbours=len(names) > 1,
        )


def _neighbours(scope: ScopeOverview) -> list[ScopeName]:
    """The Scope, those it reads, those that read it; each once."""
    own = ScopeName(scope_id=scope.scope_id, title=scope.title)
    return list(dict.fromkeys([own, *scope.reads, *scope.read_by.rows]))


class OfScopeView(InspectorView):
    """A page about something in the Scope that its address names."""

    def scope(self) -> Scope:
        return authorized_scope(
            scope_id=parameters.required(self.request, "scope"),
            principal=self.principal,
            action=Action.READ,
        )


class ArtifactsView(OfScopeView):
    """Heads of one Scope, the last changed first."""

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = self.scope()
        form = ArtifactsFilter(request.GET)
        shown: dict[str, Any] = {"scope_id": scope.scope_id, "form": form}
        if not form.is_valid():
            return self.page("artifacts.html", status=422, **shown)
        chosen: dict[str, Any] = {
            name: value or None for name, value in form.cleaned_data.items()
        }
        after = parameters.optional(request, "after")
        heads = browsing.list_heads(
            scope=scope, after=parameters.head_key(after), **chosen
        )
        return self.page(
            "artifacts.html",
            **shown,
            rows=lines.head_lines(heads.rows),
            is_first=after is None,
            is_filtered=any(chosen.values()),
            next_url=next_url(
                "artifacts",
                parameters.head_cursor(heads.last),
                scope=scope.scope_id,
                **chosen,
            ),
            first_url=page_url("artifacts", scope=scope.scope_id, **chosen),
        )


class SourcesView(OfScopeView):
    """Sources of one Scope, the newest first."""

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = self.scope()
        after = parameters.number(request, "after")
        sources = browsing.list_sources(scope=scope, before=after)
        return self.page(
            "sources.html",
            scope_id=scope.scope_id,
            rows=lines.source_lines(sources.rows),
            is_first=after is None,
            next_url=next_url("sources", sources.last, scope=scope.scope_id),
            first_url=page_url("sources", scope=scope.scope_id),
        )


class SearchView(InspectorView):
    """The search of prepare, in one family of one Scope. Words come by POST only."""

    def get(self, request: HttpRequest) -> HttpResponse:
        initial = {
            "scope": parameters.optional(request, "scope"),
            "family": parameters.optional(request, "family"),
        }
        return self.page("search.html", form=SearchForm(initial=initial))

    def post(self, request: HttpRequest) -> HttpResponse:
        form = SearchForm(request.POST)
        if not form.is_valid():
            return self.page("search.html", status=422, form=form)
        data = form.cleaned_data
        scope = authorized_scope(
            scope_id=data["scope"], principal=self.principal, action=Action.READ
        )
        result = searching.search_family(
            scope=scope,
            family=data["family"],
            query=data["words"],
            start=data["start"],
            size=SEARCH_PAGE,
            runtime=configured_runtime(),
        )
        return self.page(
            "search.html",
            form=form,
            scope_id=scope.scope_id,
            result=result,
            rows=lines.hit_lines(result),
            sent=data,
            next_start=data["start"] + SEARCH_PAGE if result.has_more else None,
        )


class CandidatesView(OfScopeView):
    """Proposals of one Scope, those awaiting review first."""

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = self.scope()
        form = CandidatesFilter(request.GET)
        shown: dict[str, Any] = {"scope_id": scope.scope_id, "form": form}
        if not form.is_valid():
            return self.page("candidates.html", status=422, **shown)
        status = form.cleaned_data["status"] or None
        after = parameters.optional(request, "after")
        found = browsing.list_proposals(
            scope=scope, status=status, after=parameters.candidate_key(after)
        )
        cursor = parameters.candidate_cursor(found.last)
        return self.page(
            "candidates.html",
            **shown,
            rows=lines.candidate_lines(found.rows),
            is_first=after is None,
            is_filtered=status is not None,
            next_url=next_url(
                "candidates", cursor, scope=scope.scope_id, status=status
            ),
            first_url=page_url("candidates", scope=scope.scope_id, status=status),
        )


class CandidateView(OfScopeView):
    """One proposal. Nothing is decided here: that is done in the admin."""

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = self.scope()
        record = browsing.inspect_candidate(
            scope=scope, candidate_id=parameters.required(request, "id")
        )
        return self.page(
            "candidate.html",
            scope_id=scope.scope_id,
            record=record,
            content=read_content(record.row.proposal),
            admin_url=_admin_url(request, record),
        )


def _admin_url(request: HttpRequest, record: CandidateRecord) -> str | None:
    """Where it is decided, for staff who may."""
    user = request.user
    may_decide = (
        user.is_active and user.is_staff and user.has_perm("prepare.change_candidate")
    )
    if not may_decide:
        return None
    return reverse("admin:prepare_candidate_change", args=[record.key])
