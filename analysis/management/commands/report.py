"""Print a study's report: field against offline against sock puppets, with intervals."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.http import QueryDict

from analysis.answers.readings import read_new
from analysis.exports.exports import write_whole
from analysis.management.paper import NAME as PAPER_2
from analysis.management.paper import report_paper
from analysis.report.filters import IN_ADDRESSES, FilterError, Filters
from analysis.report.outputs.documents import write_html, write_pdf
from analysis.report.outputs.text import write_text
from analysis.report.pairs.sides import checked, sides_in
from analysis.report.parts import PARTS
from analysis.report.reports import DRAWS, ReportError, report
from analysis.runs.progress import ProgressLine
from surveys.imports.study_command import StudyCommand, writing
from surveys.models import Study

FEWEST, MOST = 20, 100_000


class Command(StudyCommand):
    help = (
        f"Print a study's report, or with {PAPER_2} the figures and tables of a paper about people. New answers are "
        "read first; parts that nothing has changed since are taken as they were computed."
    )
    writes = {"html": False, "pdf": False}  # noqa: RUF012

    faults = (FilterError, ReportError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "studies", nargs="*", metavar="STUDY", help=f"after {PAPER_2}: its stages (default those that ship)"
        )
        parser.add_argument("--corpora", nargs="+", default=[], metavar="NAME", help=f"{PAPER_2}: default all sampled")
        parser.add_argument("--out", type=Path, metavar="FOLDER", help=f"{PAPER_2}: write its figures there too")
        parser.add_argument(
            "--filter",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="as in the address of a page: chatbot=gemini, memory=off, answer=gender:Woman, prompt=movies; "
            f"there is {', '.join(IN_ADDRESSES)}",
        )
        parser.add_argument(
            "--compare",
            metavar="SIDE",
            help="one side, compared with another: field/chatgpt, field/chatgpt/plan=free, offline/gpt-4o-mini, "
            "run/12, other-study:field",
        )
        parser.add_argument("--with", metavar="SIDE", help="the other side")
        parser.add_argument("--parts", nargs="+", choices=PARTS, metavar="PART", help=f"only these: {', '.join(PARTS)}")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--draws", type=int, default=DRAWS, help=f"random draws for each interval ({DRAWS})")
        parser.add_argument("--html", type=Path, metavar="FILE", help="write one HTML file that needs nothing else")
        parser.add_argument("--pdf", type=Path, metavar="FILE", help="write a paged PDF")

    def handle(self, **options: Any) -> None:
        if options["study"] == PAPER_2 and not Study.objects.filter(slug=PAPER_2).exists():
            self.stdout.write(report_paper(options))
            return
        if options["studies"] or options["corpora"] or options["out"]:
            raise CommandError(f"A report is about one study. {PAPER_2} stands for the figures and tables of a paper.")
        super().handle(**options)

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        if not FEWEST <= options["draws"] <= MOST:
            raise CommandError(f"--draws takes {FEWEST} to {MOST:,}, not {options['draws']}.")
        if study.current is None:
            raise CommandError(f"{study.slug} has no definition yet. Load its study file first.")
        filters = checked(
            study,
            read_filters([*options["filter"], *(f"compare={side}" for side in sides_in(options))]),
            Study.objects.all(),
        )
        with ProgressLine("answers read") as progress:
            read_new(study, progress.count, anew=False)
        parts = options["parts"] or PARTS
        found = report(
            study, filters, seed=options["seed"], draws=options["draws"], parts=parts, progress=self.say_part
        )
        self.write_files(found, options)
        if options["json"]:
            self.stdout.write(json.dumps(found))
        elif not (options["html"] or options["pdf"]):
            self.stdout.write(write_text(found, options["parts"]))

    def say_part(self, done: int, total: int, part: str) -> None:
        if part:
            self.say(f"[{done + 1}/{total}] {part}")

    def write_files(self, found: dict, options: dict) -> None:
        for option, write in (("html", lambda: write_html(found).encode()), ("pdf", lambda: write_pdf(found))):
            if path := options[option]:
                self.say(f"Drawing {path.name}")
                with writing(path):
                    write_whole(path, iter([write()]))
                self.say(f"{path}: {path.stat().st_size:,} bytes")

    def say(self, words: str) -> None:
        print(words, file=sys.stderr, flush=True)


def read_filters(given: list[str]) -> Filters:
    """NAME=VALUE pairs as the query string that they would be."""
    query = QueryDict(mutable=True)
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise FilterError(f"--filter takes NAME=VALUE, not {pair[:60]!r}.")
        query.appendlist(name.strip(), value)
    return Filters.from_query(query)
