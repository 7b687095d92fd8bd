"""The complete example of RFC 1489 through HTTP (A-121)."""

import json
from pathlib import Path

import pytest

from tests.api import Api
from tests.factories import collect, make_scope, write

GOLDEN = Path(__file__).parent.parent / "goldens" / "000-rfc1489-example.json"


@pytest.mark.clause("A-121")
def test_rfc_example_byte_for_byte(api: Api) -> None:
    golden = json.loads(GOLDEN.read_text())
    scope = make_scope("project:demo")
    write(
        scope,
        "experience",
        {
            "situation": "修改了 HTTP API 契约。",
            "action": "运行 make api-generate 和 make contract-test。",
            "outcome": "生成代码与契约一致，测试通过。",
            "lesson": "契约修改后先重新生成，再验证。",
        },
        artifact_id="experience-1",
    )
    text = "修改 OpenAPI 后，需要重新生成客户端并运行契约测试。"
    collect(scope, [("entry-1", "entry-1-v2", text)], revision=3)

    content = api.content(**golden["request"])

    assert content == golden["response"]["content"]
