"""Import benchmark items and fill them into the studies that ask for them."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from surveys.imports.benchmarks import import_benchmark
from surveys.imports.files import ImportFault
from surveys.imports.study_command import ACTOR, FileCommand, reading
from surveys.studies.lifecycle import StudyError

OUTCOMES = {
    "updated": "has a new version with the items",
    "unchanged": "had them already",
    "launched": "was launched and stays as it is; change it with `load_study FILE --amend WHY`",
}


class Command(FileCommand):
    help = (
        "Import a benchmark from JSON lines (id, subject, question, choices, answer), an original MMLU CSV "
        "file (<subject>_<split>.csv), ETHICS rows (id, category, scenario, label) or "
        "the files of its authors (cm_test.csv, justice_test.csv, …)."
    )
    reads = {"file": ".csv"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="as the study files call it, such as mmlu or ethics")
        parser.add_argument("file", type=Path)
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        name, path = options["name"], options["file"]
        with reading(path):
            try:
                filled = import_benchmark(name, path, ACTOR)
            except (ImportFault, StudyError) as fault:
                raise CommandError("\n".join(f"{path}: {line}" for line in str(fault).splitlines())) from None
        if options["json"]:
            self.stdout.write(json.dumps({"benchmark": name, **vars(filled)}))
            return
        self.stdout.write(f"{name}: {filled.items} items, {filled.created} new, {filled.updated} changed")
        for study, outcome in filled.studies.items():
            self.stdout.write(f"{study} {OUTCOMES[outcome]}")
