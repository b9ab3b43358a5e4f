"""Notes about a person or an answer go with the row, whoever deletes it: the database's own cascade."""

from django.db import migrations

CASCADE = """
DO $$
DECLARE found record;
BEGIN
    FOR found IN
        SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint
        WHERE conrelid = 'surveys_note'::regclass AND contype = 'f'
        AND confrelid IN ('surveys_participant'::regclass, 'surveys_response'::regclass)
    LOOP
        EXECUTE format(
            'ALTER TABLE surveys_note DROP CONSTRAINT %I, ADD CONSTRAINT %I %s',
            found.conname, found.conname, replace(found.definition, ' DEFERRABLE', ' ON DELETE CASCADE DEFERRABLE')
        );
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("surveys", "0017_team")]
    operations = [migrations.RunSQL(CASCADE, migrations.RunSQL.noop)]
