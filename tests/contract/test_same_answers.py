"""The demo answers alike on every database: selections, bytes, receipts, exact reads.

The expectation was written on SQLite; the run on OceanBase compares with the same file.
To renew it, delete it and run this test, which then writes it and fails once.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.api import Api
from tests.commands import files
from tests.receipts.making import sections
from tests.receipts.test_exact_reads import read
from tests.services.documents import read_citation, read_text

EXPECTED = Path(__file__).with_name("same_answers.json")
CHOSEN = sections(("memory", 4), ("experience", 2), ("profile", 1), ("topic-memory", 1))
SCOPES = ("project:harbor", "team:platform")
QUERIES = (
    "How is the idempotency key of an NDX carrier webhook computed?",
    "What do we answer to a duplicate webhook?",
    "migrate failed with Duplicate column name, can I use --fake?",
    "修改接口后如何重新生成客户端，没有 Java 怎么办？",
    "SHIP-1432",
    "retry schedule after a timeout",
    "承运商 YHE 的回复要求是什么",
    "OceanBase 租户 MemStore 告警",
    "OBProxy closes idle sessions",
    "慢 SQL 由谁处理",
    "scanner app offline queue",
    "扫描端发布节奏",
    "expired certificate on hooks.harbor.example.com",
    "Kafka acks=all 生产者",
    "who is on call on Friday",
    "日志里不得出现哪些个人信息",
    "Django 5.2 upgrade tests",
    "ETA windows and time zones",
    "CI runners queue time",
    "回填数据时如何限速",
    "uq_webhook_inbox_key",
    "容器 requests 与内存 limit",
    "quantum gardening on the moon",
)


def answers(api: Api, scope_id: str, query: str) -> dict[str, Any]:
    """Both forms of one question, without what differs from call to call."""
    text = api.prepare(scope_id, query, include_receipt=True, **CHOSEN).body
    legacy = api.prepare(scope_id, query, include_receipt=True).body
    assert text["status"] == ("ready" if text["content"] else "empty")
    items = read_text(text["content"]) if text["content"] else []
    cited = [read_citation(item) for item in items]
    for citation in cited:
        read_exactly(api, *citation)
    return {
        "cited": [" ".join(map(str, citation)) for citation in cited],
        "receipts": [lasting(body.get("receipt")) for body in (text, legacy)],
        "digests": [digest(body["content"]) for body in (text, legacy)],
    }


def read_exactly(
    api: Api, scope_id: str, family: str, artifact_id: str, revision: int, *entry: str
) -> None:
    artifact = {"family": family, "artifact_id": artifact_id, "revision": revision}
    exact = read(
        api, {"artifact_address": {"scope_id": scope_id, "artifact": artifact}}
    )
    assert exact.status == 200
    assert {name: exact.body[name] for name in artifact} == artifact


def lasting(receipt: dict[str, Any] | None) -> str | None:
    """A digest of the receipt, but for its id and times.

    None where a collection entry was selected: receipts cannot name those.
    """
    if receipt is None:
        return None
    kept = {key: receipt[key] for key in sorted(receipt) if key != "receipt_id"}
    kept["stages"] = [(one["stage"], one["count"]) for one in receipt["stages"]]
    return digest(json.dumps(kept, sort_keys=True))


def digest(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()


@pytest.mark.clause("A-208", "R-221")
def test_the_demo_answers_as_on_every_database(api: Api) -> None:
    call_command("load_context", files.DEMO, verbosity=0)
    found = {
        scope_id: {query: answers(api, scope_id, query) for query in QUERIES}
        for scope_id in SCOPES
    }
    if not EXPECTED.exists():
        EXPECTED.write_text(
            json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
        pytest.fail(f"{EXPECTED.name} was not there; it is written now")
    assert found == json.loads(EXPECTED.read_text(encoding="utf-8"))
