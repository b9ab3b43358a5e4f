"""What every answer and autosave writes is the row and few indexes: nothing indexed changes with a sign of life.

PostgreSQL writes a changed row without its indexes where none of them changes and its page has room for it, and asks a
function about a place only where there is something to refuse.
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

ROOM = """
ALTER TABLE surveys_participant SET (fillfactor = 70);
ALTER TABLE surveys_place SET (fillfactor = 70);
ALTER TABLE surveys_draft SET (fillfactor = 50);
"""
FULL = """
ALTER TABLE surveys_participant RESET (fillfactor);
ALTER TABLE surveys_place RESET (fillfactor);
ALTER TABLE surveys_draft RESET (fillfactor);
"""
TRIGGER = """
CREATE OR REPLACE TRIGGER place_confirmed BEFORE UPDATE ON surveys_place
    FOR EACH ROW {when} EXECUTE FUNCTION keep_confirmed_place();
"""


def without_index(model: str, field: str, to: str, **options: Any) -> migrations.AlterField:
    """An index over other columns begins with this one."""
    options = {"on_delete": django.db.models.deletion.CASCADE} | options
    return migrations.AlterField(model, field, models.ForeignKey(db_index=False, to=f"surveys.{to}", **options))


class Migration(migrations.Migration):
    dependencies = [("surveys", "0010_signed_audit")]

    operations = [
        migrations.RemoveIndex("participant", "open_people"),
        without_index("draft", "participant", "participant", related_name="drafts"),
        without_index("flag", "participant", "participant", related_name="flags"),
        without_index("response", "participant", "participant", related_name="responses"),
        without_index(
            "response", "prompt", "prompt", related_name="responses", on_delete=django.db.models.deletion.PROTECT
        ),
        migrations.RunSQL(ROOM, FULL),
        migrations.RunSQL(TRIGGER.format(when="WHEN (OLD.confirmed_at IS NOT NULL)"), TRIGGER.format(when="")),
    ]
