"""Write a study's replication bundle."""

import json
import sys
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from analysis.bundle import begin_bundle, write_bundle
from analysis.reports import ReportError
from surveys.models import Study


class Command(BaseCommand):
    help = (
        "Write the replication bundle of a study: definition, codebook, pseudonymised data, report, figures, and a "
        "script that recomputes them. Pasted texts are left out unless asked for; names and ids always."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        parser.add_argument("file", type=Path, help="the zip file to write")
        parser.add_argument("--texts", action="store_true", help="with what people pasted and models replied")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        study, path = Study.objects.filter(slug=options["study"]).first(), options["file"]
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no study {options['study']}. Studies: {known}.")
        bundle = begin_bundle(study, "command line", options["texts"])
        try:
            write_bundle(bundle, path, self.tell)
        except ReportError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{path}: cannot be written: {error.strerror}") from None
        report = {"study": study.slug, "file": str(path), "files": len(bundle.files), "bytes": path.stat().st_size}
        line = "{file}: {files} files, {bytes:,} bytes"
        self.stdout.write(json.dumps(report) if options["json"] else line.format(**report))

    def tell(self, done: int, total: int, part: str) -> None:
        print(f"\r{done} of {total}: {part:<20}", end="\n" if done == total else "", file=sys.stderr, flush=True)
