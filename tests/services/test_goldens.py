"""Our own golden files, and the recorded ones where given, byte for byte."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prepare.errors import InvariantViolated
from prepare.values import Prepared
from tests.services.building import (
    Fixture,
    build_of,
    delivered_origins,
    origins,
)

GOLDENS = Path(__file__).parent.parent / "goldens"
RECORDED = os.environ.get("POWERCONTEXT_GOLDENS", "")


def read_golden(path: Path):
    return json.loads(path.read_text(encoding="ascii"))


def golden_files(accepts: Callable[[Fixture], bool]) -> list[Any]:
    return [
        pytest.param(path, id=path.stem)
        for path in sorted(GOLDENS.glob("*.json"))
        if accepts(read_golden(path)["request"])
    ]


def check_golden(path: Path) -> None:
    """Content, sizes and origins, in order; candidates over a bound are refused."""
    golden = read_golden(path)
    if golden["response"] == {"exception": "invariant"}:
        with pytest.raises(InvariantViolated):
            build_of(golden)
        return
    build = build_of(golden)
    assert Prepared(build=build).as_wire() == golden["response"]
    assert origins(build) == delivered_origins(golden)


@pytest.mark.clause("A-109", "A-110", "A-121")
@pytest.mark.parametrize("path", golden_files(lambda request: "assembly" in request))
def test_text(path: Path) -> None:
    check_golden(path)


@pytest.mark.clause("A-109", "A-110", "A-190")
@pytest.mark.parametrize(
    "path", golden_files(lambda request: "assembly" not in request)
)
def test_legacy_envelope(path: Path) -> None:
    check_golden(path)


@pytest.mark.skipif(not RECORDED, reason="recorded goldens not given")
def test_recorded_files_are_reproduced_with_their_reasons() -> None:
    """Everything the public server recorded without code, drop reasons included."""
    paths = [
        path for path in Path(RECORDED).glob("*.json") if "-code-" not in str(path)
    ]
    assert paths
    for path in paths:
        golden = read_golden(path)
        if "exception" in golden["response"]:
            with pytest.raises(InvariantViolated):
                build_of(golden)
            continue
        build = build_of(golden)
        wire = Prepared(build=build).as_wire()
        assert wire | golden["response"] == wire, path.name
        assert origins(build) == delivered_origins(golden), path.name
        recorded = golden["omissions"] or {}
        drops = {"below_min_bytes": 0, "no_fitting_truncation": 0}
        for one in build.omissions:
            if one.reason in drops:
                drops[one.reason] += one.count
        assert drops == {
            reason: recorded.get(f"dropped_{reason}", count)
            for reason, count in drops.items()
        }, path.name
        truncated = sum(item.truncated for item in build.selected)
        assert truncated == recorded.get("truncated_items", truncated), path.name
