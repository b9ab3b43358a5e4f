"""Figures of a report, by name: each a function from the report's rows to a Vega-Lite spec with its words and table."""

from collections.abc import Callable

from analysis.figures.choices import draw_choices
from analysis.figures.figure import Figure, Options, Report
from analysis.figures.heterogeneity import draw_heterogeneity
from analysis.figures.rendering import render

FIGURES: dict[str, Callable[[Report, Options], Figure]] = {
    "heterogeneity": draw_heterogeneity,
    "choices": draw_choices,
}

__all__ = ["FIGURES", "Figure", "Options", "Report", "render"]
