"""Store the lines of a context file: all of them, or none (design section 4).

What is there already and equal is left alone, so that a file can be loaded twice; what
is there and different is refused with the line's number. Revisions keep their numbers.
Memory use does not grow with the file: only one collection revision, and what can only
be settled at the end, is held.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import DatabaseError, transaction

from prepare import limits
from prepare.errors import (
    ArtifactNotFound,
    Conflict,
    InvalidRequest,
    PowerContextError,
    ScopeNotFound,
    SourceNotFound,
)
from prepare.models import Artifact, Candidate, MemoryEntryVersion, Scope
from prepare.services import (
    artifacts,
    candidates,
    contents,
    exporting,
    memories,
    reading,
    scopes,
    sources,
)
from prepare.services.artifacts import Authorship
from prepare.services.collections import write_collection
from prepare.services.lines import (
    ArtifactLine,
    CandidateLine,
    EntryLine,
    Line,
    Origin,
    ScopeLine,
    SourceLine,
    parse_line,
)
from prepare.values import ArtifactRef


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedLine:
    """One decoded line of the file; numbers start at 1."""

    number: int
    data: Any


class RefusedLine(PowerContextError):
    """A line that cannot be stored; nothing of its file was (retrying cannot help)."""

    code = "invalid_request"

    def __init__(self, number: int, cause: PowerContextError) -> None:
        self.number = number
        self.cause = cause
        super().__init__(f"line {number}: {cause.message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportCounts:
    """Lines stored, and lines whose content was there already."""

    new: int
    present: int


@transaction.atomic
def import_context(*, lines: Iterable[NumberedLine], now: datetime) -> ImportCounts:
    """Store every line in one transaction; raises `RefusedLine` for the first bad one.

    `now` dates what carries no `created_at`.
    """
    importer = _Importer(now)
    for line in lines:
        importer.read(line)
    return importer.finish()


@contextmanager
def _blame(number: int) -> Iterator[None]:
    """Errors inside are the fault of this line."""
    try:
        yield
    except RefusedLine:
        raise
    except PowerContextError as error:
        raise RefusedLine(number, error) from error
    except DatabaseError as error:
        # The message of a database error quotes its parameters (C-67).
        cause = InvalidRequest(message=f"the database refused it: {type(error)}")
        raise RefusedLine(number, cause) from error


class _Importer:
    def __init__(self, now: datetime) -> None:
        self._now = now
        self._scope: Scope | None = None  # of the latest line; most lines share it
        self._group: list[tuple[int, EntryLine]] = []
        self._incomplete_scopes: dict[str, tuple[int, ScopeLine]] = {}
        self._merges: list[tuple[int, ArtifactLine]] = []
        self._new = 0
        self._present = 0

    def read(self, numbered: NumberedLine) -> None:
        with _blame(numbered.number):
            line = parse_line(numbered.data)
            if isinstance(line, EntryLine):
                self._read_entry(numbered.number, line)
                return
        self._write_group()
        with _blame(numbered.number):
            self._store(numbered.number, line)

    def finish(self) -> ImportCounts:
        """Settle what needed later lines: references to Scopes, and merges."""
        self._write_group()
        for number, scope_line in self._incomplete_scopes.values():
            with _blame(number):
                self._complete_scope(scope_line)
        for number, artifact_line in self._merges:
            with _blame(number):
                self._merge(artifact_line)
        return ImportCounts(new=self._new, present=self._present)

    def _store(self, number: int, line: Line) -> None:
        match line:
            case ScopeLine():
                is_new = self._store_scope(number, line)
            case SourceLine():
                is_new = self._store_source(line)
            case ArtifactLine():
                is_new = self._store_artifact(number, line)
            case CandidateLine():
                is_new = self._store_candidate(line)
        self._count(1, is_new=is_new)

    def _count(self, lines: int, *, is_new: bool) -> None:
        if is_new:
            self._new += lines
        else:
            self._present += lines

    def _find_scope(self, scope_id: str) -> Scope:
        if self._scope is None or self._scope.scope_id != scope_id:
            try:
                self._scope = scopes.find_scope(scope_id)
            except ScopeNotFound:
                message = f"scope_id: there is no Scope {scope_id!r} (yet)"
                raise ScopeNotFound(message) from None
        return self._scope

    def _authorship(self, origin: Origin) -> Authorship:
        return Authorship(
            now=origin.created_at or self._now,
            author=origin.created_by,
            reason=origin.reason,
            restored_from_revision=origin.restored_from_revision,
        )

    def _store_scope(self, number: int, line: ScopeLine) -> bool:
        existing = Scope.objects.filter(scope_id=line.scope_id).first()
        if existing is not None:
            _, waiting = self._incomplete_scopes.get(line.scope_id, (0, None))
            held = waiting or exporting.scope_line(existing)
            _check_same_fields(held, line)
            return False
        fields = line.fields
        if _missing_scopes(line):
            # References may point at each other: they are written at the end.
            self._incomplete_scopes[line.scope_id] = (number, line)
            fields = replace(fields, parent_scope_id=None, context_references=())
        scopes.create_scope(
            fields=fields,
            idempotency_key=_scope_key(line.scope_id),
            now=line.created_at or self._now,
            scope_id=line.scope_id,
        )
        return True

    def _complete_scope(self, line: ScopeLine) -> None:
        if missing := _missing_scopes(line):
            raise ScopeNotFound(f"there is no Scope {min(missing)!r}")
        scope = scopes.find_scope(line.scope_id)
        scopes.update_scope(
            scope=scope, fields=line.fields, expected_version=scope.version
        )

    def _store_source(self, line: SourceLine) -> bool:
        scope = self._find_scope(line.scope_id)
        try:
            held = sources.read_source(
                scope=scope, source_type=line.source_type, source_id=line.source_id
            )
        except SourceNotFound:
            sources.create_source(
                scope=scope, source=line.source, now=line.created_at or self._now
            )
            return True
        content = contents.canonical_json(line.source.content)
        metadata = contents.canonical_json(line.source.metadata or {})
        if (held.content_digest, held.metadata) != (contents.digest(content), metadata):
            raise Conflict("this Source is there with another content or metadata")
        return False

    def _store_artifact(self, number: int, line: ArtifactLine) -> bool:
        scope = self._find_scope(line.scope_id)
        head = _find_head(scope, line.artifact)
        is_new = head is None or line.artifact.revision > head.revision
        if is_new:
            self._write_revision(scope, line, is_first=head is None)
        else:
            _check_same_revision(scope, line)
        if line.state == "merged":
            self._merges.append((number, line))  # its target comes later
        elif line.state is not None:
            self._apply_state(scope, line, is_new=is_new)
        return is_new

    def _write_revision(
        self, scope: Scope, line: ArtifactLine, *, is_first: bool
    ) -> None:
        values: dict[str, Any] = {
            "scope": scope,
            "family": line.artifact.family,
            "artifact_id": line.artifact.artifact_id,
            "revision": line.artifact.revision,
            "content": line.content,
            "lineage": line.lineage,
            "authorship": self._authorship(line.origin),
        }
        if is_first:
            artifacts.create_artifact(**values)
        else:
            artifacts.replace_artifact(**values)

    def _apply_state(self, scope: Scope, line: ArtifactLine, *, is_new: bool) -> None:
        head = _find_head(scope, line.artifact)
        if head is None or line.state is None or head.state == line.state:
            return
        if not is_new:
            if head.revision == line.artifact.revision:
                raise Conflict(f"this Artifact is there and {head.state}")
            return  # the head has moved on
        memories.change_state(
            scope=scope,
            target=memories.MemoryTarget(
                artifact=line.artifact, state_version=head.state_version
            ),
            state=line.state,
            authorship=self._authorship(line.origin),
        )

    def _merge(self, line: ArtifactLine) -> None:
        scope = self._find_scope(line.scope_id)
        memories.mark_merged(
            scope=scope,
            artifact=line.artifact,
            into=line.merged_into or "",
            authorship=self._authorship(line.origin),
        )

    def _read_entry(self, number: int, line: EntryLine) -> None:
        if self._group and _collection_of(self._group[0][1]) != _collection_of(line):
            self._write_group()
        _entry_digest(line)  # a bad text is this line's fault, not its revision's
        if any(line.entry.entry_id == held.entry.entry_id for _, held in self._group):
            raise InvalidRequest(message="entry_id: twice in one collection revision")
        self._group.append((number, line))

    def _write_group(self) -> None:
        """Write the lines of one collection revision, or see that they are there."""
        group, self._group = self._group, []
        if not group:
            return
        number, first = group[0]
        with _blame(number):
            scope = self._find_scope(first.scope_id)
            ref = _collection_of(first)[1]
            head = _find_head(scope, ref)
            _check_entry_texts(head, group)
            is_new = head is None or ref.revision > head.revision
            if is_new:
                write_collection(
                    scope=scope,
                    artifact_id=first.artifact_id,
                    changes=[line.entry for _, line in group],
                    authorship=self._authorship(first.origin),
                    revision=first.revision,
                )
            else:
                _check_same_entries(scope, ref, group)
        self._count(len(group), is_new=is_new)

    def _store_candidate(self, line: CandidateLine) -> bool:
        scope = self._find_scope(line.scope_id)
        if _holds_candidate(scope, line):
            return False
        authorship = Authorship(now=line.created_at or self._now)
        row = candidates.propose(
            scope=scope, proposal=line.proposal, authorship=authorship
        )
        if line.status == "rejected":
            candidates.reject(
                scope=scope,
                candidate_id=row.candidate_id,
                expected_version=row.version,
                reason=line.decision_reason,
                authorship=authorship,
            )
        return True


def _scope_key(scope_id: str) -> str:
    """The idempotency key of an imported Scope, hashed if it would be too long."""
    key = f"import:{scope_id}"
    if len(key) <= limits.IDEMPOTENCY_KEY_CHARS:
        return key
    return f"import:{hashlib.sha256(scope_id.encode()).hexdigest()}"


def _missing_scopes(line: ScopeLine) -> set[str]:
    """Scopes that the line refers to and that are not stored."""
    wanted = {*line.fields.context_references, line.fields.parent_scope_id} - {None}
    found = Scope.objects.filter(scope_id__in=wanted)
    return {name for name in wanted if name} - set(
        found.values_list("scope_id", flat=True)
    )


def _check_same_fields(held: ScopeLine, line: ScopeLine) -> None:
    there, wanted = held.fields.as_json(), line.fields.as_json()
    different = [name for name in wanted if wanted[name] != there[name]]
    if different:
        names = ", ".join(different)
        raise Conflict(f"Scope {line.scope_id!r} is there with another {names}")


def _find_head(scope: Scope, artifact: ArtifactRef) -> Artifact | None:
    return Artifact.objects.filter(
        scope=scope, family=artifact.family, artifact_id=artifact.artifact_id
    ).first()
