"""Access mode `enforced`: who may do what, and what a denial gives away (B.4)."""

from typing import Any

import pytest
from pytest_django import Settings

from prepare.models import Grant, Scope, Token
from prepare.services import access
from prepare.services.scopes import (
    BindingKey,
    bind_scope,
    readable_scopes,
    set_default_scope,
)
from tests.api import PREPARE, Answer, Api
from tests.contract.operations import OPERATIONS, Operation, fill
from tests.contract.steps import CONTENTS
from tests.factories import NOW, make_scope, propose, remember, token, topic, write
from tests.queries import captured_tables

GUARDED = [item for item in OPERATIONS if not item.path.startswith("/health/")]
FORBIDDEN = {
    "error": {
        "code": "forbidden",
        "message": "The Principal is not authorized for this operation.",
        "details": None,
    }
}
# All that a request may read before it is known to be allowed.
DECISION_TABLES = ["token", "scope", "grant", "contextreference", "grant"]


@pytest.fixture(autouse=True)
def scope(db: None, settings: Settings) -> Scope:
    scope = fill()
    settings.ACCESS_MODE = "enforced"
    return scope


# 401.


@pytest.mark.parametrize("operation", GUARDED, ids=str)
def test_everything_needs_a_credential(api: Api, operation: Operation) -> None:
    wrong = ["", "Bearer", "Bearer x", "Bearer x y", "Basic eDp5", "Token x", "x"]
    wrong += ["Bearer \u00e9", f"Bearer {'x' * 4000}"]
    for header in [None, *wrong]:
        headers = {} if header is None else {"Authorization": header}
        answer = api.send(operation.method, operation.filled(), {}, headers=headers)
        assert (answer.status, answer.code) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/nowhere", "/v1/scopes/"])
def test_unpublished_paths_need_a_credential_too(api: Api, path: str) -> None:
    answer = api.get(path)
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_health_needs_none(api: Api) -> None:
    assert api.get("/health/live").status == 200
    assert api.get("/health/ready").status == 200


def test_token_forms(api: Api, scope: Scope) -> None:
    good = token("reader", scope)
    for scheme in ("Bearer", "bearer", "BEARER", "Bearer "):
        headers = {"Authorization": f"{scheme} {good}"}
        assert api.get("/v1/scopes/contract", headers=headers).status == 200
    for bad in (good[:-1], good + "x", good.upper(), good.removeprefix("pct_")):
        assert api.with_token(bad).get("/v1/scopes/contract").status == 401
    digest = access.hash_token(good)
    assert api.with_token(digest).get("/v1/scopes/contract").status == 401
    assert good not in str(list(Token.objects.values()))
    # The query string is no place for a credential.
    assert api.get(f"/v1/scopes/contract?token={good}").status == 401

    access.revoke_token(name="reader", now=NOW)
    answer = api.with_token(good).get("/v1/scopes/contract")
    assert (answer.status, answer.code) == (401, "unauthorized")


# Roles, operation by operation.

READERS = {"viewer", "contributor", "reviewer", "delegator"}
SHOWN = READERS | {"admin", "server.admin"}
EVERYONE = SHOWN | {"none"}
ROLES = sorted(EVERYONE)
KEY = {"integration": "codex", "kind": "repo", "external_id": "one"}
ATOMIC = {"family": "atomic-memory", "artifact_id": "memory-1", "revision": 1}


def scoped(**fields: Any) -> dict[str, Any]:
    return {"scope_id": "contract", **fields}


def target(number: int) -> dict[str, Any]:
    artifact = ATOMIC | {"artifact_id": f"memory-{number}"}
    return {"artifact": artifact, "state_version": 0}


def named(family: str, artifact_id: str) -> dict[str, Any]:
    return {"family": family, "artifact_id": artifact_id, "revision": 1}


DECISION = scoped(candidate_id="cand", expected_version=1)
FIELDS = {"title": "T", "summary": "S"}
ENTRY = {"entry_id": "entry-1", "entry_version_id": "entry-1-v1"}
PROPOSAL = {
    "proposal": CONTENTS["experience"],
    "source_refs": [{"name": "content", "source_id": "source-1"}],
    "artifact_refs": [],
}
# Operation id -> who may, and a body that is accepted.
RULES: dict[str, tuple[set[str], dict[str, Any] | None]] = {
    "get_capabilities": (EVERYONE, None),
    "get_server_info": (EVERYONE, None),
    "list_scopes": (EVERYONE, None),
    "create_scope": ({"server.admin"}, FIELDS | {"idempotency_key": "k"}),
    "get_scope": (SHOWN, None),
    "update_scope": ({"admin"}, FIELDS | {"expected_version": 1}),
    "get_default_scope": (SHOWN, None),
    "set_default_scope": ({"server.admin"}, scoped()),
    "set_scope_binding": ({"admin"}, scoped(key=KEY)),
    "clear_scope_binding": ({"admin"}, {"key": KEY}),
    "resolve_scope_binding": (SHOWN, {"explicit_scope_id": "contract"}),
    "prepare_context": (READERS, scoped(query="orchid")),
    "create_artifact": (
        {"contributor"},
        {"family": "atomic-memory", "content": CONTENTS["atomic-memory"]},
    ),
    "list_artifacts": (READERS, None),
    "get_artifact": (READERS, None),
    "replace_artifact": ({"contributor"}, {"content": CONTENTS["atomic-memory"]}),
    "list_artifact_revisions": (READERS, None),
    "get_artifact_revision": (READERS, None),
    "get_atomic_memory_state": (READERS, None),
    "get_prompt_configuration": (READERS, None),
    "list_sources": (READERS, None),
    "create_source": ({"contributor"}, {"content": "x"}),
    "get_source": (READERS, None),
    "capture_content_source": ({"contributor"}, scoped(source_id="s", content="x")),
    "remember_memory": ({"contributor"}, scoped(kind="fact", text="x")),
    "search_memory": (READERS, scoped(query="x")),
    "search_atomic_memory": (READERS, scoped(query="x")),
    "list_memory_entries": (READERS, scoped()),
    "list_atomic_memories": (READERS, scoped()),
    "get_memory_entry": (
        READERS,
        scoped(citation={"memory_ref": named("memory", "memory"), **ENTRY}),
    ),
    "change_atomic_memory_lifecycle": (
        {"contributor"},
        scoped(target=target(1), state="forgotten"),
    ),
    "merge_atomic_memories": (
        {"contributor"},
        scoped(inputs=[target(2), target(3)], content=CONTENTS["atomic-memory"]),
    ),
    "propose_experience": ({"contributor"}, scoped(**PROPOSAL)),
    "get_experience": (READERS, scoped(artifact=named("experience", "experience-1"))),
    "search_topic_memory": (READERS, scoped(query="x")),
    "get_topic_memory": (READERS, scoped(artifact=named("topic-memory", "topic-1"))),
    "list_candidates": (READERS, scoped()),
    "get_candidate": (READERS, scoped(candidate_id="cand")),
    "approve_candidate": ({"reviewer"}, DECISION),
    "reject_candidate": ({"reviewer"}, DECISION | {"reason": "no"}),
    "query_code": (READERS, {"operation": {"kind": "status"}}),
}


@pytest.fixture
def decided(scope: Scope) -> dict[str, str]:
    """What the bodies above name besides `fill`, and the id of a pending Candidate."""
    write(scope, "experience", CONTENTS["experience"], artifact_id="experience-1")
    pending = propose(scope, "experience", CONTENTS["experience"])
    bind_scope(key=BindingKey(**KEY), scope=scope)
    set_default_scope(scope)
    return {"cand": pending.candidate_id}


def call(api: Api, operation: Operation, names: dict[str, str], **path: str) -> Answer:
    body = RULES[operation.operation_id][1]
    if body is not None and body.get("candidate_id") in names:
        body = body | {"candidate_id": names[body["candidate_id"]]}
    if body is not None and path:
        replaced = {
            name: path["scope_id"]
            for name in ("scope_id", "explicit_scope_id")
            if name in body
        }
        body = body | replaced
    headers = {"If-Match": '"revision:1"'}
    filled = operation.filled(**path)
    return api.send(operation.method, filled, body, headers=headers)


def test_every_operation_has_a_rule() -> None:
    published = {item.operation_id for item in GUARDED}
    assert RULES.keys() == published | {"query_code"}  # code comes later


@pytest.mark.parametrize("operation", GUARDED, ids=str)
def test_roles(
    api: Api, scope: Scope, decided: dict[str, str], operation: Operation
) -> None:
    allowed = RULES[operation.operation_id][0]
    tokens = {
        role: token(role, *([scope] if role != "none" else []), role=role)
        for role in ROLES
        if role != "server.admin"
    }
    tokens["server.admin"] = token("server.admin", server_admin=True)
    for role in ROLES:
        if role not in allowed:
            answer = call(api.with_token(tokens[role]), operation, decided)
            assert (role, answer.status, answer.body) == (role, 403, FORBIDDEN)
    statuses = [
        call(api.with_token(tokens[role]), operation, decided).status
        for role in ROLES
        if role in allowed
    ]
    # Without a configured repository code has nothing to say.
    assert statuses[0] < 300 or operation.operation_id == "query_code"
    # Later callers may meet what the first one changed, but no denial.
    assert not {401, 403, 500} & set(statuses)


SCOPE_BOUND = [
    item
    for item in GUARDED
    if "scope_id" in item.parameters
    or {"scope_id", "explicit_scope_id"} & (RULES[item.operation_id][1] or {}).keys()
]


@pytest.mark.parametrize("operation", SCOPE_BOUND, ids=str)
def test_denied_and_missing_scopes_look_the_same(
    api: Api, scope: Scope, decided: dict[str, str], operation: Operation
) -> None:
    """J-3: to whom a Scope is closed it does not exist either."""
    stranger = api.with_token(token("stranger", make_scope("own"), role="contributor"))
    hidden = call(stranger, operation, decided)
    missing = call(stranger, operation, decided, scope_id="missing")
    assert (hidden.status, hidden.body) == (403, FORBIDDEN)
    assert (missing.status, missing.body) == (403, FORBIDDEN)
    assert hidden.headers.keys() == missing.headers.keys()


def test_denied_and_missing_artifacts_look_the_same(api: Api, scope: Scope) -> None:
    stranger = api.with_token(token("stranger"))
    reader = api.with_token(token("reader", scope))
    for family, name in [("atomic-memory", "memory-1"), ("atomic-memory", "nope")]:
        path = f"/v1/scopes/contract/artifacts/{family}/{name}"
        for tail in ("", "/revisions", "/revisions/1", "/state"):
            assert stranger.get(path + tail).body == FORBIDDEN
            expected = 404 if name == "nope" else 200
            assert reader.get(path + tail).status == expected


def test_list_scopes_shows_own_scopes_only(api: Api, scope: Scope) -> None:
    make_scope("other")

    def listed(bearer: str) -> list[str]:
        items = api.with_token(bearer).get("/v1/scopes").body["items"]
        return [item["scope_id"] for item in items]

    assert listed(token("reader", scope)) == ["contract"]
    assert listed(token("nobody")) == []
    everything = listed(token("root", server_admin=True))
    assert {"contract", "other"} < set(everything)
    # Two roles on one Scope list it once.
    both = token("both", scope)
    holder = Token.objects.get(name="both")
    Grant.objects.create(token=holder, scope=scope, role="admin")
    assert listed(both) == ["contract"]


def test_roles_end_at_their_scope(api: Api, scope: Scope) -> None:
    """Neither a parent nor another Scope's role gives anything (contract B.2)."""
    admin = api.with_token(token("root", server_admin=True))
    request = {"title": "T", "summary": "S", "idempotency_key": "k"}
    child = admin.post(
        "/v1/scopes", request | {"scope_id": "child", "parent_scope_id": "contract"}
    )
    assert child.status == 201
    reader = api.with_token(token("reader", scope))
    assert reader.get("/v1/scopes/child").status == 403
    assert reader.prepare("child", "orchid").status == 403


def test_binding_of_another_scope_is_not_taken_over(
    api: Api, scope: Scope, decided: dict[str, str]
) -> None:
    """Who administers `own` cannot redirect a key that leads to `contract`."""
    own = make_scope("own")
    admin = api.with_token(token("admin", own, role="admin"))
    taken = admin.put("/v1/scope-bindings", {"key": KEY, "scope_id": "own"})
    assert taken.body == FORBIDDEN
    assert admin.post("/v1/scope-bindings/clear", {"key": KEY}).body == FORBIDDEN
    free = KEY | {"external_id": "two"}
    bound = admin.put("/v1/scope-bindings", {"key": free, "scope_id": "own"})
    assert bound.status == 200


def test_service_token(api: Api, settings: Settings) -> None:
    """POWERCONTEXT_SERVER_AUTH_TOKEN is server.admin, which reads no content (J-12)."""
    settings.AUTH_TOKEN = "the service token"
    assert api.with_token("the service").get("/v1/scopes").status == 401
    settings.AUTH_TOKEN = "service-token"
    service = api.with_token("service-token")
    request = {"title": "T", "summary": "S", "idempotency_key": "k"}
    created = service.post("/v1/scopes", request | {"scope_id": "new"})
    assert created.status == 201
    assert service.get("/v1/scopes/new").status == 200
    assert service.put("/v1/scopes/default", {"scope_id": "new"}).status == 200
    for scope_id in ("new", "contract", "missing"):
        assert service.prepare(scope_id, "orchid").body == FORBIDDEN
        listed = service.get(f"/v1/scopes/{scope_id}/artifacts/atomic-memory")
        assert listed.body == FORBIDDEN
        said = {"scope_id": scope_id, "kind": "fact", "text": "x"}
        assert service.post("/v1/memory/remember", said).body == FORBIDDEN
    settings.AUTH_TOKEN = ""
    assert service.get("/v1/scopes").status == 401
    assert api.with_token("").get("/v1/scopes").status == 401


# References in prepare.

CROSSING: list[dict[str, Any]] = [
    {},
    {"assembly": {}},
    *(
        {"assembly": {"sections": [{"family": family, "limit": 1}]}}
        for family in ("memory", "experience", "profile")
    ),
    {
        "assembly": {
            "sections": [
                {"family": "topic-memory", "limit": 1},
                {"family": "profile", "limit": 1},
            ]
        }
    },
]
CURRENT_ONLY: list[dict[str, Any]] = [
    {"assembly": {"sections": [{"family": "topic-memory", "limit": 2}]}},
    {"assembly": {"sections": []}},
]


@pytest.fixture
def referring(scope: Scope) -> Scope:
    """`current` refers to two Scopes; both hold orchids."""
    open_, secret = make_scope("open"), make_scope("SECRET-SCOPE")
    remember(open_, "orchid in the open")
    remember(secret, "orchid CANARY", artifact_id="SECRET-ID")
    write(secret, "topic-memory", topic("orchid CANARY"))
    current = make_scope("current", references=["open", "SECRET-SCOPE"])
    remember(current, "orchid here")
    write(current, "topic-memory", topic("orchid topic"))
    return current


def reader(api: Api, *names: str) -> Api:
    scopes = [Scope.objects.get(scope_id=name) for name in names]
    return api.with_token(token("-".join(names) or "none", *scopes))


@pytest.mark.clause("A-180", "A-181")
@pytest.mark.parametrize("mode", CROSSING)
def test_one_denied_reference_denies_the_request(
    api: Api, referring: Scope, mode: dict[str, Any]
) -> None:
    caller = reader(api, "current", "open")
    with captured_tables() as tables:
        answer = caller.prepare("current", "orchid", **mode)
    assert (answer.status, answer.body) == (403, FORBIDDEN)
    assert tables == DECISION_TABLES
    for said in ("SECRET", "CANARY", "open", "current"):
        assert said not in str(answer.body) + str(answer.headers)
    allowed = reader(api, "current", "open", "SECRET-SCOPE")
    assert allowed.prepare("current", "orchid", **mode).status == 200


@pytest.mark.clause("A-182")
def test_legacy_mode_is_denied_the_same_way(api: Api, referring: Scope) -> None:
    legacy = reader(api, "current", "open").prepare("current", "orchid")
    assert (legacy.status, legacy.body) == (403, FORBIDDEN)
    allowed = reader(api, "current", "open", "SECRET-SCOPE")
    assert "CANARY" in allowed.content("current", "orchid")


@pytest.mark.clause("A-061")
@pytest.mark.parametrize("mode", CURRENT_ONLY)
def test_reference_that_is_not_read_does_not_matter(
    api: Api, referring: Scope, mode: dict[str, Any]
) -> None:
    """J-11: topic memories and empty sections stay in the current Scope."""
    answer = reader(api, "current").prepare("current", "orchid", **mode)
    assert answer.status == 200
    assert "CANARY" not in str(answer.body)
    assert ("orchid topic" in str(answer.body)) == bool(mode["assembly"]["sections"])
    denied = reader(api, "open", "SECRET-SCOPE").prepare("current", "orchid", **mode)
    assert denied.body == FORBIDDEN


@pytest.mark.clause("A-061")
def test_families_add_no_scope(api: Api, referring: Scope, settings: Settings) -> None:
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 26
    families = {"memory": 8, "experience": 2, "profile": 8, "topic-memory": 8}
    sections = [{"family": name, "limit": limit} for name, limit in families.items()]
    caller = reader(api, "open")
    content = caller.content("open", "orchid", assembly={"sections": sections})
    assert "orchid in the open" in content
    assert 'Scope: "open"' in content
    assert content.count("    Scope: ") == content.count('    Scope: "open"')
    for scope_id in ("current", "SECRET-SCOPE"):
        chosen = {"sections": sections}
        denied = caller.prepare(scope_id, "orchid", assembly=chosen)
        assert denied.body == FORBIDDEN


@pytest.mark.clause("A-053", "A-054")
def test_empty_sections_still_ask_who_is_there(
    api: Api, referring: Scope, settings: Settings
) -> None:
    request = {"scope_id": "current", "query": "x", "assembly": {"sections": []}}
    assert api.post(PREPARE, request).status == 401
    stranger = reader(api, "open")
    assert stranger.post(PREPARE, request).body == FORBIDDEN
    missing = stranger.post(PREPARE, request | {"scope_id": "missing"})
    assert missing.body == FORBIDDEN
    broken = stranger.post(PREPARE, request | {"query": ""})
    assert broken.status == 422
    allowed = reader(api, "current")
    with captured_tables() as tables:
        answer = allowed.post(PREPARE, request)
    assert (answer.status, answer.body["status"]) == (200, "empty")
    assert tables == ["token", "scope", "grant"]
    settings.ACCESS_MODE = "disabled"
    unknown = api.post(PREPARE, request | {"scope_id": "missing"})
    assert (unknown.status, unknown.code) == (404, "scope_not_found")


@pytest.mark.clause("A-187")
def test_errors_are_the_same_with_and_without_assembly(
    api: Api, referring: Scope, settings: Settings
) -> None:
    def errors(mode: dict[str, Any]) -> list[tuple[int, Any]]:
        answers = [
            caller.prepare(scope_id, "orchid", **mode)
            for caller in (api, api.with_token("x"), reader(api, "open"))
            for scope_id in ("current", "missing")
        ]
        Token.objects.all().delete()
        return [
            (answer.status, answer.body) for answer in answers if answer.status >= 400
        ]

    for settings.ACCESS_MODE, statuses in (
        ("enforced", [401, 401, 401, 401, 403, 403]),
        ("disabled", [404, 404, 404]),
    ):
        seen = [errors(mode) for mode in CROSSING]
        assert [status for status, _ in seen[0]] == statuses
        assert all(found == seen[0] for found in seen)


@pytest.mark.clause("A-180")
def test_permission_is_one_decision(api: Api, scope: Scope) -> None:
    """The number of statements does not grow with the number of references."""
    names = [f"r{number}" for number in range(12)]
    targets = [make_scope(name) for name in names]
    few = make_scope("few", references=names[:1])
    many = make_scope("many", references=names)
    full = token("full", few, many, *targets)
    partial = token("partial", few, many, *targets[1:])

    principal = access.authenticate(full, service_token="")
    for scope_id, size in (("few", 2), ("many", 13)):
        with captured_tables() as tables:  # r0 is denied
            answer = api.with_token(partial).prepare(scope_id, "orchid")
        assert answer.status == 403
        assert tables == DECISION_TABLES
        with captured_tables() as tables:
            scopes = readable_scopes(
                scope_id=scope_id, crosses_references=True, principal=principal
            )
        assert len(scopes) == size
        assert tables == DECISION_TABLES[1:]
