"""Schema statements that OceanBase takes only one at a time."""

from django.db.backends.mysql import schema


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    @property
    def sql_create_column_inline_fk(self) -> str | None:  # type: ignore[override]
        """None on OceanBase: it cannot add a column and its foreign key in one ALTER,
        so Django writes a statement for the key."""
        if self.connection.oceanbase_version is not None:  # type: ignore[attr-defined]
            return None
        return schema.DatabaseSchemaEditor.sql_create_column_inline_fk
