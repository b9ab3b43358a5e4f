"""The figures of Compare's first screen: each source's distance from the field, and the study's three questions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import altair as alt

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import BESIDE, Figure, Options, Report, Row, Spec, Words, of_kind
from analysis.charts.marks import (
    PERCENT,
    UNKNOWN,
    Strips,
    along,
    colour_scale,
    dots,
    option_colour,
    room_for,
    stacked,
    words_on_grid,
)
from analysis.charts.panels import GAP
from analysis.charts.ranges import axis_domain, references_of
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, Series, series_of_sources, text_width
from analysis.report import columns as col
from analysis.report.claims.enough import TO_CHOICES, TO_LISTS, too_few
from analysis.report.claims.gate import said_of
from analysis.report.dataset import FIELD, OFFLINE
from analysis.report.parts.calibration import EXCESS, MEAN_COLUMNS
from surveys.studies.wording import Span, count_range, decimal, join_words, number, percent, plural, span


@dataclass(frozen=True)
class OverviewFigure:
    """A figure of the first screen: the question it answers, its sentence, and the page that shows more."""

    name: str
    page: str
    question: str
    say: Callable[[Report], str]
    draw: Callable[[Report, Options], Figure]


# How far each source is from the field ----------------------------------------------------------------------

QUESTION = "How far is each source from the field?"
NOTHING = "No prompt has answers of both the field and another source that can be compared."
STEP, ON_PAPER, VALUE, LONGEST = 24, 14, 40, 190  # px: of a row, for the number at its end, and for names
COLUMNS = [
    *read.plain("model", "source"),
    *read.AMOUNT_COLUMNS,
    Column("units", "units of the source"),
    *MEAN_COLUMNS,
    Column("prompts", "prompts"),
    read.WHY,
]


def variant_names(rows: Sequence[Row]) -> list[str]:
    """Name each source with its history size and the other settings in which sources differ."""
    names = read.label_variants([read.without_amount(row) for row in rows])
    return [", ".join(filter(None, (name, read.amount_words(row)))) for name, row in zip(names, rows, strict=True)]


def draw(report: Report, options: Options) -> Figure:
    rows = read.by_group(report, read.rows_of(report, "calibration"))
    table = [read.drawn_row(row, COLUMNS) for row in rows]
    known = [row for row in rows if number(row.get(EXCESS.name)) is not None]
    if not known:
        return figure.empty_figure("far", QUESTION, NOTHING, COLUMNS, options, table)
    marks = [mark_of(name, row, options) for name, row in zip(variant_names(known), known, strict=True)]
    words = Words(QUESTION, caption(report, rows, known), describe(marks))
    return figure.make_figure("far", words, draw_panels(marks, known, options), marks, table, COLUMNS, options)


def mark_of(name: str, row: Row, options: Options) -> Row:
    model = read.shown_model(row["model"], options)
    ends, value = span(row.get("ci")), row[EXCESS.name]
    told = f"{name}, {model}: {decimal(value)} bits farther from the field than chance{read.told_ends(ends, decimal)}"
    start, end = ends or (value, value)
    where = {"row": name, "model": model, "series": read.shown_source(row["source"]), "text": told}
    return read.make_mark(value, ends, **where, said=decimal(value), start=start, end=end)


def draw_panels(marks: Sequence[Row], known: Sequence[Row], options: Options) -> Spec:
    by_model = read.grouped(marks, "model")
    across = 1 if options.narrow else min(len(by_model), 2)
    on_phone = options.narrow and not options.column
    room = room_for([mark["row"] for mark in marks], 110 if on_phone else LONGEST, 11 if options.column else 12)
    width = (options.width - 20 - (across - 1) * GAP) // across - room - VALUE
    step = ON_PAPER if options.column else 36 if on_phone else STEP
    ends = min(0.0, *(mark["start"] for mark in marks)), max(0.0, *(mark["end"] for mark in marks))
    series = series_of_sources(row["source"] for row in known)
    columns = []
    for model, here in by_model.items():
        strips = Strips(tuple(read.in_order(mark["row"] for mark in here)), width, room, step=step, padding=0.0)
        drawn = figure.specs_of(layers(strips, ends, series, options))
        columns.append(figure.below([figure.panel(drawn, width, strips.height, model=model)], title=model))
    return figure.in_rows(columns, across, 14)


def layers(strips: Strips, ends: Span, series: Series, options: Options) -> list[alt.Chart]:
    """Layers from the bottom: a line at what chance gives, interval, mark and number."""
    axis = alt.Axis(
        title="bits above chance, which is the line", tickCount=4, format=".2~f", grid=True, ticks=False, domain=False
    )
    scale = alt.Scale(domain=list(ends), nice=True)
    y = strips.axis("row")
    if options.narrow and not options.column:
        y["axis"]["labelExpr"] = "split(datum.label, ', ')"  # the settings on a line of their own

    x = along(alt.X, scale, axis)
    base = alt.Chart().encode(y=y)
    return [
        alt.Chart().mark_rule(stroke=LIGHT["soft"], strokeWidth=1.4).encode(x=alt.X(datum=0, scale=scale, axis=axis)),
        *dots(base, x, series, None, 40 if options.column else 85, 2.0),
        *words_on_grid(base.encode(x("end"), alt.Text("said:N")), 11 if options.column else 12, align="left", dx=9),
    ]  # fmt: skip


def caption(report: Report, rows: Sequence[Row], known: Sequence[Row]) -> str:
    few = read.in_order(
        f"{name} with {plural(int(row.get('units') or 0), str(row.get('unit') or 'answer'))}"
        for name, row in zip(variant_names(rows), rows, strict=True)
        if row not in known
    )
    prompts = {int(row["prompts"]) for row in known}
    return read.write_caption(
        report,
        f"Means over {count_range(*prompts)} prompt{'s' * (prompts != {1})} of the distance beyond what "
        "sampling alone gives samples of these sizes, with 95 % intervals; no source has a say in another’s.",
        f"Left out without a common prompt: {join_words(few)}." if few else "",
        definitions=[EXCESS.name],
        sizes=False,
    )


def describe(marks: Sequence[Row]) -> str:
    found = []
    for model, here in read.grouped(marks, "model").items():
        said = join_words([f"{mark['row']} {mark['said']}" for mark in here])
        found.append(f"{model}: bits away from the field above chance: {said}.")
    return " ".join(found)


def say(report: Report) -> str:
    """The first claim of a nearest sock puppet, that none is sure, or why nothing is compared."""
    return said_of(report, ("nearest",)) or too_few(read.rows_of(report, "heterogeneity"), TO_LISTS)


# Small figures ---------------------------------------------------------------------------------------------

MOST = 2  # chatbots side by side in a small figure
HEIGHT, BETWEEN, AXIS = 84, 14, 30  # px: of a panel, between panels, and of the labels of a first one
NAMES = 84  # px for the names of sources
SIDES = (FIELD, OFFLINE)


def columns_of(models: Sequence[str], first: int) -> tuple[list[str], int]:
    """The models drawn, and the width of each panel beside the labels of the first."""
    shown = list(models[:MOST])
    return shown, (320 - first - (len(shown) - 1) * BETWEEN) // len(shown)


def short(model: str) -> str:
    return model.partition(BESIDE)[0]


# How varied the answers are --------------------------------------------------------------------------------

VARIED = "How varied are the answers?"
VARIETY_COLUMNS = [
    *read.PLACE,
    Column(col.ENTROPY.name, col.ENTROPY.spoken, unit=col.ENTROPY.unit),
    *read.ends_in("bits"),
]


def drawn_down(row: Row) -> Row:
    """The row's measures at equal n if it has them, else the row."""
    found = row.get("rarefied") or {}
    return found if number(found.get(col.ENTROPY.key)) is not None else row


def at_one_n(rows: Sequence[Row]) -> list[Row]:
    """Give each field row the measures rarefied to the source drawn beside it."""
    of_field = {
        (row["prompt"], row["model"]): field for row in rows if (field := (row.get("rarefied") or {}).get("field"))
    }
    places = [(row["prompt"], row["model"]) for row in rows]
    return [
        row | {"rarefied": of_field[place]} if row["source"] == FIELD and place in of_field else row
        for row, place in zip(rows, places, strict=True)
    ]


def draw_variety(report: Report, options: Options) -> Figure:
    options = replace(options, narrow=True)  # three side by side, each as wide as a phone
    rows = at_one_n(
        [row for row in read.line_up(report, read.rows_of(report, "heterogeneity")) if row["source"] in SIDES]
    )
    marks = [variety_mark(row, options) for row in rows if col.ENTROPY.value(drawn_down(row)) is not None]
    table = [mark.pop("table") for mark in marks]
    if not marks:
        nothing = "No answers with recommendations yet."
        return figure.empty_figure("varied", VARIED, nothing, VARIETY_COLUMNS, options)
    prompts = read.prompt_names(report, rows, options)
    models, width = columns_of(read.in_order(mark["model"] for mark in marks), AXIS)
    series = series_of_sources(row["source"] for row in rows)
    top = max(read.reach(marks))
    panels = [
        figure.panel(
            figure.specs_of(variety_layers(prompts, series, top, place == 0)), width, HEIGHT, short(model), model=model
        )
        for place, model in enumerate(models)
    ]
    caption = read.write_caption(
        report, "Entropy of each prompt in bits, at one n.", definitions=[col.ENTROPY.name], sizes=False
    )
    words = Words(VARIED, caption, say_variety(report) or VARIED)
    return figure.make_figure("varied", words, figure.beside(panels, BETWEEN), marks, table, VARIETY_COLUMNS, options)


def variety_mark(row: Row, options: Options) -> Row:
    values = drawn_down(row)
    value, source, prompt = col.ENTROPY.value(values), read.shown_source(row["source"]), options.name(row["prompt"])
    where = {"model": read.shown_model(row["model"], options), "prompt": prompt, "series": source}
    found = read.make_mark(value, col.ENTROPY.interval(values), **where, text=f"{source}, {prompt}: {value:.2f} bits")
    table = read.drawn_row(row, read.PLACE) | {col.ENTROPY.name: value, "low": found["low"], "high": found["high"]}
    return found | {"table": table}


def variety_layers(prompts: Sequence[str], series: Series, top: float, is_first: bool) -> list[alt.Chart]:
    axis = alt.Axis(title=None, labels=False, ticks=False, grid=False, domain=True)
    base = alt.Chart().encode(
        x=alt.X("prompt:N", axis=axis, scale=alt.Scale(domain=list(prompts), paddingInner=0.1)),
        xOffset=alt.XOffset("series:N", scale=alt.Scale(domain=list(series.names), paddingOuter=0.4)),
    )
    y_axis = alt.Axis(title=None, tickCount=3, format=".1~f", domain=False, ticks=False, labels=is_first, grid=True)
    scale = alt.Scale(domain=[0, top], nice=True)

    y = along(alt.Y, scale, y_axis)
    below: Row = {"orient": "bottom", "direction": "horizontal", "offset": 6, "columnPadding": 14}
    return dots(base, y, series, alt.Legend(title=None, labelFontSize=12, symbolSize=50, **below), 30, 1.4)


def say_variety(report: Report) -> str:
    return said_of(report, ("variety",)) or too_few(read.rows_of(report, "heterogeneity"), TO_LISTS)


# Which options are chosen ----------------------------------------------------------------------------------

CHOSEN = "Which options are chosen?"
CHOICE_COLUMNS = [
    *read.PLACE,
    Column("option", "option"),
    Column("start", "from", unit="share"),
    Column("end", "to", unit="share"),
]
BAR, LABELS_OF_BARS = 11, 48  # px


def draw_options(report: Report, options: Options) -> Figure:
    options = replace(options, narrow=True)
    rows = [row for row in read.line_up(report, read.rows_of(report, "choices")) if row["source"] in SIDES and row["n"]]
    pieces = [piece for row in rows for piece in pieces_of(row, options)]
    table = [piece.pop("table") for piece in pieces]
    if not pieces:
        nothing = "No answers to questions with choices yet."
        return figure.empty_figure("chosen", CHOSEN, nothing, CHOICE_COLUMNS, options)
    letters = sorted({piece["option"] for piece in pieces} - {UNKNOWN})
    models, width = columns_of(read.in_order(piece["model"] for piece in pieces), LABELS_OF_BARS)
    prompts = read.prompt_names(report, rows, options)
    columns = []
    for place, model in enumerate(models):
        layers = figure.specs_of(bar_layers(letters, place == 0))
        panels = [figure.panel(layers, width, 2 * BAR + 2, model=model, prompt=prompt) for prompt in prompts]
        panels[0] |= {"title": figure.panel_title(short(model))}
        columns.append(figure.below(panels, 5))
    caption = read.write_caption(report, "The correct letter stands first.", sizes=False)
    words = Words(CHOSEN, caption, say_options(report) or CHOSEN)
    return figure.make_figure("chosen", words, figure.beside(columns, BETWEEN), pieces, table, CHOICE_COLUMNS, options)


def pieces_of(row: Row, options: Options) -> list[Row]:
    """The pieces of a bar, the correct letter first and unknown answers last."""
    source, prompt = read.shown_source(row["source"]), options.name(row["prompt"])
    where = {"model": read.shown_model(row["model"], options), "prompt": prompt, "source": source}
    return [
        {**where, "start": start, "end": end, "option": letter}
        | {"text": f"{source}, {prompt}: {letter} {percent(end - start)}"}
        | {"table": read.drawn_row(row, read.PLACE) | {"start": start, "end": end, "option": letter}}
        for letter, start, end in stacked(row)
    ]


def bar_layers(letters: Sequence[str], is_first: bool) -> list[alt.Chart]:
    names = [read.shown_source(source) for source in SIDES]
    axis = alt.Axis(
        title=None, ticks=False, domain=False, labels=is_first, labelOverlap=False, labelFontSize=11, labelPadding=5
    )
    y = alt.Y("source:N", axis=axis, scale=alt.Scale(domain=names, paddingInner=0.08, paddingOuter=0))
    x = alt.X("start:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    bars = alt.Chart().mark_bar(stroke=LIGHT["paper"], strokeWidth=1, aria=True)
    return [
        bars.encode(y=y, x=x, x2=alt.X2("end:Q"), color=option_colour(letters), description=alt.Description("text:N"))
    ]


def say_options(report: Report) -> str:
    return said_of(report, ("letters", "right")) or too_few(read.rows_of(report, "choices"), TO_CHOICES)


# Whether benchmark scores hold -----------------------------------------------------------------------------

HOLD = "Do benchmark scores hold?"
SCORE_COLUMNS = [
    *read.plain("benchmark", "model", "source"),
    Column("min", "lowest accuracy", unit="share"),
    Column("max", "highest accuracy", unit="share"),
    Column("runs", "runs", value=lambda row: len(row["runs"])),
]
ROW = 21  # px


def compared(report: Report) -> list[Row]:
    """Rows of the first benchmark; if any offline one is at temperature 1 or unknown, without other offline ones."""
    rows = [row for row in read.rows_of(report, "benchmarks") if span([row.get("min"), row.get("max")])]
    first = [row for row in rows if row["benchmark"] == rows[0]["benchmark"]]
    warm = [row for row in first if row["source"] != OFFLINE or row.get("temperature") in (1, None)]
    return warm if any(row["source"] == OFFLINE for row in warm) else first


def draw_scores(report: Report, options: Options) -> Figure:
    options = replace(options, narrow=True)
    rows = read.by_group(report, compared(report))
    table = [read.drawn_row(row, SCORE_COLUMNS) for row in rows]
    if not rows:
        return figure.empty_figure("hold", HOLD, "No complete benchmark runs yet.", SCORE_COLUMNS, options)
    names = read.label_variants(rows)
    room = round(min(NAMES + 40, max(text_width(name, 11) for name in names) + 8))
    models, width = columns_of(read.in_order(read.shown_model(row["model"], options) for row in rows), room)
    low, high = axis_domain(rows)
    series = series_of_sources(row["source"] for row in rows)
    layers = [figure.specs_of(score_layers(names, (low, high), series, place == 0)) for place in range(len(models))]
    height = ROW * len(set(names))
    panels = [
        figure.panel(drawn, width, height, short(model), model=[model, "*"])
        for model, drawn in zip(models, layers, strict=True)
    ]
    parts = [part for name, row in zip(names, rows, strict=True) for part in score_parts(name, row, options)]
    lines = {float(line["accuracy"]) for row in rows for line in references_of(row)}
    parts += [{"kind": "reference", "model": "*", "at": line} for line in sorted(lines)]
    caption = read.write_caption(
        report, f"Each run’s accuracy on {rows[0]['benchmark']}.",
        "Dashed: published scores." if lines else "",
        sizes=False,
    )  # fmt: skip
    words = Words(HOLD, caption, say_scores(report) or HOLD)
    return figure.make_figure("hold", words, figure.beside(panels, BETWEEN), parts, table, SCORE_COLUMNS, options)


def score_parts(name: str, row: Row, options: Options) -> list[Row]:
    where = {"row": name, "model": read.shown_model(row["model"], options), "series": read.shown_source(row["source"])}
    told = f"{name}: {percent(row['min'])} to {percent(row['max'])}"
    runs = [{"kind": "run", "at": at} for run in row["runs"] if (at := number(run.get("accuracy"))) is not None]
    return [where | part for part in ({"kind": "range", "low": row["min"], "high": row["max"], "text": told}, *runs)]


def score_layers(names: Sequence[str], domain: tuple[float, float], series: Series, is_first: bool) -> list[alt.Chart]:
    y_axis = alt.Axis(title=None, ticks=False, domain=False, labels=is_first, labelFontSize=11, labelPadding=6)
    y = alt.Y("row:N", axis=y_axis, scale=alt.Scale(domain=list(dict.fromkeys(names))))
    axis = alt.Axis(title=None, labelExpr=PERCENT, tickCount=3, ticks=False, grid=True, domain=False)
    scale = alt.Scale(domain=list(domain), nice=False, zero=False)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=None)

    x = along(alt.X, scale, axis)
    lines = of_kind("reference").mark_rule(stroke=LIGHT["soft"], strokeDash=[4, 3], strokeWidth=1.2)
    return [
        lines.encode(x=x("at")),
        of_kind("range").mark_bar(height=8, cornerRadius=3, opacity=0.4, aria=True)
        .encode(y=y, x=x("low"), x2=alt.X2("high:Q"), color=colour, description=alt.Description("text:N")),
        of_kind("run").mark_point(filled=True, shape="circle", size=14, opacity=1).encode(y=y, x=x("at"), color=colour),
    ]  # fmt: skip


def say_scores(report: Report) -> str:
    return said_of(report, ("spread", "ranges", "novel"))


DISTANCE_FIGURE = OverviewFigure("far", "distances", QUESTION, say, draw)
SMALL_FIGURES = (
    OverviewFigure("varied", "heterogeneity", VARIED, say_variety, draw_variety),
    OverviewFigure("chosen", "choices", CHOSEN, say_options, draw_options),
    OverviewFigure("hold", "benchmarks", HOLD, say_scores, draw_scores),
)
OVERVIEW_FIGURES = {each.name: each for each in (DISTANCE_FIGURE, *SMALL_FIGURES)}
