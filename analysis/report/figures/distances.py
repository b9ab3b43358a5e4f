"""How far each source's recommendations are from the field's, prompt by prompt."""

from collections.abc import Sequence

from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Grid, Measure, draw_grid
from analysis.charts.rows import (
    all_sources,
    bootstrap_words,
    in_order,
    interval_of,
    n_words,
    number,
    plural,
    prompts_in_order,
    rows_of,
    shown_model,
    shown_source,
    write_caption,
)
from analysis.charts.theme import series_of_sources

TITLE = "How far each source is from the field"
NOTHING = "No prompt has answers of both the field and another source yet: there is no distance to show."
COLUMNS = [
    ("prompt", "prompt", ""),
    ("model", "model", ""),
    ("source", "source", ""),
    ("n", "responses", ""),
    ("n_field", "field responses", ""),
    ("jsd_bits", "Jensen–Shannon divergence", "bits"),
    ("low", "from", "bits"),
    ("high", "to", "bits"),
    ("chance", "by chance", "bits"),
    ("tv", "total variation", "share"),
    ("p", "p", ""),
    ("p_holm", "p, Holm over prompts", ""),
    ("why", "why undefined", ""),
]


def draw_distances(report: Report, options: Options) -> Figure:
    rows = rows_of(report, "distances")
    table = [table_row(row) for row in rows]
    known = [row for row in table if row["jsd_bits"] is not None]
    if not known:
        return empty_figure("distances", TITLE, NOTHING, COLUMNS, options, table)
    points = [point_of(row, options) for row in known]
    top = max(max(row["jsd_bits"], row["high"] or 0, row["chance"] or 0) for row in known)
    grid = Grid(
        (Measure("jsd_bits", "Jensen–Shannon divergence, bits; grey ticks: by chance", top=top, format=".2~f"),),
        tuple(in_order(point["model"] for point in points)),
        tuple(options.name(prompt) for prompt in prompts_in_order(report, known)),
        series_of_sources(all_sources(report)).only(point["series"] for point in points),
        options,
        with_chance=True,
        height=170,
    )
    words = Words(TITLE, caption(report, table), describe(known, options))
    return make_figure("distances", words, draw_grid(grid), points, table, COLUMNS, options)


def table_row(row: Row) -> Row:
    low, high = interval_of(row, "jsd_bits") or (None, None)
    numbers = {name: number(row.get(name)) for name in ("jsd_bits", "chance", "tv", "p", "p_holm")}
    same = {name: row.get(name) for name in ("prompt", "model", "source", "n", "n_field")}
    found = same | numbers | {"low": low, "high": high, "why": row.get("why", "")}
    return {name: found[name] for name, _, _ in COLUMNS}


def point_of(row: Row, options: Options) -> Row:
    source, prompt, model = shown_source(row["source"]), options.name(row["prompt"]), shown_model(row["model"], options)
    interval = f", 95 % interval {row['low']:.3f} to {row['high']:.3f}" if row["low"] is not None else ""
    told = f"{source}, {prompt}, {model}: {row['jsd_bits']:.3f} bits from the field{interval}, n = {row['n']}"
    where = {"panel": "jsd_bits", "model": model, "prompt": prompt, "series": source, "text": told}
    return where | {"value": row["jsd_bits"], "low": row["low"], "high": row["high"], "chance": row["chance"]}


def caption(report: Report, table: Sequence[Row]) -> str:
    field = n_words(table, "n_field").removeprefix("n = ")
    return write_caption(
        report,
        f"{n_words(table)} responses a mark, against {field} of the field.",
        bootstrap_words(report),
        definitions=["jsd_bits", "chance"],
        missing=sum(row["jsd_bits"] is None for row in table),
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    """For each model which source is nearest to the field, and for how many prompts."""
    return " ".join(
        describe_model([row for row in rows if row["model"] == model], options)
        for model in in_order(row["model"] for row in rows)
    )


def describe_model(rows: Sequence[Row], options: Options) -> str:
    prompts = in_order(row["prompt"] for row in rows)
    nearest = [min((r for r in rows if r["prompt"] == prompt), key=lambda r: r["jsd_bits"]) for prompt in prompts]
    wins = [
        (source, sum(row["source"] == source for row in nearest)) for source in in_order(r["source"] for r in nearest)
    ]
    words = [f"{shown_source(source)} for {count}" for source, count in sorted(wins, key=lambda win: -win[1])]
    model = shown_model(rows[0]["model"], options)
    return f"{model}: nearest to the field is {', '.join(words)} of {plural(len(prompts), 'prompt')}."
