"""Read what is new, or was read by older rules."""

import json
import time

from django.core.management.base import BaseCommand, CommandError

from analysis.readings import read_new
from surveys.answers import RULES_VERSION
from surveys.models import Study


class Command(BaseCommand):
    help = "Read the texts that have no answer yet or one by older rules. What a person decided is left alone."

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no study {options['study']}. Studies: {known}.")
        began = time.monotonic()
        count = read_new(study, self.show)
        seconds = round(time.monotonic() - began, 2)
        report = {"study": study.slug, "read": count, "rules_version": RULES_VERSION, "seconds": seconds}
        line = "{study}: {read:,} texts read by version {rules_version} of the rules in {seconds} s"
        self.stdout.write(json.dumps(report) if options["json"] else line.format(**report))

    def show(self, done: int, total: int) -> None:
        self.stderr.write(f"\r{done:,} of {total:,} texts", ending="\n" if done == total else "")
        self.stderr.flush()
