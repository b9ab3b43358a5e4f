"""Invitations to make an account; what became of one stays so. The first account that makes studies gives them."""

from typing import Any

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

ONCE = """
CREATE FUNCTION keep_invitation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.used_at IS NOT NULL OR OLD.revoked_at IS NOT NULL THEN
        RAISE EXCEPTION 'an invitation is taken once' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER invitation_once BEFORE UPDATE ON surveys_invitation
    FOR EACH ROW EXECUTE FUNCTION keep_invitation();
CREATE TRIGGER invitation_unchangeable BEFORE UPDATE OF token_sha256, study_id, role, invited_by_id, expires_at
    ON surveys_invitation FOR EACH ROW EXECUTE FUNCTION refuse_change();
"""
UNDO = """
DROP TRIGGER invitation_once ON surveys_invitation;
DROP TRIGGER invitation_unchangeable ON surveys_invitation;
DROP FUNCTION keep_invitation();
"""


def allow_first(apps: Any, schema_editor: Any) -> None:
    """On a fresh database there is nobody yet, and the permission itself is written after all migrations."""
    makers = {"is_active": True, "user_permissions__codename": "add_study"}
    first = apps.get_model(settings.AUTH_USER_MODEL).objects.filter(**makers).order_by("pk").first()
    if first is None:
        return
    kind, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label="surveys", model="invitation"
    )
    permission, _ = apps.get_model("auth", "Permission").objects.get_or_create(
        content_type=kind, codename="add_invitation", defaults={"name": "Can add invitation"}
    )
    first.user_permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0018_notes_erased"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token_sha256", models.CharField(max_length=64, unique=True)),
                (
                    "note",
                    models.CharField(
                        blank=True, help_text="Whom it is for, as the inviter calls them.", max_length=100
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("owner", "Owner"),
                            ("researcher", "Researcher"),
                            ("viewer", "Viewer"),
                            ("blinded", "Blinded"),
                        ],
                        help_text="In the study.",
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "used_by",
                    models.CharField(blank=True, help_text="The name of the account that was made.", max_length=150),
                ),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "invited_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="surveys.study",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("role", ""), ("study", None)),
                            models.Q(
                                ("role__in", ["owner", "researcher", "viewer", "blinded"]), ("study__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="invitation_to_a_role_or_to_make_studies",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("used_at", None), ("revoked_at", None), _connector="OR"),
                        name="invitation_used_or_revoked",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("used_at", None), ("used_by", "")),
                            models.Q(
                                ("used_at__lt", models.F("expires_at")),
                                models.Q(("used_by", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="invitation_used_in_time",
                    ),
                ],
            },
        ),
        migrations.RunSQL(ONCE, UNDO),
        migrations.RunPython(allow_first, migrations.RunPython.noop),
    ]
