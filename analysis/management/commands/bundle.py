"""Write a study's replication bundle."""

import sys
from pathlib import Path

from analysis.agreement.bundles import begin_label_bundle
from analysis.report.bundle.bundles import begin_bundle, write_bundle
from analysis.report.filters import FilterError
from analysis.report.pairs.sides import sides_in
from analysis.report.reports import ReportError
from surveys.models import Study
from surveys.studies.imports.actions import ACTOR, Options, Report, StudyAction, arg, flag, writing
from surveys.studies.labels import questions_of


class Command(StudyAction):
    help = (
        "Write the replication bundle of a study: definition, codebook, pseudonymised data, report, figures, and a "
        "script that recomputes them. Pasted texts, what annotators were shown and replies are left out unless asked "
        "for; names and ids always."
    )
    arguments = (
        arg("file", type=Path, help="the zip file to write"),
        flag("--texts", "with what people pasted or were shown, and what models replied"),
        arg("--compare", metavar="SIDE", help="one side of its pair, as in report; else the usual two"),
        arg("--with", metavar="SIDE", help="the other side"),
    )
    writes = {"file": False}  # noqa: RUF012
    faults = (FilterError, ReportError)
    words = "{file}: {files:file}, {bytes:byte}"

    def carry_out(self, study: Study, options: Options) -> Report:
        path = options["file"]
        begin = begin_label_bundle if questions_of(study) else begin_bundle
        bundle = begin(study, ACTOR, options["texts"], tuple(sides_in(options)))
        with writing(path):
            write_bundle(bundle, path, show_part)
        return {"study": study.slug, "file": str(path), "files": len(bundle.files), "bytes": path.stat().st_size}


def show_part(done: int, total: int, part: str) -> None:
    live, words = sys.stderr.isatty(), f"{done} of {total}: {part}".rstrip(" :")
    end = "" if live and done < total else "\n"
    print(f"\r{words:<60}" if live else words, end=end, file=sys.stderr, flush=True)
