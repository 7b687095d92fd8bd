"""Uploaded files stay in memory and are bounded: nothing that was pasted is stored."""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import MemoryFileUploadHandler


class BoundedMemoryHandler(MemoryFileUploadHandler):
    """Django's own would let a large file fall through to the next handler, or vanish
    if there is none. Raises `RequestDataTooBig` before a byte is read."""

    def handle_raw_input(
        self,
        input_data: Any,
        META: Any,
        content_length: int,
        boundary: Any,
        encoding: str | None = None,
    ) -> tuple[Any, Any] | None:
        if content_length > settings.MAX_BODY_BYTES:
            raise RequestDataTooBig("The upload is too large.")
        return super().handle_raw_input(
            input_data, META, content_length, boundary, encoding
        )
