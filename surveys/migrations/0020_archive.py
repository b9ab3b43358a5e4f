"""Studies lie in an archive. The database keeps a launched one, and lets audit events go only with their study."""

import django.db.models.deletion
from django.db import migrations, models

KEEP = """
CREATE FUNCTION keep_launched_study() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.launched_at IS NOT NULL THEN
        RAISE EXCEPTION 'study % was launched and is never deleted', OLD.slug
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER study_launched BEFORE DELETE ON surveys_study FOR EACH ROW EXECUTE FUNCTION keep_launched_study();

CREATE FUNCTION keep_event_of_study() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM surveys_study WHERE id = OLD.study_id) THEN
        RAISE EXCEPTION '% rows are never changed', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END $$;
DROP TRIGGER audit_unchangeable ON surveys_auditevent;
CREATE TRIGGER audit_unchangeable BEFORE UPDATE ON surveys_auditevent
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_kept BEFORE DELETE ON surveys_auditevent
    FOR EACH ROW EXECUTE FUNCTION keep_event_of_study();
"""
UNDO_KEEP = """
DROP TRIGGER study_launched ON surveys_study;
DROP TRIGGER audit_kept ON surveys_auditevent;
DROP TRIGGER audit_unchangeable ON surveys_auditevent;
CREATE TRIGGER audit_unchangeable BEFORE UPDATE OR DELETE ON surveys_auditevent
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
DROP FUNCTION keep_launched_study();
DROP FUNCTION keep_event_of_study();
"""
# The database's own cascade comes after the study's row is gone, so that the trigger above lets the events go.
REFER = """
DO $$
DECLARE known text;
BEGIN
    SELECT conname INTO known FROM pg_constraint
    WHERE conrelid = 'surveys_auditevent'::regclass AND confrelid = 'surveys_study'::regclass;
    EXECUTE format('ALTER TABLE surveys_auditevent DROP CONSTRAINT %I', known);
    ALTER TABLE surveys_auditevent ADD CONSTRAINT auditevent_of_study FOREIGN KEY (study_id)
        REFERENCES surveys_study (id) {action} DEFERRABLE INITIALLY DEFERRED;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("surveys", "0019_invitations")]

    operations = [
        migrations.AddField(
            "study",
            "archived_at",
            models.DateTimeField(help_text="Folded away; nobody new can begin.", null=True),
        ),
        migrations.AddConstraint(
            "study",
            models.CheckConstraint(
                condition=models.Q(("archived_at", None)) | models.Q(("state__in", ["pilot", "live"]), _negated=True),
                name="study_not_open_in_archive",
            ),
        ),
        migrations.AlterField(
            "auditevent",
            "study",
            models.ForeignKey(
                on_delete=django.db.models.deletion.DO_NOTHING, related_name="audit_events", to="surveys.study"
            ),
        ),
        migrations.RunSQL(REFER.replace("{action}", "ON DELETE CASCADE"), REFER.replace("{action}", "")),
        migrations.RunSQL(KEEP, UNDO_KEEP),
    ]
