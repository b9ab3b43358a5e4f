"""Ask a benchmark's items of a model, offline or with simulated users in front."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.answers.readings import read_everywhere
from analysis.runs.commands import RunCommand, add_run_arguments, execute, find_study
from analysis.runs.recipes.questions import FORMS, known_benchmarks


class Command(RunCommand):
    help = "Ask every item of an imported benchmark; each repeat or simulated user is one benchmark run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("--form", choices=FORMS, default=FORMS[0], help="how an item is put")
        parser.add_argument("--worked-examples", action="store_true", help="five solved items in front")
        parser.add_argument("--study", metavar="SLUG", help="that it belongs to, and whose members see it")
        add_run_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["benchmark"]
        if name not in known_benchmarks():
            known = ", ".join(known_benchmarks()) or "none yet"
            raise CommandError(f"There is no benchmark {name!r} ({known}). Import it with import_benchmark.")
        version = find_study(options["study"]).current if options["study"] else None
        form = {"prompt_form": options["form"], "worked_examples": options["worked_examples"]}
        execute(options, self.stdout, version, benchmark=name, **form)
        read_everywhere()
