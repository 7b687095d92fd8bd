"""Addresses of pages that show one stored thing. No query or token is ever in one."""

from urllib.parse import urlencode

from django.urls import reverse

from prepare.values import Identity


def page_url(name: str, **parameters: object) -> str:
    """The page of this name; parameters that are None are left out."""
    given = {key: value for key, value in parameters.items() if value is not None}
    url = reverse(f"inspector:{name}")
    return f"{url}?{urlencode(given)}" if given else url


def next_url(
    name: str, last: object, key: str = "after", /, **parameters: object
) -> str | None:
    """Where a list goes on after its row `last`; None if nothing follows."""
    return None if last is None else page_url(name, **parameters, **{key: last})


def revision_url(identity: Identity) -> str:
    """The exact read of a citation."""
    artifact = identity.artifact
    return page_url(
        "revision",
        scope=identity.scope_id,
        family=artifact.family,
        id=artifact.artifact_id,
        revision=artifact.revision,
        entry=identity.entry_id,
        entry_version=identity.entry_version_id,
    )


def source_url(scope_id: str, source_type: str, source_id: str) -> str:
    return page_url("source", scope=scope_id, type=source_type, id=source_id)
