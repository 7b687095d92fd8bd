"""Filters of lists (sent by GET: no query text) and the search (sent by POST)."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from inspector.words import STATES
from prepare import limits
from prepare.services import stored

_ANY = ("", _("any"))
# Django's own words would repeat what was sent.
_NO_CHOICE = {"invalid_choice": _("Choose one of the list.")}


class ScopesFilter(forms.Form):
    """`%` and `_` are no wildcards (C-49)."""

    beginning = forms.CharField(
        label=_("Id or title begins with"),
        required=False,
        max_length=limits.TITLE_CHARS,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )


class ArtifactsFilter(forms.Form):
    family = forms.ChoiceField(
        label=_("Family"),
        required=False,
        choices=[_ANY, *((name, name) for name in limits.STORED_FAMILIES)],
        error_messages=_NO_CHOICE,
    )
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[_ANY, *((name, STATES[name]) for name in stored.STATES)],
        error_messages=_NO_CHOICE,
    )
    day = forms.DateField(
        label=_("Last changed on (UTC)"),
        required=False,
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": _("Write a day as 2026-03-31.")},
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )


class CandidatesFilter(forms.Form):
    status = forms.ChoiceField(
        label=_("Status"),
        required=False,
        choices=[_ANY, *((name, STATES[name]) for name in stored.STATUSES)],
        error_messages=_NO_CHOICE,
    )


class SearchForm(forms.Form):
    """`start` is how many of the best results are left out; a button sends it."""

    scope = forms.CharField(
        label=_("Scope id"),
        strip=False,
        max_length=limits.SCOPE_ID_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    family = forms.ChoiceField(
        label=_("Look in"),
        choices=[
            (limits.MEMORY, _("memories, entries of Memory collections too")),
            (limits.EXPERIENCE, _("experiences")),
            (limits.TOPIC_MEMORY, _("topic memories")),
        ],
        error_messages=_NO_CHOICE,
    )
    words = forms.CharField(
        label=_("Words"),
        max_length=limits.QUERY_CHARS,
        help_text=_("Any words: they are looked for, best match first."),
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )
    start = forms.IntegerField(
        required=False, min_value=0, max_value=1000, widget=forms.HiddenInput
    )

    def clean_start(self) -> int:
        start: Any = self.cleaned_data["start"]
        return start or 0
