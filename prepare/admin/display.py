"""How stored text is shown: readable, escaped, with invisible characters visible.

HTML is only ever put together by `format_html`; a stored value is never markup.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from prepare.models import ArtifactRevision, Source
from prepare.services.text import escape_body

ABSENT = "–"
# Stored JSON is sorted by key; people read these in the order they are written.
_READING_ORDER = (
    "schema",
    "schema_version",
    "kind",
    "text",
    "situation",
    "action",
    "outcome",
    "lesson",
    "title",
    "summary",
    "detail",
    "mode",
    "instructions",
    "demonstrations",
)


def show_text(value: str) -> str:
    """`value` with controls and bidi marks as `\\u202e`; they would hide the rest."""
    return escape_body(value)


def show_time(moment: datetime | None) -> str:
    """UTC to the second (TIME_ZONE and the stored times are UTC)."""
    return ABSENT if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}Z"


def show_json(content: str) -> str:
    """Stored JSON: an object key by key, its texts with their real line breaks."""
    value = json.loads(content)
    parts = value if isinstance(value, Mapping) else {"": value}
    ordered = [key for key in _READING_ORDER if key in parts]
    ordered += [key for key in parts if key not in ordered]
    return format_html(
        '<div class="stored-content">{}</div>',
        format_html_join(
            "",
            '<div class="stored-key">{}</div><pre>{}</pre>',
            ((show_text(key), show_text(_pretty(parts[key]))) for key in ordered),
        ),
    )


def show_body(text: str) -> str:
    """One stored text with its own line breaks."""
    return format_html(
        '<div class="stored-content"><pre>{}</pre></div>', show_text(text)
    )


def _pretty(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)


def admin_url(row: Model, page: str = "change") -> str:
    return reverse(f"admin:prepare_{row._meta.model_name}_{page}", args=[row.pk])


def list_url(model_name: str, **filters: object) -> str:
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    path = reverse(f"admin:prepare_{model_name}_changelist")
    return f"{path}?{query}" if query else path


def inspector_url(page: str, **parameters: object) -> str:
    """A page of the Inspector, by name: it stands on us, not we on it."""
    return f"{reverse(f'inspector:{page}')}?{urlencode(parameters)}"


def inspect_revision(row: ArtifactRevision, **entry: str) -> str:
    """Where the Inspector shows exactly this revision, or entry of it."""
    head = row.artifact
    return inspector_url(
        "revision",
        scope=head.scope.scope_id,
        family=head.family,
        id=head.artifact_id,
        revision=row.revision,
        **entry,
    )


def link(url: str, label: object) -> str:
    return format_html('<a href="{}">{}</a>', url, label)


def show_links(rows: Iterable[tuple[str, str]]) -> str:
    """(url, label) pairs as one column of links."""
    return (
        format_html_join(
            "", '<div><a href="{}">{}</a></div>', ((url, label) for url, label in rows)
        )
        or ABSENT
    )


def revision_label(row: ArtifactRevision) -> str:
    """`family/artifact_id@revision`; the artifact must be loaded."""
    head = row.artifact
    return f"{head.family}/{head.artifact_id}@{row.revision}"


def show_lineage(row: ArtifactRevision) -> str:
    """What a revision was made from, in order (contract C.1)."""
    links = [
        (admin_url(link.source), source_label(link.source))
        for link in row.source_evidence.select_related("source").order_by("position")
    ]
    links += [
        (admin_url(link.target), revision_label(link.target))
        for link in row.artifact_evidence.select_related("target__artifact").order_by(
            "position"
        )
    ]
    return show_links(links)


def show_labels(labels: Iterable[str]) -> str:
    rows = ((show_text(label),) for label in labels)
    return format_html_join("", "<div>{}</div>", rows) or ABSENT


def source_label(source: Source) -> str:
    return show_text(f"{source.source_type}/{source.source_id}")
