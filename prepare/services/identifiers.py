"""New identifiers, and the rules that callers' identifiers must meet. Pure.

Contract B.3. Leading or trailing white space is refused: some databases would compare
`a` and `a ` as equal (C-41). NUL is refused everywhere (J-30).
"""

import re
import secrets
import uuid

from prepare import limits
from prepare.errors import InvalidRequest, Violation

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_VISIBLE_ASCII = re.compile(r"[\x21-\x7E]+\Z")


def new_scope_id() -> str:
    """`scp_` and 26 lower-case Crockford base32 digits of 128 random bits (B.1)."""
    number = secrets.randbits(128)
    digits = [_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5)]
    return f"scp_{''.join(digits)}"


def new_identifier(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"


def check_visible_ascii(value: str, *loc: str | int) -> str:
    """Families, artifact, entry and candidate ids: 1 to 128 visible ASCII."""
    if not _VISIBLE_ASCII.match(value) or len(value) > limits.IDENTITY_CHARS:
        raise _refused("1 to 128 visible ASCII characters", loc)
    return value


def check_name(value: str, highest: int, *loc: str | int) -> str:
    """Scope ids, source types and ids: trimmed, any script, no NUL."""
    if not 1 <= len(value) <= highest or value != value.strip() or "\0" in value:
        raise _refused(f"1 to {highest} characters, trimmed, without NUL", loc)
    return value


def _refused(msg: str, loc: tuple[str | int, ...]) -> InvalidRequest:
    return InvalidRequest(
        [Violation(type="string_pattern_mismatch", loc=("body", *loc), msg=msg)]
    )
