"""One prepare request from value to value (design: one request, top to bottom)."""

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.evidence import CODE, RecallEvidence, RecallRound, SearchCall
from prepare.search.vendors import read_snapshot
from prepare.services.access import Principal
from prepare.services.legacy import pack_legacy
from prepare.services.packing import pack
from prepare.services.recall import Recalled, recall
from prepare.services.receipts import OmissionReason, ReceiptOmitted, build_receipt
from prepare.services.runtime import Runtime
from prepare.services.scopes import readable_scopes
from prepare.stopwatch import Clock, Stopwatch
from prepare.values import (
    Build,
    Omission,
    Prepared,
    PrepareRequest,
    semantic_violations,
)

logger = logging.getLogger(__name__)

NewId = Callable[[], object]


def prepare_context(
    request: PrepareRequest,
    *,
    principal: Principal,
    runtime: Runtime,
    clock: Clock = time.perf_counter,
    new_id: NewId = uuid.uuid4,
) -> Prepared:
    """Recall, pack and render under the byte budget; writes nothing (J-14).

    Raises `InvalidRequest` before any read (A-027), `ScopeNotFound` or `Forbidden`
    before recall, and what a failed search raised; never returns part of a result.
    """
    stopwatch = Stopwatch(clock)
    recalled = recall_for(
        request, principal=principal, runtime=runtime, stopwatch=stopwatch
    )
    return assemble(request, recalled, stopwatch=stopwatch, new_id=new_id)


def recall_for(
    request: PrepareRequest,
    *,
    principal: Principal,
    runtime: Runtime,
    stopwatch: Stopwatch,
) -> Recalled:
    """First half: check, authorize, and find candidates in one snapshot.

    Raises `InvalidRequest` before any read (A-027), `ScopeNotFound` or `Forbidden`
    before recall, and what a failed search raised.
    """
    check_request(request, runtime)
    return recall_families(
        request.families,
        scope_id=request.scope_id,
        query=request.query,
        principal=principal,
        runtime=runtime,
        stopwatch=stopwatch,
    )


def recall_families(
    families: Sequence[str],
    *,
    scope_id: str,
    query: str,
    principal: Principal,
    runtime: Runtime,
    stopwatch: Stopwatch,
) -> Recalled:
    """`recall_for` these families; what one has found does not depend on the others."""
    with read_snapshot():
        scopes = readable_scopes(
            scope_id=scope_id,
            crosses_references=not limits.CROSSING_FAMILIES.isdisjoint(families),
            principal=principal,
        )
        return recall(
            query=query,
            families=families,
            scopes=scopes,
            runtime=runtime,
            stopwatch=stopwatch,
        )


def assemble(
    request: PrepareRequest,
    recalled: Recalled,
    *,
    stopwatch: Stopwatch,
    new_id: NewId = uuid.uuid4,
) -> Prepared:
    """Second half: pack, render, and explain if asked to. Reads nothing."""
    packed, evidence = _build_timed(request, recalled, stopwatch), recalled.evidence
    if request.include_code:
        packed, evidence = _without_code(packed, evidence)
    if not request.include_receipt:
        return Prepared(build=packed)
    return explain(
        request=request,
        evidence=evidence,
        build=packed,
        stopwatch=stopwatch,
        new_id=new_id,
    )


def check_request(request: PrepareRequest, runtime: Runtime) -> None:
    """Hold direct calls to the wire's bounds and check the total cap (A-042, A-023)."""
    violations = semantic_violations(request)
    if violations:
        raise InvalidRequest(violations)
    if request.assembly is None:
        return
    total = sum(section.limit for section in request.assembly.sections)
    if total > runtime.assembly_max_entries:
        raise InvalidRequest(message="The request is invalid.")


def build(request: PrepareRequest, recalled: Recalled) -> Build:
    """Pack recalled candidates in the requested form."""
    if request.assembly is None:
        return pack_legacy(
            recalled.pools,
            current_scope_id=request.scope_id,
            max_bytes=request.max_bytes,
        )
    return pack(recalled.pools, assembly=request.assembly, max_bytes=request.max_bytes)


def _build_timed(
    request: PrepareRequest, recalled: Recalled, stopwatch: Stopwatch
) -> Build:
    if not request.families:
        return Build(content=None)  # nothing was recalled, no stage ran (J-9)
    with stopwatch.stage("context.build"):
        return build(request, recalled)


def _without_code(
    build: Build, evidence: RecallEvidence
) -> tuple[Build, RecallEvidence]:
    """Account for code evidence that was asked for: there is no reader of it, which is
    a `not_run` and a `not_retrieved` like that of any family (H-11, H-17, J-9)."""
    omission = Omission(family=CODE, reason="not_retrieved", count=1)
    call = SearchCall(round=0, family=CODE, mode="none", outcome="not_run")
    return (
        replace(build, omissions=(*build.omissions, omission)),
        replace(
            evidence,
            rounds=evidence.rounds or (RecallRound(round=0),),
            searches=(*evidence.searches, call),
        ),
    )


def explain(
    *,
    request: PrepareRequest,
    evidence: RecallEvidence,
    build: Build,
    stopwatch: Stopwatch,
    new_id: NewId,
) -> Prepared:
    """The build with its receipt, or with the reason why there is none (H-27).

    Nothing that happens in here reaches the caller: injection goes on (R-186, R-187).
    """
    reason: OmissionReason
    receipt_id = "-"
    try:
        receipt_id = str(new_id())
        receipt = build_receipt(
            request=request,
            evidence=evidence,
            build=build,
            stages=stopwatch.timings,
            receipt_id=receipt_id,
        )
    except ReceiptOmitted as omitted:
        reason = omitted.reason
    except Exception:  # fail-open is the promise
        # The exception's text could quote a body; its kind is in no closed list.
        reason = "internal_error"
    else:
        logger.info("context.receipt.built receipt_id=%s", receipt_id)
        return Prepared(build=build, receipt=receipt.wire)
    logger.warning(
        "context.receipt.omitted outcome=failure unit=context reason=%s receipt_id=%s",
        reason,
        receipt_id,
    )
    return Prepared(build=build, receipt_omission=reason)
