"""Ask a benchmark's items of a model, offline or with simulated users in front."""

from django.core.management.base import BaseCommand, CommandError

from analysis.benchmark_prompts import FORMS
from analysis.run_commands import add_run_arguments, execute
from surveys.models import BenchmarkItem


class Command(BaseCommand):
    help = "Ask every item of an imported benchmark; each repeat or simulated user is one benchmark run."

    def add_arguments(self, parser) -> None:
        parser.add_argument("benchmark")
        parser.add_argument("--form", choices=FORMS, default=FORMS[0], help="how an item is put")
        parser.add_argument("--worked-examples", action="store_true", help="five solved items in front")
        add_run_arguments(parser)

    def handle(self, *args, **options) -> None:
        name = options["benchmark"]
        if not BenchmarkItem.objects.filter(benchmark=name).exists():
            names = BenchmarkItem.objects.order_by("benchmark").values_list("benchmark", flat=True).distinct()
            known = ", ".join(names) or "none yet"
            raise CommandError(f"There is no benchmark {name!r} ({known}). Import it with import_benchmark.")
        form = {"prompt_form": options["form"], "worked_examples": options["worked_examples"]}
        execute(options, self.stdout, benchmark=name, **form)
