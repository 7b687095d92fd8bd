"""The forms of Try and Compare. They spell a wire request; the API's parser judges it.

Everything typed is kept as typed, so that a refused form comes back as it was sent.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from inspector.forms.citations import CitationRefused, as_identity, read_identity
from prepare import limits
from prepare.errors import InvalidRequest, Violation
from prepare.services.checking import Citation
from prepare.services.text import escape_body
from prepare.values import (
    ArtifactRef,
    Identity,
    PrepareRequest,
    parse_prepare_request,
)

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    Words = str | _StrPromise

TEXT, ENVELOPE = "text", "envelope"
FAMILY_TITLES = {
    limits.MEMORY: gettext_lazy("Memory"),
    limits.EXPERIENCE: gettext_lazy("Experience"),
    limits.PROFILE: gettext_lazy("Profile"),
    limits.TOPIC_MEMORY: gettext_lazy("Topic memory"),
}
_DEFAULT_LIMITS = dict(limits.DEFAULT_SECTIONS)
# Readable Scopes that a list offers; beyond these the id is typed, with suggestions.
SCOPES_LISTED = 200


def _text(
    label: "Words", widget: forms.Widget | None = None, **options: Any
) -> forms.CharField:
    """A field that changes nothing of what is typed; the wire parser checks it."""
    return forms.CharField(
        label=label, widget=widget, required=False, strip=False, **options
    )


def _integer(typed: str) -> int | str:
    """A number as JSON has it; anything else stays text, for the parser to refuse."""
    bare = typed.strip()
    return int(bare) if re.fullmatch(r"-?[0-9]{1,9}", bare) else typed


def _typed(value: str) -> str:
    """Browsers send CRLF for the line feeds of a text."""
    return value.replace("\r\n", "\n")


class QueryForm(forms.Form):
    """`scopes` are (id, title) of readable Scopes, at most one more than are listed."""

    scope_id = _text(gettext_lazy("Scope"))
    query = _text(
        gettext_lazy("Query"),
        forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("What the host would send before a turn."),
    )

    def __init__(
        self, *arguments: Any, scopes: Sequence[tuple[str, str]], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.suggestions: Sequence[tuple[str, str]] = ()
        if len(scopes) > SCOPES_LISTED:
            self.suggestions = scopes[:SCOPES_LISTED]
            attributes = {"list": "scopes", "autocomplete": "off"}
            self.fields["scope_id"].widget = forms.TextInput(attrs=attributes)
            self.fields["scope_id"].help_text = _(
                "Type the id; the first Scopes are suggested."
            )
        else:
            self.fields["scope_id"].widget = forms.Select(choices=self._choices(scopes))

    def _choices(self, scopes: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """What was sent stays chosen, also if it is none that may be read."""
        choices = [("", "–")]
        choices += [(name, escape_body(f"{name} – {title}")) for name, title in scopes]
        sent = self["scope_id"].value() or ""
        if sent not in dict(choices):
            choices.append((sent, escape_body(sent)))
        return choices

    @property
    def wire(self) -> dict[str, Any]:
        return {
            "scope_id": _typed(self.cleaned_data["scope_id"]),
            "query": _typed(self.cleaned_data["query"]),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRow:
    """The fields of one section, side by side."""

    family: str
    title: "Words"
    use: forms.BoundField
    order: forms.BoundField
    limit: forms.BoundField


def _key(family: str) -> str:
    return family.replace("-", "_")


class VariantForm(forms.Form):
    """Budget, form and sections of one request."""

    max_bytes = _text(
        gettext_lazy("Budget in bytes"),
        forms.NumberInput(
            attrs={"min": limits.MAX_BYTES_LOWEST, "max": limits.MAX_BYTES_HIGHEST}
        ),
        initial=str(limits.MAX_BYTES_DEFAULT),
        help_text=gettext_lazy("512 to 32,768; the whole content stays within it."),
    )
    form = forms.ChoiceField(
        label=gettext_lazy("Form of the output"),
        choices=[
            (TEXT, gettext_lazy("Text with sections")),
            (ENVELOPE, gettext_lazy("JSON envelope (no assembly)")),
        ],
        widget=forms.RadioSelect,
        initial=TEXT,
    )
    show_confidence = forms.BooleanField(
        label=gettext_lazy("Show the confidence line"), required=False
    )
    show_recall_rank = forms.BooleanField(
        label=gettext_lazy("Show the recall rank"), required=False
    )
    include_code = forms.BooleanField(
        label=gettext_lazy("Ask for code evidence"), required=False
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for order, (family, title) in enumerate(FAMILY_TITLES.items(), start=1):
            highest = limits.SECTION_LIMITS[family]
            self._add_family(family, title, order, highest)

    def _add_family(
        self, family: str, title: "Words", order: int, highest: int
    ) -> None:
        limit = _DEFAULT_LIMITS.get(family, min(2, highest))
        self.fields[f"use_{_key(family)}"] = forms.BooleanField(
            label=title, required=False, initial=family in _DEFAULT_LIMITS
        )
        self.fields[f"order_{_key(family)}"] = _text(
            format_lazy("{}: {}", title, gettext_lazy("order")),
            forms.NumberInput(attrs={"min": 1, "max": 99}),
            initial=str(order),
        )
        self.fields[f"limit_{_key(family)}"] = _text(
            format_lazy("{}: {}", title, gettext_lazy("limit")),
            forms.NumberInput(attrs={"min": 1, "max": highest}),
            initial=str(limit),
        )

    @property
    def rows(self) -> list[FamilyRow]:
        return [
            FamilyRow(
                family=family,
                title=title,
                use=self[f"use_{_key(family)}"],
                order=self[f"order_{_key(family)}"],
                limit=self[f"limit_{_key(family)}"],
            )
            for family, title in FAMILY_TITLES.items()
        ]

    def clean(self) -> dict[str, Any]:
        for family in self._used():
            name = f"order_{_key(family)}"
            if not isinstance(_integer(self.cleaned_data.get(name, "")), int):
                self.add_error(name, _("An order is a whole number."))
        return self.cleaned_data

    def _used(self) -> list[str]:
        """Included families; those of equal order stay in the order of the table."""
        if self.cleaned_data.get("form") != TEXT:
            return []
        return [
            family
            for family in FAMILY_TITLES
            if self.cleaned_data.get(f"use_{_key(family)}")
        ]

    @property
    def families(self) -> list[str]:
        """In the order of the sections; only of a form without errors of its own."""

        def order(family: str) -> int:
            number = _integer(self.cleaned_data[f"order_{_key(family)}"])
            return number if isinstance(number, int) else 0

        return sorted(self._used(), key=order)

    @property
    def wire(self) -> dict[str, Any]:
        """An empty budget is an omitted one."""
        typed = self.cleaned_data
        wire: dict[str, Any] = {"include_code": typed["include_code"]}
        if typed["max_bytes"].strip():
            wire["max_bytes"] = _integer(typed["max_bytes"])
        if typed["form"] == TEXT:
            sections = [
                {"family": family, "limit": _integer(typed[f"limit_{_key(family)}"])}
                for family in self.families
            ]
            show = [name for name in limits.SHOW_NAMES if typed[f"show_{name}"]]
            wire["assembly"] = {"sections": sections, "show": show}
        return wire


class WantedForm(forms.Form):
    """One exact identity: pasted, or in separate fields."""

    pasted = _text(
        gettext_lazy("Citation"),
        forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "Paste the lines Scope, Artifact and Entry of a text block, or the JSON of"
            " a receipt's item or of a citation."
        ),
    )
    scope = _text(
        gettext_lazy("Scope of the item"),
        help_text=gettext_lazy("Empty: the Scope of the request."),
    )
    family = _text(gettext_lazy("Family"))
    id = _text(gettext_lazy("Artifact id"))
    revision = _text(gettext_lazy("Revision"), forms.NumberInput(attrs={"min": 1}))
    entry = _text(gettext_lazy("Entry id"))
    entry_version = _text(gettext_lazy("Entry version id"))

    NAMES = ("scope", "family", "id", "revision", "entry", "entry_version")

    @property
    def named(self) -> list[forms.BoundField]:
        return [self[name] for name in self.NAMES]

    @property
    def has_fields(self) -> bool:
        return any(field.value() for field in self.named)

    @property
    def is_open(self) -> bool:
        return self.has_fields or bool(self["pasted"].value())

    def read_identity(self, *, scope_id: str) -> Identity | None:
        """None if nothing was given; problems become errors of the form."""
        typed = {name: self.cleaned_data[name].strip() for name in self.NAMES}
        pasted = self.cleaned_data["pasted"]
        given = any(typed.values())
        try:
            if pasted.strip() and given:
                self.add_error("pasted", _("Give a citation or the fields, not both."))
            elif pasted.strip():
                return read_identity(pasted, scope_id=scope_id)
            elif given:
                return as_identity(_citation(typed), scope_id=scope_id)
        except CitationRefused as refused:
            place = "pasted" if pasted.strip() else "id"
            self.add_error(place, _problem(refused.problem))
        return None


def _citation(typed: Mapping[str, str]) -> Citation:
    revision = _integer(typed["revision"])
    return Citation(
        scope_id=typed["scope"] or None,
        artifact=ArtifactRef(
            family=typed["family"],
            artifact_id=typed["id"],
            # No revision is 0: what is no number is refused as an identity.
            revision=revision if isinstance(revision, int) else 0,
        ),
        entry_id=typed["entry"] or None,
        entry_version_id=typed["entry_version"] or None,
    )


def _problem(problem: str) -> str:
    problems = {
        "nothing_found": _("This names no exact revision."),
        "several_found": _("This holds more than one citation: give one."),
        "not_json": _("This is neither citation lines nor readable JSON."),
        "code": _("Code ranges are no candidates of any list."),
        "no_identity": _("No Artifact can have this identity: check every part."),
        "entry_incomplete": _("An entry has an id and a version id."),
        "entry_of_other_family": _("Only the family memory has entries."),
    }
    return problems[problem]


def read_request(query: QueryForm, variant: VariantForm) -> PrepareRequest | None:
    """The request as the API would read it, with a receipt; None if it is refused, and
    then each violation is an error of the field it is about."""
    if not (query.is_valid() and variant.is_valid()):
        return None
    try:
        return parse_prepare_request(
            query.wire | variant.wire | {"include_receipt": True}
        )
    except InvalidRequest as refused:
        for violation in refused.violations:
            _add_violation(query, variant, violation)
    return None


def _add_violation(
    query: QueryForm, variant: VariantForm, violation: Violation
) -> None:
    """`("body", "assembly", "sections", 1, "limit")` is about the second family."""
    form: forms.Form = variant
    name: str | None = None
    match violation.loc:
        case ("body", "scope_id"):
            form, name = query, "scope_id"
            message = _("A Scope id has 1 to 256 characters and is not blank.")
        case ("body", "query"):
            form, name = query, "query"
            message = _("A query has 1 to 8,192 characters and is not blank.")
        case ("body", "max_bytes"):
            name = "max_bytes"
            message = _("A budget is a whole number from 512 to 32,768.")
        case ("body", "assembly", "sections", int(index), "limit"):
            family = variant.families[index]
            name = f"limit_{_key(family)}"
            highest = limits.SECTION_LIMITS[family]
            message = _("This limit is a whole number from 1 to %(highest)s.") % {
                "highest": highest
            }
        case _:
            message = violation.msg
    if not form.has_error(name or NON_FIELD_ERRORS):
        form.add_error(name, message)
