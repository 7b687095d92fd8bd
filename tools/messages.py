"""Gather the words of the Inspector's pages into its Chinese catalogue, and compile it.

python tools/messages.py            update django.po, compile it to django.mo
python tools/messages.py --check    fail if a text is not translated or a file stale
"""

import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "inspector" / "locale" / "zh_Hans" / "LC_MESSAGES"
KEYWORDS = DEFAULT_KEYWORDS | {
    "gettext_lazy": None,
    "ngettext_lazy": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
}

HEADER = """\
# The Context Inspector in simplified Chinese. `make messages` keeps it complete.
msgid ""
msgstr ""
"Language: zh_Hans\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""


def sources() -> Iterator[tuple[str, str]]:
    """(path, Python text) of everything that may hold a text to translate."""
    for path in sorted(ROOT.glob("inspector/**/*.py")):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("templates/inspector/**/*.html")):
        name = str(path.relative_to(ROOT))
        yield name, templatize(path.read_text(encoding="utf-8"), origin=name)


def gather() -> Catalog:
    catalog = Catalog(charset="utf-8", fuzzy=False, locale="zh_Hans")
    for name, text in sources():
        file = io.BytesIO(text.encode())
        for _line, message, comments, context in extract("python", file, KEYWORDS):
            catalog.add(
                message, locations=[(name, 0)], auto_comments=comments, context=context
            )
    return catalog


def updated(held: Catalog) -> Catalog:
    """`held` with exactly the texts of today, and what it knew of them."""
    fresh = gather()
    for message in fresh:
        known = held.get(message.id, message.context) if message.id else None
        if known is not None and known.string:
            message.string = known.string
    return fresh


def untranslated(catalog: Catalog) -> list[str]:
    return [
        str(message.id)
        for message in catalog
        if message.id and not all(_strings(message.string))
    ]


def _strings(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def as_po(catalog: Catalog) -> bytes:
    file = io.BytesIO()
    write_po(
        file,
        catalog,
        width=88,
        omit_header=False,
        sort_output=True,
        include_lineno=False,
    )
    # Dates and names would change the file without a reason.
    _, entries = file.getvalue().decode().split("\n\n", 1)
    return f"{HEADER}\n{entries}".encode()


def as_mo(catalog: Catalog) -> bytes:
    # The header would hold the time of this run, and the file change every minute.
    catalog.creation_date = catalog.revision_date = datetime(2026, 1, 1, tzinfo=UTC)
    file = io.BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def main(arguments: list[str]) -> int:
    settings.configure(USE_I18N=False)
    po, mo = FOLDER / "django.po", FOLDER / "django.mo"
    held = read_po(
        io.BytesIO(po.read_bytes() if po.exists() else b""), locale="zh_Hans"
    )
    catalog = updated(held)
    missing = untranslated(catalog)
    po_text = as_po(catalog)
    # As it will be read again: compiled from the file, not from what is in memory.
    mo_bytes = as_mo(read_po(io.BytesIO(po_text), locale="zh_Hans"))
    if arguments == ["--check"]:
        for text in missing:
            print(f"not translated: {text}")
        is_fresh = po.read_bytes() == po_text and mo.read_bytes() == mo_bytes
        if not is_fresh:
            print("stale: run `make messages`")
        return 0 if is_fresh and not missing else 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    po.write_bytes(po_text)
    mo.write_bytes(mo_bytes)
    print(f"{len(catalog)} texts, {len(missing)} not translated")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
