"""One prepare request from value to value (design: one request, top to bottom)."""

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.search.vendors import read_snapshot
from prepare.services.access import Principal
from prepare.services.legacy import pack_legacy
from prepare.services.packing import pack
from prepare.services.recall import Recalled, recall
from prepare.services.runtime import Runtime
from prepare.services.scopes import readable_scopes
from prepare.values import Build, Prepared, PrepareRequest, semantic_violations


def prepare_context(
    request: PrepareRequest, *, principal: Principal, runtime: Runtime
) -> Prepared:
    """Recall, pack and render under the byte budget; writes nothing (J-14).

    Raises `InvalidRequest` before any read (A-027), `ScopeNotFound` or `Forbidden`
    before recall, and what a failed search raised; never returns part of a result.
    """
    check_request(request, runtime)
    families = request.families
    with read_snapshot():
        scopes = readable_scopes(
            scope_id=request.scope_id,
            crosses_references=not limits.CROSSING_FAMILIES.isdisjoint(families),
            principal=principal,
        )
        recalled = recall(
            query=request.query, families=families, scopes=scopes, runtime=runtime
        )
    return Prepared(build=build(request, recalled))


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
