"""Read field data collected elsewhere into a study."""

from pathlib import Path

from surveys.models import Study
from surveys.studies.imports.actions import ACTOR, Options, Report, StudyAction, arg, reading
from surveys.studies.imports.responses import import_responses


class Command(StudyAction):
    help = (
        "Import answers from a CSV file with the columns participant, chatbot, prompt and text, optionally "
        "model, submitted_at and columns about the people, or from an export of responses. All rows or none; known "
        "rows are skipped."
    )
    arguments = (arg("file", type=Path),)
    reads = {"file": ".csv"}  # noqa: RUF012
    words = "{study}: {responses:response} of {participants:new participant}, {skipped} already there"

    def carry_out(self, study: Study, options: Options) -> Report:
        with reading(options["file"]):
            return {"study": study.slug, **vars(import_responses(study, options["file"], ACTOR))}
