"""The one JSON spelling of answers: compact, non-ASCII raw (wire section 1). Pure.

Receipts are bounded by their size in exactly this spelling (R-180).
"""

import json
from typing import Any


def dump_compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
