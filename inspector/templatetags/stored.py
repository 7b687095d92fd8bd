"""How pages show what is stored: states, parts of a content, pieces of lists."""

from typing import Any

from django import template
from django.utils.html import format_html

from inspector.words import MOODS, PARTS, STATES
from prepare.services.text import escape_body

register = template.Library()


@register.filter
def badge(state: str) -> str:
    """The word of a state in its colour."""
    return format_html(
        '<span class="badge {}">{}</span>',
        MOODS.get(state, ""),
        STATES.get(state) or escape_body(state),
    )


@register.filter
def part_label(name: str) -> str:
    """A part of a content by its name; an unknown one is its own name."""
    known = PARTS.get(name)
    return str(known) if known is not None else escape_body(name)


@register.inclusion_tag("inspector/parts/artifact_link.html")
def artifact_link(scope_id: str, artifact: Any) -> dict[str, Any]:
    """The exact revision as a link; `artifact` is an `ArtifactRef`."""
    return {"scope_id": scope_id, "artifact": artifact}


@register.inclusion_tag("inspector/parts/source_link.html")
def source_link(scope_id: str, source: Any) -> dict[str, Any]:
    """`source` is a `SourceRef`."""
    return {"scope_id": scope_id, "source": source}
