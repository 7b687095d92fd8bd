"""Uploaded files stay in memory, and there is a bound to them."""

from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import InMemoryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import HttpRequest


class MemoryUploadHandler(FileUploadHandler):
    """The only handler: nothing that is uploaded ever touches the disk.

    A form's files together may be as large as a body. What is beyond is read and thrown
    away; the file is then missing from the form, and `is_too_large` tells why.
    """

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self._received = 0
        self._file = BytesIO()

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._file = BytesIO()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._received += len(raw_data)
        if self._received > settings.MAX_BODY_BYTES:
            self.request.upload_is_too_large = True  # type: ignore[union-attr]
            raise StopUpload(connection_reset=False)
        self._file.write(raw_data)

    def file_complete(self, file_size: int) -> InMemoryUploadedFile:
        self._file.seek(0)
        return InMemoryUploadedFile(
            file=self._file,
            field_name=self.field_name,
            name=self.file_name,
            content_type=self.content_type,
            size=file_size,
            charset=self.charset,
            content_type_extra=self.content_type_extra,
        )


def is_too_large(request: HttpRequest) -> bool:
    """Whether an upload was thrown away; call it after `request.FILES` was read."""
    return getattr(request, "upload_is_too_large", False)
