"""Read completions collected elsewhere into a study."""

from pathlib import Path

from analysis.answers.readings import read_new
from analysis.runs.imports import import_completions
from surveys.models import Study
from surveys.studies.imports.actions import ACTOR, Options, Report, StudyAction, arg, reading


class Command(StudyAction):
    help = (
        "Import completions from a CSV file with the columns source, model, prompt and text, optionally run, user, "
        "repeat, temperature and settings. All rows or none; known rows are skipped."
    )
    arguments = (arg("file", type=Path), arg("--benchmark", default="", help="the prompts are this benchmark's items"))
    reads = {"file": ".csv"}  # noqa: RUF012
    words = "{study}: {completions:completion} in {runs:new run}, {skipped} already there"

    def carry_out(self, study: Study, options: Options) -> Report:
        with reading(options["file"]):
            done = import_completions(study, options["file"], ACTOR, options["benchmark"])
        read_new(study, anew=False)
        return {"study": study.slug, **vars(done)}
