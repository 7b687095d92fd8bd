"""The published document: valid, current, and as strict as the server (A-041)."""

import difflib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import URLPattern, get_resolver
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator, ValidationError

from prepare import limits
from tests.api import PREPARE, Api, check_schema, openapi
from tests.contract.forms import REFUSALS, assembly, body, section, sections
from tests.contract.operations import OPERATIONS, WITH_BODY, Operation

SCHEMAS: dict[str, Any] = openapi()["components"]["schemas"]
# Named in the wire facts and in the design, by the operation's own section.
OPERATION_IDS = {
    *("get_liveness", "get_readiness", "get_capabilities", "get_server_info"),
    *("create_scope", "list_scopes", "get_scope", "update_scope"),
    *("get_default_scope", "set_default_scope"),
    *("set_scope_binding", "clear_scope_binding", "resolve_scope_binding"),
    *("create_artifact", "replace_artifact", "get_artifact", "list_artifacts"),
    *("list_artifact_revisions", "get_artifact_revision"),
    *("remember_memory", "search_memory", "list_memory_entries", "get_memory_entry"),
    *("search_atomic_memory", "list_atomic_memories", "get_atomic_memory_state"),
    *("change_atomic_memory_lifecycle", "merge_atomic_memories"),
    *("propose_experience", "get_experience"),
    *("list_candidates", "get_candidate", "approve_candidate", "reject_candidate"),
    *("search_topic_memory", "get_topic_memory", "get_prompt_configuration"),
    *("create_source", "list_sources", "get_source", "capture_content_source"),
    "prepare_context",
}
ENVELOPE = {"$ref": "#/components/schemas/ErrorEnvelope"}
# Served for people and machines, but no part of the contract.
UNPUBLISHED = {"/openapi.json", "/docs", "/metrics", "/"}


def test_document_is_valid() -> None:
    document = openapi()
    assert document["openapi"].startswith("3.")
    validate_schema(document)
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


def test_committed_document_is_current() -> None:
    generator: Any = SchemaGenerator()
    renderer: Any = OpenApiYamlRenderer()
    generated = renderer.render(generator.get_schema(public=True), renderer_context={})
    committed = yaml.safe_dump(openapi(), sort_keys=False)
    fresh = yaml.safe_dump(yaml.safe_load(generated), sort_keys=False)
    changes = difflib.unified_diff(
        committed.splitlines(), fresh.splitlines(), "committed", "generated", n=1
    )
    assert committed == fresh, "run `make openapi`:\n" + "\n".join(changes)


@pytest.mark.clause("A-041")
def test_request_states_every_expressible_bound() -> None:
    request = SCHEMAS["PrepareContextRequest"]
    properties = request["properties"]
    assert request["additionalProperties"] is False
    assert sorted(request["required"]) == ["query", "scope_id"]
    assert sorted(properties) == [
        *("assembly", "bootstrap_receipt_id", "include_code", "include_receipt"),
        *("max_bytes", "query", "scope_id"),
    ]

    def bounds(name: str) -> dict[str, Any]:
        return {
            key: value for key, value in properties[name].items() if key[0] != "d"
        } | {"default": properties[name].get("default")}

    text = {"type": "string", "minLength": 1, "pattern": r"\S", "default": None}
    assert bounds("scope_id") == text | {"maxLength": 256}
    assert bounds("query") == text | {"maxLength": 8192}
    assert bounds("max_bytes") == {
        "type": "integer",
        "minimum": 512,
        "maximum": 32768,
        "default": 8000,
    }
    assert bounds("include_code") == {"type": "boolean", "default": False}
    assert properties["include_receipt"]["type"] == ["boolean", "null"]
    assert properties["include_receipt"]["default"] is False
    assert properties["bootstrap_receipt_id"]["maxLength"] == 64
    assert "null" not in str(properties["assembly"].get("type"))


@pytest.mark.clause("A-041")
def test_assembly_states_every_expressible_bound() -> None:
    options = SCHEMAS["ContextAssemblyRequest"]
    properties = options["properties"]
    assert options["additionalProperties"] is False
    assert options.get("required", []) == []
    assert sorted(properties) == ["format", "sections", "show"]
    assert properties["format"]["enum"] == ["markdown"]
    assert properties["format"]["default"] == "markdown"
    assert properties["sections"]["type"] == "array"
    assert properties["sections"]["maxItems"] == 4
    assert properties["sections"]["default"] == [
        {"family": "memory", "limit": 6},
        {"family": "experience", "limit": 2},
    ]
    show = properties["show"]
    assert (show["type"], show["maxItems"], show["uniqueItems"]) == ("array", 2, True)
    assert show["items"]["enum"] == ["confidence", "recall_rank"]
    assert show["default"] == []

    item = SCHEMAS["ContextAssemblySectionRequest"]
    assert item["additionalProperties"] is False
    assert sorted(item["required"]) == ["family", "limit"]
    assert item["properties"]["family"]["enum"] == list(limits.SELECTABLE_FAMILIES)
    limit = item["properties"]["limit"]
    assert (limit["type"], limit["minimum"], limit["maximum"]) == ("integer", 1, 8)


# What JSON Schema cannot say: white space beyond `\S`, 8000.0 (an integer to it), that
# families are unique and that experience stops at 2.
INEXPRESSIBLE = {"A-004", "A-017", "A-022"}
WHOLE_FLOATS = {repr(body(max_bytes=8000.0)), repr(sections(section(limit=1.0)))}


@pytest.mark.clause("A-041")
@pytest.mark.parametrize(
    "refusal",
    [
        item
        for item in REFUSALS
        if item.clause not in INEXPRESSIBLE and repr(item.body) not in WHOLE_FLOATS
    ],
)
def test_schema_refuses_what_the_server_refuses(refusal: Any) -> None:
    with pytest.raises(ValidationError):
        check_schema(SCHEMAS["PrepareContextRequest"], refusal.body)


@pytest.mark.parametrize(
    "request_body",
    [
        body(),
        body(max_bytes=512, include_code=True, include_receipt=None),
        body(bootstrap_receipt_id=None),
        assembly(),
        sections(),
        sections(section("memory", 8), section("experience", 2)),
        assembly(show=["recall_rank", "confidence"]),
    ],
)
def test_schema_accepts_what_the_server_accepts(request_body: Any) -> None:
    check_schema(SCHEMAS["PrepareContextRequest"], request_body)


def objects(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema with named properties, at any depth."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield path, schema
        for key, value in schema.items():
            yield from objects(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from objects(value, f"{path}/{index}")


@pytest.mark.clause("A-041")
def test_objects_are_closed() -> None:
    found = [*objects(openapi()["paths"], "paths"), *objects(SCHEMAS, "schemas")]
    assert len(found) > 50
    for path, schema in found:
        assert schema["additionalProperties"] is False, path


def test_operation_ids() -> None:
    identifiers = [operation.operation_id for operation in OPERATIONS]
    assert len(identifiers) == len(set(identifiers))
    assert set(identifiers) - {"query_code"} == OPERATION_IDS


WRITING = {
    *("create_artifact", "replace_artifact", "create_source", "merge_atomic_memories"),
    *("capture_content_source", "remember_memory", "propose_experience"),
}


@pytest.mark.clause("A-186")
@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_reading_takes_identities_not_text(operation: Operation) -> None:
    """No operation reads a citation out of prepared text."""
    if operation.operation_id in WRITING:
        return
    assert operation.schema is not None
    schema = SCHEMAS[operation.schema["$ref"].rsplit("/", 1)[1]]
    taken = {"content", "text", "markdown", "prepared", "citation_text"}
    assert not taken & schema["properties"].keys()


def routes() -> dict[str, set[str]]:
    """Path template -> methods, from the URL configuration."""
    found: dict[str, set[str]] = {}
    for pattern in get_resolver("prepare.urls").url_patterns:
        assert isinstance(pattern, URLPattern)
        path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern))
        view: Any = pattern.callback
        methods = {"get", "post", "put", "patch", "delete"}
        found[path] = {name for name in methods if hasattr(view.cls, name)}
    return found


def test_routes_and_operations_agree() -> None:
    published: dict[str, set[str]] = {}
    for operation in OPERATIONS:
        published.setdefault(operation.path, set()).add(operation.method)
    served = {
        path: methods for path, methods in routes().items() if path not in UNPUBLISHED
    }
    assert served == published


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_operation_publishes_its_errors(operation: Operation) -> None:
    document = openapi()["paths"][operation.path][operation.method]
    statuses = set(document["responses"])
    assert {"400", "403"} <= statuses
    if operation.path.startswith("/health/"):
        assert "security" not in document or {} in document["security"]
    else:
        assert document["security"] == [{"bearer": []}]
        assert {"401", "422", "500", "503"} <= statuses
    if operation in WITH_BODY:
        assert document["requestBody"]["required"] is True
        assert list(document["requestBody"]["content"]) == ["application/json"]
        assert {"413", "415"} <= statuses
    for status, answer in document["responses"].items():
        [(media_type, content)] = answer["content"].items()
        assert media_type == "application/json"
        is_envelope = content["schema"] == ENVELOPE
        is_error = status >= "400" and operation.operation_id != "get_readiness"
        assert is_envelope or not is_error


def test_document_is_served(api: Api) -> None:
    served = api.get("/openapi.json")
    assert served.status == 200
    assert served.body == openapi()
    assert served.body["paths"][PREPARE]["post"]["operationId"] == "prepare_context"


@pytest.mark.django_db
def test_page_loads_nothing_from_elsewhere() -> None:
    client = Client()
    page = client.get("/docs")
    assert page.status_code == 200
    assert page["Content-Type"].startswith("text/html")
    text = page.content.decode()
    assert "/openapi.json" in text
    assert not re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text)
    loaded = re.findall(r"(?:src|href)=[\"']([^\"']+)", text)
    assert len(loaded) >= 3
    for url in loaded:
        assert url.startswith("/static/")
        asset = client.get(url)
        assert asset.status_code == 200
        assert b"".join(asset.streaming_content)  # type: ignore[attr-defined]
        asset.close()
