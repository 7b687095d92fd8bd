"""The closed words of a receipt in plain language, as docs/receipts.md has them."""

from collections.abc import Mapping
from typing import Final

from inspector.presenting.words import N_

Meanings = Mapping[str, str]

OMISSIONS: Final[Meanings] = {
    "duplicate": N_("The same revision came before in the list of its family."),
    "blank": N_("Its text is white space only."),
    "family_limit": N_(
        "Its family was full: its section had the number of items that was asked for,"
        " or the lists of several Scopes held more candidates than are merged."
    ),
    "entry_limit": N_("The envelope had its eight items already."),
    "below_min_bytes": N_(
        "Text form: less than 64 bytes of its text would have fitted. Envelope: it is"
        " shorter than 64 bytes and did not fit whole."
    ),
    "no_fitting_truncation": N_(
        "Text form: its citation left no room for any of its text. Envelope: no 64"
        " bytes of its text fitted."
    ),
    "rerank_not_selected": N_("The reranker did not choose it."),
    "not_retrieved": N_(
        "The family was asked for and had no candidate: nothing stored, nothing close"
        " enough to the query, or no reader."
    ),
}

ROUNDS: Final[Meanings] = {
    "completed": N_("It ran to its end."),
    "expansion_failed": N_("The query could not be expanded; the round was given up."),
}

MODES: Final[Meanings] = {
    "fts": N_("by words"),
    "vector": N_("by vectors"),
    "hybrid": N_("by words and vectors"),
    "snapshot": N_("all committed profiles were read"),
    "code": N_("code evidence"),
    "none": N_("nothing ran"),
}

SEARCHES: Final[Meanings] = {
    "completed": N_("It ran; no hit is a result too."),
    "not_run": N_("No reader is configured for this family."),
    "failed": N_("It was tried in a round that was then given up."),
}

RERANKS: Final[Meanings] = {
    "selected": N_("The reranker chose."),
    "fallback": N_("The order of the search was kept."),
    "failed": N_("The call failed."),
}

FALLBACKS: Final[Meanings] = {
    "none": N_("as intended"),
    "inference_unavailable": N_("the model could not be reached"),
    "inference_timeout": N_("the model did not answer in time"),
    "reused_fts_fallback": N_("the words-only result of an earlier round was kept"),
    "empty_selection": N_("the model chose nothing"),
    "invalid_output": N_("the model answered in no usable form"),
}

# As a request comes to them.
STAGES: Final[Meanings] = {
    "memory.search": N_("Ranking memories, once for each Scope"),
    "experience.search": N_("Ranking experiences, once for each Scope"),
    "topic_memory.search": N_("Ranking topics"),
    "memory.rerank": N_("Reranking memories"),
    "code.query": N_("Asking for code evidence"),
    "context.build": N_("Packing and rendering"),
}
