"""Which comparing pages there are: what each asks, and the parts of the report that it shows."""

from dataclasses import dataclass

from analysis.charts.figure import Report
from analysis.report.parts import PARTS


@dataclass(frozen=True)
class Page:
    """`parts` are what has to be computed, of which `shown` stand on the page, all unless it says so.

    `kind` names the findings that may head it; `switches` what a reader may choose on it.
    """

    name: str
    title: str
    question: str
    parts: tuple[str, ...]
    kind: str = ""
    switches: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = None
    otherwise: str = ""  # what it opens with where no finding does, instead of the sentence of its first part

    @property
    def sections(self) -> tuple[str, ...]:
        return self.parts if self.shown is None else self.shown

    def say(self, report: Report) -> str:
        say = PARTS[self.parts[0]].say
        return self.otherwise or (say(report) if say else self.question)


OVERVIEW = Page(
    "overview",
    "Compare",
    "What differs most between the field, offline runs and sock puppets.",
    ("heterogeneity", "choices", "benchmarks", "calibration", "cells", "drift"),
    shown=(),
    otherwise="No difference between the field and the models is sure yet.",
)
PAGES: dict[str, Page] = {
    page.name: page
    for page in (
        OVERVIEW,
        Page(
            "heterogeneity",
            "Heterogeneity",
            "How different are the answers of each source?",
            ("heterogeneity",),
            "heterogeneity",
            ("values",),
        ),
        Page(
            "choices",
            "Choices",
            "Which option does each source take, and how often is it right?",
            ("choices",),
            "choices",
        ),
        Page(
            "benchmarks", "Benchmarks", "How far do the scores of single runs lie apart?", ("benchmarks",), "benchmarks"
        ),
        Page(
            "items",
            "Items",
            "What does each source recommend?",
            ("items", "heterogeneity"),
            "items",
            ("prompt", "search"),
            ("items",),
        ),
        Page(
            "distances",
            "Distances",
            "How far is each source from the field, and which sock puppet comes nearest?",
            ("distances", "calibration", "scores"),
            "calibration",
            shown=("calibration", "distances", "scores"),
        ),
        Page(
            "demographics",
            "Demographics",
            "Do groups of people, and ways to set up the chatbot, get other answers?",
            ("cells", "contexts"),
            "demographics",
            ("values", "measure"),
        ),
        Page(
            "drift",
            "Drift",
            "Does the same run give the same answers on another day, or to a noisy variant of a prompt?",
            ("drift", "variants"),
            "drift",
        ),
        Page("costs", "Cost and latency", "What do completions cost, and how long do they take?", ("costs", "latency")),
        Page(
            "precision",
            "Precision",
            "How wide will the intervals be with a planned number of answers?",
            ("precision",),
        ),
        Page(
            "sensitivity",
            "Sensitivity",
            "What changes with or without flagged and excluded answers?",
            ("sensitivity",),
            "",
            ("measure",),
        ),
    )
}
# The page that shows a figure: what has to be there before it can be drawn.
PAGE_OF_FIGURE = {PARTS[part].drawn_as: page for page in PAGES.values() for part in page.sections}
# Where a finding leads.
PAGE_OF_KIND = {page.kind: page.name for page in PAGES.values() if page.kind}
