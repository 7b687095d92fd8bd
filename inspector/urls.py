"""Pages of the Inspector. Identities travel in query strings: a proxy may decode an
encoded slash inside a path, and then ids with slashes are lost (C-57)."""

from django.urls import include, path, re_path

from inspector.errorpages import not_found
from inspector.views import assembling, browsing, receipts, revisions, signing

app_name = "inspector"

pages = [
    path("", browsing.ScopesView.as_view(), name="scopes"),
    path("scope", browsing.ScopeView.as_view(), name="scope"),
    path("artifacts", browsing.ArtifactsView.as_view(), name="artifacts"),
    path("sources", browsing.SourcesView.as_view(), name="sources"),
    path("search", browsing.SearchView.as_view(), name="search"),
    path("candidates", browsing.CandidatesView.as_view(), name="candidates"),
    path("candidate", browsing.CandidateView.as_view(), name="candidate"),
    path("revision", revisions.RevisionView.as_view(), name="revision"),
    path("source", revisions.SourceView.as_view(), name="source"),
    path("try", assembling.TryView.as_view(), name="try"),
    path("compare", assembling.CompareView.as_view(), name="compare"),
    path("receipt", receipts.ReceiptView.as_view(), name="receipt"),
    path("block", receipts.BlockView.as_view(), name="block"),
    path("sign-in", signing.SignInView.as_view(), name="sign-in"),
    path("sign-out", signing.SignOutView.as_view(), name="sign-out"),
    path("language", signing.choose_language, name="language"),
    re_path("", not_found),  # stays last
]

urlpatterns = [
    path("inspector/", include(pages)),
    path("inspector", browsing.ScopesView.as_view()),
]
