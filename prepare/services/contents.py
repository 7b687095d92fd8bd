"""What each family may contain: check, normalize, and read text back out. Pure.

Contract C.2 - C.7. `normalize_content` is the only way from a caller's content to what
a revision stores, so that the same content always has the same digest.
"""

import hashlib
import unicodedata
from collections.abc import Mapping
from typing import Any

import rfc8785

from prepare import limits
from prepare.errors import InvalidRequest, Unsupported, Violation

Content = Mapping[str, Any]

PROMPT_KEYS = frozenset(
    {
        "memory.extract",
        "memory.rerank",
        "atomic_memory.extract",
        "atomic_memory.reconcile",
        "experience.incubate",
        "experience.generate",
        "skill.generate",
        "handoff.generate",
        "topic_memory.probe",
        "topic_memory.global",
        "topic_memory.planner",
        "topic_memory.evolve",
        "topic_memory.temporary",
        "topic_memory.reduce",
        "topic_memory.reconcile",
        "profile.generate",
    }
)
REPAIR_SURFACES = (
    "experience_content",
    "working_state",
    "recall_policy",
    "acceptance_check",
)


def canonical_json(value: object) -> str:
    """RFC 8785 text; raises `InvalidRequest` for numbers JSON cannot carry exactly."""
    try:
        return rfc8785.dumps(value).decode()  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise _refused("json", "Not representable as canonical JSON", ()) from error


def digest(text: str) -> str:
    """`sha256:` + hex over the UTF-8 bytes of `text` (contract C.1)."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def normalize_query(query: str) -> str:
    """NFC of the trimmed query, no byte bound (contract D.2)."""
    return unicodedata.normalize("NFC", query.strip())


def normalize_memory_text(text: str) -> str:
    """NFC and trimmed; 1 to 8192 UTF-8 bytes afterwards (contract C.2)."""
    normalized = unicodedata.normalize("NFC", text).strip()
    if not 1 <= len(normalized.encode()) <= limits.MEMORY_TEXT_BYTES:
        raise _refused("text_length", "1 to 8192 UTF-8 bytes after trimming", ("text",))
    return normalized


def normalize_content(family: str, content: Content) -> dict[str, Any]:
    """The stored form of `content`; raises `InvalidRequest` with the path at fault."""
    normalize = _NORMALIZERS.get(family)
    if normalize is None:
        raise Unsupported(
            f"Artifacts of family {family!r} cannot be written here.",
            code="operation_not_supported",
        )
    return normalize(content)


def _refused(kind: str, msg: str, path: tuple[str | int, ...]) -> InvalidRequest:
    return InvalidRequest(
        [Violation(type=kind, loc=("body", "content", *path), msg=msg)]
    )


def _check_keys(content: Content, required: set[str], optional: set[str]) -> None:
    if not isinstance(content, Mapping):
        raise _refused("object_type", "Input should be an object", ())
    for key in sorted(required - content.keys()):
        raise _refused("missing", "Field required", (key,))
    for key in content.keys() - required - optional:
        raise _refused("extra_forbidden", "Extra inputs are not permitted", (key,))


def _text(content: Content, name: str, highest: int, *, blank: bool = False) -> str:
    value = content[name]
    if not isinstance(value, str):
        raise _refused("string_type", "Input should be a valid string", (name,))
    if len(value) > highest or (not blank and not value.strip()):
        raise _refused("string_length", f"1 to {highest} characters", (name,))
    if not _is_utf8(value):
        raise _refused("string_unicode", "Holds a lone surrogate", (name,))
    return value


def _is_utf8(value: str) -> bool:
    """A lone surrogate is no text; JSON text never brings one (J-5), a call may."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _normalize_atomic(content: Content) -> dict[str, Any]:
    _check_keys(content, {"kind", "text"}, {"schema", "creation"})
    schema = content.get("schema")
    if schema not in (None, limits.ATOMIC_SCHEMA):
        raise _refused("enum", f"Input should be {limits.ATOMIC_SCHEMA!r}", ("schema",))
    kind = _text(content, "kind", limits.KIND_CHARS)
    text = _text(content, "text", limits.MEMORY_TEXT_BYTES)
    stored: dict[str, Any] = {
        "schema": limits.ATOMIC_SCHEMA,
        "kind": kind,
        "text": normalize_memory_text(text),
    }
    if content.get("creation") is not None:
        stored["creation"] = _creation(content["creation"])
    return stored


def _creation(creation: object) -> dict[str, Any]:
    """Server-made mark of a merge result (contract C.2); imports may carry it."""
    inputs = creation.get("input_artifact_ids") if isinstance(creation, dict) else None
    if (
        not isinstance(creation, dict)
        or creation.keys() != {"type", "input_artifact_ids"}
        or creation["type"] != "merge"
        or not isinstance(inputs, list)
        or not all(isinstance(item, str) for item in inputs)
        or len(set(inputs)) < limits.MERGE_INPUTS_LOWEST
    ):
        raise _refused("creation", "Not a merge of two or more inputs", ("creation",))
    return {"type": "merge", "input_artifact_ids": inputs}


_EXPERIENCE_FIELDS = ("situation", "action", "outcome", "lesson")


def _normalize_experience(content: Content) -> dict[str, Any]:
    _check_keys(content, set(_EXPERIENCE_FIELDS), {"failure"})
    stored: dict[str, Any] = {
        name: _text(content, name, limits.EXPERIENCE_FIELD_CHARS)
        for name in _EXPERIENCE_FIELDS
    }
    if content.get("failure") is not None:
        stored["failure"] = _normalize_failure(content["failure"])
    return stored


def _normalize_failure(failure: Content) -> dict[str, Any]:
    _check_keys(failure, {"signature", "repair_surface", "verification"}, set())
    signature, verification = failure["signature"], failure["verification"]
    _check_keys(signature, {"recall_cue"}, {"symptom"})
    _check_keys(verification, {"condition", "check_subject"}, set())
    if failure["repair_surface"] not in REPAIR_SURFACES:
        raise _refused("enum", f"One of {REPAIR_SURFACES}", ("repair_surface",))
    stored_signature = {
        "recall_cue": _text(signature, "recall_cue", limits.FAILURE_CUE_CHARS)
    }
    if signature.get("symptom") is not None:
        symptom = _text(signature, "symptom", limits.EXPERIENCE_FIELD_CHARS)
        stored_signature["symptom"] = symptom
    return {
        "signature": stored_signature,
        "repair_surface": failure["repair_surface"],
        "verification": {
            "condition": _text(
                verification, "condition", limits.EXPERIENCE_FIELD_CHARS
            ),
            "check_subject": _text(
                verification, "check_subject", limits.FAILURE_CUE_CHARS
            ),
        },
    }


def _normalize_topic(content: Content) -> dict[str, Any]:
    _check_keys(content, {"title", "summary", "detail"}, set())
    return {
        "title": _text(content, "title", limits.TOPIC_TITLE_CHARS),
        "summary": _text(content, "summary", limits.TOPIC_SUMMARY_CHARS),
        "detail": _text(content, "detail", limits.TOPIC_DETAIL_CHARS),
    }


def _normalize_profile(content: Content) -> dict[str, Any]:
    """Markdown without BOM, NFC, LF, exactly one final LF (contract C.5).

    `generation` says how this revision came to be; the writer fills it in.
    """
    _check_keys(content, {"content"}, {"schema", "media_type", "generation"})
    if content.get("schema") not in (None, limits.PROFILE_SCHEMA):
        raise _refused("enum", f"Input should be {limits.PROFILE_SCHEMA}", ("schema",))
    if content.get("media_type") not in (None, "text/markdown"):
        raise _refused("enum", "Input should be text/markdown", ("media_type",))
    text = _text(content, "content", limits.PROFILE_BYTES)
    text = unicodedata.normalize("NFC", text.removeprefix("\ufeff"))
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n"
    if not text.strip() or len(text.encode()) > limits.PROFILE_BYTES:
        raise _refused("text_length", "1 to 262144 UTF-8 bytes", ("content",))
    stored = {
        "schema": limits.PROFILE_SCHEMA,
        "media_type": "text/markdown",
        "content": text,
    }
    if content.get("generation") is not None:
        stored["generation"] = content["generation"]
    return stored


def _normalize_prompt(content: Content) -> dict[str, Any]:
    names = {"schema_version", "mode", "instructions", "demonstrations"}
    _check_keys(content, names, set())
    if content["schema_version"] != limits.PROMPT_SCHEMA:
        raise _refused("enum", limits.PROMPT_SCHEMA, ("schema_version",))
    if content["mode"] not in ("auto", "custom"):
        raise _refused("enum", "'auto' or 'custom'", ("mode",))
    instructions = _text(
        content, "instructions", limits.PROMPT_INSTRUCTIONS_CHARS, blank=True
    )
    stored = {
        "schema_version": limits.PROMPT_SCHEMA,
        "mode": content["mode"],
        "instructions": unicodedata.normalize("NFC", instructions).strip(),
        "demonstrations": _normalize_demonstrations(content["demonstrations"]),
    }
    if content["mode"] == "auto" and (
        stored["instructions"] or stored["demonstrations"]
    ):
        raise _refused("mode", "Mode auto takes no instructions or examples", ("mode",))
    if len(canonical_json(stored).encode()) > limits.PROMPT_BYTES:
        raise _refused("too_large", "At most 256 KiB of canonical JSON", ())
    return stored


def _normalize_demonstrations(value: object) -> list[dict[str, Any]]:
    path: tuple[str | int, ...] = ("demonstrations",)
    if not isinstance(value, list) or len(value) > limits.PROMPT_DEMONSTRATIONS:
        raise _refused("list_type", "At most 50 demonstrations", path)
    for index, item in enumerate(value):
        if not isinstance(item, dict) or item.keys() != {"input", "expected_output"}:
            raise _refused("object_type", "{input, expected_output}", (*path, index))
        size = len(canonical_json(item).encode())
        if size > limits.PROMPT_DEMONSTRATION_BYTES:
            raise _refused("too_large", "At most 64 KiB", (*path, index))
    return value


_NORMALIZERS = {
    limits.ATOMIC_MEMORY: _normalize_atomic,
    limits.EXPERIENCE: _normalize_experience,
    limits.TOPIC_MEMORY: _normalize_topic,
    limits.PROFILE: _normalize_profile,
    limits.PROMPT: _normalize_prompt,
}


def experience_text(content: Content) -> str:
    """Situation, Action, Outcome, Lesson, then the failure block if any (A-147)."""
    lines = [f"{name.capitalize()}: {content[name]}" for name in _EXPERIENCE_FIELDS]
    failure = content.get("failure")
    if failure:
        signature, verification = failure["signature"], failure["verification"]
        lines.append(f"Failure cue: {signature['recall_cue']}")
        if signature.get("symptom") is not None:
            lines.append(f"Symptom: {signature['symptom']}")
        lines.append(f"Repair surface: {failure['repair_surface']}")
        lines.append(f"Verification condition: {verification['condition']}")
        lines.append(f"Verification check: {verification['check_subject']}")
    return "\n".join(lines)


def searchable_text(family: str, content: Content) -> str:
    """The words a search finds an artifact by; labels are left out (contract C.4)."""
    if family == limits.ATOMIC_MEMORY:
        return str(content["text"])
    if family == limits.TOPIC_MEMORY:
        return "\n".join((content["title"], content["summary"], content["detail"]))
    parts = [content[name] for name in _EXPERIENCE_FIELDS]
    signature = (content.get("failure") or {}).get("signature", {})
    parts += [signature.get("recall_cue", ""), signature.get("symptom") or ""]
    return "\n".join(parts)
