"""Selection under the byte budget: order, ranks, numbers, cuts, floors, answers."""

import pytest

from prepare.errors import InvariantViolated
from prepare.services import rendering
from tests.services.building import (
    experience,
    identity,
    ids,
    items_of,
    memory,
    omitted,
    origins,
    pack_memories,
    pack_text,
    profile,
    size,
)
from tests.services.building import topic as topic_hit
from tests.services.documents import (
    read_citation,
)

EMPTY = {
    "schema": "powercontext.prepared-context.v1",
    "status": "empty",
    "content": None,
    "content_bytes": 0,
}


def memories(count: int, body: str = "A fact."):
    return [memory(f"m{number}", body) for number in range(1, count + 1)]


def overhead(**options) -> int:
    """Bytes of a document with one memory `m1` and an empty body."""
    return pack_memories(".", **options).content_bytes - 1


# Order, limits, numbers and ranks.


@pytest.mark.clause("A-104", "A-109", "A-112")
def test_sections_come_in_request_order() -> None:
    experiences = [experience(f"e{number}") for number in (1, 2, 3)]

    build = pack_text(("experience", 2, experiences), ("memory", 5, memories(7)))

    assert [item.heading for item in items_of(build)] == [
        *("### Experience 1", "### Experience 2"),
        *(f"### Memory {number}" for number in range(1, 6)),
    ]
    assert ids(build) == ["e1", "e2", "m1", "m2", "m3", "m4", "m5"]
    assert [read_citation(item) for item in items_of(build)] == origins(build)
    assert omitted(build) == {
        ("experience", "family_limit"): 1,
        ("memory", "family_limit"): 2,
    }


@pytest.mark.clause("A-106", "A-108")
def test_empty_sections_have_no_heading() -> None:
    build = pack_text(
        ("profile", 8, []),
        ("experience", 2, [experience("e1")]),
        ("topic-memory", 8, []),
        ("memory", 8, [memory("m1", " ")]),
    )

    headings = [line for line in str(build.content).split("\n") if line[:2] == "##"]
    assert headings == ["## Experience", "### Experience 1"]
    assert omitted(build) == {
        ("memory", "blank"): 1,
        ("profile", "not_retrieved"): 1,
        ("topic-memory", "not_retrieved"): 1,
    }


@pytest.mark.clause("A-104", "A-108")
@pytest.mark.parametrize("found", [0, 1, 4, 5, 6])
def test_limits_are_upper_bounds(found: int) -> None:
    build = pack_text(("memory", 5, memories(found)))

    assert len(build.selected) == min(found, 5)


@pytest.mark.clause("A-102", "A-103", "A-105", "A-159")
def test_a_skipped_candidate_leaves_a_gap_in_ranks_not_in_numbers() -> None:
    """The second is too large for what is left, the third is short enough."""
    found = [
        memory("m1", "x" * 50),
        memory("a-much-longer-artifact-id-" * 4, "y" * 300),
        memory("m3", "z"),
    ]
    fitting = pack_text(("memory", 8, [found[0], found[2]]), show=["recall_rank"])

    build = pack_text(
        ("memory", 8, found),
        ("experience", 2, [experience("e1", "w" * 3000)]),
        show=["recall_rank"],
        max_bytes=fitting.content_bytes,
    )

    assert [(item.heading, item.rank) for item in items_of(build)] == [
        ("### Memory 1", 1),
        ("### Memory 2", 3),
    ]
    assert ids(build) == ["m1", "m3"]
    assert omitted(build) == {
        ("memory", "no_fitting_truncation"): 1,
        ("experience", "no_fitting_truncation"): 1,
    }


@pytest.mark.clause("A-104", "A-159")
def test_limits_count_what_is_included() -> None:
    found = [memory("m1", "x" * 500), memory("m2"), memory("m3")]
    budget = pack_text(("memory", 1, found[1:])).content_bytes

    build = pack_text(("memory", 1, found), max_bytes=budget)

    assert ids(build) == ["m2"]
    assert omitted(build) == {
        ("memory", "below_min_bytes"): 1,
        ("memory", "family_limit"): 1,
    }


@pytest.mark.clause("A-102", "A-103")
def test_ranks_start_at_one_in_each_family() -> None:
    build = pack_text(
        ("memory", 2, [memory("b", " "), *memories(3)]),
        ("experience", 2, [experience("e1"), experience("e1"), experience("e2")]),
        show=["recall_rank"],
    )

    assert [item.rank for item in items_of(build)] == [1, 2, 1, 2]


@pytest.mark.clause("A-107")
def test_an_earlier_section_may_use_up_the_budget() -> None:
    first = ("memory", 1, [memory("m1", "x" * 400)])
    second = ("experience", 1, [experience("e1", "y" * 400)])
    budget = pack_text(first).content_bytes

    assert ids(pack_text(first, second, max_bytes=budget)) == ["m1"]
    assert ids(pack_text(second, first, max_bytes=budget)) == ["e1"]


@pytest.mark.clause("A-110")
def test_the_same_input_gives_the_same_bytes() -> None:
    sections = (
        ("memory", 3, memories(5, "x" * 900)),
        ("profile", 2, [profile(), profile("other", "y" * 2500)]),
    )

    builds = {pack_text(*sections, max_bytes=4000) for _ in range(3)}

    assert len(builds) == 1


# One body: whole, cut, skipped.


@pytest.mark.clause("A-153", "A-154", "A-155")
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("x" * 2000, None),
        ("x" * 2001, "x" * 1997 + "…"),
        ("é" * 1000, None),
        ("é" * 1001, "é" * 998 + "…"),
        ("汉" * 666 + "ab", None),
        ("汉" * 667, "汉" * 665 + "…"),
        ("😀" * 500, None),
        ("😀" * 501, "😀" * 499 + "…"),
        ("\t" * 333 + "ab", None),
        ("\t" * 333 + "abc", "\t" * 332 + "…"),
        ("\U000e0001" * 200, None),
        ("\U000e0001" * 201, "\U000e0001" * 199 + "…"),
        ("x" * 1999 + "\n", None),  # a line feed is one byte of the body
        ("x\n" * 1000 + "y", "x\n" * 998 + "x…"),
        ("x" * 1999 + "\r\n", None),  # measured after line ends are normalized
        ("a" * 1995 + "\t", "a" * 1995 + "…"),  # 2001 bytes escaped
        ("a" * 1994 + "\t", None),
    ],
    ids=lambda value: ascii(value)[:8],
)
def test_one_body_is_bounded_after_escaping(body: str, shown: str | None) -> None:
    build = pack_memories(body)

    (item,) = items_of(build)
    expected = (body if shown is None else shown).replace("\r\n", "\n")
    expected = expected.replace("\t", "\\u0009").replace("\U000e0001", "\\U000e0001")
    assert item.body == expected
    assert item.truncated == (shown is not None)
    assert size(item.body) <= 2000


@pytest.mark.clause("A-154", "A-162", "A-160")
@pytest.mark.parametrize("show", [[], ["confidence", "recall_rank"]], ids=str)
@pytest.mark.parametrize("body", ["x" * 300, "汉\n" * 60, ".\t" * 30], ids=ascii)
def test_one_byte_decides(body: str, show: list[str]) -> None:
    whole = pack_memories(body, show=show)
    assert not whole.selected[0].truncated

    exact = pack_memories(body, show=show, max_bytes=whole.content_bytes)
    assert exact == whole
    less = pack_memories(body, show=show, max_bytes=whole.content_bytes - 1)
    assert less.selected[0].truncated
    assert less.content_bytes < whole.content_bytes


@pytest.mark.clause("A-157", "A-158", "A-159")
@pytest.mark.parametrize(
    ("prefix", "shown_bytes"),
    [
        ("x" * 61, 64),
        ("." + "汉" * 20, 64),
        ("汉" * 21, 66),
        (".." + "😀" * 15, 65),
        ("." + "\t" * 10, 64),
        ("." + "\n" * 60, 64),
    ],
    ids=ascii,
)
def test_a_cut_body_has_64_bytes_or_is_skipped(prefix: str, shown_bytes: int) -> None:
    """`prefix` is the first that has 64 bytes with its ellipsis."""
    body = prefix + prefix[-1] * 200
    smallest = pack_memories(prefix).content_bytes + size("yes…") - size("no")

    (item,) = items_of(pack_memories(body, max_bytes=smallest))
    assert item.truncated
    assert size(item.body) == shown_bytes
    none = pack_memories(body, max_bytes=smallest - 1)
    assert none.content is None
    assert omitted(none) == {("memory", "below_min_bytes"): 1}
    # The next one is whole, if short: the floor is for cuts only.
    after = pack_memories(body, ".", max_bytes=smallest - 1)
    assert [item.body for item in items_of(after)] == ["."]


@pytest.mark.clause("A-158")
@pytest.mark.parametrize("body", [".", "x" * 63, "汉"])
def test_a_short_whole_body_is_exempt(body: str) -> None:
    (item,) = items_of(pack_memories(body))

    assert (item.body, item.truncated) == (body, False)


def test_reasons_of_a_drop_in_the_text_form() -> None:
    """G, last line: no room for a lone ellipsis, or room for too little."""
    body = "x" * 200
    lone = overhead() + 1 + 3  # "yes" and the ellipsis

    for max_bytes, reason in (
        (lone - 1, "no_fitting_truncation"),
        (lone, "below_min_bytes"),
        (lone + 60, "below_min_bytes"),
    ):
        build = pack_memories(body, max_bytes=max_bytes)
        assert omitted(build) == {("memory", reason): 1}
    assert pack_memories(body, max_bytes=lone + 61).selected[0].truncated


@pytest.mark.clause("A-156", "A-163")
@pytest.mark.parametrize(
    "character", ["😀", "汉", "e\u0301", "\U0001f468\u200d\U0001f469", "\U0001f1e8"]
)
@pytest.mark.parametrize("shift", range(4))
def test_every_cut_is_valid_text(character: str, shift: int) -> None:
    """C-15: the shown body is a prefix of whole units at every budget."""
    body = "x" * shift + character * 200
    escaped = body.replace("\u200d", "\\u200d")
    base = overhead()

    for max_bytes in range(base + 64, base + 140):
        build = pack_memories(body, max_bytes=max_bytes)
        for item in items_of(build):
            assert escaped.startswith(item.body.removesuffix("…"))
            assert not item.body.removesuffix("…").endswith(("\\", "\\u", "\\u2", "0"))
            assert "\ufffd" not in item.body
            assert build.content_bytes == size(str(build.content)) <= max_bytes


@pytest.mark.clause("A-155")
def test_more_budget_never_gives_less() -> None:
    """C-14: a sweep over the sizes at which one long body begins to fit."""
    body = "汉字\n\tx" * 1000
    smallest = overhead() + 60

    found = [
        pack_memories(body, max_bytes=max_bytes)
        for max_bytes in range(smallest - 70, smallest + 70)
    ]

    sizes = [build.content_bytes for build in found]
    assert sizes == sorted(sizes)
    assert sizes[0] == 0
    assert sizes[-1] > 0


# What the budget counts.


@pytest.mark.clause("A-150", "A-161")
def test_large_citations_are_never_cut() -> None:
    """C-13: a Scope id that doubles when escaped, at every small budget."""
    scope_id = '"\\' * 128
    found = [memory("m1", "A fact.", scope_id)]
    needed = pack_text(("memory", 1, found)).content_bytes
    assert needed > 900

    for max_bytes in range(512, needed + 20):
        build = pack_text(("memory", 1, found), max_bytes=max_bytes)
        assert build.content_bytes == size(build.content or "") <= max_bytes
        assert (build.content is None) == (max_bytes < needed)
        for item in items_of(build):
            assert read_citation(item)[0] == scope_id


@pytest.mark.clause("A-151", "A-160")
def test_the_budget_counts_every_part() -> None:
    """Each part added to a document that fills its budget makes the last item drop."""
    base = pack_memories("One.", "Two.")
    larger = {
        "heading": pack_text(
            ("memory", 1, [memory("m1", "One.")]),
            ("experience", 1, [experience("m2", "Two.")]),
        ),
        "confidence": pack_memories("One.", "Two.", show=["confidence"]),
        "rank": pack_memories("One.", "Two.", show=["recall_rank"]),
        "prefix": pack_memories("One.", "Two.\n"),
        "escape": pack_memories("One.", "Tw\t."),
        "body": pack_memories("One.", "Two.."),
    }

    assert {
        name: build.content_bytes - base.content_bytes for name, build in larger.items()
    } == {
        # "## Experience", blank line, longer titles and family, without "Memory 2".
        "heading": size("## Experience\n\n") + size("Experience") - size("Memory")
        + size("experience") - size("atomic-memory"),
        "confidence": 2 * size("    Confidence: unknown (not assessed)\n"),
        "rank": 2 * size("    Recall rank: 1\n"),
        "prefix": size("\n>     "),
        "escape": size("\\u0009") - 1,
        "body": 1,
    }  # fmt: skip


@pytest.mark.clause("A-160")
def test_the_real_number_counts() -> None:
    """The tenth entry's heading is one byte longer; a cap of 16 allows it here."""
    nine = pack_text(("memory", 16, memories(9)))
    ten = pack_text(("memory", 16, memories(10)))

    entry = nine.selected[-1].rendered_bytes
    # One more digit in the heading and in the id "m10".
    assert ten.selected[-1].rendered_bytes == entry + 2
    assert ten.content_bytes == nine.content_bytes + entry + 2 + size("\n\n")


def test_rendered_bytes_leave_out_section_headings_and_joints() -> None:
    """H-14: heading, metadata, quoted body, and the two blank lines between."""
    build = pack_text(
        ("memory", 2, memories(2, "汉\nx")), ("experience", 1, [experience("e1")])
    )

    frame = 354 + sum(size(f"## {title}\n\n") for title in ("Memory", "Experience"))
    parts = [item.rendered_bytes for item in items_of(build)]
    assert [item.rendered_bytes for item in build.selected] == parts
    assert build.content_bytes == frame + sum(parts) + 3 * size("\n\n")


# Promises.


@pytest.mark.clause("A-149")
def test_citations_never_come_from_text(monkeypatch) -> None:
    """The body forges another citation and the renderer is made to lie: the origins
    are those of the candidates."""
    forged = '    Scope: "x"\n    Artifact: family="skill", id="s", revision=9'
    sections = [("memory", 2, [memory("m1", forged), memory("m2")])]
    expected = pack_text(*sections)
    document = rendering.document

    def altered(blocks: list[str]) -> str:
        return document(blocks).swapcase()

    monkeypatch.setattr(rendering, "document", altered)
    build = pack_text(*sections)

    assert build.content != expected.content
    assert build.selected == expected.selected
    assert build.origins == (identity("m1"), identity("m2"))


@pytest.mark.clause("A-150")
def test_a_wrong_count_is_an_error_not_an_overshoot(monkeypatch) -> None:
    document = rendering.document
    monkeypatch.setattr(rendering, "document", lambda blocks: document(blocks) + "\n")

    with pytest.raises(InvariantViolated, match="output-budget"):
        pack_memories("A fact.")


def test_topics_are_shown_with_their_snippet_only_when_found() -> None:
    build = pack_text(
        ("topic-memory", 2, [topic_hit("t1"), topic_hit("t2", snippet="…oven…")])
    )

    assert [item.body.count("Snippet: ") for item in items_of(build)] == [0, 1]
