"""Find and rank the documents of search pools: three statements and one per pool.

Rarest terms first until the postings cap; frequent terms are only probed for documents
the rare ones found. One SQL statement sums the scores of one pool, the same text on
every database. User text reaches it as 64-bit term keys, never as a search grammar.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection

from prepare import limits
from prepare.models import SearchPool, Term
from prepare.search import vendors
from prepare.search.analysis import han_share, query_terms, term_key
from prepare.search.ranking import (
    Gate,
    PoolStatistics,
    Weighting,
    admit,
    choose_terms,
    weigh,
)

Parameter = int | float

# Documents that rare terms found and that frequent terms may still reorder.
_COARSE_DEPTH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolKey:
    """One searched family (the selector's word) of one Scope (primary key)."""

    scope_id: int
    family: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A ranked document. `mass` is the share of the query's IDF that it holds; scores
    stay inside this module (J-18)."""

    document_id: int
    revision_id: int
    entry_version_id: int | None
    mass: float


def query_keys(query: str) -> dict[int, str]:
    """Term key -> term of a query, in first-appearance order."""
    return {term_key(term): term for term in query_terms(query)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """One query over some pools: its terms and what the pools know of them."""

    terms: tuple[int, ...]
    han_share: float
    pools: Mapping[PoolKey, SearchPool]
    frequencies: Mapping[int, Mapping[int, int]]
    gate: Gate
    postings_cap: int
    depth: int

    def rank(self, key: PoolKey) -> tuple[Hit, ...]:
        """Admitted hits of one pool, best first, ties by artifact id, then entry id."""
        return self.admitted(self.find(key))

    def find(self, key: PoolKey) -> list[Hit]:
        """`rank` before admission, down to the depth of the search."""
        weighting = self.weighting(key)
        if weighting is None:
            return []
        return _rank(self.pools[key].pk, weighting, self.postings_cap, self.depth)

    def weighting(self, key: PoolKey) -> Weighting | None:
        """The weights of the query in one pool; None if nothing can be searched."""
        row = self.pools.get(key)
        if row is None or not self.terms:
            return None
        return weigh(_statistics(row), self.frequencies.get(row.pk, {}), self.terms)

    def admitted(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        admitted = admit(
            [hit.mass for hit in hits],
            self.han_share,
            self.gate,
            term_count=len(self.terms),
        )
        return tuple(hit for hit, is_in in zip(hits, admitted, strict=True) if is_in)


def plan_search(
    *,
    query: str,
    pools: Sequence[PoolKey],
    gate: Gate,
    postings_cap: int,
    depth: int = limits.SEARCH_DEPTH,
) -> SearchPlan:
    """Read the statistics of all pools; two statements, whatever their number."""
    terms = query_keys(query)
    rows = _read_pools(pools) if pools and terms else {}
    return SearchPlan(
        terms=tuple(terms),
        han_share=han_share(list(terms.values())),
        pools=rows,
        frequencies=_read_frequencies([row.pk for row in rows.values()], terms),
        gate=gate,
        postings_cap=postings_cap,
        depth=depth,
    )


def rank_terms(*, pool_id: int, terms: Sequence[int], postings_cap: int) -> list[Hit]:
    """Rank one pool by term keys, without admission (for health checks)."""
    row = SearchPool.objects.get(pk=pool_id)
    frequencies = _read_frequencies([pool_id], terms).get(pool_id, {})
    weighting = weigh(_statistics(row), frequencies, terms)
    return _rank(pool_id, weighting, postings_cap, limits.SEARCH_DEPTH)


def _statistics(row: SearchPool) -> PoolStatistics:
    return PoolStatistics(documents=row.documents, total_length=row.total_length)


def _read_pools(pools: Sequence[PoolKey]) -> dict[PoolKey, SearchPool]:
    rows = SearchPool.objects.filter(
        scope_id__in={key.scope_id for key in pools},
        family__in={key.family for key in pools},
    )
    by_key = {PoolKey(scope_id=row.scope_id, family=row.family): row for row in rows}
    return {key: by_key[key] for key in pools if key in by_key}


def _read_frequencies(
    pool_ids: Sequence[int], terms: Iterable[int]
) -> dict[int, dict[int, int]]:
    frequencies: dict[int, dict[int, int]] = {}
    rows = Term.objects.filter(
        pool_id__in=pool_ids, term__in=list(terms), frequency__gt=0
    ).values_list("pool_id", "term", "frequency")
    for pool_id, term, frequency in rows:
        frequencies.setdefault(pool_id, {})[term] = frequency
    return frequencies


def _rank(
    pool_id: int, weighting: Weighting, postings_cap: int, depth: int
) -> list[Hit]:
    driving, probed = choose_terms(weighting.frequencies, postings_cap)
    if not driving:
        return []
    query = _RankingQuery(pool_id=pool_id, weighting=weighting)
    is_capped = weighting.frequencies[driving[0]] > postings_cap
    query.add_driven(driving, newest=postings_cap if is_capped else None)
    if probed:
        query.add_probed(probed)
    statement, parameters = query.finish(depth)
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    return [
        Hit(
            document_id=document_id,
            revision_id=revision_id,
            entry_version_id=entry_version_id,
            mass=mass / weighting.total_idf,
        )
        for document_id, revision_id, entry_version_id, mass in rows
    ]


@dataclass(slots=True)
class _RankingQuery:
    """Builds the one statement that ranks a pool, as a chain of named subqueries.

    Each step adds (document_id, score, mass); `ranked` names the latest.
    """

    pool_id: int
    weighting: Weighting
    steps: list[str] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    ranked: str = ""

    def _add(self, name: str, select: str, parameters: Sequence[Parameter]) -> None:
        self.steps.append(f"{name} AS ({select})")
        self.parameters += parameters
        self.ranked = name

    @property
    def _score(self) -> str:
        return "idf * %s * frequency / (frequency + %s + %s * length)"

    @property
    def _score_parameters(self) -> list[Parameter]:
        weighting = self.weighting
        return [weighting.saturation, weighting.length_base, weighting.length_slope]

    def _idf_case(self, terms: Sequence[int]) -> tuple[str, list[Parameter]]:
        branches = " ".join(["WHEN %s THEN %s"] * len(terms))
        parameters = [value for term in terms for value in (term, self._idf(term))]
        return f"CASE term {branches} END", parameters

    def _idf(self, term: int) -> float:
        return self.weighting.idf[term]

    def add_driven(self, terms: Sequence[int], *, newest: int | None) -> None:
        """Sum the postings of the driving terms.

        `newest` bounds a single term that is over the cap by itself: its newest
        documents stand for it, read in the order of its postings.
        """
        if newest is None:
            terms = vendors.pad_terms(terms)
        case, case_parameters = self._idf_case(terms)
        bound = "" if newest is None else " ORDER BY document_id DESC LIMIT %s"
        bound_parameters = [] if newest is None else [newest]
        self._add(
            "driven",
            f"SELECT document_id, SUM({self._score}) AS score, SUM(idf) AS mass FROM ("
            f"SELECT document_id, {case} AS idf, frequency, length"
            " FROM prepare_posting WHERE pool_id = %s"
            f" AND term IN ({_marks(terms)}){bound}) AS scored GROUP BY document_id",
            [
                *self._score_parameters,
                *case_parameters,
                self.pool_id,
                *terms,
                *bound_parameters,
            ],
        )

    def add_probed(self, terms: Sequence[int]) -> None:
        """Add the frequent terms of the best documents, found by primary key.

        Ties at the cut are kept: which document was stored first decides nothing.
        """
        self._add(
            "coarse",
            "SELECT document_id, score, mass FROM driven WHERE score >= COALESCE(("
            "SELECT score FROM driven ORDER BY score DESC LIMIT 1 OFFSET %s), 0)",
            [_COARSE_DEPTH - 1],
        )
        terms = vendors.pad_terms(terms)
        case, case_parameters = self._idf_case(terms)
        # CROSS JOIN fixes the order on SQLite: documents first, then their postings.
        self._add(
            "probed",
            "SELECT document_id, SUM(score) AS score, SUM(mass) AS mass FROM ("
            "SELECT document_id, score, mass FROM coarse UNION ALL"
            f" SELECT document_id, {self._score}, idf FROM ("
            f"SELECT {_by_key('coarse', 'posting')} coarse.document_id, {case} AS idf,"
            " frequency, length FROM coarse"
            " CROSS JOIN prepare_posting AS posting ON posting.pool_id = %s"
            f" AND posting.term IN ({_marks(terms)})"
            " AND posting.document_id = coarse.document_id) AS scored"
            ") AS summed GROUP BY document_id",
            [*self._score_parameters, *case_parameters, self.pool_id, *terms],
        )

    def finish(self, depth: int) -> tuple[str, list[Parameter]]:
        """Cut, then order with the tie-break.

        `edge` is the score at the cut. Keeping its ties lets the artifact id decide
        among them, while only documents above it are joined to their names.
        """
        ranked = self.ranked
        self._add(
            "edge",
            f"SELECT score FROM {ranked} ORDER BY score DESC LIMIT 1 OFFSET %s",
            [depth - 1],
        )
        statement = (
            f"WITH {', '.join(self.steps)}"
            f" SELECT {_by_key(ranked, 'document')} document.id, document.revision_id,"
            " document.entry_version_id, mass"
            f" FROM {ranked} JOIN prepare_searchdocument AS document"
            f" ON document.id = {ranked}.document_id"
            " WHERE score >= COALESCE((SELECT score FROM edge), 0)"
            " ORDER BY score DESC, document.artifact_key, document.entry_key LIMIT %s"
        )
        return statement, [*self.parameters, depth]


def _by_key(driving: str, looked_up: str) -> str:
    """Tells OceanBase to look rows up by key; it would rather read and hash the whole
    table (of all Scopes), or all of a frequent term. Elsewhere it is a comment."""
    return f"/*+ LEADING({driving} {looked_up}) USE_NL({looked_up}) */"


def _marks(terms: Sequence[int]) -> str:
    return ", ".join(["%s"] * len(terms))
