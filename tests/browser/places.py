"""Every page of the Inspector on the hostile data, and how a person comes to it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.links import page_url, revision_url, source_url
from prepare.values import ArtifactRef, Identity
from tests.browser import hostile, pasted
from tests.browser.installing import Site


@dataclass(frozen=True, kw_only=True)
class Place:
    """An address, and what is filled into its form, if the page is what a form answers.

    `follow` is a link of that page which leads to this one.
    `shows` is text that the page must show as it is written.
    """

    name: str
    address: str
    form: Callable[[Site], Mapping[str, Any]] | None = None
    status: int = 200
    follow: str = ""
    shows: str = ""

    def __str__(self) -> str:
        return self.name


def _revision(family: str, artifact_id: str, revision: int = 1, **entry: str) -> str:
    artifact = ArtifactRef(family=family, artifact_id=artifact_id, revision=revision)
    return revision_url(Identity(scope_id=hostile.SCOPE, artifact=artifact, **entry))


_IN_SCOPE = {"scope": hostile.SCOPE}
_BRACES = "{{7*7}}"

BROWSING = (
    Place(name="scopes", address=page_url("scopes"), shows=_BRACES),
    Place(name="scope", address=page_url("scope", **_IN_SCOPE), shows=_BRACES),
    Place(name="artifacts", address=page_url("artifacts", **_IN_SCOPE), shows=_BRACES),
    Place(name="search form", address=page_url("search", **_IN_SCOPE)),
    Place(
        name="search",
        address=page_url("search", **_IN_SCOPE),
        form=pasted.search,
        shows=_BRACES,
    ),
    Place(
        name="search in vain",
        address=page_url("search", **_IN_SCOPE),
        form=pasted.search_in_vain,
    ),
    Place(name="sources", address=page_url("sources", **_IN_SCOPE), shows=_BRACES),
    Place(name="candidates", address=page_url("candidates", **_IN_SCOPE)),
    Place(
        name="candidate",
        address=page_url("candidates", **_IN_SCOPE),
        follow='main a[href*="/candidate?"]',
        shows=_BRACES,
    ),
)
_REVISIONS = {
    "an atomic memory": _revision("atomic-memory", hostile.ATOMIC),
    "an atomic memory's head": _revision("atomic-memory", hostile.ATOMIC, 2),
    "a forgotten memory": _revision("atomic-memory", hostile.FORGOTTEN),
    "a retired memory": _revision("atomic-memory", hostile.RETIRED),
    "a merged memory": _revision("atomic-memory", hostile.MERGED),
    "a merge": _revision("atomic-memory", hostile.TARGET),
    "an experience": _revision("experience", hostile.EXPERIENCE),
    "a topic": _revision("topic-memory", hostile.TOPIC),
    "a profile": _revision("profile", "profile"),
    "a prompt": _revision("prompt", hostile.PROMPT),
    "a collection": _revision("memory", hostile.COLLECTION),
    "an entry": _revision(
        "memory",
        hostile.COLLECTION,
        entry_id=hostile.ENTRY,
        entry_version_id=f"{hostile.ENTRY_VERSION}1",
    ),
}
REVISIONS = (
    *(
        Place(name=f"revision of {name}", address=address, shows=_BRACES)
        for name, address in _REVISIONS.items()
    ),
    Place(name="a long word", address=_revision("atomic-memory", "long")),
)
SOURCES = tuple(
    Place(
        name=f"source {name}",
        address=source_url(hostile.SCOPE, hostile.SOURCE_TYPE, source_id),
    )
    for name, source_id in {
        "text": hostile.SOURCE,
        "object": "object",
        "long": "long",
    }.items()
)
FORMS = tuple(
    Place(name=f"{name} form", address=page_url(name))
    for name in ("try", "compare", "receipt", "block")
)
REQUESTS = tuple(
    Place(name=name, address=page_url(page), form=form, status=status, shows=shows)
    for name, page, form, status, shows in (
        ("try, receipt dropped", "try", pasted.request_dropped, 200, _BRACES),
        ("try, with receipt", "try", pasted.request, 200, _BRACES),
        ("try, envelope", "try", pasted.request_envelope, 200, _BRACES),
        ("try, nothing found", "try", pasted.request_in_vain, 200, ""),
        ("try, refused", "try", pasted.request_refused, 422, ""),
        ("why not, forgotten", "try", pasted.why_forgotten, 200, _BRACES),
        ("why not, selected", "try", pasted.why_selected, 200, _BRACES),
        ("why not, secret", "try", pasted.why_secret, 200, _BRACES),
        ("compare, forms", "compare", pasted.comparison, 200, _BRACES),
    )
)
RECEIPTS = tuple(
    Place(name=name, address=page_url("receipt"), form=form, status=status)
    for name, form, status in (
        ("own receipt", pasted.own_receipt, 200),
        ("full receipt", pasted.full, 200),
        ("hostile receipt", pasted.hostile_receipt, 200),
        ("broken receipt", pasted.broken_receipt, 422),
        ("no receipt", pasted.no_receipt, 422),
    )
)
BLOCKS = tuple(
    Place(name=name, address=page_url("block"), form=form)
    for name, form in (
        ("own block", pasted.own_block),
        ("own envelope", pasted.own_envelope),
        ("forged block", pasted.forged_block),
        ("no block", pasted.no_block),
    )
)
ERRORS = (
    Place(
        name="403 secret Scope",
        address=page_url("scope", scope=hostile.SECRET),
        status=403,
    ),
    Place(
        name="403 no such Scope",
        address=page_url("scope", scope=hostile.LINE),
        status=403,
    ),
    Place(
        name="404 revision",
        address=_revision("atomic-memory", hostile.ATOMIC, 99),
        status=404,
    ),
    Place(name="404 family", address=_revision(hostile.ID, hostile.ATOMIC), status=404),
    Place(name="404 page", address="/inspector/<b>/%22%3E{{7*7}}", status=404),
)


def every() -> Iterator[Place]:
    yield from (
        *BROWSING,
        *REVISIONS,
        *SOURCES,
        *FORMS,
        *REQUESTS,
        *RECEIPTS,
        *BLOCKS,
        *ERRORS,
    )
