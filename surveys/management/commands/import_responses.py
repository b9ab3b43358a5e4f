"""Read field data collected elsewhere into a study."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from surveys.imports.responses import import_responses
from surveys.imports.study_command import ACTOR, StudyCommand, reading
from surveys.models import Study


class Command(StudyCommand):
    help = (
        "Import answers from a CSV file with the columns participant, chatbot, prompt and text, optionally "
        "model, submitted_at and columns about the people. All rows or none; known rows are skipped."
    )
    reads = {"file": ".csv"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path)

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        with reading(options["file"]):
            done = import_responses(study, options["file"], ACTOR)
        line = "{study}: {responses} responses of {participants} new participants, {skipped} already there"
        report = {"study": study.slug, **vars(done)}
        self.tell(options, report, line.format(**report))
