"""Which comparing pages there are: what each asks, the parts of the report it rests on, its figures and tables."""

from collections.abc import Callable
from dataclasses import dataclass

from analysis.report.pages import group_tables, sentences, tables
from analysis.report.pages.cells import Table
from analysis.report.pages.places import Places

MakeTable = Callable[[Places], Table | None]


@dataclass(frozen=True)
class Section:
    """A figure and the tables below it."""

    figure: str
    tables: tuple[MakeTable, ...]


@dataclass(frozen=True)
class Page:
    """`kind` names the findings that may head it; `switches` what a reader may choose on it."""

    name: str
    title: str
    question: str
    parts: tuple[str, ...]
    say: Callable[[Places], str]
    sections: tuple[Section, ...] = ()
    kind: str = ""
    switches: tuple[str, ...] = ()


OVERVIEW = Page(
    "overview",
    "Compare",
    "What differs most between the field, offline runs and sock puppets.",
    ("heterogeneity", "choices", "benchmarks", "calibration", "cells", "drift"),
    sentences.say_nothing_sure,
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
            sentences.say_variety,
            (Section("heterogeneity", (tables.heterogeneity, tables.against_field)),),
            "heterogeneity",
            ("values",),
        ),
        Page(
            "choices",
            "Choices",
            "Which option does each source take, and how often is it right?",
            ("choices",),
            sentences.say_choices,
            (Section("choices", (tables.choices, tables.choices_against)),),
            "choices",
        ),
        Page(
            "benchmarks",
            "Benchmarks",
            "How far do the scores of single runs lie apart?",
            ("benchmarks",),
            sentences.say_benchmarks,
            (Section("benchmarks", (group_tables.benchmarks,)),),
            "benchmarks",
        ),
        Page(
            "items",
            "Items",
            "What does each source recommend?",
            ("items", "heterogeneity"),
            sentences.say_items,
            (Section("items", (tables.items,)),),
            "items",
            ("prompt", "search"),
        ),
        Page(
            "distances",
            "Distances",
            "How far is each source from the field, and which sock puppet comes nearest?",
            ("distances", "calibration", "scores"),
            sentences.say_distances,
            (
                Section("calibration", (tables.calibration,)),
                Section("distances", (tables.distances,)),
                Section("scores", (tables.scores, tables.near_labels)),
            ),
            "calibration",
        ),
        Page(
            "demographics",
            "Demographics",
            "Do groups of people, and ways to set up the chatbot, get other answers?",
            ("cells", "contexts"),
            sentences.say_parts,
            (
                Section("demographics", (group_tables.cells_of_lists, group_tables.cells_of_choices)),
                Section("contexts", (group_tables.contexts_of_lists, group_tables.contexts_of_choices)),
            ),
            "demographics",
            ("values", "measure"),
        ),
        Page(
            "drift",
            "Drift",
            "Does the same run give the same answers on another day, or to a noisy variant of a prompt?",
            ("drift", "variants"),
            sentences.say_drift,
            (Section("drift", (group_tables.drift,)), Section("variants", (group_tables.variants,))),
            "drift",
        ),
        Page(
            "costs",
            "Cost and latency",
            "What do completions cost, and how long do they take?",
            ("costs", "latency"),
            sentences.say_costs,
            (Section("costs", (group_tables.costs,)), Section("latency", (group_tables.latency,))),
        ),
        Page(
            "precision",
            "Precision",
            "How wide will the intervals be with a planned number of answers?",
            ("precision",),
            sentences.say_precision,
            (Section("precision", (group_tables.precision,)),),
        ),
        Page(
            "sensitivity",
            "Sensitivity",
            "What changes with or without flagged and excluded answers?",
            ("sensitivity",),
            sentences.say_sensitivity,
            (Section("sensitivity", (group_tables.sensitivity_of_lists, group_tables.sensitivity_of_choices)),),
            "",
            ("measure",),
        ),
    )
}
# The page that shows a figure: what has to be there before it can be drawn.
PAGE_OF_FIGURE = {section.figure: page for page in PAGES.values() for section in page.sections}
# Where a finding leads.
PAGE_OF_KIND = {page.kind: page.name for page in PAGES.values() if page.kind}
