"""Print a study's report: field against offline against sock puppets, with intervals."""

import json
import sys
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.http import QueryDict

from analysis.exports import write_whole
from analysis.filter_options import checked
from analysis.filters import FilterError, Filters
from analysis.progress import Progress
from analysis.readings import read_new
from analysis.report_html import write_html
from analysis.report_pdf import write_pdf
from analysis.report_text import write_text
from analysis.reports import PARTS, ReportError, report
from analysis.stats.resampling import DRAWS
from surveys.models import Study

FEWEST, MOST = 20, 100_000


class Command(BaseCommand):
    help = (
        "Print a study's report. New answers are read first; parts that nothing has changed since are taken as they "
        "were computed."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        parser.add_argument(
            "--filter",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="as in the address of a page: chatbot=gemini, memory=off, answer=gender:Woman, prompt=movies, …",
        )
        parser.add_argument("--parts", nargs="+", choices=PARTS, metavar="PART", help=f"only these: {', '.join(PARTS)}")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--draws", type=int, default=DRAWS, help=f"random draws for each interval ({DRAWS})")
        parser.add_argument("--html", type=Path, metavar="FILE", help="write one HTML file that needs nothing else")
        parser.add_argument("--pdf", type=Path, metavar="FILE", help="write a paged PDF")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        if not FEWEST <= options["draws"] <= MOST:
            raise CommandError(f"--draws takes {FEWEST} to {MOST:,}, not {options['draws']}.")
        try:
            study = self.find_study(options["study"])
            filters = checked(study, read_filters(options["filter"]))
            self.read(study)
            parts = options["parts"] or PARTS
            found = report(
                study, filters, seed=options["seed"], draws=options["draws"], parts=parts, progress=self.tell
            )
        except (FilterError, ReportError) as error:
            raise CommandError(str(error)) from None
        self.write_files(found, options)
        if options["json"]:
            self.stdout.write(json.dumps(found))
        elif not (options["html"] or options["pdf"]):
            self.stdout.write(write_text(found, options["parts"]))

    def find_study(self, slug: str) -> Study:
        study = Study.objects.select_related("current").filter(slug=slug).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no study {slug!r} ({known}). Load it with load_study.")
        if study.current is None:
            raise ReportError(f"{study.slug} has no definition yet. Load its study file first.")
        return study

    def read(self, study: Study) -> None:
        progress = Progress("answers read")
        read_new(study, lambda done, total: progress.show(done / total, done))
        progress.end()

    def tell(self, done: int, total: int, part: str) -> None:
        if part:
            self.say(f"[{done + 1}/{total}] {part}")

    def write_files(self, found: dict, options: dict) -> None:
        for option, write in (("html", lambda: write_html(found).encode()), ("pdf", lambda: write_pdf(found))):
            if path := options[option]:
                self.say(f"Drawing {path.name}")
                try:
                    write_whole(path, iter([write()]))
                except OSError as error:
                    raise CommandError(f"{path}: cannot be written: {error.strerror}") from None
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
