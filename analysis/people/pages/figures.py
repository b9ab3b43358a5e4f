"""The funnel as a figure: who is left after each filter."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from analysis.charts.figure import (
    Columns,
    Figure,
    Options,
    Row,
    Words,
    empty_figure,
    make_figure,
    of_kind,
    panel,
    specs_of,
)
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, printable
from analysis.people.filters import FILTERS
from surveys.console.wording import plural

ROW, ROOM, TEXT = 40, 150, 200  # px: of a row, for names on the left, and for numbers at the end
FUNNEL: Columns = [Column("step", "filter"), Column("left_out", "users left out"), Column("left", "users left")]


def draw_funnel(report: Mapping[str, Any], options: Options) -> Figure:
    """A bar for all users and one for those left after each filter; what went is drawn lighter behind."""
    title = f"Users of {printable(report.get('corpus', 'the corpus'))} by filter"
    if not report.get("users"):
        return empty_figure("funnel", title, "Nobody has been filtered yet.", FUNNEL, options)
    table = funnel_rows(report)
    names = [row["step"] for row in table]
    width = options.width - ROOM - (TEXT if not options.narrow else 0)
    y = alt.Y("step:N", scale=alt.Scale(domain=names, paddingInner=0.4), axis=alt.Axis(title=None, minExtent=ROOM - 10))
    scale = alt.Scale(domain=[0, report["users"]], nice=False)
    x = alt.X("left:Q", scale=scale, axis=alt.Axis(title="users", tickCount=5, format="~s"))
    layers = [
        of_kind("gone").mark_bar(fill=LIGHT["strong-line"], opacity=0.5).encode(y=y, x=x, x2="end:Q"),
        of_kind("left").mark_bar(fill=LIGHT["sp-profile"], aria=True).encode(y=y, x=x, description="text:N"),
    ]
    if not options.narrow:
        numbers = of_kind("left").mark_text(fontSize=12, fill=LIGHT["ink"], align="left")
        layers.append(numbers.encode(y=y, x=alt.value(width + 12), text="short:N"))
    marks = [mark for row in table for mark in marks_of(row)]
    caption = (
        "Each filter judges those whom the filters above it have left; a user counts with the first one that fails."
    )
    words = Words(title, caption, say_funnel(report))
    return make_figure("funnel", words, panel(specs_of(layers), width, ROW * len(names)), marks, table, FUNNEL, options)


def funnel_rows(report: Mapping[str, Any]) -> list[Row]:
    first = {"step": "All users", "left_out": 0, "left": report["users"]}
    return [first, *({**step, "step": FILTERS[step["name"]].label} for step in report["steps"])]


def marks_of(row: Row) -> list[Row]:
    left, gone = row["left"], row["left_out"]
    short = f"{left:,} left, {gone:,} out" if gone else f"{left:,}"
    text = f"{row['step']}: {plural(left, 'user')} left, {gone:,} left out"
    whole = {"kind": "left", "step": row["step"], "left": left, "short": short, "text": text}
    return [{"kind": "gone", "step": row["step"], "left": left, "end": left + gone}, whole]


def say_funnel(report: Mapping[str, Any]) -> str:
    """The figure in one sentence."""
    steps = [step for step in report["steps"] if step["left_out"]]
    gone = [f"{step['left_out']:,} by {FILTERS[step['name']].label.lower()}" for step in steps]
    why = f"; left out: {', '.join(gone)}" if gone else ""
    return f"{report['kept']:,} of {plural(report['users'], 'user')} are kept{why}."
