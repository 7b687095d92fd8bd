"""The server's own row and a Scope named "Default", as hosts without one expect."""

import uuid

from django.db import migrations
from django.utils import timezone

from prepare.services.identifiers import new_scope_id


def create_default_scope(apps, schema_editor):
    scope = apps.get_model("prepare", "Scope").objects.create(
        scope_id=new_scope_id(),
        title="Default",
        summary="Where hosts without a Scope of their own write.",
        idempotency_key="powercontext.default-scope",
        idempotency_digest="",
        created_at=timezone.now(),
    )
    apps.get_model("prepare", "ServerState").objects.create(
        pk=1, server_id=uuid.uuid4(), default_scope=scope
    )


class Migration(migrations.Migration):
    dependencies = [("prepare", "0002_clustered_postings")]

    operations = [
        migrations.RunPython(create_default_scope, migrations.RunPython.noop)
    ]
