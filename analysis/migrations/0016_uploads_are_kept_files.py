"""Parts of uploads lie among the kept files, and no longer in the database."""

from typing import Any
from uuid import uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import migrations, models


def move_parts(apps: Any, schema_editor: Any) -> None:
    for part in apps.get_model("analysis", "UploadPart").objects.iterator(chunk_size=1):
        content = bytes(part.content)
        name = f"uploads/{part.upload_id}/{part.number}-{uuid4().hex}"
        part.file, part.size = storages["kept"].save(name, ContentFile(content)), len(content)
        part.save(update_fields=["file", "size"])


def return_parts(apps: Any, schema_editor: Any) -> None:
    for part in apps.get_model("analysis", "UploadPart").objects.iterator(chunk_size=1):
        with storages["kept"].open(part.file) as file:
            part.content = file.read()
        part.save(update_fields=["content"])


class Migration(migrations.Migration):
    dependencies = [("analysis", "0015_endpoint_owners")]

    operations = [
        migrations.AddField(
            model_name="uploadpart",
            name="file",
            field=models.CharField(default="", help_text="Its name among the kept files.", max_length=200),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="uploadpart",
            name="size",
            field=models.PositiveIntegerField(default=0, help_text="Bytes."),
            preserve_default=False,
        ),
        migrations.AlterField("uploadpart", "content", models.BinaryField(default=b"")),
        migrations.RunPython(move_parts, return_parts),
        migrations.RemoveField(model_name="uploadpart", name="content"),
    ]
