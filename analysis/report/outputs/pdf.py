"""A report as a paged PDF: figures as vectors, tables that go on over pages, text that can be searched."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typst

from analysis.report.outputs.documents import Document, Drawing, Section, make_document
from analysis.report.outputs.tables import Table

PAGE = Path(__file__).with_name("report_page.typ")
# Long lists of single numbers are for a screen; paper has the figure.
NOT_ON_PAPER = ("items", "latency")
WIDE, HIGH = 760.0, 430.0  # points of a page inside its margins, with room for the caption


def write_pdf(report: Mapping[str, Any]) -> bytes:
    """The bytes of the file: the same for the same report."""
    data = json.dumps(page_data(make_document(report, "print")))
    return bytes(typst.compile(PAGE.read_bytes(), sys_inputs={"data": data}, root=str(PAGE.parent)))


def page_data(document: Document) -> dict[str, Any]:
    report = document.report
    return {
        "title": report["title"],
        "footer": f"{report['study']} · version {report['version']} ({report['version_sha256'][:8]})",
        "simulated": report["simulated"]["is_any"],
        "basis": document.basis,
        "findings": [finding["sentence"] for finding in document.findings],
        "flow": [[name, f"{count:,}"] for name, count in document.flow],
        "sections": [section_data(section) for section in document.sections],
    }


def section_data(section: Section) -> dict[str, Any]:
    tables = [table_data(table) for table in section.tables if table.part not in NOT_ON_PAPER]
    return {
        "title": section.title,
        "definitions": section.definitions,
        "drawings": [drawing_data(drawing) for drawing in section.drawings],
        "tables": tables,
    }


def drawing_data(drawing: Drawing) -> dict[str, Any]:
    figure = drawing.figure
    return {"svg": drawing.svg, "alt": figure.alt, "caption": figure.caption, "height": height_of(drawing.svg)}


def height_of(svg: str) -> float:
    """How high the drawing is on the page: as its shape says, and never more than a page has."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    wide, high = (float(found[1]), float(found[2])) if found else (1.0, 1.0)
    return min(HIGH, WIDE * high / wide)


def table_data(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "labels": table.labels,
        "right": table.right,
        "rows": table.rows,
        "notes": table.notes,
    }
