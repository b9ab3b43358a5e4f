"""Person or dice: how unlike two people's answers are, one person's two answers, and two stateless calls."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import altair as alt
import numpy as np

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words, prompt_name
from analysis.charts.marks import Strips, colour_scale, make_legend, room_for
from analysis.charts.panels import HIGH, LEAST_STEP
from analysis.charts.tables import COUNT, PLAIN, Column, NumberFormat, P
from analysis.charts.theme import LIGHT, Series
from analysis.report import columns as col
from analysis.report.columns import Columns, Part, TableSpec, intervals, rows_in
from analysis.report.dataset import FIELD
from analysis.report.persons.askings import estimate_cells, fields_of, measured, offline_of, repeated_prompts
from analysis.report.samples import Data, Group, Source, correct_over_prompts, generator_for, reasons
from analysis.stats.persons import shares
from analysis.stats.persons.shares import FEWEST_TESTED, Assignments, Measured
from surveys.studies.wording import count_range, decimal, number, plural, span

NOT_ASKED = (
    "Nobody was asked a prompt twice, so the person cannot be told from the dice: [repeats] in the study file asks "
    "some people some prompts again."
)
OF_PERSONS = ("within", "between", "person", "share", "offline")


def compute(data: Data) -> list[Row]:
    """Rows for each prompt, and for the mean over prompts with repeats, whose `prompt` is empty.

    Prompts are those that people or, if there are none, simulated users answered twice.
    """
    found = [row for group in data.groups for row in group_rows(data, group)]
    correct_over_prompts(found, lambda row: row, tables=1 + any(asking.arm for asking in data.frames.askings.values()))
    return found


def group_rows(data: Data, group: Group) -> list[Row]:
    asked = repeated_prompts(data) or [
        prompt for prompt in data.prompts if any(has_repeats(data, source, prompt) for source in group.others)
    ]
    offline = offline_of(group)
    return [
        row
        for source in group.sources
        if (group in fields_of(data) if source.is_field else data.unit_of(source) == "simulated user")
        for row in source_rows(data, source, offline if source.is_field else None, asked)
    ]


def has_repeats(data: Data, source: Source, prompt: str) -> bool:
    if data.unit_of(source) != "simulated user":
        return False
    who = data.frame(source.is_field).who[data.rows_of(source, prompt)]
    return len(np.unique(who)) < len(who)


def source_rows(data: Data, source: Source, offline: Source | None, asked: Sequence[str]) -> list[Row]:
    """A row for each prompt that several units of the source answered and, for several prompts, one for their mean.

    The mean is over prompts with repeats, if there are any.
    """
    prompts = [
        prompt for prompt, one in zip(asked, measured(data, source, asked), strict=True) if one.between.units > 1
    ]
    some = measured(data, source, prompts)
    calls = measured(data, offline, prompts) if offline else []
    every = [at for at, one in enumerate(some) if one.within.units] or [*range(len(some))]
    assignments = Assignments(generator_for(data, "person or dice", source, ""), data.draws)
    places = [[at] for at in range(len(prompts))] + [every] * (len(every) > 1)
    return [
        {
            "prompt": prompts[at[0]] if len(at) == 1 else "",
            "kind": data.prompts[prompts[at[0]]].kind if len(at) == 1 else "",
            "prompts": len(at),
            **source.key,
            "chatbot": source.chatbot,
            **({} if source.is_field else source.settings),
            **side_cells(data, source, [some[place] for place in at], assignments),
            **split_cells([some[place] for place in at], [calls[place] for place in at] if calls else []),
        }
        for at in places
    ]


def side_cells(data: Data, source: Source, some: Sequence[Measured], assignments: Assignments) -> Row:
    found = shares.describe(some, assignments)
    return {
        "n": sum(len(each.answers.of) for each in some),
        **data.unit_row(source, found.persons),
        "repeated": found.repeated,
        "pairs": found.pairs,
        "unread": found.unread,
        **estimate_cells("within", found.within),
        **estimate_cells("between", found.between),
        **estimate_cells("person", found.person),
        **estimate_cells("share", found.share),
        "p": found.p,
        "p_tail": found.p_tail,
        "p_holm": None,
        **reasons(why=found.why),
    }


def split_cells(some: Sequence[Measured], calls: Sequence[Measured]) -> Row:
    """The parts that a field adds to stateless calls; empty for other sources, or below two calls to a prompt."""
    if not calls or min(each.between.units for each in calls) < 2:
        return {}
    found = shares.split(some, calls)
    return {
        **estimate_cells("offline", found.offline),
        "n_offline": sum(len(each.answers.of) for each in calls),
        **estimate_cells("dice", found.dice),
        **estimate_cells("added", found.added),
    }


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "Is it the person or the dice?"
NOTHING = "Nobody was asked a prompt twice yet: the person cannot be told from the dice."
API, PRODUCT, PERSON = "the API’s dice", "the product’s extra dice", "the person"
ALL_DICE = "the product’s dice"  # if there are no stateless calls to compare
LOOKS = {API: "offline", PRODUCT: "option-1", ALL_DICE: "option-1", PERSON: "field"}
PARTS = {"dice": PRODUCT, "person": PERSON}
STEP, STEP_ON_PAPER = 24, 18  # px from row to row, at most
AROUND, TITLED = 100, 34  # px on paper for legend, headings and axis, and for the name of a chatbot
GAP, TOLD, LONGEST = 18, 112, 150  # px between panels, for a part in words, and for names
DRAWN_COLUMNS = [
    Column("prompt", "prompt", value=lambda row: row["prompt"] or "mean"),
    Column("model", "chatbot"),
    Column("units", "people"),
    Column("repeated", "people asked twice"),
    Column("n_offline", "calls"),
    Column("offline", "two calls", unit="unlikeness"),
    Column("within", "one person twice", unit="unlikeness"),
    Column("between", "two people", unit="unlikeness"),
    Column("dice", "product’s extra dice", unit="unlikeness"),
    *read.ends_in("unlikeness", "ci_dice", "dice_"),
    Column("person", "person", unit="unlikeness"),
    *read.ends_in("unlikeness", "ci_person", "person_"),
    Column("share", "person’s share"),
    *read.ends_in("", "ci_share", "share_"),
    *(*read.TESTED, read.WHY),
]


def draw_split(report: Report, options: Options) -> Figure:
    rows = [row for row in read.rows_of(report, "person_or_dice") if row["source"] == FIELD]
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in rows if number(row["within"]) is not None and number(row["between"]) is not None]
    if not known:
        return figure.empty_figure("person_or_dice", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    points = [point for row in ordered(report, known) for point in points_of(row, options)]
    words = Words(TITLE, caption(report, known, len(rows) - len(known), options), describe(known, options))
    models = read.in_order(point["model"] for point in points)
    blocks = [draw_chatbot(points, model, models, options) for model in models]
    spec = figure.below(blocks, 10 if options.column else 18)
    return figure.make_figure("person_or_dice", words, spec, points, table, DRAWN_COLUMNS, options)


def ordered(report: Report, rows: Sequence[Row]) -> list[Row]:
    """For each chatbot, the prompts by how much the person adds, then their mean."""
    order = read.prompts_in_order(report, rows)
    return sorted(rows, key=lambda row: (row["model"], not row["prompt"], -row["person"], order.index(row["prompt"])))


def name_of(row: Row, options: Options) -> str:
    return options.name(row["prompt"]) if row["prompt"] else f"Mean of {row['prompts']}"


def points_of(row: Row, options: Options) -> Iterator[Row]:
    """A bar for each positive part, a bracket for each negative one, and both added parts with their intervals."""
    name, model = name_of(row, options), read.shown_model(row["model"], options)
    where = {"row": name, "model": model, "is_mean": not row["prompt"]}
    offline, within, between = number(row.get("offline")), row["within"], row["between"]
    steps = [(ALL_DICE, 0.0, within), (PERSON, within, between)]
    if offline is not None:
        steps = [(API, 0.0, offline), (PRODUCT, offline, within), (PERSON, within, between)]
    for series, start, end in steps:
        told = f"{name}, {model}: {series} {decimal(end - start, sign=bool(start))}"
        kind = "bar" if end >= start else "bracket"
        yield where | {"kind": kind, "series": series, "from": start, "to": end, "text": told}
    for key, series in PARTS.items():
        value, ends = number(row.get(key)), span(row.get(f"ci_{key}"))
        if value is None:
            continue
        told = f"{name}, {model}: {series} {decimal(value, sign=True)}{read.told_ends(ends)}"
        said = decimal(value, 2) + (f" ({ends[0]:.2f} to {ends[1]:.2f})".replace("-", "−") if ends else "")
        yield read.make_mark(value, ends, **where, kind=key, series=series, said=said, text=told)
        if key == "person" and ends:
            # At the end of the last bar, whose length is the person's part.
            yield where | {"kind": "whisker", "from": within + ends[0], "to": within + ends[1]}


def step_on_paper(points: Sequence[Row], models: Sequence[str]) -> int:
    """px from row to row, as far as a page's height allows."""
    rows = len({(point["model"], point["row"]) for point in points})
    return min(STEP_ON_PAPER, max(LEAST_STEP, (HIGH - AROUND - TITLED * len(models)) // rows))


def draw_chatbot(points: Sequence[Row], model: str, models: Sequence[str], options: Options) -> Spec:
    """The bars, and beside them both added parts with intervals or, if there is little room, the person's in words.

    On paper, panels have titles above the first chatbot only, and axes have labels below the last only.
    """
    here = [point for point in points if point["model"] == model]
    names = tuple(dict.fromkeys(point["row"] for point in here))
    parts = [key for key in PARTS if any(point["kind"] == key for point in points)] if not options.narrow else []
    room = room_for(names, 110 if options.narrow else LONGEST)
    step = step_on_paper(points, models) if options.column else STEP
    headed, labelled = (not options.column or model == models[place] for place in (0, -1))
    free = options.width - 24 - room - (TOLD if options.narrow else 0)
    beside = round(0.24 * free)
    left = free - len(parts) * (beside + GAP)
    strips = Strips(names, left, room, step, 0.36)
    bars = figure.specs_of(bar_layers(strips, options, points, labelled))
    title = "How unlike are two answers to one prompt?" if headed else ""
    panels = [figure.panel(bars, left, strips.height, title, model=model)]
    for part in parts:
        plain = Strips(names, beside, room, step, 0.36, named=False)
        layers = figure.specs_of(part_layers(plain, part, points, labelled))
        panels.append(figure.panel(layers, beside, strips.height, PARTS[part] if headed else "", model=model))
    return figure.below([figure.beside(panels, GAP)], title=model if len(models) > 1 else "")


def rows_axis(strips: Strips) -> alt.Y:
    """The axis of rows, with the mean, its last, in bold."""
    axis = strips.axis("row")
    is_mean = {"test": f"datum.value == {strips.names[-1]!r} && {'true' if len(strips.names) > 1 else 'false'}"}
    axis["axis"]["labelFontWeight"] = {"condition": {**is_mean, "value": "bold"}, "value": "normal"}
    return axis


def line_above_mean(strips: Strips) -> alt.Chart:
    rule = alt.Chart().transform_filter(alt.FieldEqualPredicate(field="is_mean", equal=True))
    return rule.mark_rule(stroke=LIGHT["strong-line"], strokeWidth=1, yOffset=-strips.step / 2).encode(
        y=rows_axis(strips), x=alt.XValue(0), x2=alt.X2Value(strips.width)
    )


def series_in(points: Sequence[Row]) -> Series:
    found = [name for name in LOOKS if name in {point.get("series") for point in points}]
    return Series(tuple(found), tuple(LIGHT[LOOKS[name]] for name in found), ("square",) * len(found))


def bar_layers(strips: Strips, options: Options, points: Sequence[Row], labelled: bool) -> list[alt.Chart]:
    """Bars end to end, brackets below for negative parts, and the person's interval at the end."""
    series = series_in(points)
    top = max(point["to"] for point in points if point["kind"] in ("bar", "whisker"))
    scale = alt.Scale(domain=[0, min(1.0, top)], nice=True)
    axis = axis_below("unlikeness, 0 to 1", 5, labelled)
    x, y = alt.X("from:Q", scale=scale, axis=axis), rows_axis(strips)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=make_legend(series, options, strips.room))
    bar, bracket, whisker = (
        figure.of_kind(kind).encode(y=y, x=x, x2=alt.X2("to:Q")) for kind in ("bar", "bracket", "whisker")
    )
    ticks = figure.of_kind("whisker").encode(y=y)
    person = figure.of_kind("person").encode(y=y, x=alt.XValue(strips.width), text=alt.Text("said:N"))
    return [
        bar.mark_bar(height=strips.bar, stroke=LIGHT["soft"], strokeWidth=0.5, aria=True)
        .encode(color=colour, description=alt.Description("text:N")),
        bracket.mark_rule(strokeWidth=2, yOffset=strips.bar / 2 + 2, aria=True)
        .encode(color=colour, description=alt.Description("text:N")),
        whisker.mark_rule(stroke=LIGHT["ink"], strokeWidth=1.4),
        *(
            ticks.mark_tick(color=LIGHT["ink"], thickness=1.4, size=7, orient="vertical", opacity=1)
            .encode(x=alt.X(f"{end}:Q", scale=scale, axis=axis))
            for end in ("from", "to")
        ),
        *([line_above_mean(strips)] if any(point["is_mean"] for point in points) else []),
        *([person.mark_text(align="left", dx=8, fontSize=11, fill=LIGHT["ink"])] if options.narrow else []),
    ]  # fmt: skip


def part_layers(strips: Strips, part: str, points: Sequence[Row], labelled: bool) -> list[alt.Chart]:
    """One of the two added parts with its interval."""
    ends = read.reach(point for point in points if point["kind"] in PARTS)  # both share one axis
    scale = alt.Scale(domain=[min(0.0, *ends), max(0.0, *ends) or 0.1], nice=True)
    axis = axis_below("unlikeness added", 3, labelled)
    base = figure.of_kind(part).encode(y=rows_axis(strips))
    shape = "triangle-up" if part == "dice" else "square"
    marks: Row = {"shape": shape, "filled": True, "size": 60, "opacity": 1, "fill": LIGHT[LOOKS[PARTS[part]]]}
    x = alt.X("value:Q", scale=scale, axis=axis)
    return [
        alt.Chart().mark_rule(stroke=LIGHT["strong-line"], strokeWidth=1).encode(x=alt.XDatum(0)),
        base.mark_rule(stroke=LIGHT["soft"], strokeWidth=1.6).encode(
            x=alt.X("low:Q", scale=scale, axis=axis), x2=alt.X2("high:Q")
        ),
        base.mark_point(stroke=LIGHT["soft"], strokeWidth=0.5, aria=True, **marks).encode(
            x=x, description=alt.Description("text:N")
        ),
        *([line_above_mean(strips)] if any(point["is_mean"] for point in points) else []),
    ]


def axis_below(title: str, ticks: int, labelled: bool) -> alt.Axis:
    shown = title if labelled else None
    return alt.Axis(title=shown, labels=labelled, tickCount=ticks, grid=True, ticks=False, domain=False, format=".1~f")


def caption(report: Report, rows: Sequence[Row], missing: int, options: Options) -> str:
    calls = [count for count in read.counts_in(rows, "n_offline") if count]
    beside = f", {count_range(*calls)} calls" if calls else ""
    told = " At the right what the person adds." if options.narrow else ""
    below = " A line below a bar is a part that takes away." if any((row.get("dice") or 0) < 0 for row in rows) else ""
    return read.write_caption(
        report,
        f"{read.n_words(rows, 'repeated')} people asked twice a row{beside}.",
        f"The whole bar is how unlike the answers of two people are.{below}{told}",
        "Lines are 95 % intervals over people, and over people and calls.",
        definitions=["unlikeness", "dice", "person"],
        missing=missing,
        rows=rows,
        sizes=False,
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    """For each chatbot, the mean or its only prompt."""
    found = []
    for model, here in read.grouped(rows, "model").items():
        row = next((one for one in here if not one["prompt"]), here[0])
        first = "" if row.get("offline") is None else f"two calls {row['offline']:.2f}, "
        over = f"{read.shown_model(model, options)}, over {plural(int(row['prompts']), 'prompt')}"
        found.append(f"{over}: {first}one person twice {row['within']:.2f}, two people {row['between']:.2f}.")
    return " ".join(found)


# In tables --------------------------------------------------------------------------------------------------


def prompt_or_mean(row: Row) -> str:
    return prompt_name(row["prompt"]) or f"Mean of {row['prompts']}"


def of_number(name: str, label: str, form: NumberFormat = PLAIN) -> Column:
    return Column(name, label, form, f"ci_{name}", why="why")


PROMPT = Column("prompt", "Prompt", value=prompt_or_mean)
REPEATED = Column("repeated", "Asked twice", COUNT, soft=lambda row: f"of {row['units']:,}")
P_HOLM = Column("p_holm", "p", P, short="p (Holm)", why="why")
CHATBOT = Column("chatbot", "Chatbot", NumberFormat("chatbot"))
SIGNED = NumberFormat(sign=True)
COLUMNS = (
    REPEATED,
    of_number("offline", "Two calls"),
    of_number("within", "One person"),
    of_number("between", "Two people"),
    of_number("dice", "Extra dice", SIGNED),
    of_number("person", "Person", SIGNED),
    of_number("share", "Share"),
    P_HOLM,
)
DEFINED = ("unlikeness", "within", "between_people", "offline_dice", "dice", "person", "person_share")
TABLE = TableSpec(
    "person_or_dice",
    "Person or dice",
    (replace(PROMPT, name="where"), col.SOURCE, col.COMPARED, *COLUMNS),
    rows_in("person_or_dice"),
    DEFINED,
)


def page_columns(rows: list[Row], options: Options) -> Columns:
    """The columns, with the model only if a source has several for one chatbot, to save width."""
    models = {(row["source"], row["chatbot"], row["model"]) for row in rows}
    whose = CHATBOT if len({entry[:2] for entry in models}) == len(models) else col.COMPARED
    return (replace(PROMPT, name="where"), col.SOURCE, whose, *COLUMNS)


PAGE = replace(
    TABLE,
    name="person-or-dice",
    title="How unlike two answers to one prompt are, 0 to 1",
    columns=page_columns,
    note=f"p: a person’s second answer is no more like their own first than anybody else’s would be; from "
    f"{FEWEST_TESTED} people on, corrected over the page (Holm).",
    empty=NOT_ASKED,
)


def say(report: Report) -> str:
    rows = [row for row in report["person_or_dice"] if row["source"] == FIELD and row["within"] is not None]
    if not rows:
        return NOT_ASKED
    row = next((row for row in rows if not row["prompt"]), rows[0])
    return (
        f"Two answers of one person lie {decimal(row['within'])} apart, those of two people {decimal(row['between'])}: "
        f"{row['repeated']} asked twice are too few to say more."
    )


PART = Part(
    "person_or_dice",
    "person or dice",
    compute,
    {
        "unlikeness": "Of two lists 1 − shared items / items of the longer, of two letters 0 or 1: 0 the same, 1 "
        "nothing in common. Answers in which nothing was found are left out and counted (`unread`).",
        "within": "Mean unlikeness of two answers of one person to one prompt, asked twice: the product’s own dice.",
        "between_people": "`between`: mean unlikeness of the answers of two persons of one chatbot, each pair of "
        "persons once.",
        "offline_dice": "`offline`: mean unlikeness of two stateless calls of one prompt: the API’s dice.",
        "dice": "`within` − `offline`: how much more the product’s dice differ than the API’s.",
        "person": "`between` − `within`: what asking another person adds to asking the same one again. With `dice` it "
        "makes `added`, `between` − `offline`.",
        "person_share": "`share`: 1 − `within` / `between`, Krippendorff’s α with persons as units: 0, another person "
        "is as good as the same one again; 1, a person always gets the same.",
    },
    intervals=(
        *intervals("jackknife", "respondent", *(f"ci_{name}" for name in OF_PERSONS)),
        *intervals("welch", "respondent", "ci_dice", "ci_added"),
    ),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_split,
    say=say,
    is_brief=True,
)
