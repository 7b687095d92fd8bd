"""The Django admin for operators who make and review data.

Every page that writes is a plain form and one call of `prepare.services`, so a fixture
made here obeys the same rules as a request over HTTP, and the search projection follows
in the same transaction. What was written is shown and never edited (C.1).
"""

from django.contrib import admin

# Django's autodiscovery imports this package; the imports register the pages.
from prepare.admin import (
    accounts,
    artifacts,
    review,
    revisions,
    scopes,
    sources,
    tokens,
)

__all__ = [
    "accounts",
    "artifacts",
    "review",
    "revisions",
    "scopes",
    "sources",
    "tokens",
]

admin.site.site_header = "PowerContext"
admin.site.site_title = "PowerContext"
admin.site.index_title = "Scopes, artifacts and review"
admin.site.site_url = None  # the Inspector has a link of its own (base_site.html)
