"""The parts of a report, one file each: numbers, tables, figure and sentences; and the registry of them all."""

from analysis.report.columns import Part, intervals
from analysis.report.pairs import part as pair
from analysis.report.parts import (
    about,
    blend,
    calibration,
    costs,
    distances,
    drift,
    groups,
    heterogeneity,
    items,
    mixes,
    precision,
    scores,
    sensitivity,
    variants,
)
from analysis.report.persons import arms, explanations, person_or_dice, positions, taken
from analysis.report.planned import part as as_planned
from analysis.report.questions import benchmarks, choices, field_benchmark, variability

# In document order.
ALL_PARTS = (
    about.ABOUT,
    as_planned.PART,
    pair.PART,
    heterogeneity.PART,
    items.PART,
    choices.PART,
    distances.PART,
    calibration.PART,
    mixes.PART,
    blend.PART,
    person_or_dice.PART,
    arms.PART,
    explanations.PART,
    taken.PART,
    positions.PART,
    benchmarks.PART,
    field_benchmark.PART,
    variability.PART,
    costs.COSTS,
    costs.LATENCY,
    groups.CELLS,
    groups.BY_CONTEXT,
    drift.PART,
    scores.PART,
    variants.PART,
    precision.PART,
    sensitivity.PART,
    about.FLOW,
)
PARTS: dict[str, Part] = {part.name: part for part in ALL_PARTS}
FIGURES = {part.drawn_as: part.draw for part in ALL_PARTS if part.draw}
# The part that each figure draws.
PART_OF_FIGURE = {part.drawn_as: part for part in ALL_PARTS if part.draw}
# For each part's interval columns, the kind of interval and its independent unit.
INTERVALS = {part.name: list(part.intervals) for part in ALL_PARTS if part.intervals} | {
    "claims": list(intervals("simultaneous", "unit", "ci"))
}
# A sentence for each number that the platform shows; docs/methods.md says more under the same names.
DEFINITIONS = {name: sentence for part in ALL_PARTS for name, sentence in part.definitions.items()}
