"""App configuration."""

from django.apps import AppConfig


class PrepareConfig(AppConfig):
    name = "prepare"
    verbose_name = "PowerContext"

    def ready(self) -> None:
        from prepare import checks  # noqa: F401  (registers the system checks)
