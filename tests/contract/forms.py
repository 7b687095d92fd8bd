"""Forms of the prepare request that are refused, once, for HTTP and direct calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

Loc = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """`body` breaks `clause`; the error names `loc` (without its leading `body`)."""

    clause: str
    body: dict[str, Any]
    loc: Loc


def body(**changes: Any) -> dict[str, Any]:
    return {"scope_id": "contract", "query": "orchid", **changes}


def assembly(**fields: Any) -> dict[str, Any]:
    return body(assembly=fields)


def sections(*items: Any) -> dict[str, Any]:
    return assembly(sections=list(items))


def section(family: str = "memory", limit: Any = 1, **more: Any) -> dict[str, Any]:
    return {"family": family, "limit": limit, **more}


def _each(
    clause: str, loc: Loc, make: Callable[[Any], dict[str, Any]], values: Sequence[Any]
) -> list[Refusal]:
    return [Refusal(clause=clause, body=make(value), loc=loc) for value in values]


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in body().items() if key != name}


_SECTIONS: Loc = ("assembly", "sections")
_LIMIT: Loc = (*_SECTIONS, 0, "limit")
_FAMILY: Loc = (*_SECTIONS, 0, "family")
_SHOW: Loc = ("assembly", "show")
_ORDERING = ("sort_by", "min_confidence")
_SELECTING = ("template", "order", "order_by", "pinned", "artifact_refs", "expression")

REFUSALS: list[Refusal] = [
    *_each("A-003", ("query",), lambda q: body(query=q), ["", "x" * 8193, None, 5]),
    Refusal(clause="A-003", body=_without("query"), loc=("query",)),
    *_each(
        "A-004",
        ("query",),
        lambda q: body(query=q),
        [" ", "\t\r\n", "\u00a0\u2003", "\u3000", "\u0085", "\u2028\u2029", "\x1c\x1f"],
    ),
    *_each(
        "A-006",
        ("max_bytes",),
        lambda n: body(max_bytes=n),
        [511, 32769, 0, -1, 10**19, 8000.0, 8000.5, "8000", True, False, None, [512]],
    ),
    Refusal(clause="A-008", body=body(assembly=None), loc=("assembly",)),
    *_each(
        "A-009",
        ("explain",),
        lambda value: body(explain=value),
        [True, None],
    ),
    Refusal(clause="A-009", body=body(Query="orchid"), loc=("Query",)),
    Refusal(clause="A-010", body=assembly(limit=3), loc=("assembly", "limit")),
    Refusal(
        clause="A-010", body=assembly(Format="markdown"), loc=("assembly", "Format")
    ),
    Refusal(
        clause="A-011", body=sections(section(query="x")), loc=(*_SECTIONS, 0, "query")
    ),
    *_each(
        "A-013",
        ("assembly", "format"),
        lambda value: assembly(format=value),
        ["text", "Markdown", "markdown ", "", None, True, ["markdown"]],
    ),
    Refusal(
        clause="A-016",
        body=sections(
            section("memory"),
            section("experience"),
            section("profile"),
            section("topic-memory"),
            section("memory"),
        ),
        loc=_SECTIONS,
    ),
    *_each(
        "A-017",
        (*_SECTIONS, 1, "family"),
        lambda family: sections(section(family), section(family, 2)),
        ["memory", "experience", "profile", "topic-memory"],
    ),
    *_each(
        "A-018",
        _FAMILY,
        lambda family: sections(section(family)),
        ["skill", "handoff", "source", "code", "atomic-memory", "fact", "Memory", ""],
    ),
    *_each("A-019", _FAMILY, sections, [{"limit": 1}]),
    *_each("A-019", _LIMIT, sections, [{"family": "memory"}]),
    *_each(
        "A-020",
        _LIMIT,
        lambda limit: sections(section(limit=limit)),
        [0, -1, 9, 10**19, 1.0, 1.5, "1", True, False, None],
    ),
    *_each(
        "A-022",
        _LIMIT,
        lambda limit: sections(section("experience", limit)),
        [3, 4, 5, 6, 7, 8],
    ),
    *_each(
        "A-032",
        (*_SHOW, 1),
        lambda name: assembly(show=[name, name]),
        ["confidence", "recall_rank"],
    ),
    *_each(
        "A-033",
        (*_SHOW, 0),
        lambda name: assembly(show=[name]),
        ["score", "Confidence", "", None, 1, {"confidence": True}],
    ),
    *_each("A-034", _SHOW, lambda value: assembly(show=value), [None]),
    *[
        Refusal(clause=clause, body=make({name: "recency"}), loc=(*loc, name))
        for name, clause in [
            *zip(_ORDERING, ["A-036", "A-037"], strict=True),
            *((name, "A-038") for name in _SELECTING),
        ]
        for make, loc in [
            (lambda more: body(**more), ()),
            (lambda more: assembly(**more), ("assembly",)),
            (lambda more: sections(section(**more)), (*_SECTIONS, 0)),
        ]
    ],
    *_each(
        "A-038",
        ("assembly", "format"),
        lambda value: assembly(format=value),
        ["{{ items }}", {"template": "x"}],
    ),
    *_each(
        "A-038", (*_SHOW, 0), lambda value: assembly(show=[value]), ["-recall_rank"]
    ),
]

# Wrong JSON types at places that no clause of their own speaks of.
MALFORMED: list[Refusal] = [
    *_each("", ("assembly",), lambda value: body(assembly=value), [[], "markdown", 1]),
    *_each("", _SECTIONS, lambda value: assembly(sections=value), [None, {}, "memory"]),
    *_each("", (*_SECTIONS, 0), sections, ["memory", None, ["memory", 1]]),
    *_each("", _FAMILY, lambda value: sections(section(value)), [None, 1, ["memory"]]),
    *_each("", _SHOW, lambda value: assembly(show=value), ["confidence", {}]),
    *_each("", ("scope_id",), lambda s: body(scope_id=s), ["", " ", "\u3000", None, 1]),
    *_each("", ("scope_id",), lambda s: body(scope_id=s), ["x" * 257, "a\0b", ["a"]]),
    Refusal(clause="", body=_without("scope_id"), loc=("scope_id",)),
    *_each("", ("include_code",), lambda v: body(include_code=v), [None, 1, "true"]),
    *_each("", ("include_receipt",), lambda v: body(include_receipt=v), [1, "true", 0]),
    *_each(
        "",
        ("bootstrap_receipt_id",),
        lambda value: body(bootstrap_receipt_id=value),
        ["", "x" * 65, "a b", "a\n", "é", 1, False],
    ),
]


def params(*, clauses: bool) -> list[Any]:
    """All refusals for parametrize; `clauses` marks each with the clause it checks."""
    return [
        pytest.param(
            item,
            marks=[pytest.mark.clause(item.clause)] if clauses and item.clause else [],
            id=f"{index}-{item.clause}-{'.'.join(map(str, item.loc))}",
        )
        for index, item in enumerate(REFUSALS + MALFORMED)
    ]
