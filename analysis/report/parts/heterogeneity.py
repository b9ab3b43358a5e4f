"""How varied the recommendations of each source are: raw, rarefied, and the field against every other source."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure, prompt_name
from analysis.charts.panels import Grid, draw_grid, with_axes
from analysis.charts.rows import (
    INTERVAL_WORDS,
    PLACE,
    WHY,
    all_sources,
    in_order,
    line_up,
    n_words,
    prompts_in_order,
    rows_of,
    shown_model,
    shown_source,
    write_caption,
)
from analysis.charts.theme import series_of_sources
from analysis.report import columns as col
from analysis.report.columns import Column, Finder, Listing, Measure, Part, intervals, rows_in
from analysis.report.dataset import FIELD
from analysis.report.samples import FEWEST as FEWEST_UNITS
from analysis.report.samples import (
    Data,
    Group,
    Source,
    against_field,
    comparison,
    correct_over_prompts,
    difference_in,
    low_high,
    low_highs,
    name_of,
    reasons,
)
from analysis.report.sentences import FEWEST, SIGNIFICANT, finding, who
from analysis.stats.heterogeneity import Difference, Heterogeneity, share_intervals
from analysis.stats.intervals import ONE_UNIT
from analysis.stats.item_measures import MEASURES
from surveys.console.wording import INTERVAL, join_words, percent, plural, sized, span

TOP = 10


def compute(data: Data) -> list[Row]:
    rows_of_cell = rows_by_cell(data)
    found = [row for prompt in data.lists for group in data.groups for row in rows_of_cell[group, prompt]]
    for measure in MEASURES:
        correct_over_prompts(found, difference_in("against_field", measure))
    return [row for row in found if row["source"] != "field" or data.shows_field]


def rows_by_cell(data: Data) -> dict[tuple[Group, str], list[Row]]:
    """The rows of each group and prompt."""
    cells = cells_of(data)
    return data.of_process.get(("heterogeneity",), lambda: dict(zip(cells, data.each(group_rows, cells), strict=True)))


def cells_of(data: Data) -> list[tuple[Group, str]]:
    return [(group, prompt) for group in data.groups for prompt in data.lists]


def begin(data: Data) -> None:
    data.begin(group_rows, cells_of(data))


def group_rows(data: Data, cell: tuple[Group, str]) -> list[Row]:
    """The field and its neighbours; a source that was not asked has no row."""
    group, prompt = cell
    found = []
    for source in group.sources:
        if not data.items(source, prompt).n:
            continue
        row = source_row(data, group, source, prompt)
        if differences := against_field(data, group, source, prompt):
            row["against_field"] = difference_rows(differences)
        found.append(row)
    return found


def source_row(data: Data, group: Group, source: Source, prompt: str) -> Row:
    compared, name = comparison(data, group, prompt), name_of(source)
    raw = compared.raw[name]
    units = data.unit_row(source, raw.units)
    return {
        "prompt": prompt,
        **source.key,
        "chatbot": source.chatbot,
        "n": raw.n,
        **units,
        **measured(raw),
        "rarefied": rarefied_row(compared.rarefied.get(name), units),
        "top_items": top_items(data, source, prompt, TOP),
        "typical": typical_answer(data, source, prompt),
        "simulated": data.simulated_in(source, data.rows_of(source, prompt)),
        **source.settings,
    }


def measured(found: Heterogeneity) -> Row:
    """The three measures with their intervals, and why if they are undefined."""
    return {
        **found.values,
        "ci": low_highs(found.ci),
        "unknown": found.unknown,
        **reasons(ci_why=found.ci_why, why=found.why),
    }


def rarefied_row(found: Heterogeneity | None, units: Row) -> Row:
    """The measures rarefied to the common n; of who has fewer units none, and why."""
    if found is None:
        why = f"{plural(units['units'], units['unit'])}: too few to draw the others down to so many."
        return {"n": None, **dict.fromkeys(MEASURES), "ci": dict.fromkeys(MEASURES), "why": why}
    return {"n": found.n, **found.values, "ci": low_highs(found.ci), **reasons(ci_why=found.ci_why)}


def difference_rows(differences: dict[str, Difference]) -> dict[str, Any]:
    return {
        name: {
            "effect": found.effect,
            "value": found.value,
            "other": found.other,
            "ci": low_high(found.ci),
            "p": found.p,
            "p_holm": None,
            "n": found.n,
            **reasons(ci_why=found.ci_why),
        }
        for name, found in differences.items()
    }


def top_items(data: Data, source: Source, prompt: str, most: int) -> list[Row]:
    """The items that most responses name, equal ones in alphabetical order."""
    count = data.items(source, prompt).counts()
    named = [code for code in (-count).argsort(kind="stable")[:most] if count[code]]
    return item_rows(data, source, prompt, named)


def typical_answer(data: Data, source: Source, prompt: str) -> int | None:
    """The id of the response or completion that has most items in common with the source's others, the first of equals.

    None where no answer names anything.
    """
    sample = data.items(source, prompt)
    if not len(sample.codes):
        return None
    common = np.bincount(sample.rows, weights=sample.counts()[sample.codes] - 1, minlength=sample.n)
    rows = data.by_unit(source, data.rows_of(source, prompt))
    return int(data.frame(source.is_field).table["id"].to_numpy()[rows[common.argmax()]])


def item_rows(data: Data, source: Source, prompt: str, codes: Sequence[int]) -> list[Row]:
    sample, vocabulary = data.items(source, prompt), data.frames.vocabulary(prompt)
    lows, highs = data.once(("item shares", source, prompt), partial(share_intervals, sample))
    counts = sample.counts()
    return [
        {
            "item": vocabulary[code],
            "name": data.frames.name_of(prompt, vocabulary[code]),
            "count": int(counts[code]),
            "share": int(counts[code]) / sample.n,
            **(
                {"ci": None, "ci_why": ONE_UNIT}
                if sample.unit_count < 2
                else {"ci": [float(lows[code]), float(highs[code])]}
            ),
        }
        for code in codes
    ]


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "How varied the answers are"
NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
DRAWN_COLUMNS = [
    *PLACE,
    ("n", "responses", ""),
    ("unknown", "of them without items", ""),
    *(
        column
        for measure in col.OF_LISTS
        for column in (
            (measure.name, measure.spoken, measure.unit),
            (f"{measure.name}_low", "from", measure.unit),
            (f"{measure.name}_high", "to", measure.unit),
        )
    ),
    WHY,
]


def draw_heterogeneity(report: Report, options: Options) -> Figure:
    rows = line_up(report, rows_of(report, "heterogeneity"))
    table = [table_row(row, options.rarefied) for row in rows]
    points = [point for row in table for point in points_of(row, options)]
    if not points:
        sentence = "No answers with recommendations yet: there is nothing to compare."
        return empty_figure("heterogeneity", TITLE, sentence, DRAWN_COLUMNS, options, table)
    grid = Grid(
        with_axes([measure.panel for measure in col.OF_LISTS], points),
        tuple(in_order(shown_model(row["model"], options) for row in table)),
        tuple(options.name(prompt) for prompt in prompts_in_order(report, table)),
        series_of_sources(all_sources(report)).only(point["series"] for point in points),
        options,
    )
    words = Words(TITLE, caption(report, table, options), describe(table, options))
    return make_figure("heterogeneity", words, draw_grid(grid), points, table, DRAWN_COLUMNS, options)


def table_row(row: Row, rarefied: bool) -> Row:
    values = row.get("rarefied") or {} if rarefied else row
    found: Row = {
        "prompt": row["prompt"],
        "model": row["model"],
        "source": row["source"],
        "n": values.get("n"),
        "unknown": row.get("unknown"),
    }
    for measure in col.OF_LISTS:
        low, high = measure.interval(values) or (None, None)
        found |= {measure.name: measure.value(values), f"{measure.name}_low": low, f"{measure.name}_high": high}
    return found | {"why": row.get("why", "")}


def points_of(row: Row, options: Options) -> list[Row]:
    return [point_of(row, measure, options) for measure in col.OF_LISTS if row[measure.name] is not None]


def point_of(row: Row, measure: Measure, options: Options) -> Row:
    bounds = span([row[f"{measure.name}_low"], row[f"{measure.name}_high"]])
    value, prompt, source = row[measure.name], options.name(row["prompt"]), shown_source(row["source"])
    digits = 0 if measure.is_whole and not options.rarefied else 2
    interval = f", {INTERVAL} {bounds[0]:.{digits}f} to {bounds[1]:.{digits}f}" if bounds else ""
    model = shown_model(row["model"], options)
    return {
        "panel": measure.name,
        "model": model,
        "prompt": prompt,
        "series": source,
        "value": value,
        "low": bounds[0] if bounds else None,
        "high": bounds[1] if bounds else None,
        "text": f"{source}, {prompt}, {model}: {measure.spoken} {value:.{digits}f}{interval}, {sized(row['n'])}",
    }


def caption(report: Report, table: Sequence[Row], options: Options) -> str:
    kind = "rarefied to one n for each prompt" if options.rarefied else "raw, not rarefied"
    missing = sum(row[measure.name] is None for row in table for measure in col.OF_LISTS)
    return write_caption(
        report,
        f"Values are {kind}; {n_words(table)} {'units' if options.rarefied else 'responses'} a mark.",
        left_out(report) if options.rarefied else "",
        INTERVAL_WORDS,
        definitions=[*(measure.name for measure in col.OF_LISTS)],
        missing=missing,
    )


def left_out(report: Report) -> str:
    """Who has too few units to draw the others down to so many."""
    few = [row for row in rows_of(report, "heterogeneity") if (row.get("rarefied") or {}).get("why")]
    names = in_order(f"{shown_source(row['source'])} with {plural(row['units'], row['unit'])}" for row in few)
    return f"Left out for too few to draw the others down to: {join_words(names)}." if names else ""


def describe(table: Sequence[Row], options: Options) -> str:
    """Where the field lies against offline, measure by measure, and which other source is above it."""
    models = in_order(row["model"] for row in table)
    found = [sentence for model in models if (sentence := describe_model(table, model, options))]
    return " ".join(found) or f"{TITLE}, by prompt, source and model."


def describe_model(table: Sequence[Row], model: str, options: Options) -> str:
    here = [row for row in table if row["model"] == model]
    others = [source for source in in_order(row["source"] for row in here) if source not in ("field", "offline")]
    parts = [offline_words(here), *(puppet_words(here, source) for source in others)]
    found = [part for part in parts if part] or [spread_words(here)]
    return f"{shown_model(model, options)}: {'; '.join(found)}." if found != [""] else ""


def offline_words(rows: Sequence[Row]) -> str:
    counts = [(measure.spoken, *compare(rows, measure.name, "offline")) for measure in col.OF_LISTS]
    known = [f"{word} for {above} of {n}" for word, above, n in counts if n]
    if not known:
        return ""
    if len({(above, n) for _, above, n in counts}) == 1:
        every = f"all {NUMBERS[len(counts)]} measures"
        return f"the field lies above offline in {every} for {counts[0][1]} of {counts[0][2]} prompts"
    return f"the field lies above offline in {join_words(known)} prompts"


def puppet_words(rows: Sequence[Row], source: str) -> str:
    above, n = compare(rows, col.ENTROPY.name, source)
    return f"above {shown_source(source)} in entropy for {above} of {n}" if n else ""


def compare(rows: Sequence[Row], measure: str, other: str) -> tuple[int, int]:
    """For how many prompts the field is above the other source, of how many that both have."""
    field = {row["prompt"]: row[measure] for row in rows if row["source"] == "field" and row[measure] is not None}
    pairs = [
        (field[row["prompt"]], row[measure])
        for row in rows
        if row["source"] == other and row["prompt"] in field and row[measure] is not None
    ]
    return sum(one > two for one, two in pairs), len(pairs)


def spread_words(rows: Sequence[Row]) -> str:
    known = [row for row in rows if row[col.ENTROPY.name] is not None]
    if not known:
        return ""
    low, high = (pick(known, key=lambda row: row[col.ENTROPY.name]) for pick in (min, max))
    ends = [
        f"{row[col.ENTROPY.name]:.2f} bits ({shown_source(row['source'])}, {prompt_name(row['prompt'])})"
        for row in (low, high)
    ]
    return f"entropy lies between {ends[0]} and {ends[1]}"


# In tables --------------------------------------------------------------------------------------------------


def top_item(row: Row) -> Row:
    return row["top_items"][0] if row["top_items"] else {}


def top_share(row: Row) -> str:
    top = top_item(row)
    if not top:
        return ""
    return percent(top["share"]) + (f" ({100 * top['ci'][0]:.0f}–{100 * top['ci'][1]:.0f})" if top["ci"] else "")


TOP_ITEM = Column(
    "top_items",
    "Named most often",
    value=lambda row: top_item(row).get("name"),
    texts=lambda row: {"item": top_item(row)["item"]},
    soft=top_share,
)


def page_columns(rows: list[Row], options: Options) -> list[Column]:
    inside = "rarefied" if options.rarefied else ""
    drawn_down = [Column("rarefied.n", "Drawn down to", col.COUNT)] if options.rarefied else []
    measured_columns = [measure.column(inside) for measure in col.OF_LISTS]
    return [*col.WHO, col.N, *drawn_down, *measured_columns, TOP_ITEM, replace(col.UNKNOWN, label="Without items")]


MEASURED = tuple(measure.name for measure in col.OF_LISTS)
TABLE = Listing(
    "heterogeneity",
    "How varied the recommendations are",
    (
        *(col.PROMPT, col.SOURCE, col.COMPARED, col.SETTINGS, col.SIZE, col.UNKNOWN),
        *(measure.column() for measure in col.OF_LISTS),
        *(col.ENTROPY.rarefied(), *col.ENTROPY.differences("against_field")),
    ),
    rows_in("heterogeneity"),
    (*MEASURED, "ci", "unit", "rarefied", "against_field"),
)
VARIETY = Listing(
    "variety",
    "The numbers in the figure",
    page_columns,
    rows_in("heterogeneity"),
    (*MEASURED, "rarefied", "ci", "unknown"),
    "Every n leads to the texts it counts.",
)
AGAINST = Listing(
    "against",
    "The field against each other source",
    (
        *col.WHO,
        replace(col.N, name=f"against_field.{col.DEFAULT.key}.n"),
        *(
            column
            for measure in sorted(col.OF_LISTS, key=lambda measure: measure is not col.DEFAULT)
            for column in measure.differences("against_field")
        ),
    ),
    rows_in("heterogeneity", lambda row: "against_field" in row),
    ("against_field",),
    "Field minus source, both drawn down to as many units as the smaller has, one answer each. p is corrected over "
    "prompts (Holm).",
)

# In sentences -----------------------------------------------------------------------------------------------


def say(report: Report) -> str:
    known = [row for row in report["heterogeneity"] if col.ENTROPY.value(row) is not None]
    if not known:
        return "No answer with recommendations yet."
    if not any(row["source"] != FIELD for row in known):
        values = [row[col.ENTROPY.key] for row in known]
        return f"The field’s recommendations have {min(values):.1f} to {max(values):.1f} bits of entropy, by prompt."
    fields = [row["n"] for row in known if row["source"] == FIELD]
    if max(fields, default=0) < FEWEST:
        return f"Fewer than {FEWEST} people have answered a prompt: too few to compare how varied the answers are."
    return "No difference in how varied field and models are is significant; that does not say that there is none."


def find_heterogeneity(report: Report) -> Iterator[Row]:
    """For each source over all prompts: where the field is significantly more, or less, varied."""
    families: dict[tuple[str, str], list[Row]] = {}
    for row in report.get("heterogeneity", ()):
        if "against_field" in row and min(row["n"], row["against_field"][col.ENTROPY.key]["n"]) >= FEWEST:
            families.setdefault((row["source"], row["model"]), []).append(row)
    for rows in families.values():
        tests = [row["against_field"][col.ENTROPY.key] for row in rows]
        known = [test for test in tests if test["effect"] is not None]
        sure = [test for test in known if test["p_holm"] is not None and test["p_holm"] < SIGNIFICANT]
        mean = sum(test["effect"] for test in known) / len(known) if known else 0.0
        same_way = [test for test in sure if test["effect"] * mean > 0]
        if not same_way:
            continue
        average = sum(test["other"] for test in known) / len(known)
        words = (
            f"The field is {'more' if mean > 0 else 'less'} varied than {who(report, rows[0])} for {len(same_way)} of "
            f"{len(rows)} prompts: entropy {abs(mean):.2f} bits {'above' if mean > 0 else 'below'} its {average:.2f} "
            f"on average (Holm-corrected p < {SIGNIFICANT})."
        )
        size = min(1.0, abs(mean) / max(average, average + mean, 1e-9))
        params = {"source": rows[0]["source"], "model": rows[0]["model"]}
        definitions = [col.ENTROPY.name, "rarefied", "against_field"]
        yield finding(report, "heterogeneity", size, words, definitions, **params)


PART = Part(
    "heterogeneity",
    "heterogeneity",
    compute,
    {name: col.DEFINITIONS[name] for name in (*(measure.key for measure in col.OF_LISTS), *MEASURED)}
    | {
        "rarefied": "The measure that a common number of units has on average, one answer each: as many as the "
        f"smallest source with at least {FEWEST_UNITS} has.",
        "ci": "95 % interval over units: Wilson's for shares, in its clustered form where units have several answers, "
        "else by leaving out each unit in turn; none below five units.",
        "unit": "What is independent in the answers: a person, a simulated user with all repeats, or a repeat.",
        "against_field": "Field minus source, both of as many units as the smaller has, one answer each; p by "
        "permuting units, two-sided, Holm over prompts.",
        "unknown": "Answers in which no item or no single letter was found; nothing is guessed.",
    },
    intervals=(
        *(*col.OF_ITEMS, *intervals("jackknife", "unit", "against_field.*.ci")),
        *intervals("wilson", "unit", "top_items.ci"),
    ),
    tables=(TABLE,),
    pages=(VARIETY, AGAINST),
    draw=draw_heterogeneity,
    say=say,
    finders=(Finder(0, find_heterogeneity),),
    is_brief=True,
    begin=begin,
)
