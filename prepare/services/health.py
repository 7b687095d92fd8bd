"""Readiness that really asks: database, migrations, and the search index."""

from collections.abc import Callable
from dataclasses import dataclass

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Sum

from prepare.models import Posting, SearchDocument, SearchPool, Term
from prepare.search import lookup, vendors
from prepare.services.runtime import configured_runtime

READY = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Check name -> `ready`, or what is wrong in words without any content."""

    checks: dict[str, str]

    @property
    def is_ready(self) -> bool:
        return all(state == READY for state in self.checks.values())


def check_health() -> Health:
    """A round trip through the database and one real ranking statement."""
    return Health(
        checks={
            "database": _run(_check_database),
            "search_index": _run(_check_search),
        }
    )


def check_thoroughly() -> Health:
    """What `doctor` adds: migrations, counts behind the ranking, collation."""
    checks = dict(check_health().checks)
    checks["migrations"] = _run(_check_migrations)
    checks["search_counts"] = _run(_check_counts)
    checks["storage"] = _run(lambda: vendors.storage_problem() or READY)
    return Health(checks=checks)


def describe_index() -> str:
    """How much the search index holds."""
    documents, pools = SearchDocument.objects.count(), SearchPool.objects.count()
    return f"{documents} documents in {pools} pools"


def _run(check: Callable[[], str]) -> str:
    try:
        return check()
    except DatabaseError as error:
        # The message of a database error quotes its parameters; its kind is enough.
        return f"failed ({type(error).__name__})"


def _check_database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return READY if cursor.fetchone() == (1,) else "failed"


def _check_search() -> str:
    """Rank the pool of any indexed document by one of its own terms."""
    posting = Posting.objects.order_by("pk").first()
    if posting is None:
        is_empty = not SearchDocument.objects.exists()
        return READY if is_empty else "documents without postings: rebuild_search"
    if not SearchPool.objects.filter(pk=posting.pool_id).exists():
        return "a posting belongs to no pool: rebuild_search"
    runtime = configured_runtime()
    found = lookup.rank_terms(
        pool_id=posting.pool_id,
        terms=[posting.term],
        postings_cap=runtime.postings_cap,
    )
    return READY if found else "a posting finds no document: rebuild_search"


def _check_migrations() -> str:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return f"{len(plan)} not applied: run migrate" if plan else READY


def _check_counts() -> str:
    """Stored counts equal what they count; a difference skews the ranking."""
    for pool in SearchPool.objects.all():
        documents = SearchDocument.objects.filter(pool=pool)
        length = documents.aggregate(total=Sum("length"))["total"] or 0
        postings = Posting.objects.filter(pool_id=pool.pk).count()
        frequencies = (
            Term.objects.filter(pool_id=pool.pk).aggregate(total=Sum("frequency"))[
                "total"
            ]
            or 0
        )
        if (pool.documents, pool.total_length, frequencies) != (
            documents.count(),
            length,
            postings,
        ):
            return f"pool {pool.pk} disagrees with its documents: rebuild_search"
    return READY
