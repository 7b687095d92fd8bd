"""System checks: misconfiguration is said at start, not at request time."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register


@register()
def check_access(
    app_configs: Sequence[Any] | None, **kwargs: Any
) -> list[CheckMessage]:
    """A service token without enforced access protects nothing (J-12)."""
    if settings.AUTH_TOKEN and settings.ACCESS_MODE == "disabled":
        return [
            Warning(
                "POWERCONTEXT_SERVER_AUTH_TOKEN is set but access mode is `disabled`.",
                hint="Set POWERCONTEXT_SERVER_ACCESS_MODE=enforced.",
                id="prepare.W001",
            )
        ]
    return []
