"""Scores of runs as ranges: from lowest to highest, with every run, and references as lines."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from analysis.charts.figure import Options, Row, Spec, below, of_kind, panel, specs_of
from analysis.charts.marks import PERCENT, KeyEntry, Strips, along, colour_scale
from analysis.charts.rows import in_order, shown_model, shown_source
from analysis.charts.theme import LIGHT, printable, series_of_sources, text_width
from surveys.studies.wording import Span, decimal, number, percent, plural, span

SUMMARY, MEAN = 104, 50  # px at the end of a row for the mean and the number of runs, and for the mean alone
LABEL = 15  # px of a row of leaderboard names


def draw_benchmark(
    benchmark: str, rows: Sequence[tuple[str, Row]], room: int, options: Options
) -> tuple[Spec, list[Row]]:
    """Draw a benchmark: names of references on top, then a panel for each model, all along the same axis."""
    width = options.width - room - (MEAN if options.narrow else SUMMARY) - 14
    domain, title = axis_domain([row for _, row in rows]), printable(benchmark)
    references = {(label_of(line), float(line["accuracy"])) for _, row in rows for line in references_of(row)}
    labels, height = place_labels(sorted(references, key=lambda line: line[1]), domain, width)
    where: Any = {"benchmark": title}
    heading = panel(specs_of(label_layers()), width, height, **where)
    models = in_order(row["model"] for _, row in rows)
    panels = [heading] if labels else []
    for place, model in enumerate(models):
        names = tuple(name for name, row in rows if row["model"] == model)
        strips = Strips(tuple(dict.fromkeys(names)), width, room, step=17 if options.column else 24, padding=0.25)
        layers = specs_of(range_layers(strips, domain, [row for _, row in rows], place == len(models) - 1))
        name = shown_model(model, options)
        panels.append(panel(layers, width, strips.height, name, **where, model=[name, "*"]))
    parts = [part for name, row in rows for part in parts_of(name, row, options)]
    lines = [{"kind": "reference", "model": "*", "at": accuracy} for _, accuracy in sorted(references)]
    return below(panels, 8, title), [where | part for part in [*parts, *labels, *lines]]


def label_of(line: Row) -> str:
    """A reference's name and score, and its gap to the top one unless it is the top."""
    words = f"{printable(line['name'])} {percent(line['accuracy'], 1)}"
    gap = number(line.get("to_top"))
    return f"{words}, {decimal(100 * gap, 1, sign=True)}" if gap else words


def references_of(row: Row) -> list[Row]:
    return [line for line in row.get("references") or [] if number(line.get("accuracy")) is not None]


def axis_domain(rows: Sequence[Row]) -> Span:
    """The range of all values drawn, with a margin; positions encode accuracies, so it need not begin at 0."""
    values = [number(row[end]) for row in rows for end in ("min", "max")]
    values += [bound for row in rows for bound in (span(row.get("noise_floor")) or ())]
    values += [line["accuracy"] for row in rows for line in references_of(row)] + [bound_of(row) for row in rows]
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    margin = max(0.06 * (high - low), 0.01)
    return max(0.0, low - margin), min(1.0, high + margin)


def place_labels(lines: Sequence[tuple[str, float]], domain: Span, width: int) -> tuple[list[Row], int]:
    """Place names left of their lines, each in the lowest row free of names and lines; also return the height.

    `lines` must ascend, so that a line down from a higher row only meets names placed later.
    """
    placed: list[tuple[float, int]] = []  # x of each line, and the row of its name
    found: list[Row] = []
    for text, accuracy in lines:
        x = (accuracy - domain[0]) / (domain[1] - domain[0]) * width
        begin = x - text_width(text, 11) - 12
        level = 1 + max((row for other, row in placed if other > begin), default=-1)
        placed.append((x, level))
        found.append({"kind": "reference-name", "x": x, "level": level, "text": text})
    height = LABEL * (1 + max((level for _, level in placed), default=-1))
    return [row | {"y": height - LABEL * (row["level"] + 0.5), "y2": height} for row in found], height


def label_layers() -> list[alt.Chart]:
    x, y = alt.X("x:Q", scale=None, axis=None), alt.Y("y:Q", scale=None, axis=None)
    names = of_kind("reference-name").encode(x=x, y=y)
    return [
        names.mark_text(fontSize=11, fill=LIGHT["soft"], align="right", dx=-5).encode(text=alt.Text("text:N")),
        names.mark_rule(stroke=LIGHT["soft"], strokeDash=[4, 3], strokeWidth=1.2).encode(y2=alt.Y2("y2:Q")),
    ]


def parts_of(name: str, row: Row, options: Options) -> list[Row]:
    """All parts of one row, each with its `kind`."""
    where = {"row": name, "model": shown_model(row["model"], options), "series": shown_source(row["source"])}
    low, high = float(row["min"]), float(row["max"])
    parts: list[Row] = [{"kind": "range", "low": low, "high": high, "text": told(name, row)}]
    if floor := span(row.get("noise_floor")):
        parts.append({"kind": "floor", "low": floor[0], "high": floor[1]})
    bound = bound_of(row)
    if bound is not None and bound > high:
        parts.append({"kind": "unknown", "low": low, "high": bound})
    if (mean := number(row.get("mean"))) is not None:
        parts.append({"kind": "mean", "at": mean})
    accuracies = [(printable(run["run"]), number(run.get("accuracy"))) for run in row["runs"]]
    parts += [{"kind": "run", "at": at, "text": f"{run}: {percent(at, 1)}"} for run, at in accuracies if at is not None]
    parts.append({"kind": "summary", "text": summary(row, options)})
    return [where | part for part in parts]


def told(name: str, row: Row) -> str:
    return f"{name}: {percent(row['min'], 1)} to {percent(row['max'], 1)} in {plural(len(row['runs']), 'run')}"


def summary(row: Row, options: Options) -> str:
    mean = number(row.get("mean"))
    words = "–" if mean is None else percent(mean, 1)
    return words if options.narrow else f"{words}, {plural(len(row['runs']), 'run')}"


def range_layers(strips: Strips, domain: Span, rows: Sequence[Row], labelled: bool) -> list[alt.Chart]:
    y, series = strips.axis("row"), series_of_sources(row["source"] for row in rows)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=None)
    axis = alt.Axis(title=None, labelExpr=PERCENT, tickCount=6, labels=labelled, ticks=labelled, grid=True)
    scale = alt.Scale(domain=list(domain), nice=False, zero=False)

    x = along(alt.X, scale, axis)
    return [
        of_kind("floor").mark_bar(color=LIGHT["band"], height=strips.step, opacity=1)
        .encode(y=y, x=x("low"), x2=alt.X2("high:Q")),
        of_kind("reference").mark_rule(stroke=LIGHT["soft"], strokeDash=[4, 3], strokeWidth=1.2).encode(x=x("at")),
        of_kind("unknown").mark_rule(stroke=LIGHT["soft"], strokeWidth=1.2).encode(y, x("low"), alt.X2("high:Q")),
        of_kind("unknown").mark_tick(color=LIGHT["soft"], thickness=1.2, size=7, opacity=1).encode(y=y, x=x("high")),
        of_kind("range").mark_bar(height=10, cornerRadius=3, opacity=0.45, aria=True)
        .encode(y=y, x=x("low"), x2=alt.X2("high:Q"), color=colour, description=alt.Description("text:N")),
        of_kind("run").mark_point(filled=True, shape="circle", size=16, opacity=1, aria=True)
        .encode(y=y, x=x("at"), color=colour, description=alt.Description("text:N")),
        of_kind("mean").mark_tick(color=LIGHT["ink"], thickness=2, size=16, opacity=1).encode(y=y, x=x("at")),
        of_kind("summary").mark_text(align="left", fontSize=11, fill=LIGHT["soft"])
        .encode(y=y, x=alt.XValue(strips.width + 8), text=alt.Text("text:N")),
    ]  # fmt: skip


def key_entries(rows: Sequence[Row]) -> list[KeyEntry]:
    found = [KeyEntry("each run", LIGHT["ink"], sign="dot"), KeyEntry("lowest to highest", LIGHT["strong-line"])]
    found.append(KeyEntry("mean", LIGHT["ink"], sign="tick"))
    if any(span(row.get("noise_floor")) for row in rows):
        found.append(KeyEntry("range of as many offline repeats", LIGHT["band"]))
    if any((bound_of(row) or 0) > float(row["max"]) for row in rows):
        found.append(KeyEntry("if unknown answers were right", LIGHT["soft"], sign="line"))
    if any(references_of(row) for row in rows):
        found.append(KeyEntry("leaderboard", LIGHT["soft"], sign="dashed"))
    return found


def bound_of(row: Row) -> float | None:
    """The highest accuracy if all unknown answers were right."""
    found = [high for run in row["runs"] if (high := number(run.get("high"))) is not None]
    return max(found, default=None)
