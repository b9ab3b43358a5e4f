"""How different the answers of each source are: three measures by prompt, source and model."""

from collections.abc import Sequence
from dataclasses import replace

from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Grid, Measure, draw_grid
from analysis.charts.rows import (
    Span,
    all_sources,
    bootstrap_words,
    in_order,
    interval_of,
    join_words,
    line_up,
    n_words,
    number,
    prompts_in_order,
    rows_of,
    shown_model,
    shown_source,
    span,
    write_caption,
)
from analysis.charts.theme import series_of_sources

MEASURES = (
    Measure("unique", "Distinct items", integers=True),
    Measure("outside_top5", "Share outside the five most frequent", format=".1~f"),
    Measure("entropy_bits", "Entropy, bits", format=".1~f"),
)
BOUNDED = {"outside_top5"}
SPOKEN = {"unique": "distinct items", "outside_top5": "share outside the top five", "entropy_bits": "entropy"}
TITLE = "How different the answers are"
COLUMNS = [
    ("prompt", "prompt", ""),
    ("model", "model", ""),
    ("source", "source", ""),
    ("n", "responses", ""),
    ("unknown", "of them without items", ""),
    *(
        column
        for measure, label, unit in (
            ("unique", "distinct items", "items"),
            ("outside_top5", "outside the top five", "share"),
            ("entropy_bits", "entropy", "bits"),
        )
        for column in ((measure, label, unit), (f"{measure}_low", "from", unit), (f"{measure}_high", "to", unit))
    ),
    ("why", "why undefined", ""),
]


def draw_heterogeneity(report: Report, options: Options) -> Figure:
    rows = line_up(report, rows_of(report, "heterogeneity"))
    table = [table_row(row, options.rarefied) for row in rows]
    points = [point for row in table for point in points_of(row, options)]
    if not points:
        sentence = "No answers with recommendations yet: there is nothing to compare."
        return empty_figure("heterogeneity", TITLE, sentence, COLUMNS, options, table)
    grid = Grid(
        with_axes(MEASURES, points),
        tuple(in_order(shown_model(row["model"], options) for row in table)),
        tuple(options.name(prompt) for prompt in prompts_in_order(report, table)),
        series_of_sources(all_sources(report)).only(point["series"] for point in points),
        options,
    )
    words = Words(TITLE, caption(report, table, options), describe(table, options))
    return make_figure("heterogeneity", words, draw_grid(grid), points, table, COLUMNS, options)


def table_row(row: Row, rarefied: bool) -> Row:
    values = row.get("rarefied") or {} if rarefied else row
    found: Row = {
        "prompt": row["prompt"],
        "model": row["model"],
        "source": row["source"],
        "n": values.get("n"),
        "unknown": row.get("unknown"),
    }
    for measure in MEASURES:
        value, bounds = value_of(values, measure.name)
        low, high = bounds or (None, None)
        found |= {measure.name: value, f"{measure.name}_low": low, f"{measure.name}_high": high}
    return found | {"why": row.get("why", "")}


def value_of(values: Row, measure: str) -> tuple[float | None, Span | None]:
    """Coverage of the top five is turned round, so that higher is more heterogeneous in all three."""
    if measure != "outside_top5":
        return number(values.get(measure)), interval_of(values, measure)
    covered, bounds = number(values.get("top5_coverage")), interval_of(values, "top5_coverage")
    return None if covered is None else 1 - covered, None if bounds is None else (1 - bounds[1], 1 - bounds[0])


def points_of(row: Row, options: Options) -> list[Row]:
    return [point_of(row, measure, options) for measure in MEASURES if row[measure.name] is not None]


def point_of(row: Row, measure: Measure, options: Options) -> Row:
    bounds = span([row[f"{measure.name}_low"], row[f"{measure.name}_high"]])
    value, prompt, source = row[measure.name], options.name(row["prompt"]), shown_source(row["source"])
    digits = 0 if measure.integers and not options.rarefied else 2
    interval = f", 95 % interval {bounds[0]:.{digits}f} to {bounds[1]:.{digits}f}" if bounds else ""
    model = shown_model(row["model"], options)
    return {
        "panel": measure.name,
        "model": model,
        "prompt": prompt,
        "series": source,
        "value": value,
        "low": bounds[0] if bounds else None,
        "high": bounds[1] if bounds else None,
        "text": f"{source}, {prompt}, {model}: {measure.spoken} {value:.{digits}f}{interval}, n = {row['n']}",
    }


def with_axes(measures: Sequence[Measure], points: Sequence[Row]) -> tuple[Measure, ...]:
    """Each with an axis up to the highest value of all columns, unless the measure itself ends at 1."""
    return tuple(
        measure if measure.name in BOUNDED else replace(measure, top=highest(points, measure.name))
        for measure in measures
    )


def highest(points: Sequence[Row], panel: str) -> float:
    here = [max(point["value"], point["high"] or 0) for point in points if point["panel"] == panel]
    return max(here, default=0) or 1.0


def caption(report: Report, table: Sequence[Row], options: Options) -> str:
    kind = "rarefied to the smallest source of each prompt" if options.rarefied else "raw, not rarefied"
    missing = sum(row[measure.name] is None for row in table for measure in MEASURES)
    return write_caption(
        report,
        f"Values are {kind}; {n_words(table)} responses a mark.",
        bootstrap_words(report),
        definitions=[*(measure.name for measure in MEASURES)],
        missing=missing,
    )


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
    counts = [(word, *compare(rows, measure, "offline")) for measure, word in SPOKEN.items()]
    known = [f"{word} for {above} of {n}" for word, above, n in counts if n]
    if not known:
        return ""
    if len({(above, n) for _, above, n in counts}) == 1:
        return f"the field lies above offline in all three measures for {counts[0][1]} of {counts[0][2]} prompts"
    return f"the field lies above offline in {join_words(known)} prompts"


def puppet_words(rows: Sequence[Row], source: str) -> str:
    above, n = compare(rows, "entropy_bits", source)
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
    known = [row for row in rows if row["entropy_bits"] is not None]
    if not known:
        return ""
    low, high = (pick(known, key=lambda row: row["entropy_bits"]) for pick in (min, max))
    ends = [f"{row['entropy_bits']:.2f} bits ({shown_source(row['source'])}, {row['prompt']})" for row in (low, high)]
    return f"entropy lies between {ends[0]} and {ends[1]}"
