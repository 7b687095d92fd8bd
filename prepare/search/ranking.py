"""BM25 weights of one pool, the choice of driving terms, and admission; pure (J-18).

A document's score is the sum, over the query terms it holds, of
``idf * saturation * tf / (tf + length_base + length_slope * length)``. One SQL
statement computes it from the postings, so every database ranks alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

# One pair for all pools (R@8 on chat turns, Chinese sentences, code):
# 1.2/.75 .587 .929 .537; 1.2/.5 .602 .927 .524; .9/.4 .609 .926 .515.
K1: Final = 1.2
B: Final = 0.5

# A smaller pool is taken for a sample of this many documents. Without it a pool of one
# gives a word it holds 0.3 and an unknown word 1.4, and the gate stays shut.
MIN_DOCUMENTS: Final = 1_000

# The statement compares each posting with each term, and a query may be a pasted log.
MAX_SCORED_TERMS: Final = 256

# A query of more words than this is a prompt that says more than what it looks for; the
# gate then asks for a share that falls with the power of the words.
SHORT_QUERY_WORDS: Final = 6
LONG_QUERY_POWER: Final = 0.75
CJK_TERMS_PER_WORD: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatistics:
    """How many documents a pool holds and the sum of their lengths in terms."""

    documents: int
    total_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighting:
    """What the ranking statement of one pool needs.

    `frequencies` and `idf` hold the query terms the pool knows, in query order;
    `total_idf` counts the unknown ones too.
    """

    frequencies: Mapping[int, int]
    idf: Mapping[int, float]
    total_idf: float
    saturation: float
    length_base: float
    length_slope: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Admission thresholds: shares (0..1) of the query's IDF that a hit must hold.

    The best hit opens the gate at `latin_mass` or `han_mass`; after that `item_mass`
    admits each hit. One rare word out of three known to be searched for holds .2996.
    """

    latin_mass: float = 0.29
    han_mass: float = 0.20
    item_mass: float = 0.10


def idf(documents: int, document_frequency: int) -> float:
    """Inverse document frequency in nats, never negative; most for an unknown term.

    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond
    (2009), eq. 3.2, with Lucene's 1 inside the logarithm.
    """
    size = max(documents, document_frequency, MIN_DOCUMENTS)
    return log(1 + (size - document_frequency + 0.5) / (document_frequency + 0.5))


def weigh(
    statistics: PoolStatistics, frequencies: Mapping[int, int], keys: Sequence[int]
) -> Weighting:
    """Weights of the distinct query terms `keys`; `frequencies` counts documents."""
    known = {key: frequencies[key] for key in keys if frequencies.get(key, 0) > 0}
    documents = statistics.documents
    average = max(statistics.total_length, 1) / max(documents, 1)
    return Weighting(
        frequencies=known,
        idf={key: idf(documents, count) for key, count in known.items()},
        total_idf=sum(idf(documents, known.get(key, 0)) for key in keys),
        saturation=K1 + 1,
        length_base=K1 * (1 - B),
        length_slope=K1 * B / average,
    )


def choose_terms(
    frequencies: Mapping[int, int], postings_cap: int = 5_000
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(driving, probed): the rarest terms whose postings fit the cap, and the rest.

    Documents are found by driving terms; probed terms only add to the scores of those.
    The rarest term drives even if it alone exceeds the cap; of more than
    MAX_SCORED_TERMS terms the most frequent are left out.
    """
    rarest_first = sorted(frequencies, key=lambda key: (frequencies[key], key))
    rarest_first = rarest_first[:MAX_SCORED_TERMS]
    postings = 0
    for position, key in enumerate(rarest_first):
        postings += frequencies[key]
        if position and postings > postings_cap:
            return tuple(rarest_first[:position]), tuple(rarest_first[position:])
    return tuple(rarest_first), ()


def admit(
    masses: Sequence[float], han_share: float, gate: Gate, *, term_count: int = 0
) -> tuple[bool, ...]:
    """Which hits are admitted, by their mass: held IDF over the query's whole IDF.

    None, unless the best hit reaches the gate. `term_count` is how many distinct terms
    the query has (0: judge it as a short one).
    """
    leniency = _leniency(han_share, term_count)
    threshold = gate.latin_mass + (gate.han_mass - gate.latin_mass) * han_share
    if max(masses, default=0.0) < threshold * leniency:
        return (False,) * len(masses)
    return tuple(mass >= gate.item_mass * leniency for mass in masses)


def _leniency(han_share: float, term_count: int) -> float:
    """Factor on the thresholds, 1 for short queries, falling for long ones."""
    words = term_count * (1 - han_share + han_share / CJK_TERMS_PER_WORD)
    if words <= SHORT_QUERY_WORDS:
        return 1.0
    return float((SHORT_QUERY_WORDS / words) ** LONG_QUERY_POWER)
