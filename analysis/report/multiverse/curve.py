"""The specification curve: estimates in ascending order, and below each the choices behind it."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from analysis.charts.figure import Figure, Options, Row, Words, below, empty_figure, make_figure, panel, specs_of
from analysis.charts.marks import along, dots, make_legend, room_for
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, Series, printable
from analysis.report.planned.verdicts import sized_as, unit_of, unit_word, written
from surveys.studies.files.hypotheses import ALONE
from surveys.studies.wording import p_value, percent, plural, with_unit

PLANNED, PASSES, FAILS, UNTESTED = "as planned", "p at most alpha", "p above alpha", "no p"
SERIES = Series(
    (PLANNED, PASSES, FAILS, UNTESTED),
    (LIGHT["other-2"], LIGHT["other-1"], LIGHT["strong-line"], LIGHT["strong-line"]),
    ("diamond", "circle", "circle", "triangle-up"),
)
HEIGHT, STEP, APART = 190, 15, 6  # px: of the estimates, of an option, between two choices


def columns_of(curve: Row) -> list[Column]:
    about = [("rank", "rank"), ("value", "estimate"), ("low", "from"), ("high", "to"), ("p", "p")]
    about += [("n_a", "n of a"), ("n_b", "n of b")][: 1 if is_alone(curve) else 2]
    about += [(each["choice"], each["label"]) for each in curve["choices"]]
    return [Column(name, label) for name, label in about]


def is_alone(curve: Row) -> bool:
    return bool(curve["measure"] == ALONE)


def what_of(curve: Row) -> str:
    return "a" if is_alone(curve) else "a minus b"


def table_of(curve: Row) -> list[Row]:
    return [
        {
            "rank": rank,
            **{name: row[name] for name in ("value", "p", "n_a", "n_b", "simulated")},
            **dict(zip(("low", "high"), row["ci"] or (None, None), strict=True)),
            **taken_in(curve, row),
        }
        for rank, row in enumerate(curve["rows"], 1)
    ]


def taken_in(curve: Row, row: Row) -> dict[str, str]:
    """The option that the universe takes, by choice."""
    return dict(zip((each["choice"] for each in curve["choices"]), row["options"], strict=True))


def words_of(choice: Row) -> dict[str, str]:
    return {each["option"]: each["words"] for each in choice["options"]}


def draw_curve(curve: Row, options: Options) -> Figure:
    columns, title = columns_of(curve), printable(curve["text"])
    if not curve["rows"]:
        return empty_figure("multiverse", title, "No universe has an estimate yet.", columns, options)
    scale = 1 if unit_of(curve["measure"]) == "bits" else 100
    marks = [mark_of(curve, row, rank, scale) for rank, row in enumerate(curve["rows"], 1)]
    names = [list(words_of(each).values()) for each in curve["choices"]]
    room = room_for([name for some in names for name in some], 110 if options.narrow else 150, 11)
    width = options.width - room - 20
    x = alt.X("rank:Q", scale=alt.Scale(domain=[0, len(marks) + 1], nice=False), axis=None)
    panels = [panel(specs_of(estimates(x, marks, room, options)), width, HEIGHT, heading_of(curve), kind="estimate")]
    panels += [
        panel(specs_of(ticks(x, list(words_of(each).values()), room, width / len(marks))), width,
              STEP * len(each["options"]), each["label"], kind=each["choice"])
        for each in curve["choices"]
    ]  # fmt: skip
    rows = [{"kind": "estimate", **mark} for mark in marks]
    rows += [
        {"kind": each["choice"], "rank": mark["rank"], "series": mark["series"], "option": words_of(each)[option]}
        for each in curve["choices"]
        for mark, row in zip(marks, curve["rows"], strict=True)
        if (option := taken_in(curve, row)[each["choice"]])
    ]
    words = Words(title, say_curve(curve), describe(curve))
    return make_figure("multiverse", words, below(panels, APART), rows, table_of(curve), columns, options)


def heading_of(curve: Row) -> str:
    points = "percent" if is_alone(curve) else "percentage points"
    word = "bits" if unit_of(curve["measure"]) == "bits" else points
    return f"{what_of(curve)}, {word}: estimate with 95 % interval"


def mark_of(curve: Row, row: Row, rank: int, scale: float) -> Row:
    series = UNTESTED if row["p"] is None else PASSES if row["p"] <= curve["alpha"] else FAILS
    low, high = row["ci"] or (row["value"], row["value"])
    return {
        "rank": rank,
        "series": PLANNED if row == curve["planned"] else series,
        "value": scale * row["value"],
        "low": scale * low,
        "high": scale * high,
        "text": f"universe {rank} of {len(curve['rows'])}: {sized_as(curve['measure'], row['value'])}",
    }


def estimates(x: alt.X, marks: Sequence[Row], room: int, options: Options) -> list[alt.Chart]:
    ends = [mark[end] for mark in marks for end in ("low", "high")]
    axis = alt.Axis(title=None, tickCount=5, minExtent=room, maxExtent=room, domain=False, ticks=False)
    y = along(alt.Y, alt.Scale(domain=[min(0.0, *ends), max(0.0, *ends)], nice=True), axis)
    base = alt.Chart().encode(x=x)
    zero = alt.Chart().mark_rule(stroke=LIGHT["ink"]).encode(y=alt.YDatum(0))
    shown = SERIES.only(mark["series"] for mark in marks)
    size, line = (30.0, 1.0) if len(marks) > 60 else (46.0, 1.6)
    return [zero, *dots(base, y, shown, make_legend(shown, options, room), size, line)]


def ticks(x: alt.X, names: Sequence[str], room: int, pitch: float) -> list[alt.Chart]:
    """A row for each option, with a stroke below each universe that takes it."""
    axis = alt.Axis(
        title=None, ticks=False, domain=False, grid=True, tickBand="center", labelFontSize=11, labelPadding=6,
        minExtent=room, maxExtent=room, labelLimit=room - 6, labelOverlap=False,
    )  # fmt: skip
    y = alt.Y("option:N", scale=alt.Scale(domain=list(names)), axis=axis)
    colour = alt.condition(f"datum.series === '{PLANNED}'", alt.value(SERIES.colours[0]), alt.value(LIGHT["soft"]))
    mark = alt.Chart().mark_tick(orient="vertical", size=10, thickness=max(1.0, min(4.0, 0.7 * pitch)), opacity=1)
    return [mark.encode(x=x, y=y, color=colour)]


# --- in sentences


def opening_of(found: Row, curves: Sequence[Row]) -> str:
    """Such as "3 hypotheses in 64 universes; the planned sign in 38 to 100 % of those with an estimate."."""
    if not found["done"]:
        return ""
    what = f"{plural(len(found['hypotheses']), 'hypothesis', 'hypotheses')} in {plural(found['done'], 'universe')}"
    shares = [curve["same_sign"] for curve in curves if curve["same_sign"] is not None]
    if not shares:
        return f"{what}."
    ends = " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (min(shares), max(shares))))
    return f"{what}; the planned sign in {with_unit(ends, '%')} of those with an estimate."


def say_curve(curve: Row) -> str:
    """Say how many universes there are, and the shares with the planned sign and with a small p; without a verdict."""
    drawn = f"{curve['all']:,} of {curve['possible']:,} universes were drawn, with all that change one choice"
    whole = drawn if curve["all"] < curve["possible"] else plural(curve["all"], "universe")
    done = f"; {curve['computed']:,} {'is' if curve['computed'] == 1 else 'are'} computed"
    parts = [whole + done * (curve["computed"] < curve["all"])]
    if curve["n"] < curve["computed"]:
        parts.append(f"{curve['n']:,} with an estimate")
    if curve["same_sign"] is not None:
        parts.append(f"{percent(curve['same_sign'])} of {curve['n']:,} have the sign of the planned one")
    if curve["significant"] is not None:
        share = f"{percent(curve['significant'])} of {curve['tested']:,}"
        parts.append(f"{share} a p of at most {curve['alpha']:g}, each taken alone")
    return f"{', '.join(parts)}."


def describe(curve: Row) -> str:
    measure = curve["measure"]
    told = {name: f"{written(measure, curve[name], True)}" for name in ("least", "median", "most")}
    choices = "; ".join(f"{each['label'].lower()}: {', '.join(words_of(each).values())}" for each in curve["choices"])
    return (
        f"Estimates of {what_of(curve)} from {told['least']} to {told['most']} {unit_word(measure)}, "
        f"median {told['median']}. Varied: {choices or 'nothing'}."
    )


def rows_alone(curve: Row) -> list[dict[str, Any]]:
    """Rows in words: the planned universe, then those that change one choice only."""
    labels = {each["choice"]: each for each in curve["choices"]}
    planned = [(("As planned", ""), curve["planned"])] if curve["planned"] else []
    alone = [((labels[name]["label"], option), row) for row in curve["alone"]
             for name, option in row["changed"]]  # fmt: skip
    return [{"choice": choice, "option": option, **cells_of(curve, row)} for (choice, option), row in planned + alone]


def cells_of(curve: Row, row: Row) -> dict[str, Any]:
    measure = curve["measure"]
    if row["value"] is None:
        found = (row.get("why") or "no number").rstrip(".")
    else:
        ends = " to ".join(written(measure, end) for end in row["ci"]) if row["ci"] else "no interval"
        found = f"{written(measure, row['value'], True)} {unit_word(measure)} ({ends})"
    return {"found": found, "p": None if row["p"] is None else p_value(row["p"]), "n_a": row["n_a"], "n_b": row["n_b"]}
