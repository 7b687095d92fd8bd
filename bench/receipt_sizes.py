"""Sizes of receipts, measured with the product's own builder. Pure.

Identities are as the server makes them unless a sample says otherwise. docs/receipts.md
shows the table; a test holds the two together.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from unittest.mock import patch

from prepare import limits
from prepare.compactjson import dump_compact
from prepare.evidence import (
    PromptEvidence,
    RecallEvidence,
    RecallRound,
    RerankCall,
    RerankConfig,
    SearchCall,
    StageName,
    StageTiming,
)
from prepare.services.receipts import Receipt, build_receipt
from prepare.values import (
    ArtifactRef,
    Assembly,
    Build,
    CodeIdentity,
    Identity,
    Omission,
    PrepareRequest,
    Section,
    SelectedItem,
)

SCOPE_ID = "scp_" + "0" * 26
ARTIFACT_ID = "art_" + "0" * 32
CHINESE_SCOPE_ID = "项目：支付平台的第一阶段" * 5  # 60 characters, 180 bytes
LONGEST_SCOPE_ID = "s" * limits.SCOPE_ID_CHARS
LONGEST_ARTIFACT_ID = "a" * limits.IDENTITY_CHARS
FAMILIES = ("memory", "topic-memory", "profile", "experience")
KINDS = {"memory": "atomic-memory"}
STAGES: dict[str, StageName] = {
    "memory": "memory.search",
    "topic-memory": "topic_memory.search",
    "experience": "experience.search",
}
Counts = tuple[int, int, int, int]  # items of each family
EIGHT: Counts = (6, 0, 0, 2)  # the default sections
EIGHTEEN: Counts = (8, 8, 0, 2)
ALL_26: Counts = (8, 8, 8, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a receipt is about. Every family that has items was searched."""

    counts: Counts
    note: str = ""
    code: int = 0
    configs: int = 0
    scope_id: str = SCOPE_ID
    artifact_id: str = ARTIFACT_ID

    @property
    def name(self) -> str:
        parts = [f"{sum(self.counts)} items" if sum(self.counts) > 1 else "1 item"]
        if self.code:
            parts.append(f"{self.code} code item{'s' * (self.code > 1)}")
        if self.configs:
            parts.append(
                f"{self.configs} rerank configuration{'s' * (self.configs > 1)}"
            )
        return ", ".join([*parts, *filter(None, [self.note])])

    @property
    def families(self) -> list[str]:
        pairs = zip(FAMILIES, self.counts, strict=True)
        return [family for family, count in pairs if count]


def _samples() -> Iterator[Sample]:
    yield Sample(counts=(1, 0, 0, 0))
    for counts in (EIGHT, EIGHTEEN, ALL_26):
        yield Sample(counts=counts)
    for counts in (EIGHT, EIGHTEEN, ALL_26):
        yield Sample(counts=counts, configs=1)
    yield Sample(counts=ALL_26, configs=2)
    yield Sample(counts=EIGHT, code=4)
    yield Sample(counts=ALL_26, code=1)
    yield Sample(counts=ALL_26, code=4)
    for counts in (EIGHT, EIGHTEEN, ALL_26):
        note = "Scope id of 60 Chinese characters"
        yield Sample(counts=counts, note=note, scope_id=CHINESE_SCOPE_ID)
    for counts in (EIGHT, EIGHTEEN, ALL_26):
        yield Sample(
            counts=counts,
            note="longest ASCII identities",
            scope_id=LONGEST_SCOPE_ID,
            artifact_id=LONGEST_ARTIFACT_ID,
        )


SAMPLES = tuple(_samples())


def explain(sample: Sample) -> Receipt:
    """The sample's receipt; raises `ReceiptOmitted` as for any request."""
    return build_receipt(
        request=_request(sample),
        evidence=_evidence(sample),
        build=_build(sample),
        stages=[
            StageTiming(stage=stage, duration_ms=1.234) for stage in _stages(sample)
        ],
        receipt_id="00000000-0000-4000-8000-000000000000",
    )


def measure(sample: Sample) -> int:
    """Bytes of the compact JSON, also of a receipt that the cap would forbid."""
    with patch.object(limits, "RECEIPT_BYTES", sys.maxsize):
        return len(dump_compact(explain(sample).wire))


def table(samples: Sequence[Sample] = SAMPLES) -> str:
    """As Markdown."""
    lines = ["| receipt | bytes |", "|---|---|"]
    for sample in samples:
        size = measure(sample)
        dropped = ", dropped" if size > limits.RECEIPT_BYTES else ""
        lines.append(f"| {sample.name} | {size}{dropped} |")
    return "\n".join(lines)


def per_item() -> dict[str, int]:
    """Bytes that one more of each kind adds."""
    base = Sample(counts=(2, 1, 1, 1), code=1, configs=1)
    more = {
        "atomic-memory": replace(base, counts=(3, 1, 1, 1)),
        "topic-memory": replace(base, counts=(2, 2, 1, 1)),
        "profile": replace(base, counts=(2, 1, 2, 1)),
        "experience": replace(base, counts=(2, 1, 1, 2)),
        "code": replace(base, code=2),
        "rerank configuration with its group": replace(base, configs=2),
    }
    return {kind: measure(one) - measure(base) for kind, one in more.items()}


def _identities(sample: Sample) -> Iterator[Identity]:
    for family, count in zip(FAMILIES, sample.counts, strict=True):
        for number in range(count):
            scope_id = sample.scope_id
            artifact_id = f"{sample.artifact_id[:-2]}{number:02}"
            if family == limits.PROFILE:  # one in each Scope
                scope_id = f"{scope_id[:-1]}{chr(ord(scope_id[-1]) + number)}"
                artifact_id = limits.PROFILE_ARTIFACT_ID
            artifact = ArtifactRef(
                family=KINDS.get(family, family), artifact_id=artifact_id, revision=1
            )
            yield Identity(scope_id=scope_id, artifact=artifact)


def _code(sample: Sample) -> Iterator[CodeIdentity]:
    for number in range(sample.code):
        yield CodeIdentity(
            scope_id=sample.scope_id,
            fingerprint="a" * 64,
            path=f"src/payments/webhooks/handler_{number}.py",
            file_sha256="b" * 64,
            start_line=101,
            end_line=140,
            snippet_sha256="c" * 64,
        )


def _build(sample: Sample) -> Build:
    """Each searched family left some out; rerank leaves memories out as well."""
    origins, code = tuple(_identities(sample)), tuple(_code(sample))
    identities: list[Identity | CodeIdentity] = [*origins, *code]
    omissions = [
        Omission(family=family, reason="family_limit", count=8)
        for family in sample.families
    ]
    if sample.configs:
        omissions.append(
            Omission(family="memory", reason="rerank_not_selected", count=14)
        )
    return Build(
        content="x" * 7900,
        origins=origins,
        code_origins=code,
        selected=tuple(
            SelectedItem(identity=one, rendered_bytes=350, truncated=False)
            for one in identities
        ),
        omissions=tuple(omissions),
    )


def _request(sample: Sample) -> PrepareRequest:
    sections = tuple(Section(family=family, limit=2) for family in sample.families)
    return PrepareRequest(
        scope_id=sample.scope_id,
        query="q",
        assembly=Assembly(sections=sections),
        include_code=bool(sample.code),
        include_receipt=True,
    )


def _stages(sample: Sample) -> Iterator[StageName]:
    yield "context.build"
    for family in sample.families:
        if family in STAGES:
            yield STAGES[family]
    if sample.code:
        yield "code.query"
    if sample.configs:
        yield "memory.rerank"


def _evidence(sample: Sample) -> RecallEvidence:
    calls = [
        SearchCall(
            round=0,
            family=KINDS.get(family, family),
            mode="snapshot" if family == limits.PROFILE else "fts",
            outcome="completed",
        )
        for family in sample.families
    ]
    if sample.code:
        calls.append(
            SearchCall(round=0, family="code", mode="code", outcome="completed")
        )
    reranks = tuple(
        RerankCall(round=0, config=_config(sample, number), outcome="selected")
        for number in range(sample.configs)
    )
    return RecallEvidence(
        rounds=(RecallRound(round=0),), searches=tuple(calls), reranks=reranks
    )


def _config(sample: Sample, number: int) -> RerankConfig:
    """A built-in prompt and one setting: the smallest of a model-backed reranker."""
    prompt = PromptEvidence(
        scope_id=sample.scope_id,
        key="memory.rerank",
        definition_version="powercontext.prompt.memory.rerank.v1",
        builtin_version="powercontext.memory.rerank.listwise.v1",
        selection="built_in",
        selected_version="powercontext.memory.rerank.listwise.v1",
        compiled_digest="d" * 64,
    )
    return RerankConfig(
        policy_id="powercontext.memory.rerank.listwise.v1",
        model="provider:model-name",
        effective_settings={"temperature": 0.0},
        timeout_seconds=30.0,
        max_requests=2,
        config_digest=f"sha256:{number:064x}",
        prompt=prompt,
        non_deterministic=True,
    )
