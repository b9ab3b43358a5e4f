"""The parts of a report: each a function from the data to its rows."""

from collections.abc import Callable
from typing import Any

from analysis.report.parts import (
    about,
    benchmarks,
    calibration,
    choices,
    costs,
    distances,
    drift,
    flow,
    groups,
    heterogeneity,
    items,
    precision,
    scores,
    variants,
)
from analysis.report.samples import Data

# Raise this whenever the same data may give other numbers or other columns; stored parts name it.
METRICS_VERSION = 5

# Rows, except of `flow` and `about`, which are one object.
METRICS: dict[str, Callable[[Data], Any]] = {
    "about": about.about,
    "heterogeneity": heterogeneity.rows,
    "choices": choices.rows,
    "distances": distances.rows,
    "calibration": calibration.rows,
    "items": items.rows,
    "benchmarks": benchmarks.rows,
    "costs": costs.costs,
    "latency": costs.latency,
    "cells": groups.cells,
    "contexts": groups.contexts,
    "drift": drift.rows,
    "scores": scores.rows,
    "variants": variants.rows,
    "precision": precision.rows,
    "flow": flow.counts,
    "sensitivity": groups.sensitivity,
}
