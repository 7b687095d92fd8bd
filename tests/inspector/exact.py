"""For the tests of exact pages: an identity, its page, and a changed database."""

from django.db import connection

from inspector.links import revision_url
from prepare.values import Identity
from tests.factories import ref
from tests.inspector.pages import Page, Visitor

BODY = "Line one\n\n  <b>two</b> {{ 7 }} “三” 😀"


def identity(row, entry: str | None = None, version: str | None = None) -> Identity:
    return Identity(
        scope_id=row.artifact.scope.scope_id,
        artifact=ref(row),
        entry_id=entry,
        entry_version_id=version,
    )


def read(visitor: Visitor, row) -> Page:
    return visitor.get(revision_url(identity(row)))


def alter(row, content: str) -> None:
    """As somebody with the database open would; our models refuse it."""
    table = row._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET content = %s WHERE id = %s", [content, row.pk]
        )
