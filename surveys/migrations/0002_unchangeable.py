"""What may never change is held by the database: versions, responses, decisions, confirmed places."""

from django.db import migrations

REFUSE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% rows are never changed', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER response_unchangeable BEFORE UPDATE ON surveys_response
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_unchangeable BEFORE UPDATE OR DELETE ON surveys_auditevent
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER version_unchangeable BEFORE UPDATE OF document, sha256, interface_sha256, number, amendment
    ON surveys_studyversion FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER prompt_unchangeable BEFORE UPDATE ON surveys_prompt
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE FUNCTION keep_confirmed_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- It may be given back, when somebody withdraws, but never goes from one person to another.
    IF OLD.confirmed_at IS NOT NULL AND NEW.participant_id IS NOT NULL
       AND NEW.participant_id <> OLD.participant_id THEN
        RAISE EXCEPTION 'place % is confirmed', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER place_confirmed BEFORE UPDATE ON surveys_place
    FOR EACH ROW EXECUTE FUNCTION keep_confirmed_place();
"""

UNDO = """
DROP TRIGGER response_unchangeable ON surveys_response;
DROP TRIGGER audit_unchangeable ON surveys_auditevent;
DROP TRIGGER version_unchangeable ON surveys_studyversion;
DROP TRIGGER prompt_unchangeable ON surveys_prompt;
DROP TRIGGER place_confirmed ON surveys_place;
DROP FUNCTION refuse_change();
DROP FUNCTION keep_confirmed_place();
"""


class Migration(migrations.Migration):
    dependencies = [("surveys", "0001_initial")]

    operations = [migrations.RunSQL(REFUSE, UNDO)]
