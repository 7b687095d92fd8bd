"""docs/receipts.md explains every word that a receipt, or its absence, can hold."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from prepare import limits
from prepare.services.checking import SCHEMA_FILE
from prepare.services.receipts import OmissionReason
from prepare.services.reports import CLAIM_LABEL, Access, Body, State, Stored

TEXT = (Path(__file__).parent.parent / "docs" / "receipts.md").read_text("utf-8")
SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def words(schema: Any) -> set[str]:
    """Keys and closed lists of a schema, but not what a configuration consists of."""
    if not isinstance(schema, dict):
        return set()
    found = {*schema.get("properties", {}), *schema.get("enum", [])}
    for name, inner in schema.get("properties", {}).items():
        found |= words(inner) if name != "rerank_configs" else set()
    for name, inner in schema.get("$defs", {}).items():
        if not name.startswith(("Rerank", "Prompt", "CodeEvidence")):
            found |= words(inner)
    return found


@pytest.mark.parametrize("word", sorted(words(SCHEMA)))
def test_every_word_of_a_receipt_is_explained(word: str) -> None:
    assert f"`{word}`" in TEXT or f".{word}`" in TEXT


@pytest.mark.parametrize("reason", get_args(OmissionReason))
def test_every_reason_of_a_missing_receipt_has_its_cause(reason: str) -> None:
    section = TEXT.partition("## Dropped receipts")[2].partition("\n## ")[0]
    assert re.search(rf"^\| `{reason}` \| \S", section, re.MULTILINE)


def test_every_bound_is_stated() -> None:
    section = TEXT.partition("## Bounds")[2].partition("\n#")[0]
    numbers = set(re.findall(r"\d+", section))
    bounds = [
        str(value)
        for name, value in vars(limits).items()
        if name.startswith("RECEIPT_") and isinstance(value, int)
    ]
    assert len(bounds) == 8
    assert set(bounds) <= numbers


@pytest.mark.parametrize(
    "word",
    [
        *(CLAIM_LABEL, *get_args(State), *get_args(Stored)),
        *get_args(Body),
        *get_args(Access),
    ],
)
def test_every_finding_of_verify_is_shown(word: str) -> None:
    assert word in TEXT.partition("## `manage.py verify`")[2]


@pytest.mark.clause("R-216")
def test_it_says_what_a_receipt_is_not() -> None:
    section = re.sub(r"\s+", " ", TEXT.partition("## What it proves")[2])
    assert "untrusted metadata and ranks below all" in section
    assert "does **not** prove that a body is true" in section
    assert "must not inject" in section


def test_it_stays_readable() -> None:
    assert len(TEXT.splitlines()) <= 250
