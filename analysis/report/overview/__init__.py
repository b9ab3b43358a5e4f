"""The first screen of Compare: a sentence, one figure and three small ones, and two answers, of rows that parts keep.

In: a report with heterogeneity, choices, benchmarks and calibration. Out: `OVERVIEW_FIGURES` with a sentence each and
the page that shows more; the headline; and which two answers stand side by side.
"""

from analysis.report.overview.distance_figure import DISTANCE_FIGURE, OverviewFigure
from analysis.report.overview.small_figures import SMALL_FIGURES

OVERVIEW_FIGURES: dict[str, OverviewFigure] = {figure.name: figure for figure in (DISTANCE_FIGURE, *SMALL_FIGURES)}
