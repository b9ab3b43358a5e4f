"""Ask a model a benchmark's items, offline or with simulated users in front."""

from django.core.management.base import CommandError

from analysis.answers.readings import read_everywhere
from analysis.runs.commands import RUN_ARGUMENTS, RunAction, carry_out, find_study
from analysis.runs.recipes.plans import Plan
from analysis.runs.recipes.questions import FORMS, known_benchmarks
from surveys.studies.imports.actions import Options, Report, arg, flag


class Command(RunAction):
    help = "Ask every item of an imported benchmark; each repeat or simulated user is one benchmark run."
    arguments = (
        arg("benchmark"),
        arg("--form", choices=FORMS, default=Plan.prompt_form, help="the form of an item"),
        flag("--worked-examples", "five solved items in front"),
        arg("--study", metavar="SLUG", help="the study that the run belongs to, whose members see it"),
        *RUN_ARGUMENTS,
    )

    def run(self, options: Options) -> Report:
        name = options["benchmark"]
        if name not in known_benchmarks():
            known = ", ".join(known_benchmarks()) or "none yet"
            raise CommandError(f"There is no benchmark {name!r} ({known}). Import it with import_benchmark.")
        version = find_study(options["study"]).current if options["study"] else None
        form = {"prompt_form": options["form"], "worked_examples": options["worked_examples"]}
        report = carry_out(options, version, benchmark=name, **form)
        read_everywhere()
        return report
