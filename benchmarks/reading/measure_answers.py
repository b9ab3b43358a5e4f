"""How well items and letters are read in answers labelled by hand: real ones, and today's layouts.

python -m benchmarks.reading.measure_answers [--json] [--write FILE.md]
"""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmarks.reading.answer_rates import as_json, as_tables, read_all
from benchmarks.reading.answer_samples import read_labelled_answers
from benchmarks.reading.layouts import layouts_as_json, layouts_as_tables, read_layouts
from benchmarks.reading.measure_checks import default_data, write
from surveys.reading.answers import RULES_VERSION


class Command(BaseCommand):
    requires_system_checks: list[str] = []
    help = "Measure precision and recall of the reader of answers on a sample labelled by hand."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, default=default_data(), help="folder with the model answers")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--write", type=Path, metavar="FILE.md", help="put the tables into this page")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            answers = read_labelled_answers(options["data"])
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"No sample: {error}. Name the folder with --data.") from error
        read, a_second = read_all(answers)
        layouts = read_layouts()
        tables = f"{as_tables(read)}\n{layouts_as_tables(layouts)}"
        if options["write"]:
            write(options["write"], tables)
        if options["json"]:
            found = {"rules": RULES_VERSION, "texts": len(read), "texts_a_second": round(a_second)}
            self.stdout.write(json.dumps(found | as_json(read) | layouts_as_json(layouts)))
        else:
            self.stdout.write(tables)
            self.stdout.write(f"Rules {RULES_VERSION}; {len(read)} texts, {a_second:.0f} a second.")


if __name__ == "__main__":
    Command().run_from_argv(["python -m", "benchmarks.reading.measure_answers", *sys.argv[1:]])
