"""JSON Lines files for tests, and what is stored after loading them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection

from prepare.services.access import LOCAL
from prepare.services.prepare import prepare_context
from prepare.services.runtime import Runtime
from prepare.values import Identity, parse_prepare_request

DEMO = Path(__file__).parent.parent.parent / "prepare" / "fixtures" / "demo.jsonl"
Json = dict[str, Any]


def scope(scope_id: str = "s", **more: Any) -> Json:
    named = {"type": "scope", "scope_id": scope_id, "title": "T", "summary": "S"}
    return named | more


def source(source_id: str, content: Any = "evidence", **more: Any) -> Json:
    return {
        "type": "source",
        "scope_id": "s",
        "source_type": "content",
        "source_id": source_id,
        "content": content,
    } | more


def memory(artifact_id: str, text: str, revision: int = 1, **more: Any) -> Json:
    return {
        "type": "artifact",
        "scope_id": "s",
        "family": "atomic-memory",
        "artifact_id": artifact_id,
        "revision": revision,
        "content": {"kind": "fact", "text": text},
    } | more


def artifact(family: str, artifact_id: str, content: Json, **more: Any) -> Json:
    return {
        "type": "artifact",
        "scope_id": "s",
        "family": family,
        "artifact_id": artifact_id,
        "revision": 1,
        "content": content,
    } | more


def entry(
    entry_id: str, version: str, text: str, revision: int = 1, **more: Any
) -> Any:
    return {
        "type": "memory_entry",
        "scope_id": "s",
        "artifact_id": "memory",
        "revision": revision,
        "entry_id": entry_id,
        "entry_version_id": version,
        "kind": "fact",
        "text": text,
    } | more


def reference(
    artifact_id: str, revision: int = 1, family: str = "atomic-memory"
) -> Json:
    return {"family": family, "artifact_id": artifact_id, "revision": revision}


def write_lines(path: Path, lines: Sequence[Json]) -> Path:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_bytes(text.encode())
    return path


def row_counts() -> dict[str, int]:
    """Rows by table of the product."""
    return {
        model.__name__: model._default_manager.count()
        for model in apps.get_app_config("prepare").get_models()
    }


def empty_database() -> None:
    """Delete every row of the product; the test's transaction brings them back."""
    with connection.constraint_checks_disabled(), connection.cursor() as cursor:
        for model in apps.get_app_config("prepare").get_models():
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute(f"DELETE FROM {table}")


def prepare(scope_id: str, query: str, **options: Any) -> tuple[str | None, list[str]]:
    """Content, and what was selected: `artifact_id` or `artifact_id/entry_id`."""
    request: Mapping[str, Any] = {"scope_id": scope_id, "query": query, **options}
    runtime = Runtime(assembly_max_entries=26)
    prepared = prepare_context(
        parse_prepare_request(request), principal=LOCAL, runtime=runtime
    )
    names = []
    for item in prepared.build.selected:
        assert isinstance(item.identity, Identity)
        entry_id = item.identity.entry_id
        name = item.identity.artifact.artifact_id
        names.append(name if entry_id is None else f"{name}/{entry_id}")
    return prepared.build.content, names
