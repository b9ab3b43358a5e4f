"""Figures of a report, by name: each a function from the report's rows to a Vega-Lite spec with its words and table."""

from collections.abc import Callable

from analysis.charts.figure import Figure, Options, Report
from analysis.charts.rendering import render
from analysis.report.figures.benchmarks import draw_benchmarks
from analysis.report.figures.calibration import draw_calibration
from analysis.report.figures.choices import draw_choices
from analysis.report.figures.costs import draw_costs, draw_latency
from analysis.report.figures.distances import draw_distances
from analysis.report.figures.drift import draw_drift
from analysis.report.figures.groups import CELLS, CONTEXTS, SENSITIVITY
from analysis.report.figures.heterogeneity import draw_heterogeneity
from analysis.report.figures.items import draw_items
from analysis.report.figures.precision import draw_precision
from analysis.report.figures.scores import draw_scores
from analysis.report.figures.variants import draw_variants

FIGURES: dict[str, Callable[[Report, Options], Figure]] = {
    "heterogeneity": draw_heterogeneity,
    "choices": draw_choices,
    "benchmarks": draw_benchmarks,
    "items": draw_items,
    "distances": draw_distances,
    "calibration": draw_calibration,
    "demographics": CELLS.draw,
    "contexts": CONTEXTS.draw,
    "sensitivity": SENSITIVITY.draw,
    "drift": draw_drift,
    "scores": draw_scores,
    "variants": draw_variants,
    "precision": draw_precision,
    "costs": draw_costs,
    "latency": draw_latency,
}

__all__ = ["FIGURES", "Figure", "Options", "Report", "render"]
