"""Figures of ratings: by the model that wrote the response, and what naming the attribute does to them."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import altair as alt

from analysis.agreement.pages.agreement_figures import (
    NOTHING,
    ROOM,
    ROW,
    SHARES,
    TEXT,
    VALUES,
    Axis,
    Draw,
    Question,
    draw_panel,
    draw_values,
    parts_of,
    say_ends,
    value_row,
)
from analysis.charts.figure import (
    Columns,
    Figure,
    Options,
    Row,
    Spec,
    Words,
    below,
    empty_figure,
    make_figure,
    of_kind,
    panel,
    specs_of,
)
from analysis.charts.theme import LIGHT, printable

Shape = Mapping[str, Any]
UNNAMED = "no model named"
MEAN, LOW = "Mean rating", "Share no better than generic"
LEAST_WRITTEN = 0.05  # of a bar: what is narrower has no room for its label
HABITS: Columns = [
    ("generator", "model that wrote", ""),
    ("judge", "judge", ""),
    ("rate", "share of its responses that name the attribute", ""),
    ("rate_low", "from", ""),
    ("rate_high", "to", ""),
    ("gap", "its gap as a judge", ""),
    ("gap_low", "from", ""),
    ("gap_high", "to", ""),
]


def estimate_row(part: str, name: str, estimate: Shape) -> Row:
    return value_row(part, name, estimate["n"], estimate["value"], estimate["ci"])


def is_known(estimate: Shape) -> bool:
    return estimate["value"] is not None


# By the model that wrote ----------------------------------------------------------------------------------


def draw_ratings(question: Question, labels: Sequence[str], options: Options) -> Figure:
    """Of each model's responses how ratings fall, their mean, and how many are no better than the generic one."""
    rows = [row for row in question.get("ratings", {}).get("generators", ()) if row["n"]]
    title = "Ratings by the model that wrote the response"
    if not rows:
        return empty_figure("ratings", title, NOTHING, VALUES, options)
    named = [(row["generator"] or UNNAMED, row) for row in rows]
    shares = [estimate_row(label, name, row["shares"][label]) for name, row in named for label in labels]
    means = [estimate_row(MEAN, name, row["mean"]) for name, row in named]
    low = [estimate_row(LOW, name, row["no_better"]) for name, row in named]
    middle = (float(labels[0]) + float(labels[-1])) / 2
    axis = Axis(float(labels[0]), float(labels[-1]), tuple(map(float, labels)), middle)
    specs = [
        draw_bars(shares, options),
        draw_panel(MEAN, means, options, axis),
        draw_panel(LOW, low, options, SHARES),
    ]
    parts = [*bars_of(shares), *(part for row in (*means, *low) for part in parts_of(row))]
    ends = f"{labels[0]}: the generic response is preferred, {labels[-1]}: the personalised one"
    caption = f"{ends}; the dashed line: neither. Lines are 95 % intervals."
    words = Words(title, caption, say_ends(means))
    return make_figure("ratings", words, below(specs, 14), parts, [*shares, *means, *low], VALUES, options)


BARS = "Share of each rating"


def bars_of(shares: Sequence[Row]) -> list[Row]:
    """The shares of each model laid end to end, the lowest rating first and palest."""
    labels = list(dict.fromkeys(row["panel"] for row in shares))
    ends: dict[str, float] = {}
    parts = []
    for row in shares:
        start = ends.get(row["row"], 0.0)
        ends[row["row"]] = end = start + row["value"]
        where = {"panel": BARS, "row": row["row"], "start": start, "end": end, "middle": (start + end) / 2}
        text = f"{row['row']}, rating {row['panel']}: {row['value']:.0%} of {row['n']:,}"
        depth = (labels.index(row["panel"]) + 1) / len(labels)
        parts.append({**where, "kind": "bar", "text": text, "depth": depth})
        if row["value"] >= LEAST_WRITTEN:
            parts.append({**where, "kind": "label", "short": row["panel"]})
    return parts


def draw_bars(shares: Sequence[Row], options: Options) -> Spec:
    names = list(dict.fromkeys(row["row"] for row in shares))
    y = alt.Y("row:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, labelLimit=ROOM, minExtent=ROOM))
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("start:Q", scale=scale, axis=alt.Axis(title=None, format="%", values=list(SHARES.ticks), grid=False))
    depth = alt.Opacity("depth:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 0.75]), legend=None)
    layers = [
        of_kind("bar").mark_bar(fill=LIGHT["sp-profile"], height=ROW - 6, aria=True)
        .encode(y=y, x=x, x2="end:Q", opacity=depth, description="text:N"),
        of_kind("label").mark_text(fontSize=11, fill=LIGHT["ink"])
        .encode(y=y, x=alt.X("middle:Q", scale=scale), text="short:N"),
    ]  # fmt: skip
    return panel(specs_of(layers), options.width - ROOM - TEXT, ROW * len(names), BARS, panel=BARS)


# What naming the attribute does ---------------------------------------------------------------------------

ALL_RESPONSES, BY_WRITER = "All responses, by who rates", "By the model that wrote, rated by"


def draw_mentions(question: Question, labels: Sequence[str], options: Options) -> Figure:
    """Of each rater the mean rating of responses that name the attribute minus that of the others."""
    found = question.get("ratings", {})
    table = [
        estimate_row(ALL_RESPONSES, row["rater"], row["gap"]) for row in found.get("raters", ()) if is_known(row["gap"])
    ]
    raters = dict.fromkeys(rater for row in found.get("generators", ()) for rater in sorted(row["gaps"]))
    table += [
        estimate_row(f"{BY_WRITER} {rater}", row["generator"] or UNNAMED, row["gaps"][rater])
        for rater in sorted(raters, key=lambda name: name != "people")
        for row in found.get("generators", ())
        if rater in row["gaps"] and is_known(row["gaps"][rater])
    ]
    reach = gap_reach(table)
    axis = Axis(-reach, reach, tuple(float(tick) for tick in range(-reach, reach + 1)), 0)
    axes = {row["panel"]: axis for row in table}
    title = "What naming the attribute does to ratings"
    caption = "Mean rating of responses that name the attribute minus that of those that do not. 95 % intervals."
    return draw_values("mentions", title, caption, table, options, axes)


def gap_reach(table: Sequence[Row]) -> int:
    """Whole steps of the scale that hold every gap with its interval."""
    ends = [abs(row[name]) for row in table for name in ("value", "low", "high") if row[name] is not None]
    return max(1, ceil(max(ends, default=1)))


def draw_habits(question: Question, labels: Sequence[str], options: Options) -> Figure:
    """Models that write and judge: how often they name the attribute, and how they rate responses that do."""
    found = question.get("ratings", {}).get("habits", {"models": ()})
    table = [habit_row(row) for row in found["models"] if is_known(row["mention_rate"]) and is_known(row["gap"])]
    title = "Do models that name attributes also reward it?"
    if not table:
        nothing = (
            "No model both wrote and judged responses: the tag generator must be named as the judge’s endpoint is."
        )
        return empty_figure("habits", title, nothing, HABITS, options)
    caption = (
        "Across: share of a model’s responses that name the attribute. Up: its gap as a judge of all responses. "
        f"Lines are 95 % intervals. {say_correlation(found['spearman'])}"
    )
    words = Words(title, caption, " ".join(row["text"] for row in table))
    return make_figure("habits", words, draw_points(table, options), table, table, HABITS, options)


def habit_row(row: Shape) -> Row:
    rate, gap = row["mention_rate"], row["gap"]
    (rate_low, rate_high), (gap_low, gap_high) = (each["ci"] or (None, None) for each in (rate, gap))
    name, judge = printable(row["generator"]), printable(row["rater"])
    signed = f"{gap['value']:+.2f}".replace("-", "−")
    text = f"{judge}: names the attribute in {rate['value']:.0%} of its responses, gap {signed}."
    ends = {"rate_low": rate_low, "rate_high": rate_high, "gap_low": gap_low, "gap_high": gap_high}
    return {"generator": name, "judge": judge, "rate": rate["value"], "gap": gap["value"], **ends, "text": text}


def say_correlation(estimate: Shape) -> str:
    if estimate["value"] is None:
        return f"No rank correlation: {estimate['why']}."
    interval = f" ({estimate['ci'][0]:.2f} to {estimate['ci'][1]:.2f})" if estimate["ci"] else ""
    return f"Spearman’s ρ over {estimate['n']} models: {estimate['value']:.2f}{interval}."


def draw_points(table: Sequence[Row], options: Options) -> Spec:
    ends = [abs(row[name]) for row in table for name in ("gap", "gap_low", "gap_high") if row[name] is not None]
    reach = max(1.0, ceil(max(ends) * 2) / 2)
    x = alt.Scale(domain=[0, 1], nice=False)
    y = alt.Scale(domain=[-reach, reach], nice=False)
    across = alt.X(
        "rate:Q",
        scale=x,
        axis=alt.Axis(title="Names the attribute, as a writer", format="%", values=list(SHARES.ticks)),
    )
    up = alt.Y("gap:Q", scale=y, axis=alt.Axis(title="Gap, as a judge"))
    whole, colour = alt.Chart(), LIGHT["sp-profile"]
    layers = [
        whole.mark_rule(stroke=LIGHT["strong-line"], strokeDash=[4, 3]).encode(y=alt.datum(0, scale=y)),
        whole.mark_rule(stroke=LIGHT["ink"]).encode(x=alt.X("rate_low:Q", scale=x), x2="rate_high:Q", y=up),
        whole.mark_rule(stroke=LIGHT["ink"]).encode(x=across, y=alt.Y("gap_low:Q", scale=y), y2="gap_high:Q"),
        whole.mark_point(fill=colour, stroke=colour, size=60, opacity=1, aria=True)
        .encode(x=across, y=up, description="text:N"),
        whole.mark_text(fontSize=11, fill=LIGHT["ink"], align="left", dx=8, dy=-8)
        .encode(x=across, y=up, text="judge:N"),
    ]  # fmt: skip
    return panel(specs_of(layers), options.width - 2 * TEXT, 300)


RATING_FIGURES: dict[str, Draw] = {"ratings": draw_ratings, "mentions": draw_mentions, "habits": draw_habits}
