"""Accounts that are there keep making studies; new ones have to be allowed to."""

from typing import Any

from django.conf import settings
from django.db import migrations


def allow(apps: Any, schema_editor: Any) -> None:
    """The permission itself is written only after all migrations; on a fresh database there is nobody to give it to."""
    accounts = apps.get_model(settings.AUTH_USER_MODEL).objects.all()
    if not accounts.exists():
        return
    kind, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(app_label="surveys", model="study")
    permission, _ = apps.get_model("auth", "Permission").objects.get_or_create(
        content_type=kind, codename="add_study", defaults={"name": "Can add study"}
    )
    for account in accounts:
        account.user_permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0011_light_writes"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [migrations.RunPython(allow, migrations.RunPython.noop)]
