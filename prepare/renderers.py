"""Compact JSON with raw UTF-8, as the public server writes it (wire section 1)."""

from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import BaseRenderer

from prepare.compactjson import dump_compact


class EnvelopeRenderer(BaseRenderer):
    """The one output form; an Accept header is not negotiated with."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        if data is None:
            return b""
        return dump_compact(data)
