"""A report in sections with figures and tables: as one self-contained HTML file, and as a paged PDF."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typst
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from analysis.charts.figure import Figure, Options
from analysis.charts.rendering import render
from analysis.charts.rows import names_in
from analysis.charts.tables import Table
from analysis.report.claims.gate import opening_of
from analysis.report.outputs.text import PLANNED, basis, found_title, tables_of
from analysis.report.parts import PARTS
from analysis.report.reports import findings


@dataclass(frozen=True)
class Drawing:
    figure: Figure
    svg: str


@dataclass(frozen=True)
class Section:
    part: str
    title: str
    definitions: list[tuple[str, str]]
    drawings: list[Drawing]
    tables: list[Table]


@dataclass(frozen=True)
class Document:
    report: Mapping[str, Any]
    basis: list[str]
    findings: list[dict[str, Any]]
    opening: str
    flow: list[tuple[str, int]]
    planned: list[Section]  # hypotheses, before everything explored
    sections: list[Section]

    @property
    def found_title(self) -> str:
        return found_title(self.report)


def make_document(report: Mapping[str, Any], scheme: str) -> Document:
    """Gathers everything in the report, with figures in the colours of `scheme` (light or print)."""
    sections, flow = list(sections_of(report, scheme)), report.get("flow") or {}
    return Document(
        report=report,
        basis=list(basis(report)),
        findings=findings(report),
        opening=opening_of(report, "overview"),
        flow=[(words, flow[name]) for name, words in FLOW.items() if name in flow and (flow[name] or name in ALWAYS)],
        planned=[section for section in sections if section.part == PLANNED],
        sections=[section for section in sections if section.part != PLANNED],
    )


ALWAYS = ("started", "completed", "analysed")
FLOW = {  # in the order of people's way through the study
    "started": "Came to the first page",
    "consented": "Agreed to take part",
    "screened_out": "Screened out",
    "over_quota": "Over quota",
    "misunderstood": "Comprehension check or training failed twice",
    "technical": "Technical trouble",
    "returned": "Returned",
    "timed_out": "Timed out",
    "withdrawn": "Withdrew",
    "in_progress": "Still in progress",
    "completed": "Completed",
    "excluded": "Left out of the analysis",
    "analysed": "Analysed",
}


def sections_of(report: Mapping[str, Any], scheme: str) -> Iterator[Section]:
    tables: dict[str, list[Table]] = {}
    for part, table in tables_of(report):
        tables.setdefault(part, []).append(table)
    for part, of_part in tables.items():
        names = dict.fromkeys(name for table in of_part for name in table.definitions)
        defined = [(name, report["definitions"][name]) for name in names]
        yield Section(part, of_part[0].title, defined, list(drawings_of(report, part, scheme)), of_part)


def drawings_of(report: Mapping[str, Any], part: str, scheme: str) -> Iterator[Drawing]:
    if draw := PARTS[part].draw:
        for options in options_of(report, part):
            figure = draw(report, options)
            yield Drawing(figure, "" if figure.is_empty else render(figure, "svg", scheme).decode())


def options_of(report: Mapping[str, Any], name: str) -> list[Options]:
    """How to draw a part: `items` once for each prompt, all others once, with rarefied measures."""
    if name == "items":
        prompts = dict.fromkeys(row["prompt"] for row in report["items"])
        return [Options(prompt=prompt, names=names_in(report)) for prompt in prompts]
    return [Options(rarefied=True, names=names_in(report))]


STYLES = ("surveys/tokens.css", "analysis/sources.css", "analysis/figures.css", "analysis/report_file.css")


def write_html(report: Mapping[str, Any]) -> str:
    document = make_document(report, "light")
    return render_to_string("report/report_file.html", {"document": document, "style": style_element()})


def style_element() -> str:
    """All styles of the file in one element, marked safe as they are our own; platform pages have no such element."""
    found = [finders.find(name) for name in STYLES]
    styles = "\n".join(Path(path).read_text() for path in found if path)
    return mark_safe(f"<style>\n{styles}\n</style>")


PAGE = Path(__file__).with_name("report_page.typ")
WIDE, HIGH = 760.0, 430.0  # points of a page inside its margins, with room for the caption


def write_pdf(report: Mapping[str, Any]) -> bytes:
    """Writes the PDF; the same report gives the same bytes."""
    data = json.dumps(page_data(make_document(report, "print")))
    source: Any = PAGE.read_bytes()
    return bytes(typst.compile(source, sys_inputs={"data": data}, root=str(PAGE.parent)))


def page_data(document: Document) -> dict[str, Any]:
    report = document.report
    return {
        "title": report["title"],
        "footer": f"{report['study']} · version {report['version']} ({report['version_sha256'][:8]})",
        "simulated": report["simulated"]["is_any"],
        "basis": document.basis,
        "found_title": document.found_title,
        "findings": [finding["sentence"] for finding in document.findings],
        "opening": document.opening or "There is too little to compare yet.",
        "flow": [[name, f"{count:,}"] for name, count in document.flow],
        "planned": [section_data(section) for section in document.planned],
        "sections": [section_data(section) for section in document.sections],
    }


def section_data(section: Section) -> dict[str, Any]:
    drawings = [
        {"svg": each.svg, "alt": each.figure.alt, "caption": each.figure.caption, "height": height_of(each.svg)}
        for each in section.drawings
    ]
    tables = [] if PARTS[section.part].is_long else [table_data(table) for table in section.tables]
    return {"title": section.title, "definitions": section.definitions, "drawings": drawings, "tables": tables}


def height_of(svg: str) -> float:
    """The drawing's height on the page in points: by its shape, and at most what a page has."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    wide, high = (float(found[1]), float(found[2])) if found else (1.0, 1.0)
    return min(HIGH, WIDE * high / wide)


def table_data(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "labels": [column.head for column in table.columns],
        "right": [column.is_number for column in table.columns],
        "rows": table.lines,
        "notes": table.reasons,
    }
