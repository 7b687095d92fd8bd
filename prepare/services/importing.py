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

from django.db import DatabaseError

from prepare import limits
from prepare.errors import (
    ArtifactNotFound,
    Conflict,
    InvalidRequest,
    PowerContextError,
    ScopeNotFound,
    SourceNotFound,
)
from prepare.models import Scope
from prepare.search import index
from prepare.services import (
    artifacts,
    candidates,
    comparing,
    memories,
    scopes,
    sources,
)
from prepare.services.artifacts import Authorship, Lifecycle
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
from prepare.services.writing import write_transaction
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


@write_transaction
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
    """Errors inside are the fault of this line, unless one was named already."""
    try:
        yield
    except RefusedLine:
        raise
    except PowerContextError as error:
        raise RefusedLine(number, error) from error
    except DatabaseError as error:
        # The message of a database error quotes its parameters (C-67).
        kind = type(error).__name__
        cause = InvalidRequest(message=f"the database refused it ({kind})")
        raise RefusedLine(number, cause) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merge:
    number: int
    line: ArtifactLine
    is_new: bool


class _Importer:
    def __init__(self, now: datetime) -> None:
        self._now = now
        self._scope: Scope | None = None  # of the latest line; most lines share it
        self._group: dict[str, tuple[int, EntryLine]] = {}  # by entry id
        self._incomplete_scopes: dict[str, tuple[int, ScopeLine]] = {}
        self._merges: list[_Merge] = []
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
            self._count(1, is_new=self._store(numbered.number, line))

    def finish(self) -> ImportCounts:
        """Settle what needed later lines: references to Scopes, and merges."""
        self._write_group()
        for number, line in self._incomplete_scopes.values():
            with _blame(number):
                _complete_scope(line)
        for merge in self._merges:
            with _blame(merge.number):
                self._apply_merge(merge)
        return ImportCounts(new=self._new, present=self._present)

    def _count(self, lines: int, *, is_new: bool) -> None:
        if is_new:
            self._new += lines
        else:
            self._present += lines

    def _store(self, number: int, line: Line) -> bool:
        """Store one line; False if it was there already."""
        match line:
            case ScopeLine():
                return self._store_scope(number, line)
            case SourceLine():
                return self._store_source(line)
            case ArtifactLine():
                return self._store_artifact(number, line)
            case CandidateLine():
                return self._store_candidate(line)
            case EntryLine():
                raise TypeError("entries are stored by collection revision")

    def _find_scope(self, scope_id: str) -> Scope:
        if self._scope is None or self._scope.scope_id != scope_id:
            try:
                self._scope = scopes.find_scope(scope_id)
            except ScopeNotFound:
                message = f"scope_id: there is no Scope {scope_id!r} so far"
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
            comparing.check_same_scope(waiting or existing, line)
            return False
        fields = line.fields
        if comparing.missing_scopes(line):
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

    def _store_source(self, line: SourceLine) -> bool:
        scope = self._find_scope(line.scope_id)
        try:
            held = sources.read_source(
                scope=scope, source_type=line.source_type, source_id=line.source_id
            )
        except SourceNotFound:
            now = line.created_at or self._now
            sources.create_source(scope=scope, source=line.source, now=now)
            return True
        comparing.check_same_source(held, line)
        return False

    def _store_artifact(self, number: int, line: ArtifactLine) -> bool:
        scope = self._find_scope(line.scope_id)
        head = comparing.find_head(scope=scope, artifact=line.artifact)
        is_new = head is None or line.artifact.revision > head.revision
        if is_new:
            self._write_revision(scope, line, is_first=head is None)
        else:
            comparing.check_same_revision(scope=scope, line=line)
        if line.state == "merged":
            # What it was merged into cites it, and so comes later.
            self._merges.append(_Merge(number=number, line=line, is_new=is_new))
        elif line.state is not None:
            self._apply_state(scope, line, line.state, is_new=is_new)
        return is_new

    def _write_revision(
        self, scope: Scope, line: ArtifactLine, *, is_first: bool
    ) -> None:
        write = artifacts.create_artifact if is_first else artifacts.replace_artifact
        write(
            scope=scope,
            family=line.artifact.family,
            artifact_id=line.artifact.artifact_id,
            revision=line.artifact.revision,
            content=line.content,
            lineage=line.lineage,
            authorship=self._authorship(line.origin),
        )

    def _apply_state(
        self, scope: Scope, line: ArtifactLine, state: str, *, is_new: bool
    ) -> None:
        head = comparing.find_head(scope=scope, artifact=line.artifact)
        if head is None or head.revision != line.artifact.revision:
            return  # an older revision says nothing about the head
        if head.state == state:
            return
        if not is_new:
            raise Conflict(f"this Artifact is there and {head.state}")
        target = memories.MemoryTarget(
            artifact=line.artifact, state_version=head.state_version
        )
        memories.change_state(
            scope=scope,
            target=target,
            state=state,
            authorship=self._authorship(line.origin),
        )

    def _apply_merge(self, merge: _Merge) -> None:
        """Give the head the state that `memories.merge_memories` gives its inputs."""
        line = merge.line
        scope = self._find_scope(line.scope_id)
        into = ArtifactRef(
            family=limits.ATOMIC_MEMORY,
            artifact_id=line.merged_into or "",
            revision=line.artifact.revision,
        )
        target = comparing.find_head(scope=scope, artifact=into)
        if target is None or line.artifact.family != limits.ATOMIC_MEMORY:
            raise ArtifactNotFound("merged_into: there is no such atomic memory")
        head = artifacts.lock_head(
            scope=scope,
            family=line.artifact.family,
            artifact_id=line.artifact.artifact_id,
        )
        if head.merged_into_id == target.pk:
            return
        if not merge.is_new or head.state != "active" or head.pk == target.pk:
            raise Conflict(f"this Artifact is there and {head.state}")
        head.merged_into = target
        head.lifecycle = Lifecycle.DEPRECATED
        head.state_version += 1
        head.save(update_fields=["merged_into", "lifecycle", "state_version"])
        index.remove_artifact(head)

    def _read_entry(self, number: int, line: EntryLine) -> None:
        """Hold the entry until its collection revision is complete."""
        comparing.entry_digest(line)  # a bad text is the fault of this very line
        if self._group:
            _, latest = next(iter(self._group.values()))
            if _collection(latest) != _collection(line):
                self._write_group()
        if line.entry.entry_id in self._group:
            raise InvalidRequest(message="entry_id: twice in one collection revision")
        self._group[line.entry.entry_id] = (number, line)

    def _write_group(self) -> None:
        """Write the lines of one collection revision, or see that they are there."""
        group, self._group = list(self._group.values()), {}
        if not group:
            return
        number, first = group[0]
        with _blame(number):
            is_new = self._store_collection(first, group)
        self._count(len(group), is_new=is_new)

    def _store_collection(
        self, first: EntryLine, group: list[tuple[int, EntryLine]]
    ) -> bool:
        scope = self._find_scope(first.scope_id)
        _, artifact = _collection(first)
        head = comparing.find_head(scope=scope, artifact=artifact)
        held = comparing.held_versions(head, [line for _, line in group])
        named: set[str] = set()
        for number, line in group:
            version_id = line.entry.entry_version_id
            with _blame(number):
                if version_id in named:
                    raise Conflict("entry_version_id: it names another entry here")
                if version_id in held:
                    comparing.check_same_text(held[version_id], line)
            named.add(version_id)
        if head is None or artifact.revision > head.revision:
            write_collection(
                scope=scope,
                artifact_id=first.artifact_id,
                changes=[line.entry for _, line in group],
                authorship=self._authorship(first.origin),
                revision=first.revision,
            )
            return True
        manifest = comparing.read_manifest(scope=scope, artifact=artifact)
        for number, line in group:
            with _blame(number):
                comparing.check_same_entry(manifest, line)
        return False

    def _store_candidate(self, line: CandidateLine) -> bool:
        scope = self._find_scope(line.scope_id)
        if comparing.holds_candidate(scope=scope, line=line):
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


def _complete_scope(line: ScopeLine) -> None:
    if missing := comparing.missing_scopes(line):
        raise ScopeNotFound(f"there is no Scope {missing[0]!r}")
    scope = scopes.find_scope(line.scope_id)
    scopes.update_scope(scope=scope, fields=line.fields, expected_version=scope.version)


def _collection(line: EntryLine) -> tuple[str, ArtifactRef]:
    """What the lines of one collection revision have in common."""
    artifact = ArtifactRef(
        family=limits.MEMORY_COLLECTION,
        artifact_id=line.artifact_id,
        revision=line.revision,
    )
    return line.scope_id, artifact
