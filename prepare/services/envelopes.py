"""Take a JSON envelope apart that an agent's log holds (contract section G). Pure.

For checking only, as `blocks`. Its short citations do not name their Scope: it is the
one that the request named, which the envelope does not say.
"""

import json
from collections.abc import Mapping
from typing import Any

from prepare import limits
from prepare.services.blocks import (
    Block,
    Claim,
    Findings,
    check_length,
    undo_transport,
)
from prepare.services.checking import Citation
from prepare.services.rendering import NOTICE
from prepare.services.text import dump_legacy
from prepare.values import ArtifactRef

BEGIN = "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1"
END = "END_POWERCONTEXT_PREPARED_CONTEXT_V1"

Json = Mapping[str, Any]

_KINDS = (limits.ATOMIC_MEMORY, limits.TOPIC_MEMORY, limits.EXPERIENCE)
_FIELDS = {"citation", "content", "truncated"}


def is_envelope(text: str) -> bool:
    return any(line.rstrip("\r") in (BEGIN, END) for line in text.split("\n"))


def parse_envelope(text: str) -> Block:
    findings = Findings()
    text = undo_transport(text, findings)
    lines = text.split("\n")
    for name, marker in (("begin", BEGIN), ("end", END)):
        if lines.count(marker) != 1:
            count = lines.count(marker)
            findings.problems.append(f"{count} {name} markers instead of 1")
    if lines[:4] != [*NOTICE.split("\n"), "", BEGIN]:
        findings.problems.append("notice and begin marker are not in their place")
    if lines[5:] != [END]:
        findings.problems.append("the end marker is not the line after the items")
    after = lines.index(BEGIN) + 1 if BEGIN in lines else len(lines)
    items = _read_items(lines[after] if after < len(lines) else "", findings)
    for number, item in enumerate(items, start=1):
        _read_item(number, item, findings)
    return findings.as_block("envelope", text)


def _read_items(line: str, findings: Findings) -> list[Any]:
    try:
        value = json.loads(line)
        is_ours = dump_legacy(value) == line
    except (ValueError, RecursionError):
        findings.problems.append("the items are not JSON in one line")
        return []
    if not is_ours:
        findings.problems.append("the items are not spelled as we spell them")
    if not isinstance(value, dict) or value.keys() != {"trust", "items"}:
        findings.problems.append("the envelope has other keys than trust and items")
        return []
    if value["trust"] != "untrusted_history":
        findings.problems.append("trust is not `untrusted_history`")
    items = value["items"]
    if not isinstance(items, list):
        findings.problems.append("items is not a list")
        return []
    if len(items) > limits.LEGACY_ENTRIES:
        findings.problems.append(f"more than {limits.LEGACY_ENTRIES} items")
    return items


def _read_item(number: int, item: object, findings: Findings) -> None:
    where = f"item {number}"
    if not isinstance(item, dict) or not item.keys() >= _FIELDS:
        findings.problems.append(f"{where}: not an item of ours")
        return
    shown, truncated = item["content"], item["truncated"]
    if not isinstance(shown, str) or not isinstance(truncated, bool):
        findings.problems.append(f"{where}: content or truncated of a wrong type")
        return
    citation = read_citation(item["citation"])
    if citation is None:
        findings.problems.append(f"{where}: a citation of no known form")
        return
    is_entry = citation.entry_id is not None
    if item.keys() != (_FIELDS if is_entry else _FIELDS | {"kind"}):
        findings.problems.append(f"{where}: other keys than such an item has")
    family = citation.artifact.family
    expected = limits.MEMORY_COLLECTION if is_entry else item.get("kind")
    if family != expected or not (is_entry or family in _KINDS):
        findings.problems.append(f"{where}: kind and family do not fit")
    check_length(shown, truncated=truncated, where=where, findings=findings)
    claim = Claim(place=where, citation=citation, shown=shown, truncated=truncated)
    findings.add_claim(claim, where)


def read_citation(value: object) -> Citation | None:
    """One of the four forms of G.4 and J-2, or None."""
    if not isinstance(value, dict):
        return None
    entry: dict[str, Any] = {}
    names = ("artifact_ref", "artifact")
    if value.keys() & {"entry_id", "entry_version_id"}:
        names = ("memory_ref", "memory")
        entry = {name: value.get(name) for name in ("entry_id", "entry_version_id")}
        if not all(isinstance(part, str) for part in entry.values()):
            return None
    short, qualified = names
    scope_id = None
    if value.keys() == {short, *entry}:
        reference = value[short]
    elif value.keys() == {qualified, *entry} and _is_address(value[qualified]):
        scope_id, reference = value[qualified]["scope_id"], value[qualified]["artifact"]
    else:
        return None
    artifact = _read_reference(reference)
    if artifact is None:
        return None
    return Citation(scope_id=scope_id, artifact=artifact, **entry)


def _is_address(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"scope_id", "artifact"}
        and isinstance(value["scope_id"], str)
    )


def _read_reference(value: object) -> ArtifactRef | None:
    if not isinstance(value, dict):
        return None
    if value.keys() != {"family", "artifact_id", "revision"}:
        return None
    texts, revision = (value["family"], value["artifact_id"]), value["revision"]
    is_number = isinstance(revision, int) and not isinstance(revision, bool)
    if not is_number or not all(isinstance(text, str) for text in texts):
        return None
    return ArtifactRef(**value)
