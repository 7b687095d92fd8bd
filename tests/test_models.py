"""What the database and the models refuse, whoever asks (contract C.1, C.2, C.3)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, models, transaction

from prepare.models import (
    Artifact,
    ArtifactEvidence,
    ArtifactRevision,
    ContextReference,
    Grant,
    ImmutableRowError,
    MemoryEntryVersion,
    Scope,
    Source,
    SourceEvidence,
    Token,
)
from prepare.services.artifacts import Lineage, SourceRef
from tests.factories import (
    NOW,
    collect,
    make_scope,
    ref,
    remember,
    source,
    token,
    write,
)

APPEND_ONLY: list[type[models.Model]] = [
    ArtifactRevision,
    Source,
    SourceEvidence,
    ArtifactEvidence,
    MemoryEntryVersion,
]


@pytest.fixture
def scope(db: None) -> Scope:
    """A Scope with at least one row of each append-only model."""
    scope = make_scope("s")
    source(scope, "one")
    fact = remember(scope, "A fact.")
    write(
        scope,
        "atomic-memory",
        {"kind": "fact", "text": "Another."},
        lineage=Lineage(
            sources=(SourceRef(source_type="content", source_id="one"),),
            artifacts=(ref(fact),),
        ),
    )
    collect(scope, [("e1", "e1-v1", "Entry.")])
    return scope


CHANGES: list[Callable[[Any, Any], object]] = [
    lambda rows, row: row.save(),
    lambda rows, row: row.save(update_fields=["pk"]),
    lambda rows, row: row.delete(),
    lambda rows, row: rows.update(pk=row.pk),
    lambda rows, row: rows.all().filter(pk=row.pk).update(pk=row.pk),
    lambda rows, row: rows.all().delete(),
    lambda rows, row: rows.filter(pk=row.pk).delete(),
    lambda rows, row: rows.bulk_update([row], ["created_at"]),
    lambda rows, row: rows.none().delete(),
]


@pytest.mark.parametrize("model", APPEND_ONLY)
@pytest.mark.parametrize("change", CHANGES)
def test_append_only_rows_stay(
    scope: Scope, model: type[models.Model], change: Callable[[Any, Any], object]
) -> None:
    rows: Any = model._default_manager
    before = list(rows.order_by("pk").values())
    assert before

    with pytest.raises(ImmutableRowError):
        change(rows, rows.order_by("pk")[0])

    assert list(rows.order_by("pk").values()) == before


@pytest.mark.parametrize("model", APPEND_ONLY)
def test_related_managers_are_no_way_around(
    scope: Scope, model: type[models.Model]
) -> None:
    head = Artifact.objects.filter(family="memory").get()

    for rows in (head.revisions, head.entry_versions, scope.sources):
        manager: Any = rows
        with pytest.raises(ImmutableRowError):
            manager.all().delete()
        with pytest.raises(ImmutableRowError):
            manager.update(created_at=NOW)


def test_a_scope_with_data_is_not_deleted(scope: Scope) -> None:
    with pytest.raises(models.ProtectedError):
        scope.delete()
    with pytest.raises(models.ProtectedError):
        Artifact.objects.all().delete()

    assert Artifact.objects.count() == 3


def head_of(scope: Scope, **values: Any) -> Artifact:
    defaults = {
        "scope": scope,
        "family": "atomic-memory",
        "artifact_id": "new",
        "revision": 1,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Artifact.objects.create(**defaults | values)


def _repeated_head(scope: Scope) -> None:
    old = Artifact.objects.filter(family="memory").get()
    head_of(scope, family=old.family, artifact_id=old.artifact_id)


def _revision_zero(scope: Scope) -> None:
    head_of(scope, revision=0)


def _merged_but_active(scope: Scope) -> None:
    head_of(scope, merged_into=Artifact.objects.all()[0])


def _repeated_revision(scope: Scope) -> None:
    row = ArtifactRevision.objects.all()[0]
    ArtifactRevision.objects.create(
        artifact=row.artifact,
        revision=row.revision,
        content="{}",
        content_digest="sha256:0",
        created_at=NOW,
    )


def _repeated_entry_version(scope: Scope) -> None:
    row = MemoryEntryVersion.objects.get()
    MemoryEntryVersion.objects.create(
        artifact=row.artifact,
        entry_id="other",
        entry_version_id=row.entry_version_id,
        version=1,
        kind="fact",
        text="x",
        content_digest="sha256:0",
        created_in_revision=1,
        created_at=NOW,
    )


def _repeated_source(scope: Scope) -> None:
    row = Source.objects.get()
    Source.objects.create(
        scope=scope,
        source_type=row.source_type,
        source_id=row.source_id,
        content="1",
        content_digest="sha256:0",
        position=99,
        created_at=NOW,
    )


def _repeated_source_position(scope: Scope) -> None:
    row = Source.objects.get()
    Source.objects.create(
        scope=scope,
        source_type="other",
        source_id="other",
        content="1",
        content_digest="sha256:0",
        position=row.position,
        created_at=NOW,
    )


def _repeated_reference(scope: Scope) -> None:
    target = make_scope("target")
    for position in (1, 2):
        ContextReference.objects.create(scope=scope, target=target, position=position)


def _repeated_reference_position(scope: Scope) -> None:
    for name in ("a", "b"):
        target = make_scope(name)
        ContextReference.objects.create(scope=scope, target=target, position=1)


def _repeated_scope_id(scope: Scope) -> None:
    Scope.objects.create(
        scope_id=scope.scope_id,
        title="T",
        summary="S",
        idempotency_key="other",
        idempotency_digest="",
        created_at=NOW,
    )


def _repeated_grant(scope: Scope) -> None:
    token("ci", scope)
    row = Grant.objects.get()
    Grant.objects.create(token=row.token, scope=scope, role=row.role)


def _repeated_digest(scope: Scope) -> None:
    token("ci")
    row = Token.objects.get()
    Token.objects.create(name="other", digest=row.digest, created_at=NOW)


@pytest.mark.parametrize(
    "write_row",
    [
        _repeated_head,
        _revision_zero,
        _merged_but_active,
        _repeated_revision,
        _repeated_entry_version,
        _repeated_source,
        _repeated_source_position,
        _repeated_reference,
        _repeated_reference_position,
        _repeated_scope_id,
        _repeated_grant,
        _repeated_digest,
    ],
)
def test_the_database_refuses(scope: Scope, write_row: Callable[[Scope], None]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        write_row(scope)


def test_identities_differ_by_case_accent_and_width(scope: Scope) -> None:
    """On every database; a collation that folds would merge them (B.3)."""
    for name in ("Case", "case", "café", "cafe", "cafe\u0301", "Ａ", "A"):
        make_scope(f"x:{name}")
        head_of(scope, artifact_id=f"id-{name}")

    assert Scope.objects.filter(scope_id__startswith="x:").count() == 7
    assert Scope.objects.get(scope_id="x:case").scope_id == "x:case"


@pytest.mark.parametrize(
    ("lifecycle", "is_merged", "state"),
    [
        ("active", False, "active"),
        ("deprecated", False, "forgotten"),
        ("deprecated", True, "merged"),
        ("retired", False, "retired"),
    ],
)
def test_state_words(scope: Scope, lifecycle: str, is_merged: bool, state: str) -> None:
    target = Artifact.objects.all()[0] if is_merged else None

    assert head_of(scope, lifecycle=lifecycle, merged_into=target).state == state
