"""A training as figures: how it learns, and how good it is beside baselines and people."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from analysis.charts.figure import (
    Columns,
    Figure,
    Options,
    Row,
    Words,
    below,
    empty_figure,
    make_figure,
    of_kind,
    panel,
    specs_of,
)
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, printable
from analysis.models import TrainedModel
from analysis.training.evaluation import BASELINES, LABELS
from surveys.console.wording import join_words

HEIGHT, LINE, ROOM = 120, 26, 180  # px: of a panel, of a row of scores, for names on the left
CURVE: Columns = [
    *(Column("seed", "seed"), Column("step", "step"), Column("loss", "loss")),
    *(Column("reward", "reward"), Column("right", "right"), Column("valid", "validation")),
]
# By kind of point the label of its panel.
PANELS = {"loss": "loss", "reward": "reward", "right": "answers right", "valid": "validation part"}
SCORES: Columns = [Column("who", "model"), Column("value", "value"), Column("low", "from"), Column("high", "to")]
PEOPLE = "people’s ceiling"


def called(name: str, report: Mapping[str, Any]) -> str:
    """A baseline as pages write it; a model by its own name."""
    return {"bm25": "BM25", "prior": f"prior (share of {report.get('positive', 'yes')})"}.get(name, name)


def draw_curve(model: TrainedModel, options: Options) -> Figure:
    """The loss of each seed by step, and below it the measure on the validation part after each epoch."""
    title = f"How {printable(model.name)} learns"
    table = [{column.name: point.get(column.name) for column in CURVE} for point in model.curve]
    if not table:
        return empty_figure("curve", title, "It has not taken enough steps to draw.", CURVE, options)
    rows = [
        {"kind": kind, "seed": f"seed {point['seed']}", "step": point["step"], "value": point[kind]}
        for point in model.curve
        for kind in PANELS
        if kind in point
    ]
    panels = [
        _lines(kind, label, options) for kind, label in PANELS.items()
        if any(row["kind"] == kind for row in rows)
    ]  # fmt: skip
    last = next((point for point in reversed(model.curve) if "valid" in point), None)
    said = f"On the validation part it stands at {last['valid']:.3f} after {last['step']:,} steps." if last else ""
    words = Words(title, "Loss or reward of single batches; after each epoch the validation part.", said or title)
    return make_figure("curve", words, below(panels), rows, table, CURVE, options)


def _lines(kind: str, label: str, options: Options) -> Row:
    x = alt.X("step:Q", axis=alt.Axis(title="step", tickCount=5))
    y = alt.Y("value:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title=label, tickCount=4))
    legend = alt.Legend(title=None, symbolType="stroke", symbolStrokeColor=LIGHT["sp-profile"])
    drawn = of_kind(kind).mark_line(color=LIGHT["sp-profile"], point=kind == "valid")
    line = drawn.encode(x=x, y=y, strokeDash=alt.StrokeDash("seed:N", legend=legend))
    return panel(specs_of([line]), options.width - 110, HEIGHT)


def draw_scores(report: Mapping[str, Any], options: Options) -> Figure:
    """The main measure of the model, of each baseline and, where it is known, of people, with intervals."""
    measure = report["main"] if report["ceiling"].get("f1") is None else "f1"
    label = LABELS.get(measure, measure)
    title = f"{label[0].upper()}{label[1:]} on the test part"
    baselines = {name: report["baselines"][name] for name in BASELINES}
    everybody = {report["model"]: report, **baselines, PEOPLE: report["ceiling"]}
    table = []
    for who, row in everybody.items():
        if row.get(measure) is not None and not (who == "frozen" and report["tier"] == "frozen"):
            low, high = row["ci"].get(measure) or (None, None)
            table.append({"who": printable(called(who, report)), "value": row[measure], "low": low, "high": high})
    if not table:
        return empty_figure("scores", title, "Nothing could be measured.", SCORES, options)
    names = [row["who"] for row in table]
    marks = [{"kind": "value", **row} for row in table]
    marks += [{"kind": "interval", **row} for row in table if row["low"] is not None]
    y = alt.Y("who:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, minExtent=ROOM - 10))
    x = alt.X("value:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title=label, tickCount=5))
    layers = [
        of_kind("interval").mark_rule(strokeWidth=2, color=LIGHT["strong-line"]).encode(y=y, x="low:Q", x2="high:Q"),
        of_kind("value").mark_point(filled=True, size=70, color=LIGHT["sp-profile"], opacity=1).encode(y=y, x=x),
    ]
    spec = panel(specs_of(layers), options.width - ROOM - 30, LINE * len(names))
    caption = f"{report['n']:,} examples of {report['groups']:,} groups that it never saw; 95 % intervals over groups."
    words = Words(title, caption, say_scores(report))
    return make_figure("scores", words, spec, marks, table, SCORES, options)


def say_scores(report: Mapping[str, Any]) -> str:
    """What may be claimed, in a sentence."""
    main = report["main"]
    differences = report["differences"]
    rows = {called(name, report): differences[name][main]["beats"] for name in BASELINES if name != report["tier"]}
    by = {word: [name for name, beats in rows.items() if beats == word] for word in ("yes", "no", "not told apart")}
    parts = [
        f"{words} {join_words(by[word])}"
        for word, words in (("yes", "beats"), ("no", "is beaten by"), ("not told apart", "is not told apart from"))
        if by[word]
    ]
    return f"By {LABELS.get(main, main)} {report['model']} {'; it '.join(parts)}."
