"""Write a study's replication bundle."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from analysis.agreement.bundle.bundles import begin_label_bundle
from analysis.report.bundle.bundles import begin_bundle, write_bundle
from analysis.report.filters import FilterError
from analysis.report.pairs.sides import sides_in
from analysis.report.reports import ReportError
from surveys.annotation.counted import questions_of
from surveys.imports.study_command import ACTOR, StudyCommand, writing
from surveys.models import Study


class Command(StudyCommand):
    help = (
        "Write the replication bundle of a study: definition, codebook, pseudonymised data, report, figures, and a "
        "script that recomputes them. Pasted texts, what annotators were shown and replies are left out unless asked "
        "for; names and ids always."
    )
    writes = {"file": False}  # noqa: RUF012

    faults = (FilterError, ReportError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="the zip file to write")
        parser.add_argument(
            "--texts", action="store_true", help="with what people pasted or were shown, and what models replied"
        )
        parser.add_argument("--compare", metavar="SIDE", help="one side of its pair, as in report; else the usual two")
        parser.add_argument("--with", metavar="SIDE", help="the other side")

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        path = options["file"]
        begin = begin_label_bundle if questions_of(study) else begin_bundle
        bundle = begin(study, ACTOR, options["texts"], tuple(sides_in(options)))
        with writing(path):
            write_bundle(bundle, path, self.show)
        report = {"study": study.slug, "file": str(path), "files": len(bundle.files), "bytes": path.stat().st_size}
        self.tell(options, report, "{file}: {files} files, {bytes:,} bytes".format(**report))

    def show(self, done: int, total: int, part: str) -> None:
        live, words = sys.stderr.isatty(), f"{done} of {total}: {part}".rstrip(" :")
        end = "" if live and done < total else "\n"
        print(f"\r{words:<60}" if live else words, end=end, file=sys.stderr, flush=True)
