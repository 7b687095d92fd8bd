"""Which items a receipt names, in which order and size (R-040..R-061)."""

from typing import Any

import pytest

from prepare import limits
from prepare.models import Scope
from tests.api import Api
from tests.factories import (
    collect,
    experience,
    make_scope,
    profile,
    remember,
    revise,
    topic,
    write,
)
from tests.receipts.making import (
    FOUR_KEYS,
    ask,
    build,
    code_identity,
    make,
    raw,
    sections,
)
from tests.services.building import identity
from tests.services.documents import (
    dump_envelope,
    read_citation,
    read_envelope,
    read_text,
)

ALL_26 = sections(("memory", 8), ("topic-memory", 8), ("profile", 8), ("experience", 2))
ALL_18 = sections(("memory", 8), ("topic-memory", 8), ("experience", 2))
LARGEST = 32768


def fill(scope: Scope, count: int, word: str = "zebra") -> None:
    """`count` short items of each searched family, and a profile."""
    for number in range(count):
        remember(scope, f"{word} {number}")
        write(scope, "experience", experience(f"{word} {number}"))
        write(scope, "topic-memory", topic(f"{word} {number}"))
    profile(scope, f"Likes {word}s.")


@pytest.fixture
def eight(db: None) -> Scope:
    """The current Scope and seven referenced ones, all with items."""
    names = [f"reference-{number}" for number in range(7)]
    for name in names:
        profile(make_scope(name), f"Profile of {name}.")
    scope = make_scope("project:demo", references=names)
    fill(scope, 8)
    return scope


def addresses(receipt: dict[str, Any]) -> list[tuple[Any, ...]]:
    """(Scope, family, id, revision, None, None), as the text readers cite."""
    found = []
    for item in receipt["selected"]:
        address = item["artifact_address"]
        artifact = address["artifact"]
        assert list(item) == ["kind", "artifact_address", "rendered_bytes", "truncated"]
        assert list(address) == ["scope_id", "artifact"]
        assert list(artifact) == ["family", "artifact_id", "revision"]
        assert item["kind"] == artifact["family"]
        found.append((address["scope_id"], *artifact.values(), None, None))
    return found


def check_text(body: dict[str, Any], receipt: dict[str, Any]) -> None:
    """Order, citations, sizes and truncation as a reader of the text finds them."""
    shown = read_text(body["content"])
    assert addresses(receipt) == [read_citation(item) for item in shown]
    sizes = [
        (item["rendered_bytes"], item["truncated"]) for item in receipt["selected"]
    ]
    assert sizes == [(item.rendered_bytes, item.truncated) for item in shown]


def check_legacy(body: dict[str, Any], receipt: dict[str, Any], current: str) -> None:
    """Short references of the current Scope are addresses in the receipt (R-043)."""
    shown = read_envelope(body["content"])
    cited = []
    for item in shown:
        citation = item["citation"]
        address = citation.get("artifact")
        if address is None:
            address = {"scope_id": current, "artifact": citation["artifact_ref"]}
        cited.append((address["scope_id"], *address["artifact"].values(), None, None))
    assert addresses(receipt) == cited
    sizes = [
        (item["rendered_bytes"], item["truncated"]) for item in receipt["selected"]
    ]
    written = [len(dump_envelope(item).encode()) for item in shown]
    assert sizes == [
        (size, item["truncated"]) for size, item in zip(written, shown, strict=True)
    ]
    assert [item["kind"] for item in receipt["selected"]] == [
        item["kind"] for item in shown
    ]


@pytest.mark.clause("R-040", "R-045", "R-046", "R-049", "R-050", "R-058")
def test_18_items(api: Api, eight, settings) -> None:
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 18
    body, receipt = ask(api, "project:demo", "zebra", max_bytes=LARGEST, **ALL_18)
    check_text(body, receipt)
    kinds = [item["kind"] for item in receipt["selected"]]
    assert kinds == ["atomic-memory"] * 8 + ["topic-memory"] * 8 + ["experience"] * 2


@pytest.mark.clause("R-040", "R-041", "R-042", "R-046", "R-049", "R-050", "R-059")
def test_26_items_over_8_scopes(api: Api, eight, settings) -> None:
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 26
    body, receipt = ask(api, "project:demo", "zebra", max_bytes=LARGEST, **ALL_26)
    check_text(body, receipt)
    kinds = [item["kind"] for item in receipt["selected"]]
    assert len(kinds) == 26
    assert kinds[16:24] == ["profile"] * 8
    assert set(kinds) == {"atomic-memory", "topic-memory", "profile", "experience"}


@pytest.mark.clause("R-049", "R-050", "R-031", "R-220")
@pytest.mark.parametrize("max_bytes", range(700, 6000, 331))
@pytest.mark.parametrize("options", [{}, {"assembly": {"show": ["recall_rank"]}}])
def test_sizes_and_truncation_at_many_budgets(api, db, options, max_bytes) -> None:
    scope = make_scope("项目:甲")
    remember(scope, 'zebra "quoted"\u2028\u0085\t' + "汉" * 500)
    remember(scope, "zebra\r\n\r\n" + "line\n" * 40 + "\U000e0001")
    remember(scope, "zebra zebra")
    write(scope, "experience", experience("zebra " + "é" * 300))
    body, receipt = ask(api, "项目:甲", "zebra", max_bytes=max_bytes, **options)
    if options:
        check_text(body, receipt)
    else:
        check_legacy(body, receipt, "项目:甲")


@pytest.mark.clause("R-031")
@pytest.mark.parametrize("options", [{}, {"assembly": {}}])
def test_truncated_is_true_if_any_item_is(api: Api, db, options) -> None:
    scope = make_scope("s")
    remember(scope, "zebra", artifact_id="short")
    assert ask(api, "s", "zebra", **options).receipt["truncated"] is False
    remember(scope, "zebra " + "long " * 500, artifact_id="long")
    receipt = ask(api, "s", "zebra", **options).receipt
    assert receipt["truncated"] is True
    assert sorted(item["truncated"] for item in receipt["selected"]) == [False, True]


@pytest.mark.clause("R-043", "R-044", "R-060")
def test_legacy_references_are_expanded(api: Api, db) -> None:
    """The same id in both Scopes is two identities; Topic Memory is part of it."""
    reference = make_scope("reference")
    scope = make_scope("project:demo", references=["reference"])
    for each in (scope, reference):
        remember(each, "zebra", artifact_id="same-id")
        write(each, "experience", experience("zebra"), artifact_id="same-id")
        write(each, "topic-memory", topic("zebra"), artifact_id="same-id")
    body, receipt = ask(api, "project:demo", "zebra")
    check_legacy(body, receipt, "project:demo")
    assert [(one[0], one[1]) for one in addresses(receipt)] == [
        ("project:demo", "atomic-memory"),
        ("project:demo", "topic-memory"),
        ("project:demo", "experience"),
        ("reference", "atomic-memory"),
        ("reference", "experience"),
    ]
    assert {one[2] for one in addresses(receipt)} == {"same-id"}


@pytest.mark.clause("R-060", "R-061")
def test_the_default_builder_delivers_at_most_8(api: Api, eight, settings) -> None:
    """Whatever the cap of the text form says (J-21)."""
    settings.CONTEXT_ASSEMBLY_MAX_ENTRIES = 26
    body, receipt = ask(api, "project:demo", "zebra", max_bytes=LARGEST)
    check_legacy(body, receipt, "project:demo")
    kinds = [item["kind"] for item in receipt["selected"]]
    assert len(kinds) == limits.LEGACY_ENTRIES
    assert kinds.count("topic-memory") == 3


@pytest.mark.clause("R-045", "R-046")
def test_the_selected_revision_is_named(api: Api, db) -> None:
    scope = make_scope("s")
    revise(remember(scope, "zebra old"), {"kind": "fact", "text": "zebra new"})
    revise(write(scope, "topic-memory", topic("zebra")), topic("zebra", "new"))
    options = sections("memory", "topic-memory")
    body, receipt = ask(api, "s", "zebra", **options)
    check_text(body, receipt)
    assert [one[3] for one in addresses(receipt)] == [2, 2]


LONG_SCOPE = "s" * 256
CHINESE_SCOPE = "项目：支付平台的第一阶段" * 5


@pytest.mark.parametrize(
    "scope_id", [LONG_SCOPE, CHINESE_SCOPE, "界" * 256, 'a"\\\n\tb']
)
@pytest.mark.clause("R-040", "R-043", "R-189")
def test_long_and_foreign_identities(api: Api, db, scope_id) -> None:
    """Complete, and in the bytes as they are, not as escapes (J-6)."""
    scope = make_scope(scope_id)
    for number in range(8):
        artifact_id = f"{number}" + "~" * 127
        remember(scope, "zebra", artifact_id=artifact_id)
    options = {**sections(("memory", 8)), "max_bytes": LARGEST}
    answer = api.prepare(scope_id, "zebra", include_receipt=True, **options).body
    if scope_id == "界" * 256:  # 768 bytes each: over the cap, and nothing is cut
        assert list(answer) == FOUR_KEYS
        return
    body, receipt = ask(api, scope_id, "zebra", **options)
    check_text(body, receipt)
    assert len(receipt["selected"]) == 8
    assert {one[0] for one in addresses(receipt)} == {scope_id}
    assert {len(one[2]) for one in addresses(receipt)} == {128}
    if scope_id == CHINESE_SCOPE:
        assert len(scope_id) == 60
        assert scope_id.encode() in raw(
            api, scope_id, "zebra", include_receipt=True, **options
        )


@pytest.mark.clause("R-041", "R-045", "R-186", "R-220")
@pytest.mark.parametrize("options", [{}, {"assembly": {}}])
def test_an_entry_of_a_collection_has_no_receipt(api, db, caplog, options) -> None:
    """Five kinds exist and none is right for it, so it is not mislabelled (H-3)."""
    scope = make_scope("s")
    remember(scope, "zebra")
    assert ask(api, "s", "zebra", **options)
    collect(scope, [("entry", "version", "zebra")])
    without = raw(api, "s", "zebra", **options)
    caplog.clear()
    assert raw(api, "s", "zebra", include_receipt=True, **options) == without
    [record] = [one for one in caplog.records if "receipt" in one.message]
    assert "reason=unsupported_identity" in record.message


def test_an_unselected_entry_does_not_matter(api: Api, db) -> None:
    scope = make_scope("s")
    remember(scope, "zebra", artifact_id="a")
    collect(scope, [("entry", "version", "zebra")], artifact_id="b")
    options = sections(("memory", 1))
    assert ask(api, "s", "zebra", **options).receipt["omitted"] == [
        {"family": "atomic-memory", "reason": "family_limit", "count": 1}
    ]


def test_code_follows_history() -> None:
    """Code identities are no capability yet; the builder names them as they come."""
    code = [code_identity(), code_identity("src/b.py", end_line=3)]
    found = make(build(identity(), code=code))["selected"]
    assert [item["kind"] for item in found] == ["atomic-memory", "code", "code"]
    assert list(found[1]["code_evidence"]) == [
        *("scope_id", "fingerprint", "path", "file_sha256"),
        *("start_line", "end_line", "snippet_sha256"),
    ]
    assert found[2]["code_evidence"]["end_line"] == 3
    assert all(("artifact_address" in one) != ("code_evidence" in one) for one in found)
