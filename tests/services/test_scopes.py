"""Scopes: identity, idempotent creation, ordered references, bindings (B.1, B.2)."""

from typing import Any

import pytest

from prepare.errors import Conflict, InvalidRequest, ScopeNotFound, Unsupported
from prepare.models import ContextReference, Scope
from prepare.services import scopes
from prepare.services.access import LOCAL
from prepare.services.scopes import BindingKey, ScopeFields
from tests.api import Api
from tests.factories import NOW, make_scope

KEY = BindingKey(integration="host", kind="repo", external_id="r1")


def create(key: str = "k", scope_id: str | None = None, **fields: Any) -> Scope:
    fields = {"title": "T", "summary": "S.", **fields}
    return scopes.create_scope(
        fields=ScopeFields(**fields), idempotency_key=key, now=NOW, scope_id=scope_id
    )


def update(scope: Scope, *, version: int = 1, **fields: Any) -> Scope:
    fields = {"title": "T", "summary": "S.", **fields}
    return scopes.update_scope(
        scope=scope, fields=ScopeFields(**fields), expected_version=version
    )


def references(scope: Scope) -> list[str]:
    read = scopes.readable_scopes(
        scope_id=scope.scope_id, crosses_references=True, principal=LOCAL
    )
    assert read[0] == scope
    return [row.scope_id for row in read[1:]]


def test_same_key_and_payload_is_the_same_scope(db) -> None:
    make_scope("r")
    first = create(context_references=("r",))
    assert create(context_references=("r",)) == first
    assert first.scope_id.startswith("scp_")
    others: list[dict[str, Any]] = [
        {"title": "U"},
        {"scope_id": "mine"},
        {"context_references": ()},
    ]
    for other in others:
        with pytest.raises(Conflict) as caught:
            create(**{"context_references": ("r",), **other})
        assert caught.value.code == "scope_idempotency_conflict"
    assert Scope.objects.filter(title="T").count() == 1


def test_taken_scope_id(db) -> None:
    create("k1", scope_id="mine")
    with pytest.raises(Conflict) as caught:
        create("k2", scope_id="mine")
    assert caught.value.code == "scope_conflict"


def test_a_faster_caller_with_the_same_key_wins(db, monkeypatch) -> None:
    """The row appears between look and write, as on databases that do not queue."""
    winner = create()
    looks = iter([Scope.objects.none()])
    look = Scope.objects.filter
    monkeypatch.setattr(
        Scope.objects, "filter", lambda **query: next(looks, look(**query))
    )
    assert create() == winner


@pytest.mark.clause("A-090")
@pytest.mark.parametrize("order", [("b", "c", "a"), ("c", "b", "a"), ("a",), ()])
def test_references_keep_their_order(db, order) -> None:
    for name in ("a", "b", "c"):
        make_scope(name)
    scope = create(context_references=order)
    assert references(scope) == list(order)
    changed = update(scope, context_references=order[::-1])
    assert references(changed) == list(order[::-1])
    assert changed.version == 2


@pytest.mark.clause("A-091")
def test_cycles_of_references_are_harmless(db) -> None:
    first = create("k1", scope_id="one")
    second = create("k2", scope_id="two", context_references=("one",))
    update(first, context_references=("two",))
    assert (references(first), references(second)) == (["two"], ["one"])


def test_refused_references_change_nothing(db) -> None:
    make_scope("r")
    scope = create(scope_id="s", context_references=("r",))
    for target, error in (("s", Unsupported), ("missing", ScopeNotFound)):
        with pytest.raises(error):
            update(scope, context_references=("r", target))
    for target, error in (("t", Unsupported), ("missing", ScopeNotFound)):
        with pytest.raises(error):
            create("k2", scope_id="t", context_references=("r", target))
    assert references(scope) == ["r"]
    assert ContextReference.objects.count() == 1


def test_parents_form_no_circle(db) -> None:
    top = create("k1", scope_id="top")
    middle = create("k2", scope_id="middle", parent_scope_id="top")
    create("k3", scope_id="bottom", parent_scope_id="middle")
    for parent in ("top", "middle", "bottom"):
        with pytest.raises(Unsupported):
            update(top, parent_scope_id=parent)
    assert update(middle).parent is None


def test_parents_grant_nothing(db) -> None:
    create("k1", scope_id="top")
    assert references(create("k2", parent_scope_id="top")) == []


def test_stale_version(db) -> None:
    scope = create()
    update(scope, title="U")
    with pytest.raises(Conflict) as caught:
        update(scope, title="V")
    assert caught.value.details == {"expected_version": 1, "current_version": 2}
    assert Scope.objects.get(pk=scope.pk).title == "U"


@pytest.mark.parametrize(
    "scope_id", ["a ", " a", "a\n", "\u00a0a", "", " ", "a\0b", "x" * 257]
)
def test_refused_scope_ids(api: Api, db, scope_id) -> None:
    """C-41: a database that pads would take `a ` for `a`; so it is no id at all."""
    with pytest.raises(InvalidRequest):
        create(scope_id=scope_id)
    body = {"title": "T", "summary": "S.", "idempotency_key": "k", "scope_id": scope_id}
    answer = api.post("/v1/scopes", body)
    assert (answer.status, answer.code) == (422, "invalid_request")


@pytest.mark.parametrize(
    "scope_id",
    ["my-group", 'ap"erp', "a\\b", "项目:甲", "x" * 256, "a b", "%", "😀" * 256],
)
def test_odd_scope_ids_round_trip(api: Api, db, scope_id) -> None:
    """C-28."""
    scope = make_scope(scope_id)
    assert scopes.find_scope(scope_id) == scope
    answer = api.prepare(scope_id, "q")
    assert (answer.status, answer.body["status"]) == (200, "empty")


def test_bindings_resolve_in_order(db) -> None:
    """Explicit id, then the first bound key, then the default Scope (J-27)."""
    first, second, default = (create(name) for name in ("k1", "k2", "k3"))
    other = BindingKey(integration="host", kind="repo", external_id="R1")

    def resolve(explicit=None, keys=(KEY, other), *, allow_default=True) -> Scope:
        return scopes.resolve_scope(
            explicit_scope_id=explicit, keys=keys, allow_default=allow_default
        )

    scopes.set_default_scope(default)
    assert resolve() == default
    with pytest.raises(ScopeNotFound):
        resolve(allow_default=False)
    scopes.bind_scope(key=other, scope=second)
    assert resolve() == second
    scopes.bind_scope(key=KEY, scope=second)
    scopes.bind_scope(key=KEY, scope=first)
    assert resolve() == first
    assert resolve(explicit=default.scope_id) == default
    with pytest.raises(ScopeNotFound):
        resolve(explicit="missing")
    assert scopes.clear_binding(KEY)
    assert not scopes.clear_binding(KEY)
    assert resolve() == second
