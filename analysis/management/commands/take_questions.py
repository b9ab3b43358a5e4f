"""Write the questions that a model answers most differently offline as prompts of a study file."""

from pathlib import Path

from django.core.management.base import CommandError

from analysis.exports.exports import write_whole
from analysis.report.questions.variability import NothingToTake, as_prompts, choose, put_into
from analysis.report.reports import report
from surveys.models import Study
from surveys.studies.imports.actions import Options, Report, StudyAction, arg, reading, writing


class Command(StudyAction):
    help = "Prints the most variable questions of a benchmark as [[prompts]], or a study file with them at its end."
    arguments = (
        arg("--benchmark", metavar="NAME", default="", help="the benchmark (default: the first with offline repeats)"),
        arg("--model", metavar="NAME", default="", help="the model whose repeats are used (default: the first)"),
        arg("--most", type=int, default=4, help="how many questions (4)"),
        arg("--into", type=Path, metavar="FILE", help="the study file to add them to, - for standard input"),
        arg(
            "--out",
            type=Path,
            metavar="FILE",
            help="the file to write, which may be FILE itself, - for standard output",
        ),
    )
    reads = {"into": ".toml"}  # noqa: RUF012
    writes = {"out": False}  # noqa: RUF012
    faults = (NothingToTake,)

    def carry_out(self, study: Study, options: Options) -> Report:
        if not 1 <= options["most"] <= 50:
            raise CommandError(f"--most takes 1 to 50, not {options['most']}.")
        rows = report(study, parts=["variability"])["variability"]
        items = choose(rows, options["most"], options["benchmark"], options["model"])
        whole = as_prompts(items)
        if path := options["into"]:
            with reading(path):
                whole = put_into(path.read_bytes(), items)
        if path := options["out"]:
            with writing(path):
                write_whole(path, [whole.encode()])
        return {"study": study.slug, "items": [item.item for item in items], "text": whole}

    def tell(self, found: Report, options: Options) -> str:
        if options["out"]:
            return f"{options['out']}: {len(found['items'])} questions. `load_study` loads the study file."
        return str(found["text"])
