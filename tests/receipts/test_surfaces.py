"""A receipt lives in one answer: not stored, not fetched, not an Artifact (R-200..)."""

import json
import uuid
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from prepare import limits
from tests.api import PREPARE, Api, openapi
from tests.factories import experience, make_scope, profile, remember, topic, write
from tests.receipts.making import FAMILIES, ask, raw, sections


@pytest.fixture
def scope(db: None) -> None:
    scope = make_scope("s")
    remember(scope, "zebra")
    write(scope, "experience", experience("zebra"))
    write(scope, "topic-memory", topic("zebra"))
    profile(scope, "Zebras.")


def counts() -> dict[str, int]:
    """Rows of every table, those of the framework too."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            name = connection.ops.quote_name(table)
            cursor.execute(f"SELECT COUNT(*) FROM {name}")
            found[table] = cursor.fetchone()[0]
    return found


@pytest.mark.clause("R-200", "R-202")
def test_no_row_is_written(api: Api, scope) -> None:
    """Neither for a receipt nor for one that cannot be made."""
    before = counts()
    forms: list[dict[str, Any]] = [{}, {"assembly": {}}, sections(*FAMILIES)]
    with CaptureQueriesContext(connection) as captured:
        for query in ("zebra", "nothing like it"):
            for options in forms:
                ask(api, "s", query, **options)
    words = ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER")
    assert not [
        one["sql"]
        for one in captured.captured_queries
        if one["sql"].lstrip().startswith(words)
    ]
    assert counts() == before


@pytest.mark.clause("R-200", "R-202")
def test_no_table_and_no_migration_is_for_receipts(db) -> None:
    tables = connection.introspection.table_names()
    assert tables
    models = [model.__name__ for model in apps.get_models()]
    fields = [
        field.name
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if field.name
    ]
    loader = MigrationLoader(connection)
    operations = [
        repr(operation.deconstruct())
        for migration in loader.disk_migrations.values()
        for operation in migration.operations
    ]
    assert operations
    for words in (tables, models, fields, operations):
        assert not [one for one in words if "receipt" in one.lower()]


@pytest.mark.clause("R-201")
def test_a_receipt_is_no_artifact(api: Api, scope) -> None:
    assert not [one for one in limits.STORED_FAMILIES if "receipt" in one]
    receipt = ask(api, "s", "zebra").receipt
    assert "revision" not in receipt
    for family in ("receipt", "prepared-context-receipt"):
        body = {"family": family, "content": receipt}
        assert api.post("/v1/scopes/s/artifacts", body).status == 422
        path = f"/v1/scopes/s/artifacts/{family}/{receipt['receipt_id']}"
        assert api.get(path).status in (404, 422)
    path = f"/v1/scopes/s/artifacts/atomic-memory/{receipt['receipt_id']}"
    assert api.get(path).code == "artifact_not_found"


def routes(resolver: URLResolver, prefix: str = "") -> list[str]:
    found = []
    for pattern in resolver.url_patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found += routes(pattern, path)
        elif isinstance(pattern, URLPattern):
            found.append(path)
    return found


@pytest.mark.clause("R-023", "R-202")
def test_nothing_takes_a_receipt_id(api: Api, scope) -> None:
    # The Inspector's page reads a receipt that is pasted, and has no parameter.
    named = [one for one in routes(get_resolver()) if "receipt" in one.lower()]
    assert named == ["inspector/receipt"]
    for path, operations in openapi()["paths"].items():
        assert "receipt" not in path
        for operation in operations.values():
            assert "receipt" not in operation["operationId"]
            names = [one["name"] for one in operation.get("parameters", ())]
            assert "receipt_id" not in names
    receipt_id = ask(api, "s", "zebra").receipt["receipt_id"]
    for path in (
        "receipts",
        "context/receipts",
        "context/prepare",
        "scopes/s/receipts",
    ):
        for method in ("get", "post", "put"):
            answer = api.send(method, f"/v1/{path}/{receipt_id}", {})
            assert answer.status == 404
    assert api.get(PREPARE).status == 405


@pytest.mark.clause("R-023", "R-202")
def test_the_bootstrap_field_does_not_fetch_a_receipt(api: Api, scope) -> None:
    """It is accepted for old clients and has no effect (J-4)."""
    without = raw(api, "s", "zebra")
    receipt_id = ask(api, "s", "zebra").receipt["receipt_id"]
    for value in (receipt_id, str(uuid.uuid4())):
        assert raw(api, "s", "zebra", bootstrap_receipt_id=value) == without


@pytest.mark.clause("R-203")
def test_prepare_is_no_tool(api: Api, scope) -> None:
    """There is no tool surface, and nothing advertises prepare as one."""
    for path in ("/mcp", "/mcp/", "/v1/mcp", "/v1/tools", "/sse"):
        assert api.get(path).status == 404
        assert api.post(path, {"method": "tools/list"}).status == 404
    assert not [one for one in routes(get_resolver()) if "mcp" in one or "tool" in one]
    capabilities = json.dumps(api.get("/v1/capabilities").body)
    for word in ("receipt", "mcp", "tool"):
        assert word not in capabilities


@pytest.mark.clause("R-215")
def test_there_is_one_kind_of_receipt(api: Api, scope) -> None:
    """A Handoff receipt acknowledges a revision; this explains one recall. Type, name
    and route of this one are its own, and nothing of a handoff is accepted."""
    schemas = openapi()["components"]["schemas"]
    receipts = [name for name in schemas if name.endswith("Receipt")]
    assert receipts == ["PreparedContextReceipt"]
    users = [name for name, one in schemas.items() if receipts[0] in json.dumps(one)]
    assert users == ["PreparedContext"]
    assert "handoff" not in json.dumps(schemas["PreparedContextReceipt"]).lower()
    assert not [one for one in routes(get_resolver()) if "handoff" in one]
    body = {"family": "handoff", "content": {"text": "zebra"}}
    assert api.post("/v1/scopes/s/artifacts", body).status == 422
    receipt = ask(api, "s", "zebra").receipt
    assert receipt["schema"] == "powercontext.prepared-context-receipt.v1"
