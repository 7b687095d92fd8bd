"""One exact revision, Memory collection entry or Source (R-205 to R-213)."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from inspector import parameters
from inspector.links import next_url, page_url, revision_url
from inspector.presenting import revisions as parts
from inspector.views.base import InspectorView
from prepare.errors import Forbidden, NotFound
from prepare.handlers import status_of
from prepare.services import inspecting
from prepare.services.access import Action
from prepare.services.inspecting import Inspected
from prepare.services.scopes import authorized_scope
from prepare.values import Identity, SourceRef


class ExactView(InspectorView):
    """What cannot be read is a state of its own, and nothing else in its place."""

    def unavailable(
        self,
        error: Forbidden | NotFound,
        scope_id: str,
        *,
        identity: Identity | None = None,
        source: SourceRef | None = None,
    ) -> HttpResponse:
        """403 or 404 with what was asked for: never the head instead (R-211, R-212)."""
        return self.page(
            "unavailable.html",
            status=status_of(error),
            error=error,
            is_forbidden=isinstance(error, Forbidden),
            scope_id=scope_id,
            source=source,
            citation=identity and parts.citation_lines(identity),
        )


class RevisionView(ExactView):
    def get(self, request: HttpRequest) -> HttpResponse:
        identity = parameters.identity(request)
        before = parameters.number(request, "before")
        after = parameters.optional(request, "after")
        try:
            scope = authorized_scope(
                scope_id=identity.scope_id, principal=self.principal, action=Action.READ
            )
            found = inspecting.inspect(
                scope=scope,
                identity=identity,
                revisions_before=before,
                entries_after=after,
            )
        except (Forbidden, NotFound) as error:
            return self.unavailable(error, identity.scope_id, identity=identity)
        return self.page(
            "revision.html",
            scope_id=scope.scope_id,
            identity=identity,
            record=found.revision,
            manifest=found.manifest,
            entry=found.entry,
            is_entry=identity.entry_id is not None,
            content=parts.read_content(found.revision.content),
            citation=parts.citation_lines(identity),
            is_first=before is None,
            is_first_entries=after is None,
            **_addresses(identity, found),
        )


def _addresses(identity: Identity, found: Inspected) -> dict[str, Any]:
    """Of the next pages of the two lists, and of the artifact's newest revision."""
    artifact = identity.artifact
    here = {
        "scope": identity.scope_id,
        "family": artifact.family,
        "id": artifact.artifact_id,
    }
    exact = here | {
        "revision": artifact.revision,
        "entry": identity.entry_id,
        "entry_version": identity.entry_version_id,
    }
    older = found.revision.revisions.last
    further = None if found.manifest is None else found.manifest.entries.last
    return {
        "url": revision_url(identity),
        "older_url": next_url("revision", older, "before", **exact),
        "further_url": next_url("revision", further, "after", **exact),
        "head_url": page_url("revision", **here, revision=found.revision.head_revision),
    }


class SourceView(ExactView):
    def get(self, request: HttpRequest) -> HttpResponse:
        scope_id = parameters.required(request, "scope")
        source = parameters.source_of(request)
        try:
            scope = authorized_scope(
                scope_id=scope_id, principal=self.principal, action=Action.READ
            )
            record = inspecting.inspect_source(scope=scope, source=source)
        except (Forbidden, NotFound) as error:
            return self.unavailable(error, scope_id, source=source)
        return self.page(
            "source.html",
            scope_id=scope_id,
            record=record,
            content=parts.read_source_content(record.content),
            metadata=parts.read_metadata(record.metadata),
        )
