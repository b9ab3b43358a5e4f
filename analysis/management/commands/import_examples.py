"""Import labelled examples to train on."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.training.examples import TrainingError, import_examples
from surveys.imports.study_command import FileCommand, reading


class Command(FileCommand):
    help = (
        "Import labelled examples (JSON lines) in one of three shapes: prompt and attributes with relevant; evidence, "
        "statement and label; prompt, chosen and rejected, or response_1, response_2 and label. All of them or none."
    )
    reads = {"file": ".jsonl"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="by which they are called from now on")
        parser.add_argument("file", type=Path)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with reading(options["file"]):
                report = import_examples(options["name"], options["file"])
        except TrainingError as error:
            raise CommandError(str(error)) from None
        if report["divided"]:
            self.stderr.write(f"Warning: {report['divided']}")
        parts = ", ".join(f"{part} {count['n']:,}" for part, count in report["parts"].items())
        words = f"{report['examples']}: {report['n']:,} examples of {report['groups']:,} groups for {report['task']}; "
        self.stdout.write(json.dumps(report) if options["json"] else f"{words}{parts}")
