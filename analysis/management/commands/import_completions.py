"""Read completions collected elsewhere into a study."""

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from analysis.completion_imports import import_completions
from surveys.import_files import ImportFault
from surveys.models import Study


class Command(BaseCommand):
    help = (
        "Import completions from a CSV file with the columns source, model, prompt and text, optionally run, repeat "
        "and temperature. All rows or none; known rows are skipped."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        parser.add_argument("file", type=Path)
        parser.add_argument("--benchmark", default="", help="the prompts are this benchmark's items")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no study {options['study']}. Studies: {known}.")
        path = options["file"]
        try:
            done = import_completions(study, path, "command line", options["benchmark"])
        except OSError as error:
            raise CommandError(f"{path}: cannot be read: {error.strerror}") from None
        except ImportFault as fault:
            raise CommandError(f"{path}: nothing was imported.\n{fault}") from None
        report = {"study": study.slug, **vars(done)}
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            line = "{study}: {completions} completions in {runs} new runs, {skipped} already there"
            self.stdout.write(line.format(**report))
