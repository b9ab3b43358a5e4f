"""A report as tables of words, as text for a terminal, as one self-contained HTML file, and as a paged PDF.

The text has findings as sentences, then aligned tables; the documents have sections with figures and tables.
"""

import json
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typst
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from analysis.charts.figure import Figure, Options, Report, Row
from analysis.charts.rendering import render
from analysis.charts.rows import names_in, simulated_words
from analysis.charts.tables import NOTHING, Table
from analysis.report.claims.gate import opening_of
from analysis.report.columns import TableSpec
from analysis.report.parts import PARTS
from analysis.report.reports import findings
from surveys.studies.flow import OUTCOME_NAMES
from surveys.studies.wording import plural


def tables_of(report: Report, parts: Iterable[str] | None = None) -> list[tuple[str, Table]]:
    """The tables of these parts that have rows, each with its part's name, in the order of PARTS."""
    wanted = PARTS.keys() if parts is None else set(parts)
    chosen = [(part.name, spec) for part in PARTS.values() if part.name in wanted for spec in part.tables]
    return [(name, make_table(spec, rows)) for name, spec in chosen if (rows := spec.rows(report, Options()))]


def make_table(spec: TableSpec, rows: list[Row]) -> Table:
    """Make a table without its empty columns, with the reasons for undefined values."""
    table = spec.table(rows, Options())
    shown = [at for at in range(len(table.columns)) if any(row[at].line != NOTHING for row in table.rows)]
    undefined = [row[key] for row in rows for key in ("why", "why_references", "why_nearest") if row.get(key)]
    unsure = [why for at in shown for row in table.rows if (why := row[at].unsure)]
    return replace(
        table,
        columns=[table.columns[at] for at in shown],
        rows=[[row[at] for at in shown] for row in table.rows],
        reasons=list(dict.fromkeys([*undefined, *unsure])),
    )


# The parts printed by default.
SHORT = tuple(part.name for part in PARTS.values() if part.is_brief)
PLANNED = "as_planned"  # before all that is explored


def write_text(report: Mapping[str, Any], parts: Iterable[str] | None = None, width: int | None = None) -> str:
    columns = width or shutil.get_terminal_size((120, 40)).columns
    tables = tables_of(report, SHORT if parts is None else parts)
    blocks = [
        "\n".join(heading(report, columns)),
        *("\n".join(table_lines(table, report["definitions"], columns)) for part, table in tables if part == PLANNED),
        "\n".join(found_lines(report, columns)),
        *("\n".join(table_lines(table, report["definitions"], columns)) for part, table in tables if part != PLANNED),
    ]
    return "\n\n".join(block for block in blocks if block)


def heading(report: Mapping[str, Any], columns: int) -> Iterator[str]:
    yield f"{report['title']} · {report['study']}, version {report['version']} ({report['version_sha256'][:8]})"
    for sentence in basis(report):
        yield from textwrap.wrap(sentence, columns)


def basis(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the data behind the numbers."""
    answers = report["answers"]
    yield (
        f"{answers['field']:,} answers of {plural(answers['people'], 'person', 'people')} and {answers['models']:,} of "
        f"models. {report['filters']['words']}"
    )
    if simulated := simulated_words(report):
        yield simulated
    if sentence := report["languages"]["sentence"]:
        yield sentence
    if answers["unread"]:
        yield f"{plural(answers['unread'], 'answer')} not read yet."
    if answers["outdated"]:
        yield f"{plural(answers['outdated'], 'reading')} by earlier rules."
    if report["reading_error"]:
        yield report["reading_error"]
    if answers["reworded"]:
        yield f"{plural(answers['reworded'], 'answer')} to choices in an earlier wording left out."
    for rule in report["exclusions"]:
        if rule["kind"]:
            yield (
                f"Rule {rule['slug']} ({rule['rule']}; declared {rule['declared']}): "
                f"{plural(rule['people'], 'person', 'people')}, {plural(rule['answers'], 'answer')}."
            )
    yield f"{report['draws']:,} draws, seed {report['seed']}; computed {moment(report['generated_at'])}."


def moment(written: str) -> str:
    at = datetime.fromisoformat(written).astimezone(UTC)
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def found_lines(report: Mapping[str, Any], columns: int) -> Iterator[str]:
    page = "pair" if report.get("pair") else "overview"
    found = findings(report, page)
    opening = opening_of(report, page) or "There is too little to compare yet."
    if found or report.get(PLANNED):
        yield found_title(report).upper()
    if not found:
        yield from textwrap.wrap(opening, columns)
    for number, finding in enumerate(found, 1):
        lead = f"{number:2}. "
        yield from textwrap.wrap(finding["sentence"], columns, initial_indent=lead, subsequent_indent=" " * len(lead))


def found_title(report: Mapping[str, Any]) -> str:
    """The heading of findings, which are explored in a study with a plan."""
    return "Explored: what stands out" if report.get(PLANNED) else "What stands out"


def table_lines(table: Table, definitions: Mapping[str, str], columns: int) -> Iterator[str]:
    yield table.title.upper()
    for name in table.definitions:
        if name in definitions:
            yield from textwrap.wrap(f"{name}: {definitions[name]}", columns, subsequent_indent="  ")
    yield ""
    yield from table.aligned()
    for reason in table.reasons:
        yield from textwrap.wrap(f"– {reason}", columns, subsequent_indent="  ")


# --- documents ---------------------------------------------------------------


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
    """Gather everything in the report, with figures in the colours of `scheme` (light or print)."""
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
FLOW = {  # in the order of the study
    "started": "Came to the first page",
    "consented": "Agreed to take part",
    **{name: words for name, words in OUTCOME_NAMES.items() if name != "no_consent"},
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
    """All styles of the file in one element, safe since they are our own; the platform's pages have none."""
    found = [finders.find(name) for name in STYLES]
    styles = "\n".join(Path(path).read_text() for path in found if path)
    return mark_safe(f"<style>\n{styles}\n</style>")


PAGE = Path(__file__).with_name("report_page.typ")
WIDE, HIGH = 760.0, 430.0  # points of a page inside its margins, with room for the caption


def write_pdf(report: Mapping[str, Any]) -> bytes:
    """Write the PDF; the same report gives the same bytes."""
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
    """The drawing's height on the page in points: by its shape, at most HIGH."""
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
