"""A receipt as its page shows it, from the receipt alone (R-204). Pure.

Takes the wire form of one that is valid by `openapi/receipt.schema.json`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.presenting.budget import BarPart, bar_of_receipt
from inspector.presenting.causes import (
    FALLBACKS,
    MODES,
    OMISSIONS,
    RERANKS,
    ROUNDS,
    SEARCHES,
    STAGES,
)
from prepare.values import ArtifactRef, CodeIdentity, Identity

Json = Mapping[str, Any]

# The whole width of a drawn bar. A thing that is there shows, however small.
FULL_WIDTH = 1000
_LEAST_WIDTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a closed list and what it means, to be translated."""

    word: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem:
    """One selected item; either `identity` or `code`."""

    number: int
    kind: str
    identity: Identity | None
    code: CodeIdentity | None
    rendered_bytes: int
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOmission:
    """`width` compares its count with the largest, in 1/1000."""

    family: str
    reason: Word
    count: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRound:
    round: int
    outcome: Word
    retained: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSearch:
    round: int
    family: str
    mode: Word
    outcome: Word
    fallback: Word
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPrompt:
    """`identity` of a prompt artifact; None for a built-in one."""

    scope_id: str
    key: str
    definition_version: str
    builtin_version: str
    selection: str
    selected_version: str
    compiled_digest: str
    identity: Identity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownConfig:
    number: int
    config_id: str
    policy_id: str
    model: str | None
    settings: tuple[tuple[str, str], ...]
    timeout_seconds: str
    max_requests: int
    config_digest: str
    prompt: ShownPrompt | None
    non_deterministic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRerank:
    """`config` is the number of its configuration; None if the receipt lacks it."""

    round: int
    config: int | None
    config_id: str
    outcome: Word
    fallback: Word
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStage:
    """`start` and `width` in 1/1000 of all durations together."""

    stage: Word
    duration_ms: str
    count: int
    start: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownReceipt:
    schema: str
    receipt_id: str
    policy_id: str
    query_digest: str
    content_digest: str | None
    requested_max_bytes: int
    used_bytes: int
    truncated: bool
    non_deterministic: bool
    bar: tuple[BarPart, ...]
    items: tuple[ShownItem, ...]
    omissions: tuple[ShownOmission, ...]
    rounds: tuple[ShownRound, ...]
    searches: tuple[ShownSearch, ...]
    configs: tuple[ShownConfig, ...]
    reranks: tuple[ShownRerank, ...]
    stages: tuple[ShownStage, ...]
    stages_total_ms: str


def present_receipt(receipt: Json) -> ShownReceipt:
    """Every part of the receipt, nothing beside it."""
    retrieval = receipt["retrieval"]
    configs = tuple(
        _config(number, config)
        for number, config in enumerate(retrieval["rerank_configs"], start=1)
    )
    return ShownReceipt(
        schema=receipt["schema"],
        receipt_id=receipt["receipt_id"],
        policy_id=receipt["policy_id"],
        query_digest=receipt["query_digest"],
        content_digest=receipt["content_digest"],
        requested_max_bytes=receipt["requested_max_bytes"],
        used_bytes=receipt["used_bytes"],
        truncated=receipt["truncated"],
        non_deterministic=receipt["non_deterministic"],
        bar=bar_of_receipt(receipt),
        items=tuple(
            _item(number, item)
            for number, item in enumerate(receipt["selected"], start=1)
        ),
        omissions=tuple(_omissions(receipt["omitted"])),
        rounds=tuple(_round(one) for one in retrieval["rounds"]),
        searches=tuple(_search(one) for one in retrieval["searches"]),
        configs=configs,
        reranks=tuple(_rerank(one, configs) for one in retrieval["reranks"]),
        stages=tuple(_stages(receipt["stages"])),
        stages_total_ms=_milliseconds(
            sum(one["duration_ms"] for one in receipt["stages"])
        ),
    )


def _item(number: int, item: Json) -> ShownItem:
    code = item.get("code_evidence")
    address = item.get("artifact_address")
    return ShownItem(
        number=number,
        kind=item["kind"],
        identity=None if address is None else _identity(address),
        code=None if code is None else CodeIdentity(**code),
        rendered_bytes=item["rendered_bytes"],
        truncated=item["truncated"],
    )


def _identity(address: Json) -> Identity:
    return Identity(
        scope_id=address["scope_id"], artifact=ArtifactRef(**address["artifact"])
    )


def _omissions(groups: list[Json]) -> Iterator[ShownOmission]:
    most = max((group["count"] for group in groups), default=1)
    for group in groups:
        yield ShownOmission(
            family=group["family"],
            reason=_word(OMISSIONS, group["reason"]),
            count=group["count"],
            width=max(FULL_WIDTH * group["count"] // most, _LEAST_WIDTH),
        )


def _word(meanings: Mapping[str, str], word: str) -> Word:
    return Word(word=word, meaning=meanings[word])


def _round(one: Json) -> ShownRound:
    return ShownRound(
        round=one["round"],
        outcome=_word(ROUNDS, one["outcome"]),
        retained=one["retained"],
    )


def _search(one: Json) -> ShownSearch:
    return ShownSearch(
        round=one["round"],
        family=one["family"],
        mode=_word(MODES, one["mode"]),
        outcome=_word(SEARCHES, one["outcome"]),
        fallback=_word(FALLBACKS, one["fallback_reason"]),
        count=one["count"],
    )


def _config(number: int, config: Json) -> ShownConfig:
    prompt = config["prompt"]
    return ShownConfig(
        number=number,
        config_id=config["config_id"],
        policy_id=config["policy_id"],
        model=config["model"],
        settings=tuple(
            (name, json.dumps(value))
            for name, value in config["effective_settings"].items()
        ),
        timeout_seconds=json.dumps(config["timeout_seconds"]),
        max_requests=config["max_requests"],
        config_digest=config["config_digest"],
        prompt=None if prompt is None else _prompt(prompt),
        non_deterministic=config["non_deterministic"],
    )


def _prompt(prompt: Json) -> ShownPrompt:
    address = prompt["artifact_address"]
    return ShownPrompt(
        scope_id=prompt["scope_id"],
        key=prompt["key"],
        definition_version=prompt["definition_version"],
        builtin_version=prompt["builtin_version"],
        selection=prompt["selection"],
        selected_version=prompt["selected_version"],
        compiled_digest=prompt["compiled_digest"],
        identity=None if address is None else _identity(address),
    )


def _rerank(one: Json, configs: tuple[ShownConfig, ...]) -> ShownRerank:
    numbers = {config.config_id: config.number for config in configs}
    return ShownRerank(
        round=one["round"],
        config=numbers.get(one["config_id"]),
        config_id=one["config_id"],
        outcome=_word(RERANKS, one["outcome"]),
        fallback=_word(FALLBACKS, one["fallback_reason"]),
        count=one["count"],
    )


def _stages(stages: list[Json]) -> Iterator[ShownStage]:
    """One after the other, as a request comes to them; a receipt sorts by name."""
    order = list(STAGES)
    stages = sorted(stages, key=lambda one: order.index(one["stage"]))
    longest = max((one["duration_ms"] for one in stages), default=0) or 1
    # Scaled first: the sum of the largest numbers of JSON is no number.
    parts = [one["duration_ms"] / longest for one in stages]
    whole = sum(parts) or 1
    before = 0.0
    for one, part in zip(stages, parts, strict=True):
        start = min(round(FULL_WIDTH * before / whole), FULL_WIDTH - _LEAST_WIDTH)
        yield ShownStage(
            stage=_word(STAGES, one["stage"]),
            duration_ms=_milliseconds(one["duration_ms"]),
            count=one["count"],
            start=start,
            width=max(round(FULL_WIDTH * part / whole), _LEAST_WIDTH),
        )
        before += part


def _milliseconds(duration: float) -> str:
    """Three decimals, as receipts have them; absurd ones in few digits."""
    return f"{duration:,.3f}" if duration < 1e9 else f"{duration:.3g}"
