"""How pages show stored text, times, sizes and addresses."""

from datetime import datetime

from django import template
from django.utils.html import format_html

from inspector.links import page_url
from prepare.services.text import escape_body

register = template.Library()


@register.filter
def visible(value: object) -> str:
    r"""Stored text with controls and bidi marks as `\u202e`: nothing hides the rest."""
    return escape_body(str(value))


@register.filter
def text(value: object) -> str:
    """`visible`, kept apart from the direction of the words around it."""
    return format_html("<bdi>{}</bdi>", escape_body(str(value)))


@register.filter
def utc(moment: datetime | None) -> str:
    """To the second, with its zone (C-62)."""
    if moment is None:
        return "–"
    return format_html(
        '<time datetime="{}">{} UTC</time>',
        f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        f"{moment:%Y-%m-%d %H:%M:%S}",
    )


@register.filter
def grouped(number: int) -> str:
    """12345 as 12,345 in every language: sizes are compared, not read aloud."""
    return f"{number:,}"


@register.simple_tag
def page(name: str, **parameters: object) -> str:
    """The address of an Inspector page with these parameters."""
    return page_url(name, **parameters)
