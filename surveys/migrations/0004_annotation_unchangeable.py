"""Held by the database: items, histories, annotations and gate decisions never change; a done slot keeps its holder."""

from django.db import migrations

REFUSE = """
CREATE TRIGGER history_unchangeable BEFORE UPDATE ON surveys_history
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER item_unchangeable BEFORE UPDATE ON surveys_annotationitem
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER annotation_unchangeable BEFORE UPDATE ON surveys_annotation
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER gate_decision_unchangeable BEFORE UPDATE OR DELETE ON surveys_gatedecision
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER gate_verdict_unchangeable BEFORE UPDATE ON surveys_gateverdict
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER slot_identity BEFORE UPDATE OF item_id, number, side ON surveys_slot
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE FUNCTION keep_done_slot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- It may be freed, when somebody withdraws or is excluded, but never goes from one annotator to another.
    IF OLD.done_at IS NOT NULL AND NEW.participant_id IS NOT NULL
       AND NEW.participant_id <> OLD.participant_id THEN
        RAISE EXCEPTION 'slot % is done', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER slot_done BEFORE UPDATE ON surveys_slot
    FOR EACH ROW EXECUTE FUNCTION keep_done_slot();
"""

UNDO = """
DROP TRIGGER history_unchangeable ON surveys_history;
DROP TRIGGER item_unchangeable ON surveys_annotationitem;
DROP TRIGGER annotation_unchangeable ON surveys_annotation;
DROP TRIGGER gate_decision_unchangeable ON surveys_gatedecision;
DROP TRIGGER gate_verdict_unchangeable ON surveys_gateverdict;
DROP TRIGGER slot_identity ON surveys_slot;
DROP TRIGGER slot_done ON surveys_slot;
DROP FUNCTION keep_done_slot();
"""


class Migration(migrations.Migration):
    dependencies = [("surveys", "0003_annotation")]

    operations = [migrations.RunSQL(REFUSE, UNDO)]
