"""Several forms of one request over one snapshot of candidates, and what order costs.

For the Inspector's comparison. Candidates are read once, for the union of the families;
each variant is then packed and explained as if it had been asked for alone.
"""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prepare import limits
from prepare.services.access import Principal
from prepare.services.packing import pack
from prepare.services.prepare import NewId, assemble, check_request, recall_families
from prepare.services.recall import Recalled, search_stages
from prepare.services.runtime import Runtime
from prepare.stopwatch import Clock, Stopwatch
from prepare.values import (
    Build,
    CodeIdentity,
    Identity,
    Prepared,
    PrepareRequest,
    Section,
    SelectedItem,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one section was given; `rendered_bytes` without its heading and joints."""

    items: tuple[SelectedItem, ...]

    @property
    def rendered_bytes(self) -> int:
        return sum(item.rendered_bytes for item in self.items)

    @property
    def truncated(self) -> int:
        return sum(item.truncated for item in self.items)

    @property
    def identities(self) -> tuple[Identity | CodeIdentity, ...]:
        return tuple(item.identity for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionCost:
    """One section of a text, packed again from the same candidates.

    `got` is what it was given. `first` is what it is given when it comes first: nothing
    is taken before it, so this is also what the whole budget alone gives it. `without`
    pairs each earlier section with what this one is given when that one is left out.
    `lost` are the items of `first` that it did not get: the price of its place.
    """

    section: Section
    got: Share
    first: Share
    without: tuple[tuple[str, Share], ...]

    @property
    def lost(self) -> tuple[Identity | CodeIdentity, ...]:
        got = set(self.got.identities)
        return tuple(one for one in self.first.identities if one not in got)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """`costs` are empty for the envelope: its families take turns."""

    request: PrepareRequest
    prepared: Prepared
    costs: tuple[SectionCost, ...]


def prepare_variants(
    requests: Sequence[PrepareRequest],
    *,
    principal: Principal,
    runtime: Runtime,
    clock: Clock = time.perf_counter,
    new_id: NewId = uuid.uuid4,
) -> tuple[Variant, ...]:
    """Each request as `prepare_context` would answer it at this moment.

    All ask the same Scope the same query. Raises what `prepare_context` raises; a Scope
    that any of them would read and that may not be read refuses all.
    """
    asked = {(request.scope_id, request.query) for request in requests}
    if len(asked) != 1:
        raise ValueError("variants differ in form only, not in Scope or query")
    for request in requests:
        check_request(request, runtime)
    [(scope_id, query)] = asked
    stopwatch = Stopwatch(clock)
    recalled = recall_families(
        tuple(dict.fromkeys(name for one in requests for name in one.families)),
        scope_id=scope_id,
        query=query,
        principal=principal,
        runtime=runtime,
        stopwatch=stopwatch,
    )
    return tuple(
        _build_variant(
            request,
            recalled.only(request.families),
            # A variant's receipt times the searches that it would have run itself.
            stopwatch.only(search_stages(request.families)),
            new_id,
        )
        for request in requests
    )


def _build_variant(
    request: PrepareRequest, recalled: Recalled, stopwatch: Stopwatch, new_id: NewId
) -> Variant:
    return Variant(
        request=request,
        prepared=assemble(request, recalled, stopwatch=stopwatch, new_id=new_id),
        costs=section_costs(request, recalled),
    )


def section_costs(
    request: PrepareRequest, recalled: Recalled
) -> tuple[SectionCost, ...]:
    """Pack each section first, and without each section before it; reads nothing."""
    if request.assembly is None:
        return ()
    sections = request.assembly.sections

    def share(section: Section, packed: Sequence[Section]) -> Share:
        return share_of(section.family, _pack(request, recalled, packed))

    return tuple(
        SectionCost(
            section=section,
            got=share(section, sections),
            first=share(section, [section]),
            without=tuple(
                (
                    earlier.family,
                    share(section, [one for one in sections if one != earlier]),
                )
                for earlier in sections[:index]
            ),
        )
        for index, section in enumerate(sections)
    )


def _pack(
    request: PrepareRequest, recalled: Recalled, sections: Sequence[Section]
) -> Build:
    if request.assembly is None:
        raise ValueError("only the text form has sections")
    assembly = replace(request.assembly, sections=tuple(sections))
    return pack(recalled.pools, assembly=assembly, max_bytes=request.max_bytes)


def share_of(selector: str, build: Build) -> Share:
    """The delivered items of one section."""
    return Share(
        items=tuple(
            item
            for item in build.selected
            if isinstance(item.identity, Identity)
            and limits.SELECTORS[item.identity.artifact.family] == selector
        )
    )
