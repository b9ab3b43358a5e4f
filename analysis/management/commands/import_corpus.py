"""Import a file of real conversations."""

from dataclasses import asdict
from pathlib import Path

from django.core.management.base import CommandError

from analysis.people.corpora import IMPORTERS
from analysis.people.corpora.importing import ImportFailed, import_corpus, note_origin, say_same_ids
from surveys.studies.imports.actions import Action, Options, ProgressLine, Report, arg, flag
from surveys.studies.wording import fill

FAULTS_SHOWN = 5


class Command(Action):
    help = "Import conversations (JSON, JSONL or Parquet, also .gz or .zst). The same content is kept once."
    arguments = (
        arg("name", help="the corpus's name, such as wildchat"),
        arg("file", type=Path),
        arg("--format", required=True, choices=sorted(IMPORTERS)),
        arg("--limit", type=int, help="stop after this many conversations"),
        arg("--source", default="", help="where the conversations come from, shown beside them"),
        arg("--licence", default="", help="the licence of the conversations, such as ODC-BY"),
        flag("--allow-erased", "bring back users who were erased"),
    )
    reads = {"file": ".jsonl"}  # noqa: RUF012
    faults = (ImportFailed,)

    def run(self, options: Options) -> Report:
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit is the number of conversations to import, at least 1.")
        name, path, kind, limit = (options[each] for each in ("name", "file", "format", "limit"))
        with ProgressLine("conversations", self.stderr._out) as progress:
            report = import_corpus(name, path, kind, limit, progress.show, allow_erased=options["allow_erased"])
        note_origin(options["name"], options["source"], options["licence"])
        for fault in report.faults[:FAULTS_SHOWN]:
            self.stderr.write(f"{options['file']} {fault}. {report.whole:,} whole conversations were kept.")
        if report.fault_count > FAULTS_SHOWN:
            self.stderr.write(f"... and {report.fault_count - FAULTS_SHOWN:,} more.")
        if words := say_same_ids(report):
            self.stderr.write(words)
        return asdict(report)

    def tell(self, report: Report, options: Options) -> str:
        line = "{corpus}: {whole:whole conversation}: {new:,} new, {there:,} repeated, {empty:,} empty"
        return fill(line + (", {erased:,} of erased users left out" if report["erased"] else ""), **report)
