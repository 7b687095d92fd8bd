"""What each family may contain, how it is stored, and the text read back out."""

import hashlib
import json
import unicodedata
from pathlib import Path

import pytest

from prepare.errors import InvalidRequest, Unsupported
from prepare.services.contents import (
    canonical_json,
    digest,
    experience_text,
    normalize_content,
    normalize_memory_text,
    normalize_query,
    searchable_text,
)
from tests.factories import experience, topic

FAILURE = {
    "signature": {"recall_cue": "cue", "symptom": "symptom"},
    "repair_surface": "recall_policy",
    "verification": {"condition": "condition", "check_subject": "subject"},
}
PROMPT = {
    "schema_version": "powercontext.prompt.v1",
    "mode": "custom",
    "instructions": "Do it.",
    "demonstrations": [{"input": "a", "expected_output": "b"}],
}
ATOMIC = {"kind": "fact", "text": "A fact."}


def refusal(family: str, content: object) -> tuple[str | int, ...]:
    """Where the content is refused."""
    with pytest.raises(InvalidRequest) as caught:
        normalize_content(family, content)  # type: ignore[arg-type]
    details = caught.value.details
    assert details is not None
    (error,) = details["errors"]
    loc = tuple(error["loc"])
    assert loc[:2] == ("body", "content")
    return loc[2:]


# Text of an experience.


@pytest.mark.clause("A-147")
def test_experience_text_has_four_lines() -> None:
    content = experience("L\nmore", situation="S", action="A", outcome="O")

    assert experience_text(content) == (
        "Situation: S\nAction: A\nOutcome: O\nLesson: L\nmore"
    )


@pytest.mark.clause("A-147")
@pytest.mark.parametrize("symptom", [None, "symptom"])
def test_experience_text_with_a_failure(symptom: str | None) -> None:
    signature = {"recall_cue": "cue", "symptom": symptom}
    failure = FAILURE | {"signature": signature}

    lines = experience_text(experience("L", failure=failure)).split("\n")  # type: ignore[arg-type]

    assert lines[4:] == [
        "Failure cue: cue",
        *(["Symptom: symptom"] if symptom else []),
        "Repair surface: recall_policy",
        "Verification condition: condition",
        "Verification check: subject",
    ]


@pytest.mark.clause("A-147")
def test_experience_texts_of_the_goldens() -> None:
    paths = sorted((Path(__file__).parent.parent / "goldens").glob("*.json"))
    hits = [
        hit
        for path in paths
        for group in (json.loads(path.read_text())["candidates"] or {}).get(
            "experience", []
        )
        for hit in group["hits"]
    ]

    assert len(hits) > 50
    assert [hit["body"] for hit in hits] == [
        experience_text(hit["content"]) for hit in hits
    ]


@pytest.mark.parametrize(
    ("family", "content", "text"),
    [
        ("atomic-memory", ATOMIC, "A fact."),
        ("topic-memory", topic("T", "S", "D"), "T\nS\nD"),
        (
            "experience",
            experience("L") | {"failure": FAILURE},
            "A situation.\nAn action.\nAn outcome.\nL\ncue\nsymptom",
        ),
    ],
)
def test_searchable_text_has_no_labels(family: str, content, text: str) -> None:
    assert searchable_text(family, content).strip() == text


# Stored forms.


@pytest.mark.parametrize(
    ("family", "content", "stored"),
    [
        (
            "atomic-memory",
            {"kind": "fact", "text": " e\u0301\u3000\n"},
            {"schema": "powercontext.atomic-memory.v1", "kind": "fact", "text": "é"},
        ),
        (
            "profile",
            {"content": "\ufeffe\u0301\r\nb\rc\n\n\n"},
            {
                "schema": "powercontext.profile.v1",
                "media_type": "text/markdown",
                "content": "é\nb\nc\n",
            },
        ),
        ("topic-memory", topic(" T ", "S\r\n", "e\u0301"), None),
        ("experience", experience(" L\r\n\t"), None),
        ("experience", experience("L") | {"failure": FAILURE}, None),
        ("prompt", PROMPT, None),
        (
            "prompt",
            PROMPT | {"instructions": " e\u0301 "},
            PROMPT | {"instructions": "é"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_stored_form(family: str, content, stored) -> None:
    """None: stored as given. Storing what was stored changes nothing."""
    expected = content if stored is None else stored

    assert normalize_content(family, content) == expected
    assert normalize_content(family, expected) == expected


def test_absent_and_null_failure_are_one_content() -> None:
    content = experience("L")

    assert normalize_content("experience", content | {"failure": None}) == content


def test_a_merge_mark_is_kept() -> None:
    creation = {"type": "merge", "input_artifact_ids": ["a", "b"]}

    stored = normalize_content("atomic-memory", ATOMIC | {"creation": creation})
    assert stored["creation"] == creation


@pytest.mark.parametrize(
    ("family", "changes", "path"),
    [
        ("atomic-memory", {"text": ""}, ("text",)),
        ("atomic-memory", {"text": " \u3000\n"}, ("text",)),
        ("atomic-memory", {"text": "汉" * 2731}, ("text",)),
        ("atomic-memory", {"text": 5}, ("text",)),
        ("atomic-memory", {"kind": " "}, ("kind",)),
        ("atomic-memory", {"kind": "k" * 129}, ("kind",)),
        ("atomic-memory", {"schema": "other"}, ("schema",)),
        ("atomic-memory", {"creation": {"type": "merge"}}, ("creation",)),
        ("atomic-memory", {"state": "active"}, ("state",)),
        ("experience", {"lesson": "x" * 8001}, ("lesson",)),
        ("experience", {"lesson": "\n"}, ("lesson",)),
        ("experience", {"score": 1}, ("score",)),
        ("topic-memory", {"title": "x" * 513}, ("title",)),
        ("topic-memory", {"summary": "x" * 8001}, ("summary",)),
        ("topic-memory", {"detail": "x" * 125001}, ("detail",)),
        ("topic-memory", {"detail": ""}, ("detail",)),
        ("profile", {"content": "\ufeff\n"}, ("content",)),
        ("profile", {"content": "汉" * 87382}, ("content",)),
        ("profile", {"media_type": "text/html"}, ("media_type",)),
        ("prompt", {"mode": "auto"}, ("mode",)),
        ("prompt", {"mode": "other"}, ("mode",)),
        ("prompt", {"instructions": "x" * 32769}, ("instructions",)),
        ("prompt", {"demonstrations": "x"}, ("demonstrations",)),
        ("prompt", {"demonstrations": [{}] * 51}, ("demonstrations",)),
        ("prompt", {"demonstrations": [{"input": 1}]}, ("demonstrations", 0)),
        ("prompt", {"schema_version": "v2"}, ("schema_version",)),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_refused_contents(family: str, changes, path: tuple[str | int, ...]) -> None:
    good = {
        "atomic-memory": ATOMIC,
        "experience": experience("L"),
        "topic-memory": topic("T"),
        "profile": {"content": "Text."},
        "prompt": PROMPT,
    }[family]

    assert normalize_content(family, good)
    assert refusal(family, good | changes) == path


@pytest.mark.parametrize(
    ("family", "content"),
    [
        ("atomic-memory", ATOMIC | {"text": "a\ud800"}),
        ("atomic-memory", ATOMIC | {"kind": "\udfff"}),
        ("experience", experience("\ud83d")),
        ("topic-memory", topic("\ud83d\ud83d")),
        ("profile", {"content": "a\ud800"}),
    ],
    ids=ascii,
)
def test_lone_surrogates_are_refused(family: str, content) -> None:
    assert len(refusal(family, content)) == 1


@pytest.mark.parametrize(
    "failure",
    [
        "text",
        {**FAILURE, "repair_surface": "elsewhere"},
        {**FAILURE, "signature": {"recall_cue": "x" * 513}},
        {**FAILURE, "signature": {"symptom": "s"}},
        {**FAILURE, "signature": []},
        {**FAILURE, "verification": {"condition": "c"}},
        {**FAILURE, "severity": 1},
        {"signature": FAILURE["signature"]},
    ],
    ids=str,
)
def test_refused_failures(failure: object) -> None:
    with pytest.raises(InvalidRequest):
        normalize_content("experience", experience("L") | {"failure": failure})


@pytest.mark.parametrize("family", ["atomic-memory", "experience", "topic-memory"])
@pytest.mark.parametrize("content", [None, [], "text", 5], ids=repr)
def test_content_must_be_an_object(family: str, content: object) -> None:
    assert refusal(family, content) == ()


@pytest.mark.parametrize("family", ["memory", "skill", "handoff", "code", ""])
def test_other_families_are_not_written(family: str) -> None:
    with pytest.raises(Unsupported):
        normalize_content(family, ATOMIC)


@pytest.mark.parametrize("size", [8192, 8193])
def test_memory_text_bound_is_of_bytes_after_trimming(size: int) -> None:
    text = " " + "é" * 4096 + "x" * (size - 8192) + "\n"

    if size == 8192:
        assert normalize_memory_text(text) == "é" * 4096
    else:
        with pytest.raises(InvalidRequest):
            normalize_memory_text(text)


# Digests.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": "汉\u2028\x07"}, '{"a":"汉\u2028\\u0007","b":1}'),
        ([1.0, 0.5, True, None], "[1,0.5,true,null]"),
        ({"\ue000": 1, "😀": 2}, '{"😀":2,"\ue000":1}'),  # UTF-16 order
    ],
    ids=ascii,
)
def test_canonical_json(value: object, text: str) -> None:
    assert canonical_json(value) == text
    assert digest(text) == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [2**60, float("nan"), float("inf"), "\ud800", nested(100_000)],
    ids=["integer", "nan", "infinity", "surrogate", "depth"],
)
def test_what_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest):
        canonical_json({"value": value})


@pytest.mark.parametrize(
    ("query", "normalized"),
    [
        ("  oven \n", "oven"),
        ("e\u0301", "é"),
        ("\u3000汉 字\u0085", "汉 字"),
        ("x" * 8192, "x" * 8192),
    ],
    ids=lambda value: ascii(value)[:12],
)
def test_query(query: str, normalized: str) -> None:
    assert normalize_query(query) == normalized
    assert unicodedata.is_normalized("NFC", normalize_query(query))
