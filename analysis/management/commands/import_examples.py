"""Import labelled examples to train on."""

from pathlib import Path

from analysis.training.examples import TrainingError, import_examples
from surveys.studies.imports.actions import Action, Options, Report, arg, reading
from surveys.studies.wording import fill


class Command(Action):
    help = (
        "Import labelled examples (JSON lines) in one of three shapes: prompt and attributes with relevant; evidence, "
        "statement and label; prompt, chosen and rejected, or response_1, response_2 and label. All of them or none."
    )
    arguments = (arg("name", help="the name of the set"), arg("file", type=Path))
    reads = {"file": ".jsonl"}  # noqa: RUF012
    faults = (TrainingError,)

    def run(self, options: Options) -> Report:
        with reading(options["file"]):
            report = import_examples(options["name"], options["file"])
        if report["divided"]:
            self.stderr.write(f"Warning: {report['divided']}")
        return report

    def tell(self, report: Report, options: Options) -> str:
        parts = ", ".join(f"{part} {count['n']:,}" for part, count in report["parts"].items())
        return fill("{examples}: {n:example} of {groups:group} for {task}; ", **report) + parts
