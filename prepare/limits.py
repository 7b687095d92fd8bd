"""Every number and fixed name of the contract, once, with its unit and clause. Pure."""

from typing import Final

# The prepare request (contract A.1).
SCOPE_ID_CHARS: Final = 256
QUERY_CHARS: Final = 8192  # code points, not bytes
MAX_BYTES_LOWEST: Final = 512  # UTF-8 bytes of `content`
MAX_BYTES_HIGHEST: Final = 32768
MAX_BYTES_DEFAULT: Final = 8000
BOOTSTRAP_RECEIPT_ID_CHARS: Final = 64  # accepted without effect (J-4)

# The assembly object (contract A.2).
ASSEMBLY_FORMAT: Final = "markdown"
SECTION_COUNT: Final = 4
SECTION_LIMITS: Final = {"memory": 8, "experience": 2, "profile": 8, "topic-memory": 8}
SHOW_NAMES: Final = ("confidence", "recall_rank")
DEFAULT_SECTIONS: Final = (("memory", 6), ("experience", 2))
ASSEMBLY_ENTRIES_DEFAULT: Final = 8  # total over the sections

# Families as the request selects them.
MEMORY: Final = "memory"
EXPERIENCE: Final = "experience"
PROFILE: Final = "profile"
TOPIC_MEMORY: Final = "topic-memory"
SELECTABLE_FAMILIES: Final = (MEMORY, EXPERIENCE, PROFILE, TOPIC_MEMORY)
# Families whose reading crosses Context References (J-11).
CROSSING_FAMILIES: Final = frozenset({MEMORY, EXPERIENCE, PROFILE})

# Families as artifacts carry them (contract B.3).
ATOMIC_MEMORY: Final = "atomic-memory"
MEMORY_COLLECTION: Final = "memory"
PROMPT: Final = "prompt"
STORED_FAMILIES: Final = (
    ATOMIC_MEMORY,
    MEMORY_COLLECTION,
    EXPERIENCE,
    PROFILE,
    TOPIC_MEMORY,
    PROMPT,
)
PROFILE_ARTIFACT_ID: Final = "profile"
# Stored family -> the section that offers it; no section offers a prompt.
SELECTORS: Final = {
    ATOMIC_MEMORY: MEMORY,
    MEMORY_COLLECTION: MEMORY,
    EXPERIENCE: EXPERIENCE,
    PROFILE: PROFILE,
    TOPIC_MEMORY: TOPIC_MEMORY,
}

# Candidate bounds: one Scope's list and the merged list (contract D.1, J-25).
POOL_CAPS: Final = {MEMORY: 16, EXPERIENCE: 8, TOPIC_MEMORY: 8}
SEARCH_DEPTH: Final = 64  # ranked hits kept before the bounds apply (J-18)

# Legacy envelope (contract G).
LEGACY_FAMILIES: Final = (MEMORY, TOPIC_MEMORY, EXPERIENCE)  # rotation order (G.5)
LEGACY_ENTRIES: Final = 8
LEGACY_EXPERIENCES: Final = 2

# Truncation (contract A.4 budget algorithm, G.7, G.8).
BODY_BYTES: Final = 2000  # one body, escaped (text) or raw (legacy)
TRUNCATED_BODY_BYTES: Final = 64  # a shorter truncated body is dropped
ELLIPSIS: Final = "…"  # 3 UTF-8 bytes

# Wire names.
PREPARED_SCHEMA: Final = "powercontext.prepared-context.v1"
ATOMIC_SCHEMA: Final = "powercontext.atomic-memory.v1"
PROFILE_SCHEMA: Final = "powercontext.profile.v1"
PROMPT_SCHEMA: Final = "powercontext.prompt.v1"

# Identities (contract B.3).
IDENTITY_CHARS: Final = 128  # family, artifact_id, entry ids, candidate_id
SOURCE_TYPE_CHARS: Final = 128
SOURCE_ID_CHARS: Final = 256
HIGHEST_REVISION: Final = 2**31 - 1

# Scopes (contract B.1).
TITLE_CHARS: Final = 256
SUMMARY_CHARS: Final = 2000
REFERENCE_KIND_CHARS: Final = 128
REFERENCE_VALUE_CHARS: Final = 2000
IDEMPOTENCY_KEY_CHARS: Final = 256

# Contents (contract C.2 - C.7).
MEMORY_TEXT_BYTES: Final = 8192
KIND_CHARS: Final = 128
EXPERIENCE_FIELD_CHARS: Final = 8000
FAILURE_CUE_CHARS: Final = 512
PROFILE_BYTES: Final = 262144
TOPIC_TITLE_CHARS: Final = 512
TOPIC_SUMMARY_CHARS: Final = 8000
TOPIC_DETAIL_CHARS: Final = 125000
PROMPT_INSTRUCTIONS_CHARS: Final = 32768
PROMPT_DEMONSTRATIONS: Final = 50
PROMPT_DEMONSTRATION_BYTES: Final = 64 * 1024
PROMPT_BYTES: Final = 256 * 1024
SOURCE_CONTENT_CHARS: Final = 200000
REASON_CHARS: Final = 1024
MEMORY_REASON_CHARS: Final = 512
CANDIDATE_REASON_CHARS: Final = 2000
CANDIDATE_EVIDENCE: Final = 32
MERGE_INPUTS_LOWEST: Final = 2

# Paging (reference: wire facts, section 6).
PAGE_DEFAULT: Final = 50
PAGE_HIGHEST: Final = 100
CURSOR_CHARS: Final = 4096

# The receipt (contract A.9).
RECEIPT_SCHEMA: Final = "powercontext.prepared-context-receipt.v1"
RECEIPT_BYTES: Final = 8192  # of the exact JSON returned
RECEIPT_SELECTED: Final = 32
RECEIPT_ROUNDS: Final = 3
RECEIPT_SEARCHES: Final = 32  # groups over all rounds
RECEIPT_RERANK_CONFIGS: Final = 8
RECEIPT_RERANKS: Final = 32
RECEIPT_OMITTED: Final = 16
RECEIPT_STAGES: Final = 8
