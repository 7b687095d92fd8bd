"""What a prepare request may say (contract A.1, A.2; A-001 to A-045, A-205, A-206)."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.serializers import serialize
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from prepare import limits
from prepare.errors import InvalidRequest
from prepare.models import Scope
from prepare.serializers.context import PrepareContextRequestSerializer
from prepare.services.access import LOCAL
from prepare.services.prepare import prepare_context
from prepare.services.runtime import Runtime, configured_runtime
from prepare.values import (
    Assembly,
    Prepared,
    PrepareRequest,
    Section,
    parse_prepare_request,
)
from tests.api import PREPARE, Api, openapi
from tests.contract.forms import (
    Refusal,
    assembly,
    body,
    params,
    section,
    sections,
)
from tests.factories import (
    collect,
    experience,
    make_scope,
    profile,
    remember,
    source,
    token,
    topic,
    write,
)
from tests.serving import PROJECT

ALL_FAMILIES = list(limits.SELECTABLE_FAMILIES)
CAP_VARIABLE = "POWERCONTEXT_SERVER_RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES"
# Every output mode: JSON envelope, default text, chosen text, nothing.
MODES: list[dict[str, Any]] = [
    body(),
    assembly(),
    assembly(sections=[section("profile", 2), section("topic-memory", 2)]),
    assembly(sections=[section("experience", 2)], show=["recall_rank"]),
    assembly(sections=[]),
]


@pytest.fixture
def scope(db: None) -> Scope:
    """Nine memories, three experiences, a topic and a profile, all about orchids."""
    scope = make_scope("contract")
    for number in range(9):
        remember(scope, f"orchid memory {number}", artifact_id=f"memory-{number}")
    for number in range(3):
        content = experience(f"orchid lesson {number}")
        write(scope, "experience", content, artifact_id=f"experience-{number}")
    write(scope, "topic-memory", topic("orchid topic"), artifact_id="topic")
    profile(scope, "Grows an orchid.")
    return scope


def ready(api: Api, request: dict[str, Any]) -> str:
    answer = api.post(PREPARE, request)
    assert answer.status == 200, answer.body
    assert answer.body["status"] == "ready"
    return str(answer.body["content"])


def run(request: PrepareRequest, **runtime: Any) -> Prepared:
    return prepare_context(request, principal=LOCAL, runtime=Runtime(**runtime))


@pytest.mark.clause("A-039", "A-080")
@pytest.mark.parametrize("refusal", params(clauses=True))
def test_refused_over_http(api: Api, refusal: Refusal) -> None:
    answer = api.post(PREPARE, refusal.body)

    assert (answer.status, answer.code) == (422, "invalid_request")
    assert answer.body["error"]["message"] == "The request violates the API contract."
    errors = answer.body["error"]["details"]["errors"]
    assert ["body", *refusal.loc] in [error["loc"] for error in errors]
    assert all(list(error) == ["type", "loc", "msg"] for error in errors)


@pytest.mark.clause("A-043")
@pytest.mark.parametrize("refusal", params(clauses=False))
def test_refused_in_a_direct_call(refusal: Refusal) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_prepare_request(refusal.body)

    assert caught.value.code == "invalid_request"
    locs = [violation.loc for violation in caught.value.violations]
    assert ("body", *refusal.loc) in locs


@pytest.mark.clause("A-042", "A-043")
@pytest.mark.parametrize(
    "request_value",
    [
        {"query": ""},
        {"query": "x" * 8193},
        {"query": "\u3000"},
        {"query": "lone \ud800"},
        {"scope_id": " "},
        {"scope_id": "a\0b"},
        {"scope_id": "\udfff"},
        {"max_bytes": 511},
        {"max_bytes": 32769},
        {"max_bytes": True},
        {"max_bytes": 8000.0},
        {"max_bytes": "8000"},
        *(
            {"assembly": Assembly(sections=tuple(Section(**item) for item in items))}
            for items in [
                [section(limit=9)],
                [section(limit=0)],
                [section(limit=True)],
                [section("experience", 3)],
                [section("profile", 9)],
                [section("topic-memory", 9)],
                [section("skill")],
                [section(), section()],
                [section(family, 1) for family in [*ALL_FAMILIES, "memory"]],
            ]
        ),
    ],
    ids=repr,
)
def test_runtime_refuses_values_that_no_parser_saw(request_value: Any) -> None:
    """No database is needed: nothing is read before the refusal."""
    request = PrepareRequest(**{"scope_id": "contract", "query": "x", **request_value})
    with pytest.raises(InvalidRequest) as caught:
        run(request, assembly_max_entries=40)
    assert caught.value.violations


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(body(query="x"), marks=pytest.mark.clause("A-003")),
        pytest.param(body(query="x" * 8192), marks=pytest.mark.clause("A-003")),
        pytest.param(body(query="契" * 8192), marks=pytest.mark.clause("A-005")),
        pytest.param(body(query="😀" * 8192), marks=pytest.mark.clause("A-005")),
        pytest.param(body(max_bytes=512), marks=pytest.mark.clause("A-006")),
        pytest.param(body(max_bytes=32768), marks=pytest.mark.clause("A-006")),
        pytest.param(body(), marks=pytest.mark.clause("A-008")),
        *(
            pytest.param(
                sections(section(family, limit)), marks=pytest.mark.clause("A-021")
            )
            for family in ("memory", "profile", "topic-memory")
            for limit in (1, 8)
        ),
        *(
            pytest.param(
                sections(section("experience", limit)),
                marks=pytest.mark.clause("A-022"),
            )
            for limit in (1, 2)
        ),
        *(
            pytest.param(assembly(show=show), marks=pytest.mark.clause("A-031"))
            for show in (
                [],
                ["confidence"],
                ["recall_rank"],
                ["confidence", "recall_rank"],
                ["recall_rank", "confidence"],
            )
        ),
        body(query="\u200b"),  # invisible, but no white space
        body(query="a\0b"),  # NUL separates words (J-30)
        body(include_code=False, bootstrap_receipt_id=None),  # as the client sends it
        body(bootstrap_receipt_id="x" * 64),
        body(include_receipt=None),
        body(include_receipt=False),
    ],
)
def test_accepted(api: Api, scope: Scope, request_body: dict[str, Any]) -> None:
    answer = api.post(PREPARE, request_body)
    assert answer.status == 200
    assert list(answer.body) == ["schema", "status", "content", "content_bytes"]


@pytest.mark.clause("A-001")
def test_operation_takes_an_optional_assembly(api: Api, scope: Scope) -> None:
    operation = openapi()["paths"][PREPARE]["post"]
    assert operation["operationId"] == "prepare_context"
    schema = openapi()["components"]["schemas"]["PrepareContextRequest"]
    assert "assembly" in schema["properties"]
    assert sorted(schema["required"]) == ["query", "scope_id"]
    assert ready(api, body()) != ready(api, assembly())


@pytest.mark.clause("A-002")
@pytest.mark.parametrize("mode", [{}, {"assembly": {}}], ids=["legacy", "text"])
class TestSharedFields:
    """`scope_id`, `query` and `max_bytes` mean the same in both forms."""

    def test_scope_id_selects_the_scope(
        self, api: Api, scope: Scope, mode: dict[str, Any]
    ) -> None:
        other = make_scope("contract2")
        remember(other, "orchid elsewhere")
        content = ready(api, {"scope_id": "contract2", "query": "orchid", **mode})
        assert "orchid elsewhere" in content
        assert "orchid memory" not in content
        for unknown in ("Contract", "contract3", " contract"):
            answer = api.prepare(unknown, "orchid", **mode)
            assert (answer.status, answer.code) == (404, "scope_not_found")

    def test_query_selects_the_content(
        self, api: Api, scope: Scope, mode: dict[str, Any]
    ) -> None:
        remember(scope, "a rare fern", artifact_id="fern")
        content = ready(api, body(query="fern", **mode))
        assert "a rare fern" in content
        assert "orchid memory" not in content
        answer = api.post(PREPARE, body(query="cactus", **mode))
        assert answer.body["status"] == "empty"

    def test_max_bytes_bounds_the_content(
        self, api: Api, scope: Scope, mode: dict[str, Any]
    ) -> None:
        for number in range(8):
            remember(scope, f"orchid {number} " + "x" * 1900)
        sizes = [
            len(ready(api, body(max_bytes=budget, **mode)).encode())
            for budget in (1200, 8000, 32768)
        ]
        assert sizes[0] <= 1200 < sizes[1] <= 8000 < sizes[2] <= 32768

    @pytest.mark.clause("A-007")
    def test_default_budget_is_8000(
        self, api: Api, scope: Scope, mode: dict[str, Any]
    ) -> None:
        for number in range(8):
            remember(scope, f"orchid {number} " + "x" * 1900)
        content = ready(api, body(**mode))
        assert content == ready(api, body(max_bytes=8000, **mode))
        assert content != ready(api, body(max_bytes=9000, **mode))
        assert parse_prepare_request(body(**mode)).max_bytes == 8000


@pytest.mark.clause("A-012")
def test_format_defaults_to_markdown(api: Api, scope: Scope) -> None:
    assert ready(api, assembly()) == ready(api, assembly(format="markdown"))


@pytest.mark.clause("A-014")
def test_sections_default_to_six_memories_then_two_experiences(
    api: Api, scope: Scope
) -> None:
    content = ready(api, assembly())
    headings = [line for line in content.split("\n") if line.startswith("### ")]
    expected = [f"### Memory {n}" for n in range(1, 7)]
    assert headings == [*expected, "### Experience 1", "### Experience 2"]
    explicit = sections(section("memory", 6), section("experience", 2))
    assert content == ready(api, explicit)


@pytest.mark.clause("A-015", "A-056")
def test_absent_default_and_empty_sections_are_three_requests(
    api: Api, scope: Scope
) -> None:
    answers = [
        api.post(PREPARE, request).body for request in (body(), assembly(), sections())
    ]
    assert "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1" in answers[0]["content"]
    assert "BEGIN_POWERCONTEXT_PREPARED_TEXT_V1" in answers[1]["content"]
    assert answers[2] == {
        "schema": "powercontext.prepared-context.v1",
        "status": "empty",
        "content": None,
        "content_bytes": 0,
    }


@pytest.mark.clause("A-030", "A-031", "A-035")
def test_show_adds_lines_in_a_fixed_order(api: Api, scope: Scope) -> None:
    plain = ready(api, assembly())
    assert plain == ready(api, assembly(show=[]))
    assert "Confidence" not in plain
    assert "Recall rank" not in plain

    both = ready(api, assembly(show=["confidence", "recall_rank"]))
    assert both == ready(api, assembly(show=["recall_rank", "confidence"]))
    first = both.split("\n### Memory 1\n")[1].split("\n>")[0].split("\n")
    labels = [line.strip().split(":")[0] for line in first if line.strip()]
    assert labels == ["Scope", "Artifact", "Confidence", "Recall rank", "Truncated"]

    only = ready(api, assembly(show=["recall_rank"]))
    assert "    Recall rank: 1\n" in only
    assert "Confidence" not in only
    only = ready(api, assembly(show=["confidence"]))
    assert "    Confidence: unknown (not assessed)\n" in only
    assert "Recall rank" not in only


KNOWN_KEYS = {
    (): {
        "scope_id",
        "query",
        "max_bytes",
        "assembly",
        "include_code",
        "include_receipt",
        "bootstrap_receipt_id",
    },
    ("assembly",): {"format", "sections", "show"},
    ("assembly", "sections", 0): {"family", "limit"},
}


@pytest.mark.clause("A-040")
@given(
    place=st.sampled_from(list(KNOWN_KEYS)),
    key=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    value=st.none() | st.booleans() | st.integers(-9, 9) | st.just([]) | st.just("x"),
)
def test_no_option_is_silently_ignored(place: Any, key: str, value: Any) -> None:
    if key in KNOWN_KEYS[place]:
        return
    request = sections(section())
    target: Any = request
    for step in place:
        target = target[step]
    target[key] = value
    with pytest.raises(InvalidRequest) as caught:
        parse_prepare_request(request)
    assert ("body", *place, key) in [item.loc for item in caught.value.violations]


def test_all_faults_are_reported_at_once(api: Api) -> None:
    faults = {"scope_id": 1, "max_bytes": "8", "extra": 1}
    request = {**faults, "assembly": {"show": ["x"], "sections": [{"limit": "1"}]}}
    errors = api.post(PREPARE, request).body["error"]["details"]["errors"]
    assert {tuple(error["loc"][1:]) for error in errors} == {
        ("scope_id",),
        ("query",),
        ("max_bytes",),
        ("extra",),
        ("assembly", "show", 0),
        ("assembly", "sections", 0, "family"),
        ("assembly", "sections", 0, "limit"),
    }


# The total over the sections.


def total(*limits_: int) -> dict[str, Any]:
    families = ("memory", "experience", "profile", "topic-memory")
    order = {"experience": 2}
    return sections(
        *(
            section(family, min(limit, order.get(family, 8)))
            for family, limit in zip(families, limits_, strict=False)
        )
    )


@pytest.mark.clause("A-023", "A-024")
@pytest.mark.parametrize(
    ("cap", "accepted", "refused"),
    [
        (None, [total(8), total(6, 2), total(1, 2, 3, 2)], [total(8, 1)]),
        (1, [total(1), sections()], [total(1, 1), total(2), assembly()]),
        (7, [total(7), total(5, 2)], [total(6, 2), assembly()]),
        (9, [total(7, 2), total(8, 1)], [total(8, 2)]),
        (25, [total(8, 2, 8, 7)], [total(8, 2, 8, 8)]),
        pytest.param(26, [total(8, 2, 8, 8)], [], marks=pytest.mark.clause("A-026")),
    ],
)
def test_total_cap(
    api: Api,
    scope: Scope,
    settings: Settings,
    cap: int | None,
    accepted: list[dict[str, Any]],
    refused: list[dict[str, Any]],
) -> None:
    if cap is not None:
        settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = cap
    for request in accepted:
        assert api.post(PREPARE, request).status == 200
    for request in refused:
        answer = api.post(PREPARE, request)
        assert (answer.status, answer.code) == (422, "invalid_request")
        with pytest.raises(InvalidRequest):
            run(
                parse_prepare_request(request),
                assembly_max_entries=configured_runtime().assembly_max_entries,
            )


@pytest.mark.clause("A-042")
@pytest.mark.parametrize(("cap", "entries"), [(8, 9), (3, 4)])
def test_direct_call_is_held_to_the_total(cap: int, entries: int) -> None:
    chosen = (
        Section(family="memory", limit=entries - 1),
        Section(family="profile", limit=1),
    )
    request = PrepareRequest(
        scope_id="contract", query="x", assembly=Assembly(sections=chosen)
    )
    with pytest.raises(InvalidRequest):
        run(request, assembly_max_entries=cap)


@pytest.mark.clause("A-025")
@pytest.mark.parametrize(
    ("value", "is_valid"),
    [
        ("1", True),
        ("26", True),
        ("0", False),
        ("-1", False),
        ("x", False),
        ("2.5", False),
        ("8.0", False),
        ("", False),
        ("true", False),
    ],
)
def test_cap_variable_is_checked_at_start(
    tmp_path: Path, value: str, is_valid: bool
) -> None:
    environment = os.environ | {
        CAP_VARIABLE: value,
        "POWERCONTEXT_SERVER_DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "powercontext.settings",
    }
    code = (
        "import django; django.setup();"
        "from prepare.services.runtime import configured_runtime as c;"
        "print(c().assembly_max_entries)"
    )
    arguments = ["-c", code] if is_valid else ["manage.py", "check"]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) is is_valid, done.stderr
    assert done.stdout == (f"{value}\n" if is_valid else "")
    assert is_valid or CAP_VARIABLE in done.stderr


@pytest.mark.clause("A-027")
@pytest.mark.parametrize("request_body", [total(8, 1), total(8, 2, 8, 8)])
def test_total_is_refused_before_any_read(
    api: Api, scope: Scope, request_body: dict[str, Any]
) -> None:
    with CaptureQueriesContext(connection) as queries:
        answer = api.post(PREPARE, request_body)
    assert answer.status == 422
    assert queries.captured_queries == []


@pytest.mark.clause("A-028")
def test_request_model_knows_no_total() -> None:
    request = total(8, 2, 8, 8)
    parsed = parse_prepare_request(request)
    assert parsed.assembly is not None
    assert sum(item.limit for item in parsed.assembly.sections) == 26
    serializer = PrepareContextRequestSerializer(data=request)
    assert serializer.is_valid()


@pytest.mark.clause("A-029")
def test_cap_changes_nothing_else(api: Api, scope: Scope, settings: Settings) -> None:
    for number in range(8):
        remember(scope, f"orchid {number} " + "x" * 1900)
    chosen = sections(section("memory", 1))
    outputs = []
    for cap in (1, 8, 26):
        settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = cap
        outputs.append(
            [ready(api, body()), ready(api, chosen), ready(api, body(max_bytes=9000))]
        )
        for family, limit in [("memory", 9), ("experience", 3), ("profile", 9)]:
            assert api.post(PREPARE, sections(section(family, limit))).status == 422
    assert outputs[0] == outputs[1] == outputs[2]


# One request leaves nothing behind.


def stored() -> dict[str, str]:
    """Every row of every table, as text."""
    return {
        model._meta.label: serialize("json", model._default_manager.order_by("pk"))
        if model._meta.pk.__class__.__name__ != "CompositePrimaryKey"
        else repr(sorted(model._default_manager.values_list()))
        for model in apps.get_models()
    }


@pytest.fixture
def varied(scope: Scope) -> Scope:
    """Adds a referenced Scope, a collection, a source and a principal."""
    other = make_scope("other")
    remember(other, "orchid of another scope")
    current = make_scope("varied", references=["other"])
    remember(current, "orchid here")
    collect(current, [("entry", "entry-v1", "orchid entry")])
    source(current, "evidence")
    token("reader", current, other)
    return current


@pytest.mark.clause("A-044", "A-206")
@pytest.mark.parametrize("mode", MODES)
def test_prepare_writes_nothing(api: Api, varied: Scope, mode: dict[str, Any]) -> None:
    before = stored()
    for scope_id in ("varied", "contract", "missing"):
        api.post(PREPARE, {**mode, "scope_id": scope_id})
    api.post(PREPARE, {**mode, "query": "nothing like it", "include_code": True})
    api.post(PREPARE, {**mode, "include_receipt": True})
    assert stored() == before


@pytest.mark.clause("A-044")
def test_configuration_ends_with_its_request(api: Api, scope: Scope) -> None:
    before = [ready(api, body()), ready(api, assembly())]
    for request in (
        sections(section("profile", 1)),
        assembly(show=["confidence"]),
        sections(section("experience", 2), section("memory", 1)),
    ):
        ready(api, request)
        assert [ready(api, body()), ready(api, assembly())] == before


@pytest.mark.clause("A-045")
def test_configuration_is_reusable(api: Api, scope: Scope) -> None:
    other = make_scope("contract-2")
    remember(other, "orchid in a second scope")
    chosen = parse_prepare_request(assembly(show=["recall_rank"])).assembly
    for scope_id in ("contract", "contract-2", "contract"):
        request = PrepareRequest(scope_id=scope_id, query="orchid", assembly=chosen)
        wire = api.prepare(scope_id, "orchid", assembly={"show": ["recall_rank"]})
        assert run(request).as_wire() == run(request).as_wire() == wire.body
    assert chosen == parse_prepare_request(assembly(show=["recall_rank"])).assembly


@pytest.mark.clause("A-205")
def test_no_mcp_surface(api: Api) -> None:
    routes = [str(pattern.pattern) for pattern in get_resolver().url_patterns]
    routes += [str(item.pattern) for item in get_resolver("prepare.urls").url_patterns]
    assert not [route for route in routes if "mcp" in route.lower()]
    assert not [path for path in openapi()["paths"] if "mcp" in path.lower()]
    assert "mcp" not in str(api.get("/v1/capabilities").body).lower()
    assert "mcp" not in str(api.get("/v1/server-info").body).lower()
    assert api.post("/mcp", {}).status == 404


# 401, then 422, then 403 and 404 (J-3).


@pytest.mark.parametrize(
    "broken", [body(assembly=None), body(query=" "), total(8, 2, 8, 8), {"query": 1}]
)
def test_order_of_validation(
    api: Api, scope: Scope, settings: Settings, broken: dict[str, Any]
) -> None:
    missing = {**broken, "scope_id": "missing"}
    assert api.post(PREPARE, missing).status == 422
    assert api.post(PREPARE, body(scope_id="missing")).status == 404

    settings.ACCESS_MODE = "enforced"
    assert api.post(PREPARE, broken).status == 401
    assert api.post(PREPARE, raw=b"{").status == 401
    denied = api.with_token(token("denied"))
    assert denied.post(PREPARE, broken).status == 422
    assert denied.post(PREPARE, missing).status == 422
    assert denied.post(PREPARE, body()).status == 403
    assert denied.post(PREPARE, body(scope_id="missing")).status == 403
