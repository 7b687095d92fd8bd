"""Django's MySQL backend, plus what an OceanBase server reports or does differently.

An OceanBase server calls itself MySQL 5.7, which Django refuses; its own version is in
@@version_comment. On MySQL and MariaDB nothing here changes Django's behaviour.
"""

import re
from typing import Any

from django.db.backends.mysql import base
from django.utils.functional import cached_property

from powercontext.oceanbase.features import DatabaseFeatures
from powercontext.oceanbase.schema import DatabaseSchemaEditor

_VERSION = re.compile(r"OceanBase\D*(\d+)\.(\d+)\.(\d+)\.(\d+)")


class DatabaseWrapper(base.DatabaseWrapper):
    features_class = DatabaseFeatures
    SchemaEditorClass = DatabaseSchemaEditor

    @cached_property
    def oceanbase_version(self) -> tuple[int, ...] | None:
        """(4, 3, 5, 3) on OceanBase, None on MySQL and MariaDB."""
        if "oceanbase" not in self.mysql_server_info.lower():
            return None
        with self.temporary_connection() as cursor:
            cursor.execute("SELECT @@version_comment")
            (comment,) = cursor.fetchone()
        match = _VERSION.search(comment)
        return tuple(map(int, match.groups())) if match else (0, 0, 0, 0)

    @cached_property
    def mysql_version(self) -> Any:
        """The MySQL release whose SQL Django may write.

        Below 8.0.13 on purpose: from there on Django writes expression defaults for
        TEXT and JSON columns, which OceanBase refuses.
        """
        if self.oceanbase_version is not None:
            return (8, 0, 12)
        return super().mysql_version

    def get_database_version(self) -> Any:
        return self.oceanbase_version or self.mysql_version

    @cached_property
    def display_name(self) -> str:  # type: ignore[override]  # Django caches it as well
        return "OceanBase" if self.oceanbase_version else str(super().display_name)
