"""Receipts to paste: one with every part that a valid one can have."""

import hashlib
import itertools
from typing import Any

from prepare import limits
from prepare.models import Scope
from tests.factories import experience, make_scope, profile, remember, topic, write

Wire = dict[str, Any]

# Scope ids and artifact ids are short: all of it has to fit into 8,192 bytes.
SCOPES = "abcdefgh"
HISTORICAL, CODE, CONFIGS, ROUNDS = 26, 4, 2, 3
CONTENT = "Worte — 一句话。\n".encode() * 150


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def store_historical() -> list[Scope]:
    """The 26 artifacts that `full_receipt` cites."""
    scopes = [make_scope(name) for name in SCOPES]
    for number in range(8):
        remember(scopes[0], f"zebra {number}", artifact_id=f"m{number}")
        write(
            scopes[0],
            "topic-memory",
            topic(f"zebra {number}"),
            artifact_id=f"t{number}",
        )
        profile(scopes[number], "# Zebra")
    for number in range(2):
        write(scopes[0], "experience", experience("zebra"), artifact_id=f"x{number}")
    return scopes


def addresses() -> list[tuple[str, str, str]]:
    """(family, Scope, artifact id) of 8 + 8 + 2 + 8 items."""
    return [
        *(("atomic-memory", "a", f"m{number}") for number in range(8)),
        *(("topic-memory", "a", f"t{number}") for number in range(8)),
        *(("experience", "a", f"x{number}") for number in range(2)),
        *(("profile", name, "profile") for name in SCOPES),
    ]


def historical_item(
    family: str, scope_id: str, artifact_id: str, size: int = 90, **fields: Any
) -> Wire:
    artifact = {"family": family, "artifact_id": artifact_id, "revision": 1}
    return {
        "kind": family,
        "artifact_address": {"scope_id": scope_id, "artifact": artifact},
        "rendered_bytes": size,
        "truncated": False,
        **fields,
    }


def code_item(number: int, **fields: Any) -> Wire:
    evidence = {
        "scope_id": "a",
        "fingerprint": digest(f"fingerprint {number}"),
        "path": f"p{number}.py",
        "file_sha256": digest(f"file {number}"),
        "start_line": 10 * number + 1,
        "end_line": 10 * number + 7,
        "snippet_sha256": digest(f"snippet {number}"),
    }
    return {
        "kind": "code",
        "code_evidence": evidence | fields,
        "rendered_bytes": 60,
        "truncated": False,
    }


def prompt(**fields: Any) -> Wire:
    return {
        "scope_id": "a",
        "key": "r",
        "definition_version": "1",
        "builtin_version": "2",
        "selection": "artifact",
        "selected_version": "3",
        "compiled_digest": digest("prompt"),
        "artifact_address": historical_item("prompt", "a", "p")["artifact_address"],
        **fields,
    }


def config(name: str, **fields: Any) -> Wire:
    config_id = f"sha256:{digest(name)}"
    return {
        "config_id": config_id,
        "policy_id": "v1",
        "model": "openai/m",
        "effective_settings": {},
        "timeout_seconds": 10.5,
        "max_requests": 1,
        "config_digest": config_id,
        "prompt": None,
        "non_deterministic": True,
        **fields,
    }


def search(round_: int, family: str, mode: str, *rest: Any) -> Wire:
    outcome, fallback, count = rest or ("completed", "none", 1)
    return {
        "round": round_,
        "family": family,
        "mode": mode,
        "outcome": outcome,
        "fallback_reason": fallback,
        "count": count,
    }


def full_receipt(content: bytes = CONTENT) -> Wire:
    """26 historical items, 4 code items, 2 rerank configurations, 3 rounds."""
    configs = [
        config(
            "one",
            effective_settings={"temperature": 0.5, "seed": 7},
            prompt=prompt(),
        ),
        config("two", model=None, non_deterministic=False),
    ]
    first, second = (one["config_id"] for one in configs)
    return {
        "schema": limits.RECEIPT_SCHEMA,
        "receipt_id": "b8cfa6a4-6f3d-4c4a-8f57-9d3f2f6c8a11",
        "policy_id": limits.RECEIPT_SCHEMA,
        "query_digest": f"sha256:{digest('query')}",
        "content_digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "requested_max_bytes": 8000,
        "used_bytes": len(content),
        "truncated": True,
        "non_deterministic": True,
        "retrieval": {
            "rounds": [
                {"round": 0, "outcome": "completed", "retained": True},
                {"round": 1, "outcome": "completed", "retained": True},
                {"round": 2, "outcome": "expansion_failed", "retained": False},
            ],
            "searches": [
                search(0, "atomic-memory", "fts", "completed", "inference_timeout", 2),
                search(0, "code", "code"),
            ],
            "rerank_configs": configs,
            "reranks": [
                {
                    "round": 0,
                    "config_id": first,
                    "outcome": "fallback",
                    "fallback_reason": "empty_selection",
                    "count": 1,
                },
                {
                    "round": 1,
                    "config_id": second,
                    "outcome": "selected",
                    "fallback_reason": "none",
                    "count": 2,
                },
            ],
        },
        "selected": [
            *itertools.starmap(historical_item, addresses()[:-1]),
            historical_item(*addresses()[-1], truncated=True),
            *(code_item(number) for number in range(CODE)),
        ],
        "omitted": [
            {"family": "atomic-memory", "reason": "duplicate", "count": 4},
        ],
        "stages": [
            {"stage": "context.build", "duration_ms": 0.75, "count": 1},
            {"stage": "memory.search", "duration_ms": 12.25, "count": 2},
        ],
    }
