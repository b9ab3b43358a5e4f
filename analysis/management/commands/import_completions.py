"""Read completions collected elsewhere into a study."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from analysis.answers.readings import read_new
from analysis.runs.imports import import_completions
from surveys.imports.study_command import ACTOR, StudyCommand, reading
from surveys.models import Study


class Command(StudyCommand):
    help = (
        "Import completions from a CSV file with the columns source, model, prompt and text, optionally run, user, "
        "repeat, temperature and settings. All rows or none; known rows are skipped."
    )
    reads = {"file": ".csv"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path)
        parser.add_argument("--benchmark", default="", help="the prompts are this benchmark's items")

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        with reading(options["file"]):
            done = import_completions(study, options["file"], ACTOR, options["benchmark"])
        read_new(study, anew=False)
        line = "{study}: {completions} completions in {runs} new runs, {skipped} already there"
        report = {"study": study.slug, **vars(done)}
        self.tell(options, report, line.format(**report))
