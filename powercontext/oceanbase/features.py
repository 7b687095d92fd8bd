"""What OceanBase can do, where MySQL's version number would tell otherwise."""

from typing import Any

from django.db.backends.mysql import features
from django.utils.functional import cached_property


def _on_oceanbase(name: str, *, value: object) -> Any:
    """The feature is `value` on OceanBase, and Django's own answer elsewhere."""

    def read(self: Any) -> Any:
        if self.connection.oceanbase_version is not None:
            return value
        inherited = getattr(features.DatabaseFeatures, name)
        if isinstance(inherited, cached_property):
            return inherited.func(self)
        if isinstance(inherited, property) and inherited.fget is not None:
            return inherited.fget(self)
        return inherited

    return cached_property(read)


class DatabaseFeatures(features.DatabaseFeatures):
    # The first release with a mature CHECK and the collations that we rely on.
    minimum_database_version = _on_oceanbase(
        "minimum_database_version", value=(4, 3, 5)
    )
    supports_column_check_constraints = _on_oceanbase(
        "supports_column_check_constraints", value=True
    )
    supports_table_check_constraints = _on_oceanbase(
        "supports_table_check_constraints", value=True
    )
    can_introspect_check_constraints = _on_oceanbase(
        "can_introspect_check_constraints", value=True
    )
    has_select_for_update_of = _on_oceanbase("has_select_for_update_of", value=False)
