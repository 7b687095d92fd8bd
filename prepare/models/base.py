"""Rows that are inserted once and never changed."""

from typing import Any, NoReturn

from django.db import models


class ImmutableRowError(TypeError):
    """An append-only row was to be changed or deleted; write a new revision instead."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """Refuses what would rewrite history."""

    def update(self, **kwargs: Any) -> NoReturn:
        raise ImmutableRowError(f"{self.model.__name__} rows are never updated.")

    def delete(self) -> NoReturn:
        raise ImmutableRowError(f"{self.model.__name__} rows are never deleted.")

    def bulk_update(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImmutableRowError(f"{self.model.__name__} rows are never updated.")


class AppendOnlyModel(models.Model):
    """A row that is inserted once. The database keeps no way around `save`/`delete`."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise ImmutableRowError(f"{type(self).__name__} rows are never updated.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImmutableRowError(f"{type(self).__name__} rows are never deleted.")
