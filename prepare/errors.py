"""Domain errors with stable wire codes (contract B.5). Pure.

Services raise these; only `prepare.handlers` knows HTTP status numbers. `details` is
what the error envelope shows; it never holds bodies, queries or secrets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CONTRACT_VIOLATED = "The request violates the API contract."


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One broken rule: `type` is a stable word, `loc` the path to the value."""

    type: str
    loc: tuple[str | int, ...]
    msg: str

    def as_details(self) -> dict[str, Any]:
        return {"type": self.type, "loc": list(self.loc), "msg": self.msg}


class PowerContextError(Exception):
    """Base of all domain errors. Retrying helps only where a subclass says so."""

    code = "internal_error"
    message = "The Server failed."

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.code = code or self.code
        self.message = message or self.message
        self.details = dict(details) if details is not None else None
        super().__init__(self.message)


class InvalidRequest(PowerContextError):
    """The request is malformed or semantically refused; retrying cannot help."""

    code = "invalid_request"
    message = CONTRACT_VIOLATED

    def __init__(
        self, violations: Sequence[Violation] = (), message: str | None = None
    ) -> None:
        self.violations = tuple(violations)
        details = (
            {"errors": [violation.as_details() for violation in self.violations]}
            if violations
            else None
        )
        super().__init__(message, details=details)


class InvalidQueryString(InvalidRequest):
    """A query-string parameter of a /v1/scopes/... route is malformed (400)."""


class InvalidCursor(PowerContextError):
    """The paging cursor was not made by this server."""

    code = "invalid_cursor"
    message = "The cursor is not valid for this listing."


class Unauthorized(PowerContextError):
    """No valid credential came with the request."""

    code = "unauthorized"
    message = "A valid credential is required."


class Forbidden(PowerContextError):
    """The principal may not do this; it also hides whether the target exists."""

    code = "forbidden"
    message = "The Principal is not authorized for this operation."


class NotFound(PowerContextError):
    """The addressed value does not exist (code says which kind)."""

    code = "not_found"
    message = "The requested resource was not found."


class ScopeNotFound(NotFound):
    code = "scope_not_found"
    message = "The requested Scope was not found."


class ArtifactNotFound(NotFound):
    code = "artifact_not_found"
    message = "The requested Artifact was not found."


class SourceNotFound(NotFound):
    code = "source_not_found"
    message = "The requested Source was not found."


class CandidateNotFound(NotFound):
    code = "candidate_not_found"
    message = "The requested Candidate was not found."


class MemoryNotFound(NotFound):
    code = "memory_not_found"
    message = "The requested Memory entry was not found."


class Conflict(PowerContextError):
    """The stored state differs from what the caller assumed: read again, then retry."""

    code = "artifact_conflict"
    message = "The stored state has changed."


class RevisionConflict(PowerContextError):
    """If-Match names an older revision: read the head again, then retry."""

    code = "revision_conflict"
    message = "The Artifact has a newer revision."


class PreconditionRequired(PowerContextError):
    """A mutation came without If-Match."""

    code = "precondition_required"
    message = "Artifact mutation requires the current ETag in If-Match."


class Unsupported(PowerContextError):
    """The operation is known but not offered for this value (422)."""

    code = "operation_not_supported"
    message = "The operation is not supported."


class NotReady(PowerContextError):
    """A dependency is unavailable; retrying later helps."""

    code = "runtime_not_ready"
    message = "The Server is not ready."


class InvariantViolated(PowerContextError):
    """Our own promise was broken (contract G.9, J-25); a bug, never an empty result."""

    def __init__(self, invariant: str) -> None:
        self.invariant = invariant
        super().__init__()

    def __str__(self) -> str:
        return f"prepared context invariant failed: {self.invariant}"


def describe(error: PowerContextError) -> str:
    """The message of a domain error, with every violated rule and where it is."""
    if not isinstance(error, InvalidRequest) or not error.violations:
        return error.message
    return "; ".join(
        f"{'.'.join(str(step) for step in violation.loc[1:])}: {violation.msg}"
        for violation in error.violations
    )
