"""Health that asks: every fault is named, none is an exception (C-67)."""

import pytest
from django.db import connection

from prepare.models import Posting, SearchDocument, SearchPool, Term
from prepare.search import index
from prepare.services.health import READY, check_health, check_thoroughly
from tests.factories import make_scope, remember
from tests.queries import hidden_tables


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_new_and_filled_servers_are_ready(db) -> None:
    assert check_thoroughly().is_ready
    remember(make_scope("s"), "zebra")
    health = check_thoroughly()
    assert health.is_ready
    assert set(health.checks.values()) == {READY}


def lose_postings() -> None:
    Posting.objects.all().delete()


def lose_documents() -> None:
    index.remove_documents(list(SearchDocument.objects.all()))
    Posting.objects.create(
        pool_id=SearchPool.objects.get().pk,
        term=1,
        document_id=1,
        frequency=1,
        length=1,
    )


def lose_terms() -> None:
    Term.objects.all().delete()


def lose_pool() -> None:
    Posting.objects.all().delete()
    Posting.objects.create(pool_id=999, term=1, document_id=1, frequency=1, length=1)


@pytest.mark.parametrize("lose", [lose_postings, lose_documents, lose_terms, lose_pool])
def test_broken_index_is_not_ready(db, lose) -> None:
    remember(make_scope("s"), "zebra secret")
    lose()
    health = check_health()
    assert not health.is_ready
    assert health.checks["database"] == READY
    assert "zebra" not in str(health.checks)


@pytest.mark.parametrize("name", ["posting", "searchdocument"])
def test_a_lost_table_is_not_ready(db, name) -> None:
    remember(make_scope("s"), "zebra")
    with hidden_tables(f"prepare_{name}"):
        health = check_health()
    assert health.checks["search_index"].startswith("failed (")
    assert health.checks["database"] == READY


@pytest.mark.parametrize("name", ["documents", "total_length"])
def test_wrong_counts_are_found(db, name) -> None:
    remember(make_scope("s"), "zebra")
    SearchPool.objects.all().update(**{name: 7})
    assert check_health().is_ready
    health = check_thoroughly()
    assert "disagrees" in health.checks["search_counts"]
    Term.objects.all().update(frequency=5)
    assert not check_thoroughly().is_ready


def test_unapplied_migrations_are_found(db) -> None:
    execute("DELETE FROM django_migrations WHERE app = 'prepare' AND name LIKE '0004%'")
    assert check_thoroughly().checks["migrations"] == "1 not applied: run migrate"
