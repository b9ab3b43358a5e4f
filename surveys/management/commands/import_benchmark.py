"""Import benchmark items and fill them into the studies that ask for them."""

from pathlib import Path

from django.core.management.base import CommandError

from surveys.studies.imports.actions import ACTOR, Action, Options, Report, arg, reading
from surveys.studies.imports.benchmarks import import_benchmark
from surveys.studies.imports.files import ImportFault
from surveys.studies.lifecycle import StudyError

OUTCOMES = {
    "updated": "has a new version with the items",
    "unchanged": "had them already",
    "launched": "was launched and stays as it is; change it with `load_study FILE --amend WHY`",
}


class Command(Action):
    help = (
        "Import a benchmark from JSON lines (id, subject, question, choices, answer), an original MMLU CSV "
        "file (<subject>_<split>.csv), ETHICS rows (id, category, scenario, label) or "
        "the files of its authors (cm_test.csv, justice_test.csv, …)."
    )
    arguments = (arg("name", help="its name in study files, such as mmlu or ethics"), arg("file", type=Path))
    reads = {"file": ".csv"}  # noqa: RUF012
    words = "{benchmark}: {items:item}, {created} new, {updated} changed"

    def run(self, options: Options) -> Report:
        name, path = options["name"], options["file"]
        with reading(path):
            try:
                return {"benchmark": name, **vars(import_benchmark(name, path, ACTOR))}
            except (ImportFault, StudyError) as fault:
                raise CommandError("\n".join(f"{path}: {line}" for line in str(fault).splitlines())) from None

    def tell(self, report: Report, options: Options) -> str:
        studies = [f"{study} {OUTCOMES[outcome]}" for study, outcome in report["studies"].items()]
        return "\n".join([super().tell(report, options), *studies])
