"""Print a study's report, or a paper's figures and tables: for the terminal, as JSON, or as files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.http import QueryDict

from analysis.agreement.papers.exhibits import PAPER, STAGES, Exhibit, Sources, exhibits, work_kind
from analysis.answers.readings import read_new
from analysis.exports.exports import write_whole
from analysis.models import Corpus, CorpusStep
from analysis.report.filters import IN_ADDRESSES, FilterError, Filters
from analysis.report.outputs import write_html, write_pdf, write_text
from analysis.report.pages.sections import file_of
from analysis.report.pairs.sides import checked, sides_in
from analysis.report.parts import PARTS
from analysis.report.reports import DRAWS, ReportError, report
from surveys.models import Study
from surveys.studies.imports.actions import Options, ProgressLine, Report, StudyAction, arg, find_study, say, writing

FEWEST, MOST = 20, 100_000
PAPER_2 = "paper-2"  # in place of a study
SHIPPED = ("recenter-1-quality", "recenter-2-relevance", "recenter-3-preference")
FILES = ("svg", "pdf", "csv")


class Command(StudyAction):
    help = (
        f"Print a study's report, or with {PAPER_2} the figures and tables of a paper about people. New answers are "
        "read first; parts that nothing has changed since are taken as they were computed."
    )
    arguments = (
        arg("studies", nargs="*", metavar="STUDY", help=f"after {PAPER_2}: its stages (default those that ship)"),
        arg("--corpora", nargs="+", default=[], metavar="NAME", help=f"{PAPER_2}: default all sampled"),
        arg("--out", type=Path, metavar="FOLDER", help=f"{PAPER_2}: write its figures there too"),
        arg(
            "--filter",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="as in the address of a page: chatbot=gemini, memory=off, answer=gender:Woman, prompt=movies; "
            f"there is {', '.join(IN_ADDRESSES)}",
        ),
        arg(
            "--compare",
            metavar="SIDE",
            help="one side, compared with another: field/chatgpt, field/chatgpt/plan=free, offline/gpt-4o-mini, "
            "run/12, other-study:field",
        ),
        arg("--with", metavar="SIDE", help="the other side"),
        arg("--parts", nargs="+", choices=PARTS, metavar="PART", help=f"only these: {', '.join(PARTS)}"),
        arg("--seed", type=int, default=0),
        arg("--draws", type=int, default=DRAWS, help=f"random draws for each interval ({DRAWS})"),
        arg("--html", type=Path, metavar="FILE", help="write one HTML file that needs nothing else"),
        arg("--pdf", type=Path, metavar="FILE", help="write a paged PDF"),
    )
    writes = {"html": False, "pdf": False, "out": True}  # noqa: RUF012
    faults = (FilterError, ReportError)

    def run(self, options: Options) -> Report | None:
        if options["study"] == PAPER_2 and not Study.objects.filter(slug=PAPER_2).exists():
            self.stdout.write(report_paper(options))
            return None
        if options["studies"] or options["corpora"] or options["out"]:
            raise CommandError(f"A report is about one study. {PAPER_2} stands for the figures and tables of a paper.")
        return super().run(options)

    def carry_out(self, study: Study, options: Options) -> Report | None:
        if not FEWEST <= options["draws"] <= MOST:
            raise CommandError(f"--draws takes {FEWEST} to {MOST:,}, not {options['draws']}.")
        if study.current is None:
            raise CommandError(f"{study.slug} has no definition yet. Load its study file first.")
        given = [*options["filter"], *(f"compare={side}" for side in sides_in(options))]
        filters = checked(study, read_filters(given), Study.objects.all())
        with ProgressLine("answers read") as progress:
            read_new(study, progress.count, anew=False)
        settings = {"seed": options["seed"], "draws": options["draws"], "parts": options["parts"] or PARTS}
        found = report(study, filters, **settings, progress=say_part)
        write_files(found, options)
        return None if (options["html"] or options["pdf"]) and not options["json"] else found

    def tell(self, found: Report, options: Options) -> str:
        return write_text(found, options["parts"])


def say_part(done: int, total: int, part: str) -> None:
    if part:
        say(f"[{done + 1}/{total}] {part}")


def write_files(found: Report, options: Options) -> None:
    for option, write in (("html", lambda: write_html(found).encode()), ("pdf", lambda: write_pdf(found))):
        if path := options[option]:
            say(f"Drawing {path.name}")
            with writing(path):
                write_whole(path, iter([write()]))
            say(f"{path}: {path.stat().st_size:,} bytes")


def read_filters(given: list[str]) -> Filters:
    """Read NAME=VALUE pairs as the query string that they would be. Raises FilterError."""
    query = QueryDict(mutable=True)
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise FilterError(f"--filter takes NAME=VALUE, not {pair[:60]!r}.")
        query.appendlist(name.strip(), value)
    return Filters.from_query(query)


def find_sources(slugs: Sequence[str], corpora: Sequence[str]) -> Sources:
    """Find the named studies, else the paper's own that are here; the named corpora, else all that were sampled."""
    studies = [find_study(slug) for slug in slugs] or list(
        Study.objects.select_related("current").filter(slug__in=SHIPPED).order_by("slug")
    )
    for study in studies:
        if work_kind(study) not in STAGES:
            raise CommandError(f"{study.slug} is none of its stages: annotators judge {', '.join(STAGES)} items there.")
    sampled = CorpusStep.objects.filter(name=CorpusStep.Name.SAMPLE, state=CorpusStep.State.DONE)
    found = Corpus.objects.filter(**{"name__in": corpora} if corpora else {"pk__in": sampled.values("corpus")})
    missing = set(corpora) - {corpus.name for corpus in found}
    if missing:
        raise CommandError(f"There is no corpus {', '.join(sorted(missing))}.")
    return Sources(studies, list(found.order_by("name")))


def report_paper(options: dict[str, Any]) -> str:
    """Return what the command prints; also write the files of --out."""
    sources = find_sources(options["studies"], options["corpora"])
    made, simulated = list(exhibits(sources)), sources.simulated()
    if folder := options["out"]:
        with writing(folder):
            write_paper(folder, made, simulated)
    if options["json"]:
        return json.dumps({"paper": PAPER, "simulated": simulated, "exhibits": [as_document(each) for each in made]})
    return say_paper(made, simulated)


def write_paper(folder: Path, made: Sequence[Exhibit], simulated: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "paper.txt", iter([f"{say_paper(made, simulated)}\n".encode()]))
    for each in made:
        if each.figure is None:
            continue
        for kind in FILES:
            write_whole(folder / f"{each.name}.{kind}", iter([file_of(each.figure, kind)]))


def say_paper(made: Sequence[Exhibit], simulated: Sequence[str]) -> str:
    """Format the paper for a terminal: each exhibit with its numbers, or why there is none."""
    blocks = [f"Simulated, not real: {', '.join(simulated)}"] if simulated else []
    for each in made:
        where = f" ({each.study})" if each.study else ""
        lines = [f"{each.number.upper()}  {each.title}{where}"]
        lines += [f"  {words}" for words in (each.note, each.why) if words]
        for table in each.tables:
            lines += ["", *([f"  {table.title}"] if table.title else []), *(f"  {line}" for line in table.aligned())]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def as_document(each: Exhibit) -> Mapping[str, Any]:
    """Make JSON of an exhibit: every number with its interval, n, and the reason if there is none."""
    return {
        "number": each.number,
        "title": each.title,
        "study": each.study,
        "note": each.note,
        "why": each.why,
        "figure": list(each.figure.table) if each.figure else [],
        "tables": [
            {
                "title": table.title,
                "columns": [column.label for column in table.columns],
                "rows": [
                    [{"value": cell.value, "ci": cell.ci, "n": cell.n, "why": cell.why} for cell in row]
                    for row in table.rows
                ],
            }
            for table in each.tables
        ],
    }
