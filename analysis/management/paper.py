"""`report paper-2`: a paper's figures and tables for the terminal, as JSON, or as files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.charts.rendering import render
from analysis.exports.exports import write_whole
from analysis.exports.formats import figure_csv
from analysis.models import Corpus, CorpusStep
from analysis.papers.exhibits import PAPER, STAGES, Exhibit, Sources, exhibits, work_kind
from surveys.imports.actions import find_study, writing
from surveys.models import Study

NAME = "paper-2"  # what stands for a study in `report`
SHIPPED = ("recenter-1-quality", "recenter-2-relevance", "recenter-3-preference")
FILES = ("svg", "pdf", "csv")


def find_sources(slugs: Sequence[str], corpora: Sequence[str]) -> Sources:
    """The studies named, else the paper's own that are here; the corpora named, else all that were sampled."""
    studies = [find_study(slug) for slug in slugs] or list(
        Study.objects.select_related("current").filter(slug__in=SHIPPED).order_by("slug")
    )
    for study in studies:
        if work_kind(study) not in STAGES:
            raise CommandError(f"{study.slug} is none of its stages: annotators judge {', '.join(STAGES)} items there.")
    found = Corpus.objects.filter(name__in=corpora) if corpora else sampled_corpora()
    missing = set(corpora) - {corpus.name for corpus in found}
    if missing:
        raise CommandError(f"There is no corpus {', '.join(sorted(missing))}.")
    return Sources(studies, list(found.order_by("name")))


def sampled_corpora() -> Any:
    done = CorpusStep.objects.filter(name=CorpusStep.Name.SAMPLE, state=CorpusStep.State.DONE)
    return Corpus.objects.filter(pk__in=done.values("corpus"))


def report_paper(options: dict[str, Any]) -> str:
    """What the command prints."""
    sources = find_sources(options["studies"], options["corpora"])
    made, simulated = list(exhibits(sources)), sources.simulated()
    if folder := options["out"]:
        with writing(folder):
            write_files(folder, made, simulated)
    if options["json"]:
        return json.dumps({"paper": PAPER, "simulated": simulated, "exhibits": [as_document(each) for each in made]})
    return write_text(made, simulated)


def write_files(folder: Path, made: Sequence[Exhibit], simulated: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "paper.txt", iter([f"{write_text(made, simulated)}\n".encode()]))
    for each in made:
        if each.figure is None:
            continue
        for kind in FILES:
            content = figure_csv(each.figure).encode() if kind == "csv" else render(each.figure, kind)
            write_whole(folder / f"{each.name}.{kind}", iter([content]))


def write_text(made: Sequence[Exhibit], simulated: Sequence[str]) -> str:
    """For a terminal: each exhibit with its numbers, or why there is none."""
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
    """For programs: every number with its interval, n, and the reason where there is none."""
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
