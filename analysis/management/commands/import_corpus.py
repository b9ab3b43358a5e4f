"""Import a file of real conversations."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.corpora import IMPORTERS
from analysis.corpora.importing import ImportFailed, Report, import_corpus, note_origin, say_same_ids
from analysis.runs.progress import ProgressLine
from surveys.imports.study_command import FileCommand

FAULTS_SHOWN = 5


class Command(FileCommand):
    help = "Import conversations (JSON, JSONL or Parquet, also .gz or .zst). The same content is kept once."
    reads = {"file": ".jsonl"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of the corpus, such as wildchat")
        parser.add_argument("file", type=Path)
        parser.add_argument("--format", required=True, choices=sorted(IMPORTERS))
        parser.add_argument("--limit", type=int, help="stop after this many conversations")
        parser.add_argument("--source", default="", help="where the conversations come from, shown beside them")
        parser.add_argument("--licence", default="", help="under which they may be used, such as ODC-BY")
        parser.add_argument("--allow-erased", action="store_true", help="bring back users who were erased")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit is the number of conversations to import, at least 1.")
        progress = ProgressLine("conversations", self.stderr._out)
        try:
            report = import_corpus(
                options["name"],
                options["file"],
                options["format"],
                options["limit"],
                progress.show,
                allow_erased=options["allow_erased"],
            )
        except ImportFailed as error:
            raise CommandError(str(error)) from None
        finally:
            progress.end()
        note_origin(options["name"], options["source"], options["licence"])
        self.tell_faults(report, options["file"])
        if words := say_same_ids(report):
            self.stderr.write(words)
        if options["json"]:
            self.stdout.write(json.dumps(asdict(report)))
        else:
            line = "{corpus}: {whole:,} whole conversations: {new:,} new, {there:,} repeated, {empty:,} empty"
            if report.erased:
                line += ", {erased:,} of erased users left out"
            self.stdout.write(line.format(**asdict(report)))

    def tell_faults(self, report: Report, path: Path) -> None:
        for fault in report.faults[:FAULTS_SHOWN]:
            self.stderr.write(f"{path} {fault}. {report.whole:,} whole conversations were kept.")
        if report.fault_count > FAULTS_SHOWN:
            self.stderr.write(f"... and {report.fault_count - FAULTS_SHOWN:,} more.")
