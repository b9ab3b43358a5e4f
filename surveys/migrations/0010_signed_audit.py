"""Audit events are signed from here on, and no table of what may never change can be emptied."""

from typing import Any

from django.db import migrations, models
from django.utils import timezone

from surveys.studies import audit

# Rows may go one by one with the person who gave them; versions and prompts stay as long as their study.
KEPT = (
    *("auditevent", "response", "studyversion", "prompt", "place", "readback"),
    *("history", "annotationitem", "annotation", "slot", "gatedecision", "gateverdict"),
)
REFUSE = """
CREATE FUNCTION refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is never emptied', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
""" + "".join(
    f"CREATE TRIGGER {table}_not_emptied BEFORE TRUNCATE ON surveys_{table}\n"
    "    FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();\n"
    for table in KEPT
)
UNDO = "".join(f"DROP TRIGGER {table}_not_emptied ON surveys_{table};\n" for table in KEPT)
UNDO += "DROP FUNCTION refuse_truncate();"


def sign_chains(apps: Any, schema_editor: Any) -> None:
    """One signed event at the end of each chain: it covers all before it, whose hashes stay as they are."""
    events = apps.get_model("surveys", "AuditEvent").objects
    for last in list(events.order_by("study_id", "-number").distinct("study_id")):
        event = events.model(
            study_id=last.study_id,
            number=last.number + 1,
            at=timezone.now(),
            actor=audit.SYSTEM,
            action=audit.SIGNED,
            detail={"events": last.number},
            previous=last.sha256,
            key=audit.signing_key(),
        )
        event.sha256 = audit.event_hash(event)
        event.save()


class Migration(migrations.Migration):
    dependencies = [("surveys", "0009_prolific_set_up")]

    operations = [
        migrations.AddField(
            "auditevent",
            "key",
            models.CharField(default="", help_text="Name of the key that signed it; empty: unsigned.", max_length=16),
        ),
        migrations.AlterField(
            "auditevent",
            "sha256",
            models.CharField(help_text="HMAC-SHA-256 under that key; of unsigned ones SHA-256.", max_length=64),
        ),
        migrations.RunSQL(REFUSE, UNDO),
        migrations.RunPython(sign_chains, migrations.RunPython.noop),
    ]
