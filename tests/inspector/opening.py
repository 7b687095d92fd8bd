"""How tests open a receipt."""

import json
import re
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.inspector.pages import Page, Visitor
from tests.inspector.receipts import Wire


def file(data: bytes | str | Wire, name: str = "receipt.json") -> SimpleUploadedFile:
    if isinstance(data, dict):
        data = json.dumps(data)
    return SimpleUploadedFile(name, data.encode() if isinstance(data, str) else data)


def open_receipt(visitor: Visitor, receipt: Wire | str, **values: Any) -> Page:
    """Uploaded: a pasted one stands in the form again, and any text would be found."""
    return visitor.submit("receipt", {"receipt_file": file(receipt), **values})


def paste_receipt(visitor: Visitor, receipt: Wire | str, **values: Any) -> Page:
    text = receipt if isinstance(receipt, str) else json.dumps(receipt)
    return visitor.submit("receipt", {"receipt": text, **values})


def row_of(page: Page, place: str = "1") -> str:
    """The row of one cited revision, as a reader sees it."""
    found = re.search(
        rf'<tr>\s*<th scope="row"><bdi>{place}</bdi>(.*?)</tr>', page.html, re.DOTALL
    )
    assert found, page.text
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[1])).strip()
