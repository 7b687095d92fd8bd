"""Faults between what was packed and what would be named; each is caught (R-051..55).

The evidence is that of real builds: 26 items over HTTP in the text form, and a legacy
envelope. Then one identity is dropped, added, swapped, repeated or changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prepare.services import prepare as prepare_service
from prepare.services.receipts import build_receipt
from prepare.values import Build, SelectedItem
from tests.api import Api
from tests.factories import experience, make_scope, profile, remember, topic, write
from tests.receipts.making import (
    ask,
    build,
    code_identity,
    items,
    make,
    memories,
    reason_of,
    sections,
)
from tests.services.building import identity

Selected = tuple[SelectedItem, ...]
Arguments = dict[str, Any]


@pytest.fixture
def captured(api: Api, settings, monkeypatch) -> dict[str, Arguments]:
    """What `build_receipt` was given in a text and in a legacy request."""
    found: list[Arguments] = []

    def capture(**arguments: Any) -> Any:
        found.append(arguments)
        return build_receipt(**arguments)

    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 26
    names = [f"reference-{number}" for number in range(7)]
    for name in names:
        profile(make_scope(name), "Zebras.")
    scope = make_scope("project:demo", references=names)
    profile(scope, "Zebras.")
    for number in range(8):
        remember(scope, f"zebra {number}")
        write(scope, "topic-memory", topic(f"zebra {number}"))
        write(scope, "experience", experience(f"zebra {number}"))
    families = sections(
        ("memory", 8), ("topic-memory", 8), ("profile", 8), ("experience", 2)
    )
    monkeypatch.setattr(prepare_service, "build_receipt", capture)
    ask(api, "project:demo", "zebra", max_bytes=32768, **families)
    ask(api, "project:demo", "zebra")
    text, legacy = found
    assert len(text["build"].selected) == 26
    assert len(legacy["build"].selected) == 8
    return {"text": text, "legacy": legacy}


def with_selected(arguments: Arguments, selected: Selected) -> Arguments:
    changed = replace(arguments["build"], selected=selected)
    return {**arguments, "build": changed}


def drop(selected: Selected, at: int) -> Selected:
    return selected[:at] + selected[at + 1 :]


def add(selected: Selected, at: int) -> Selected:
    other = replace(selected[at], identity=identity("a-stranger"))
    return (*selected[:at], other, *selected[at:])


def swap(selected: Selected, at: int) -> Selected:
    other = (at + 1) % len(selected)
    changed = list(selected)
    changed[at], changed[other] = changed[other], changed[at]
    return tuple(changed)


def repeat(selected: Selected, at: int) -> Selected:
    return (*selected[: at + 1], selected[at], *selected[at + 1 :])


def alter(**changes: Any) -> Callable[[Selected, int], Selected]:
    def mutate(selected: Selected, at: int) -> Selected:
        found: Any = selected[at].identity
        scope_id = changes.get("scope_id", found.scope_id)
        fields = {name: one for name, one in changes.items() if name != "scope_id"}
        artifact = replace(found.artifact, **fields)
        other = replace(found, scope_id=scope_id, artifact=artifact)
        return (
            *selected[:at],
            replace(selected[at], identity=other),
            *selected[at + 1 :],
        )

    return mutate


MUTATIONS = {
    "drop": drop,
    "add": add,
    "swap": swap,
    "repeat": repeat,
    "other-scope": alter(scope_id="elsewhere"),
    "other-revision": alter(revision=99),
    "other-id": alter(artifact_id="a-stranger"),
}


def mutants(arguments: Arguments) -> Iterator[tuple[str, Arguments]]:
    selected = arguments["build"].selected
    for name, mutate in MUTATIONS.items():
        for at in range(len(selected)):
            yield name, with_selected(arguments, mutate(selected, at))


@pytest.mark.clause("R-051", "R-052", "R-053", "R-054")
@pytest.mark.parametrize("form", ["text", "legacy"])
def test_every_mutation_at_every_place_is_caught(captured, form) -> None:
    arguments = captured[form]
    assert build_receipt(**arguments)
    for name, mutant in mutants(arguments):
        reason = reason_of(partial(build_receipt, **mutant))
        assert reason == "identity_mismatch", name


def as_set(packed: Build) -> bool:
    """The tempting check: the same identities, in whatever order and number."""
    selected = {item.identity for item in packed.selected}
    return selected == {*packed.origins, *packed.code_origins}


def as_history(packed: Build) -> bool:
    """The other tempting check: only the items that come from history."""
    count = len(packed.origins)
    return [item.identity for item in packed.selected[:count]] == [*packed.origins]


@pytest.mark.clause("R-055")
@pytest.mark.parametrize("form", ["text", "legacy"])
def test_a_set_comparison_would_miss_some(captured, form) -> None:
    missed = {
        name for name, mutant in mutants(captured[form]) if as_set(mutant["build"])
    }
    assert missed == {"swap", "repeat"}


@pytest.mark.clause("R-055")
def test_a_comparison_of_history_alone_would_miss_faults_in_code(captured) -> None:
    arguments = captured["text"]
    packed: Build = arguments["build"]
    code = (code_identity(), code_identity("src/b.py"))
    packed = replace(
        packed, code_origins=code, selected=(*packed.selected, *items(code))
    )
    whole = {**arguments, "build": packed}
    assert as_history(packed)
    assert len(build_receipt(**whole).wire["selected"]) == 28
    history = packed.selected[:26]
    shorter = replace(code[1], end_line=19, snippet_sha256="e" * 64)
    for wrong in (code[:1], code[::-1], (*code, code[1]), (code[0], shorter), ()):
        mutant = with_selected(whole, (*history, *items(wrong)))
        assert as_history(mutant["build"])
        reason = reason_of(partial(build_receipt, **mutant))
        assert reason == "identity_mismatch"


@pytest.mark.clause("R-054")
def test_a_repetition_in_both_lists_is_ambiguous() -> None:
    for twice in ([identity()], memories(5)):
        packed = build(*twice, twice[0])
        assert [item.identity for item in packed.selected] == list(packed.origins)
        assert reason_of(partial(make, packed)) == "identity_mismatch"
    code = [code_identity(), code_identity()]
    assert reason_of(lambda: make(build(code=code))) == "identity_mismatch"


@pytest.mark.clause("R-051", "R-052")
def test_an_empty_result_has_no_items_and_a_ready_one_has() -> None:
    """Even if both lists agree."""
    ready = replace(build(identity()), origins=(), selected=())
    assert reason_of(lambda: make(ready)) == "identity_mismatch"
    empty = replace(build(identity()), content=None)
    assert reason_of(lambda: make(empty)) == "identity_mismatch"


@pytest.mark.clause("R-183")
@pytest.mark.parametrize(
    "incomplete",
    [
        identity(scope_id=""),
        identity(""),
        identity(revision=0),
        code_identity(scope_id=""),
        code_identity(path=""),
        code_identity(fingerprint=""),
        code_identity(file_sha256="A" * 64),
        code_identity(snippet_sha256="a" * 63),
        code_identity(start_line=0),
        code_identity(start_line=21),
    ],
    ids=repr,
)
def test_an_incomplete_identity_drops_the_receipt(incomplete) -> None:
    is_code = hasattr(incomplete, "path")
    packed = build(code=[incomplete]) if is_code else build(incomplete)
    assert reason_of(lambda: make(packed)) == "missing_evidence"


@pytest.mark.parametrize(
    "unsupported",
    [
        identity(family="memory", entry=("e", "v")),
        identity(family="atomic-memory", entry=("e", "v")),
        identity(family="memory"),
        identity(family="prompt"),
        identity(family="skill"),
    ],
    ids=repr,
)
@pytest.mark.clause("R-041")
def test_a_kind_that_does_not_exist_drops_the_receipt(unsupported) -> None:
    packed = build(identity("other"), unsupported)
    assert reason_of(lambda: make(packed)) == "unsupported_identity"


@pytest.mark.clause("R-051", "R-052", "R-053", "R-054")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_other_order_or_number_is_caught(captured, data) -> None:
    """Whatever lists of known and unknown identities: only the origins pass."""
    arguments = captured["legacy"]
    packed: Build = arguments["build"]
    known = [*packed.selected, *items([identity("a-stranger")])]
    drawn = data.draw(st.lists(st.sampled_from(known), max_size=10))
    mutant = with_selected(arguments, tuple(drawn))
    if [item.identity for item in drawn] == list(packed.origins):
        assert build_receipt(**mutant)
    else:
        reason = reason_of(lambda: build_receipt(**mutant))
        assert reason == "identity_mismatch"
