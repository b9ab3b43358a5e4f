"""The table of researchers' notes. It is in exports and in no bundle."""

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from analysis.exports.codebook import ExportTable, integer, moment, text
from analysis.exports.people_tables import Selection
from surveys.models import Note, Study, base_slug

COLUMNS = (
    text("study", "the study", made=lambda row: row["study"]),
    integer("version", "number of the version that the note is about", path="version__number"),
    text(
        "participant",
        "the random label of the person that it is about, or of the answer's",
        expression=lambda person: Coalesce(F("participant__pseudonym"), F("response__participant__pseudonym")),
    ),
    text(
        "prompt",
        "the prompt of the answer that it is about",
        expression=lambda person: base_slug("response__prompt__"),
    ),
    integer("occasion", "which time the person was asked it, from 1", path="response__prompt__occasion"),
    text("arm", "the state of the account in which it was asked", path="response__prompt__arm"),
    integer("revision", "the answer's revision", path="response__revision"),
    text("text", "the note, to the letter"),
    text("author", "the account that wrote it", path="author__username"),
    moment("written_at", "when it was written"),
    moment("changed_at", "when its author changed it last"),
)


def notes(study: Study, selection: Selection) -> QuerySet:
    """Those about the people who are selected, and about versions."""
    people = Q(participant__isnull=False) & selection.people("participant__")
    answers = Q(response__isnull=False) & selection.people("response__participant__")
    return Note.objects.filter(people | answers | Q(version__isnull=False), study=study).order_by("id")


NOTES = ExportTable("notes", "one note of a researcher about a person, an answer or a version", COLUMNS, notes)
