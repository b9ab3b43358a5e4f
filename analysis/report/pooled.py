"""One effect over all prompts: how much more varied the field is than a source, beside the effects by prompt."""

from typing import Any

from analysis.charts.figure import Options, Report, Row
from analysis.charts.tables import COUNT, Column
from analysis.report import columns as col
from analysis.report.columns import TableSpec, intervals
from analysis.report.samples import (
    Data,
    Group,
    Source,
    against_field,
    correct_over_prompts,
    difference_in,
    interval_cells,
    name_of,
)
from analysis.stats.heterogeneity import mean_difference
from analysis.stats.item_measures import MEASURES, measure


def pooled_rows(data: Data) -> dict[tuple[str, str], Row]:
    """Of each source and model one effect over all prompts, the mean of the field minus the source by prompt."""
    cells = [(group, source) for group in data.groups for source in group.others]
    made = ((source, pooled_row(data, (group, source))) for group, source in cells)
    found = {(source.name, source.model): row for source, row in made if row}
    correct_over_prompts([*found.values()], *(difference_in("effects", measure) for measure in MEASURES))
    return found


def pooled_row(data: Data, cell: tuple[Group, Source]) -> Row:
    group, source = cell
    by_prompt = {prompt: found for prompt in data.lists if (found := against_field(data, group, source, prompt))}
    if len(by_prompt) < 2:
        return {}
    drawn = [redrawn_differences(data, group, source, prompt) for prompt in by_prompt]
    units = min(data.items(side, prompt).unit_count for side in (group.field, source) for prompt in by_prompt)
    effects = {}
    for name in MEASURES:
        values, draws = [found[name] for found in by_prompt.values()], [each[name] for each in drawn]
        mean = mean_difference(values, draws, units)
        ends = interval_cells("ci", mean.ci, mean.ci_why)
        effects[name] = {"n": units, "effect": mean.effect, **ends, "p": mean.p, "p_holm": None}
    return {"prompts": len(by_prompt), "n": units, **data.unit_row(source, units), "effects": effects}


def redrawn_differences(data: Data, group: Group, source: Source, prompt: str) -> dict[str, Any]:
    """Of the draws that all prompts share, so that what people's answers have in common is in them."""

    def measured_draws(side: Source) -> dict[str, Any]:
        sample = data.items(side, prompt)
        return data.once(
            ("measured draws", side, prompt), lambda: measure(data.shared_draws.redraw(sample, name_of(side)).counted)
        )

    field, other = measured_draws(group.field), measured_draws(source)
    return {name: field[name] - other[name] for name in MEASURES}


# --- in tables

IN_ROWS = intervals("jackknife", "respondent", "pooled.effects.*.ci")
DEFINED = {
    "pooled": "Mean over prompts of the field minus the source, with an interval over people and the source’s units, "
    "whose answers to all prompts go together."
}


def once_each(report: Report, options: Options) -> list[Row]:
    """A row for each source and model, whatever the prompt."""
    found = {(row["source"], row["model"]): row for row in report.get("heterogeneity") or [] if row.get("pooled")}
    return list(found.values())


TABLE = TableSpec(
    "pooled",
    "One effect over all prompts",
    (
        *(col.SOURCE, col.COMPARED, Column("pooled.prompts", "Prompts", COUNT), Column("pooled.n", "n", COUNT)),
        *(
            column
            for measure in sorted(col.OF_LISTS, key=lambda measure: measure is not col.DEFAULT)
            for column in measure.differences("pooled.effects")
        ),
    ),
    once_each,
    ("pooled",),
    "The mean over prompts of the field minus the source, each prompt counting the same; n is that of the smaller side "
    "where it is smallest. p is corrected over sources, models and measures (Holm).",
    optional=True,
)
