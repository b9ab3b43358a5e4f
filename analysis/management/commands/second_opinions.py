"""Let a model read the texts that the rules are not sure of."""

import json
from decimal import Decimal, InvalidOperation

from django.core.management.base import BaseCommand, CommandError

from analysis.endpoints import EndpointError
from analysis.second_opinions import give_opinions
from surveys.models import Study


class Command(BaseCommand):
    help = "Ask a model what the texts in doubt say. The review page shows it; no answer changes by itself."

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        parser.add_argument("--endpoint", required=True)
        parser.add_argument("--limit", type=int, help="at most so many texts")
        parser.add_argument("--budget", help="dollars")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no study {options['study']}. Studies: {known}.")
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit must be 1 or more.")
        try:
            budget = None if options["budget"] is None else Decimal(options["budget"])
            given = give_opinions(study, options["endpoint"], options["limit"], budget, self.show)
        except InvalidOperation:
            raise CommandError(f"--budget must be dollars such as 2.50, not {options['budget']!r}.") from None
        except EndpointError as error:
            raise CommandError(str(error)) from None
        report = {"study": study.slug, **vars(given), "usd": float(given.usd)}
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            self.stdout.write("{study}: {replies} texts read, {failed} calls failed, ${usd:.4f}".format(**report))
        if given.stopped:
            raise CommandError(f"Stopped early: {given.stopped}")

    def show(self, done: int, total: int) -> None:
        self.stderr.write(f"\r{done:,} of {total:,} texts", ending="\n" if done == total else "")
        self.stderr.flush()
