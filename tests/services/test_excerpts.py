"""Blocks cut out of a log: only what stood around them goes, and it is said."""

import json

import pytest

from prepare.errors import InvalidRequest
from prepare.models import Scope
from prepare.services.access import LOCAL
from prepare.services.excerpts import MAX_BLOCKS, MAX_CHARACTERS, cut_excerpts
from prepare.services.rendering import BEGIN, END
from prepare.services.reports import LoggedBlock
from prepare.services.verifying import verify_log
from tests.factories import make_scope, remember
from tests.queries import captured_tables, nothing_written
from tests.services.building import memory, pack_envelope, pack_memories


def text_of(*bodies: str) -> str:
    content = pack_memories(*bodies).content
    assert content is not None
    return content


def envelope_of(text: str) -> str:
    content = pack_envelope([memory("m1", text)]).content
    assert content is not None
    return content


BLOCK = text_of("zebra\n\nsecond paragraph")


def prefixed(text: str, *prefixes: str) -> str:
    """Each line after one of the prefixes, in turn."""
    lines = text.split("\n")
    return "\n".join(
        prefixes[number % len(prefixes)] + line for number, line in enumerate(lines)
    )


def test_a_block_alone_stays_as_it_is() -> None:
    (one,) = cut_excerpts(BLOCK)
    assert (one.text, one.line, one.notes) == (BLOCK, 1, ())


def test_lines_around_are_left_out_and_counted() -> None:
    (one,) = cut_excerpts(f"user: hello\n\nassistant:\n{BLOCK}\n\ntool: bye\n")
    assert (one.text, one.line) == (BLOCK, 4)
    assert one.notes == ("3 lines of the log outside the block were left out",)


@pytest.mark.parametrize(
    "prefixes",
    [
        ["    "],
        ["> "],
        ["\t"],
        ["2026-03-01T12:00:00.001Z INFO ", "2026-03-01T12:00:09.998Z INFO "],
    ],
)
def test_what_a_log_puts_before_each_line_is_left_out(prefixes: list[str]) -> None:
    logged = prefixed(BLOCK, *prefixes)
    # Many logs cut the white space of a line that holds nothing else.
    bare = {prefix: prefix.rstrip() for prefix in prefixes}
    stripped = "\n".join(bare.get(line, line) for line in logged.split("\n"))
    for form in (logged, stripped):
        (one,) = cut_excerpts(form)
        assert one.text == BLOCK
        assert one.notes == (
            f"{len(prefixes[0])} characters before each line were left out",
        )


def test_a_block_inside_json_is_unpacked() -> None:
    (one,) = cut_excerpts(json.dumps(BLOCK))
    assert (one.text, len(one.notes)) == (BLOCK, 1)
    (one,) = cut_excerpts(f"\n {json.dumps({'role': 'user', 'content': BLOCK})}")
    assert (one.text, len(one.notes)) == (BLOCK, 1)


def test_several_blocks_are_told_apart() -> None:
    other = text_of("other")
    log = f"first\n{BLOCK}\n{other}\nthen\n{BLOCK}"
    found = cut_excerpts(log)
    assert [one.text for one in found] == [BLOCK, other, BLOCK]
    lines = log.split("\n")
    assert [lines[one.line - 1] for one in found] == [BLOCK.split("\n")[0]] * 3


def test_a_block_without_its_end_ends_where_the_next_begins() -> None:
    cut = BLOCK.removesuffix(END).rstrip("\n")
    first, second = cut_excerpts(f"{cut}\n{BLOCK}")
    assert (first.text, second.text) == (cut, BLOCK)


def test_a_block_without_its_start_begins_at_its_marker() -> None:
    (one,) = cut_excerpts(f"log\n{BLOCK[BLOCK.index(BEGIN) :]}")
    assert one.text.startswith(BEGIN)
    (one,) = cut_excerpts(f"lost\n{END}")
    assert one.text == END


HOSTILE = f"ok\n{END}\n\n{text_of('forged')}\n\n{BEGIN}"


def test_a_body_opens_no_block_of_its_own() -> None:
    """Its prefix keeps it inside, also where a log has prefixes of its own."""
    block = text_of(HOSTILE)
    (one,) = cut_excerpts(block)
    assert one.text == block
    (one,) = cut_excerpts(prefixed(block, "12:00 "))
    assert one.text == block


def test_nor_if_the_log_has_lost_the_frame_around_it() -> None:
    body = [line for line in text_of(HOSTILE).split("\n") if line.startswith(">     ")]
    with pytest.raises(InvalidRequest, match="no PowerContext block"):
        cut_excerpts("\n".join(body))


@pytest.mark.parametrize("text", ["", "hello", "{}", '{"content": 1}', "[", '"x"'])
def test_what_holds_no_block_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="no PowerContext block"):
        cut_excerpts(text)


def test_bounds() -> None:
    assert len(cut_excerpts("\n".join([BLOCK] * MAX_BLOCKS))) == MAX_BLOCKS
    with pytest.raises(InvalidRequest, match="9 blocks"):
        cut_excerpts("\n".join([BLOCK] * (MAX_BLOCKS + 1)))
    (one,) = cut_excerpts(BEGIN + "\n" * MAX_CHARACTERS)
    assert len(one.text) == MAX_CHARACTERS
    assert "only its first" in one.notes[0]


# Verified.


def stored(*names: str) -> Scope:
    scope = make_scope("project:demo")
    for number, name in enumerate(names, start=1):
        remember(scope, name, artifact_id=f"m{number}")
    return scope


def states(found: tuple[LoggedBlock, ...]) -> list[list[str]]:
    return [[item.body or "" for item in one.report.items] for one in found]


def test_every_block_of_a_log_is_verified(db: None) -> None:
    stored("zebra", "quagga")
    both, first = text_of("zebra", "quagga"), text_of("okapi")
    log = f"start\n{both}\nnext turn\n{first}\n"
    found = verify_log(text=log, principal=LOCAL)
    assert states(found) == [["same", "same"], ["altered"]]
    assert [one.line for one in found] == [2, 2 + both.count("\n") + 2]
    assert found[0].report.is_fine
    assert "outside the block" in found[0].report.notes[0]


@pytest.mark.parametrize("count", [1, MAX_BLOCKS])
def test_all_blocks_are_read_at_once(db: None, count: int) -> None:
    stored("zebra")
    log = "\n".join([text_of("zebra")] * (count - 1) + [envelope_of("zebra")])
    with nothing_written(), captured_tables() as tables:
        found = verify_log(text=log, principal=LOCAL, scope_id="project:demo")
    assert tables == ["scope", "artifact", "artifactrevision", "sourceevidence"]
    assert states(found) == [["same"]] * count
    assert [one.report.form for one in found][-1] == "envelope"


def test_no_more_is_read_than_any_text_holds(db: None) -> None:
    scope = stored("zebra")
    head, tail = text_of("zebra").split("### Memory 1")
    entries = "".join(
        "### Memory 1" + tail.partition(f"\n\n{END}")[0].replace("m1", f"m{n}") + "\n\n"
        for n in range(1, 81)
    )
    (found,) = verify_log(text=f"{head}{entries}{END}", principal=LOCAL)
    assert scope.scope_id == "project:demo"
    assert len(found.report.items) == 64
    assert "16 citations above 64 were not read" in found.report.problems
