"""A report in sections with figures and tables, as it goes into one HTML file or a PDF."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.report.figures import FIGURES, Figure, Options, render
from analysis.report.findings import findings
from analysis.report.outputs.tables import Table, tables_of
from analysis.report.outputs.text import basis

# The figure above a part's tables, where it is not called like the part.
FIGURE_OF = {"cells": "demographics"}


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
    flow: list[tuple[str, int]]
    sections: list[Section]


def make_document(report: Mapping[str, Any], scheme: str) -> Document:
    """Everything that is in the report; figures in the colours of `scheme` (light or print)."""
    return Document(
        report=report,
        basis=list(basis(report)),
        findings=findings(report),
        flow=list(flow_rows(report.get("flow") or {})),
        sections=list(sections_of(report, scheme)),
    )


def flow_rows(flow: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Counts of people in the order of their way through the study."""
    for name, words in FLOW.items():
        if name in flow and (flow[name] or name in ALWAYS):
            yield words, flow[name]


ALWAYS = ("started", "completed", "analysed")
FLOW = {
    "started": "Came to the first page",
    "consented": "Agreed to take part",
    "screened_out": "Screened out",
    "over_quota": "Over quota",
    "misunderstood": "Comprehension check failed twice",
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
    for table in tables_of(report):
        tables.setdefault(table.part, []).append(table)
    for part, of_part in tables.items():
        names = dict.fromkeys(name for table in of_part for name in table.definitions)
        defined = [(name, report["definitions"][name]) for name in names]
        yield Section(part, of_part[0].title, defined, list(drawings_of(report, part, scheme)), of_part)


def drawings_of(report: Mapping[str, Any], part: str, scheme: str) -> Iterator[Drawing]:
    name = FIGURE_OF.get(part, part)
    for options in options_of(report, name):
        figure = FIGURES[name](report, options)
        yield Drawing(figure, render(figure, "svg", scheme).decode())


def options_of(report: Mapping[str, Any], name: str) -> list[Options]:
    """Items are drawn for each prompt; measures of unequal samples rarefied."""
    if name == "items":
        return [Options(prompt=prompt) for prompt in dict.fromkeys(row["prompt"] for row in report["items"])]
    return [Options(rarefied=True)]
