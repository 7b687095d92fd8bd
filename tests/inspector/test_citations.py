"""One identity from whatever our own documents look like when pasted."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.forms.citations import CitationRefused, read_identity
from prepare.services.rendering import metadata_block
from prepare.values import Assembly, Identity
from tests.services.building import (
    content_of,
    identity,
    memory,
    pack_envelope,
    pack_text,
)

REFERENCE = {"family": "atomic-memory", "artifact_id": "m1", "revision": 3}
ADDRESS = {"scope_id": "project:demo", "artifact": REFERENCE}
WANTED = identity("m1", revision=3)
ENTRY = {"entry_id": "e1", "entry_version_id": "v1"}
COLLECTION = {"family": "memory", "artifact_id": "memory", "revision": 2}
ENTRY_WANTED = identity("memory", family="memory", revision=2, entry=("e1", "v1"))


def read(pasted: object, scope_id: str = "project:demo") -> Identity:
    text = pasted if isinstance(pasted, str) else json.dumps(pasted)
    return read_identity(text, scope_id=scope_id)


def problem(pasted: object) -> str:
    with pytest.raises(CitationRefused) as refused:
        read(pasted)
    return refused.value.problem


@pytest.mark.parametrize(
    "pasted",
    [
        ADDRESS,
        {"kind": "atomic-memory", "artifact_address": ADDRESS, "rendered_bytes": 9},
        {"artifact_ref": REFERENCE},
        {"artifact": ADDRESS},
        {"citation": {"artifact_ref": REFERENCE}, "content": "x", "truncated": False},
        REFERENCE,
        {"scope_id": "project:demo", **REFERENCE, "content": {}, "sources": []},
        json.dumps(ADDRESS, indent=4),
        f'"artifact_address": {json.dumps(ADDRESS)},',
        f"  {json.dumps(ADDRESS)}  ,\r\n",
    ],
    ids=str,
)
def test_forms_of_json(pasted: object) -> None:
    assert read(pasted) == WANTED


@pytest.mark.parametrize(
    "pasted",
    [
        {"memory_ref": COLLECTION, **ENTRY},
        {"memory": {"scope_id": "project:demo", "artifact": COLLECTION}, **ENTRY},
        {"citation": {"memory_ref": COLLECTION, **ENTRY}, "content": "x"},
        {"artifact": COLLECTION, **ENTRY, "version": 1, "text": "x"},
    ],
    ids=str,
)
def test_forms_of_json_of_an_entry(pasted: object) -> None:
    assert read(pasted) == ENTRY_WANTED


def test_a_short_citation_means_the_scope_of_the_request() -> None:
    assert read({"artifact_ref": REFERENCE}, "other").scope_id == "other"
    assert read(ADDRESS, "other").scope_id == "project:demo"
    body = {"scope_id": "named", "citation": {"memory_ref": COLLECTION, **ENTRY}}
    assert read(body, "other").scope_id == "named"


_NAMES = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=20
)
# What a Scope can be called (contract B.3).
_SCOPES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    min_size=1,
    max_size=40,
).filter(lambda name: name == name.strip())


@given(
    _SCOPES, _NAMES, st.integers(1, 2**31 - 1), st.none() | st.tuples(_NAMES, _NAMES)
)
def test_the_lines_of_a_text_read_back(
    scope_id: str, name: str, revision: int, entry: tuple[str, str] | None
) -> None:
    wanted = identity(
        name,
        scope_id=scope_id,
        family="memory" if entry else "atomic-memory",
        revision=revision,
        entry=entry or (None, None),
    )
    lines = metadata_block(
        wanted,
        assembly=Assembly(sections=(), show_confidence=True, show_recall_rank=True),
        recall_rank=2,
        truncated=True,
    )
    assert read(lines.replace("\n", "\r\n"), "elsewhere") == wanted


def test_an_item_of_a_text_and_of_an_envelope() -> None:
    """As an operator copies them, with heading and body around the lines."""
    found = memory("m1", "A fact.\nScope: none", revision=3)
    text = content_of(pack_text(("memory", 1, [found])))
    item = text[text.index("### ") : text.index("\n\nEND_")]
    assert read(item, "elsewhere") == WANTED
    envelope = content_of(pack_envelope([found]))
    start = envelope.index('{"citation"')
    assert read(envelope[start : envelope.index("]}\n")]) == WANTED


@pytest.mark.parametrize("pasted", ["\n", ">", " ", "Scope: ", 'Scope: "', "{", '"'])
def test_a_megabyte_of_anything_is_refused_at_once(pasted: str) -> None:
    assert problem(pasted * 1_000_000) != "no_identity"


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        ("nothing here", "nothing_found"),
        ('Scope: "s"', "nothing_found"),
        ("[]", "nothing_found"),
        ("{", "not_json"),
        ('"a string"', "nothing_found"),
        ({}, "nothing_found"),
        ({"artifact": REFERENCE}, "nothing_found"),
        ({**REFERENCE, "revision": "3"}, "nothing_found"),
        ({**REFERENCE, "revision": True}, "nothing_found"),
        ({**REFERENCE, "revision": 0}, "no_identity"),
        ({**REFERENCE, "revision": 2**31}, "no_identity"),
        ({**REFERENCE, "artifact_id": "a b"}, "no_identity"),
        ({**ADDRESS, "scope_id": " s"}, "no_identity"),
        ({**ADDRESS, "scope_id": "\ud800"}, "no_identity"),
        ({"code_evidence": {}}, "code"),
        ({"memory_ref": REFERENCE, **ENTRY}, "entry_of_other_family"),
        (json.dumps(ADDRESS) * 2, "several_found"),
        ('{"artifact_ref": {}, "artifact_ref": {}}', "not_json"),
        ("[" * 100_000, "not_json"),
        ('{"a":' * 100_000, "not_json"),
        (
            'Artifact: family="a", id="b", revision=1\n'
            'Artifact: family="a", id="c", revision=1',
            "several_found",
        ),
        ('Artifact: family="a", id="\\x", revision=1', "not_json"),
        ('Artifact: family="a", id="b", revision=x', "nothing_found"),
        ('Artifact: family="a", id="b c", revision=1', "no_identity"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_names_no_one_identity(pasted: Any, expected: str) -> None:
    assert problem(pasted) == expected
