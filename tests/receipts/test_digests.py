"""The two digests (R-024..R-028)."""

import hashlib
import unicodedata

import pytest

from prepare.evidence import RecallRound
from tests.api import Api
from tests.factories import make_scope, remember
from tests.receipts.making import FORMS, ask, make, request, with_evidence

COMPOSED = "caf\u00e9 \u00c5ngstr\u00f6m \uac00"


def plain_digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@pytest.fixture
def scope(db: None) -> None:
    remember(make_scope("s"), "café 界 zebra")


@pytest.mark.clause("R-024", "R-025")
@pytest.mark.parametrize(
    "spelling",
    [
        COMPOSED,
        unicodedata.normalize("NFD", COMPOSED),
        f"  \t\r\n{COMPOSED}\u3000\u2028\u00a0",
        unicodedata.normalize("NFD", f"\x85{COMPOSED}\x1f"),
    ],
    ids=["composed", "decomposed", "padded", "decomposed-padded"],
)
def test_one_query_has_one_digest(api: Api, scope, spelling) -> None:
    receipt = ask(api, "s", spelling).receipt
    assert receipt["query_digest"] == plain_digest(COMPOSED)


@pytest.mark.clause("R-024", "R-025")
def test_queries_that_differ_have_other_digests(api: Api, scope) -> None:
    """Case, inner spaces and compatibility forms are not normalized away."""
    queries = [
        "zebra",
        "Zebra",
        "ze bra",
        "ze  bra",
        "ｚebra",
        "zebra.",
        "zebra\0",
        "ﬁ",
    ]
    found = {ask(api, "s", query).receipt["query_digest"] for query in queries}
    assert len(found) == len(queries)
    known = "sha256:676cb75018edccf10fce6f376f2124e02c3293fa3fe8f953c75386198c714514"
    assert ask(api, "s", "zebra").receipt["query_digest"] == known


@pytest.mark.clause("R-026")
@pytest.mark.parametrize("query", ["界" * 2731, "界 " * 4096, "😀" * 8192, "é" * 8192])
@pytest.mark.parametrize("options", FORMS)
def test_long_queries_have_receipts(api: Api, scope, query, options) -> None:
    """Over 8192 bytes, within 8192 characters: the bound of bodies is not theirs."""
    assert len(query) <= 8192 < len(query.encode())
    receipt = ask(api, "s", query, **options).receipt
    assert receipt["query_digest"] == plain_digest(query.strip())


@pytest.mark.clause("R-027")
def test_the_digest_is_of_the_original_query_after_expansion() -> None:
    """Whatever later rounds searched for."""
    ran = (RecallRound(round=0), RecallRound(round=1, model_backed=True))
    found = make(evidence=with_evidence(rounds=ran), asked=request(query=" zebra"))
    assert found["query_digest"] == plain_digest("zebra")


@pytest.mark.clause("R-028")
@pytest.mark.parametrize("options", FORMS)
def test_the_content_digest_is_of_the_bytes_returned(api, db, options) -> None:
    """`ask` recomputes it; here from the answer of another request."""
    remember(make_scope("s"), 'zebra "界\u2028\x85\U000e0001" ' + "汉" * 900)
    content = api.prepare("s", "zebra", **options).body["content"]
    receipt = ask(api, "s", "zebra", **options).receipt
    if content is None:
        assert receipt["content_digest"] is None
    else:
        assert receipt["content_digest"] == plain_digest(content)
        assert receipt["used_bytes"] == len(content.encode())
