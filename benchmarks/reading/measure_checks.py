"""How often each paste check is wrong, over real model answers and faults inserted into them.

python -m benchmarks.reading.measure_checks [--json] [--write FILE.md]
"""

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmarks.reading import measure_kinds
from benchmarks.reading.check_rates import as_json, as_table, measure_rates, write_table
from benchmarks.reading.paste_samples import SEED, build_cases


class Command(BaseCommand):
    requires_system_checks: list[str] = []
    help = "Measure the misses and false alarms of the paste checks on a labelled sample."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, default=default_data(), help="folder with the model answers")
        parser.add_argument("--seed", type=int, default=SEED, help="decides where answers are cut")
        parser.add_argument("--developed", action="store_true", help="the half the rules were written on")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--write", type=Path, metavar="FILE.md", help="put this table and those of measure_kinds into this page"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            cases = build_cases(options["data"], options["seed"])
        except (OSError, ValueError) as error:
            raise CommandError(f"No sample: {error}. Name the folder with --data.") from error
        rates = measure_rates(cases, held_out=not options["developed"])
        if options["write"]:
            write(options["write"], as_table(rates))
        if options["json"]:
            half = "developed" if options["developed"] else "held-out"
            self.stdout.write(json.dumps({"seed": options["seed"], "half": half, "rates": as_json(rates)}))
        else:
            self.stdout.write(as_table(rates))


def default_data() -> Path:
    shared = os.environ.get("FIELDSTUDY_SHARED") or Path(__file__).resolve().parents[3] / "shared"
    return Path(shared) / "data" / "model_answers"


def write(page: Path, table: str) -> None:
    try:
        write_table(page, table)
        for name, after in (("sixty", False), ("twenty", True)):
            lines = measure_kinds.as_lines(measure_kinds.as_rates(measure_kinds.measure(after)))
            write_table(page, "\n".join(lines), name)
    except (OSError, ValueError) as error:
        raise CommandError(f"{page} was not changed: {error}.") from error


if __name__ == "__main__":
    Command().run_from_argv(["python -m", "benchmarks.reading.measure_checks", *sys.argv[1:]])
