"""The documentation tells the truth about settings, errors and commands."""

import json
import re
from pathlib import Path

import pytest
from django.core.management import call_command

from prepare.services.access import LOCAL
from prepare.services.prepare import prepare_context
from prepare.services.runtime import configured_runtime
from prepare.values import parse_prepare_request

ROOT = Path(__file__).parent.parent
PRODUCT = [
    path
    for package in ("powercontext", "prepare")
    for path in sorted((ROOT / package).rglob("*.py"))
]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def settings_read() -> set[str]:
    """Every environment variable that settings.py asks for."""
    source = read("powercontext/settings.py")
    suffixes = re.findall(r'PREFIX \+ "([A-Z_]+)"', source)
    suffixes += re.findall(
        r'_(?:number|positive_integer|choice|networks)\(\s*"([A-Z_]+)"', source
    )
    names = set(re.findall(r'env\.\w+\("([A-Z_]+)"', source))
    return {f"POWERCONTEXT_SERVER_{suffix}" for suffix in suffixes} | names


def error_codes() -> set[str]:
    """Every code that a domain error or the handlers can put into the envelope."""
    codes: set[str] = set()
    for path in PRODUCT:
        source = path.read_text(encoding="utf-8")
        if "serializers" in path.parts or path.name == "fields.py":
            continue  # kinds of single violations, shown in details
        codes |= set(re.findall(r'\bcode="([a-z_-]+)"', source))
        if path.name == "errors.py":
            codes |= set(re.findall(r'^    code = "([a-z_]+)"', source, re.M))
        if path.name in ("handlers.py", "middleware.py"):
            codes |= set(re.findall(r'\b\d{3}, "([a-z_]+)"', source))
            codes |= set(re.findall(r'\n\s+"([a-z]+_[a-z_]+|forbidden)",\n', source))
    return codes


def test_settings_are_found() -> None:
    assert len(settings_read()) >= 20


@pytest.mark.parametrize("name", sorted(settings_read()))
def test_every_setting_is_documented(name: str) -> None:
    assert re.search(rf"^# {name}=", read(".env.example"), re.M)


def test_env_example_names_no_other_setting() -> None:
    named = set(re.findall(r"^# ([A-Z_]+)=", read(".env.example"), re.M))
    assert named == settings_read()


def test_environment_is_read_in_settings_only() -> None:
    reading = r"os\.environ(?!\.setdefault|\[\w+\] = )|os\.getenv"
    readers = [path for path in PRODUCT if re.search(reading, path.read_text())]
    assert readers == []


def test_error_codes_are_found() -> None:
    assert {"forbidden", "invalid_host", "scope_not_found"} <= error_codes()


@pytest.mark.parametrize("code", sorted(error_codes()))
def test_every_error_code_is_documented(code: str) -> None:
    assert f"`{code}`" in read("docs/assembly.md")


def test_every_command_is_documented() -> None:
    folder = ROOT / "prepare" / "management" / "commands"
    commands = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert commands
    missing = [name for name in commands if f"`{name}" not in read("README.md")]
    assert missing == []


@pytest.mark.django_db
def test_readme_shows_what_the_demo_answers() -> None:
    readme = read("README.md")
    body = re.search(r"-d '(\{.+?\})'\n", readme, re.S)
    shown = re.search(r"````text\n(.+?)\n````", readme, re.S)
    assert body is not None
    assert shown is not None
    call_command("load_context", str(ROOT / "prepare" / "fixtures" / "demo.jsonl"))
    prepared = prepare_context(
        parse_prepare_request(json.loads(body[1])),
        principal=LOCAL,
        runtime=configured_runtime(),
    )
    assert prepared.build.content == shown[1]


def test_every_make_target_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.M))
    prose = re.sub(r"````text.+?````", "", read("README.md"), flags=re.S)
    assert set(re.findall(r"`make ([a-z-]+)`", prose)) <= targets


def test_design_stays_short_and_names_its_problems() -> None:
    text = read("docs/design.md")
    assert len(text.splitlines()) <= 200
    last = re.findall(r"^## (.+)$", text, re.M)[-1]
    assert last == "Problematic parts"
