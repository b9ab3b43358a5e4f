"""Explanations of a person's distance from everybody else's answers: a regression on all that is known of people."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words
from analysis.charts.marks import Strips, room_for
from analysis.charts.tables import COUNT, Column, NumberFormat
from analysis.charts.theme import LIGHT, printable
from analysis.report import columns as col
from analysis.report.claims.enough import FEWEST, is_enough
from analysis.report.columns import Part, TableSpec, intervals, rows_in
from analysis.report.dataset import FIELD
from analysis.report.persons.askings import BEFORE, DRAWN, Characteristic, Crowd, explanations_of, gather
from analysis.report.persons.person_or_dice import P_HOLM
from analysis.report.samples import Data, correct_over_prompts, low_high, reasons
from analysis.stats.persons.arms import Carried, carried_over
from analysis.stats.persons.explaining import FEWEST_OF_A_LEVEL, Effect, Explained, explain
from surveys.models import ChatbotContext
from surveys.studies.wording import decimal, number, plural

LIMIT = 0.05
NOBODY = "Nobody’s answers stand beside those of another person with the same chatbot yet."
NOTHING_KNOWN = (
    f"Nothing known about people varies between {FEWEST_OF_A_LEVEL} of those in whose answers something was found: "
    "there is nothing to explain."
)
FEW = f"Fewer than {FEWEST} people: too few to test."


def compute(data: Data) -> list[Row]:
    """A row for each level of each explanation; p is of all its levels together, corrected over explanations."""
    crowd = gather(data)
    if not len(crowd.y):
        return []
    given = explanations_of(data, crowd, carried(data)[1])
    known = {explanation.name: one for one, explanation in given}
    found = explain(crowd.y, crowd.fixed, crowd.persons, [explanation for _, explanation in given])
    people = len(np.unique(crowd.persons))
    tests: dict[str, Row] = {
        each.name: {"p": each.p if people >= FEWEST else None, "p_holm": None} for each in found if each.effects
    }
    correct_over_prompts(tests.values(), lambda row: row)
    return [
        effect_row(known[each.name], each, effect, len(crowd.y), people) | tests[each.name]
        for each in found
        for effect in each.effects
    ]


def effect_row(known: Characteristic, found: Explained, effect: Effect, answers: int, people: int) -> Row:
    return {
        "explanation": known.name,
        "label": known.label,
        "level": effect.level,
        "level_name": known.say(effect.level),
        "base": found.base,
        "base_name": known.say(found.base),
        "source": FIELD,
        "n": answers,
        "unit": "person",
        "units": people,
        "persons": effect.persons,
        "effect": effect.value,
        "ci": low_high(effect.ci),
        "by_lot": known.name in DRAWN,
        **reasons(why=None if people >= FEWEST else FEW),
    }


def carried(data: Data) -> tuple[Carried, NDArray[np.float64]]:
    """Whether answers repeat an item from an earlier answer of the same person, over all prompts with lists."""

    def look() -> tuple[Carried, NDArray[np.float64]]:
        crowd = gather(data)
        counted = np.isin(crowd.prompts.astype(str), data.lists) & ~np.isnan(crowd.position)
        repeats = np.full(len(crowd.y), np.nan)
        named = items_named(data, crowd)[counted]
        names, prompts = np.unique(crowd.prompts[counted].astype(str), return_inverse=True)
        where = crowd.persons[counted], prompts.astype(np.int64), crowd.position[counted].astype(np.int64)
        found, repeats[counted] = carried_over(named, *where, crowd.blocks[counted])
        return found, repeats

    return data.once(("carried",), look)


def items_named(data: Data, crowd: Crowd) -> sparse.csr_array:
    """Matrix (answers, items), 1 if the answer names the item; prompts share items of the same name."""
    codes: dict[str, int] = {}
    rows, columns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for prompt in data.lists:
        here = np.flatnonzero(crowd.prompts == prompt)
        if not len(here):
            continue
        sample = data.items_in(True, prompt, crowd.rows[here])
        everywhere = np.array([codes.setdefault(item, len(codes)) for item in data.frames.vocabulary(prompt)])
        rows.append(here[sample.rows])
        columns.append(everywhere[sample.codes])
    row, column = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.ones(len(row), np.float32), (row, column)), shape=(len(crowd.y), max(1, len(codes))))


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "Who gets answers further from everybody else’s"
DRAWN_COLUMNS = [
    Column("label", "explanation"),
    Column("level_name", "level"),
    Column("base_name", "against"),
    Column("units", "people"),
    Column("persons", "people with it"),
    Column("n", "answers"),
    Column("effect", "unlikeness to all others", unit="unlikeness"),
    *read.ends_in("unlikeness"),
    *read.TESTED,
    Column("by_lot", "drawn by lot"),
    read.WHY,
]


def draw_explanations(report: Report, options: Options) -> Figure:
    rows = read.rows_of(report, "explanations")
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in rows if number(row["effect"]) is not None]
    drawn = [row for row in known if row["explanation"] != BEFORE]  # one level per prompt: only the table has them
    if not drawn:
        return figure.empty_figure("explanations", TITLE, NOTHING_KNOWN, DRAWN_COLUMNS, options, table)
    points = [point_of(row) for row in drawn]
    words = Words(TITLE, caption(report, rows, len(rows) - len(known)), describe(points, is_enough(*drawn)))
    spec = draw_forest(points, options)
    return figure.make_figure("explanations", words, spec, points, table, DRAWN_COLUMNS, options)


def name_of(row: Row) -> str:
    """Such as "Plan: Paid, against Free"; a switch has no "against", a step only a label; a star marks lots."""
    label = printable(row["label"]) + ("*" if row["by_lot"] else "")
    against = "" if row["base"] == ChatbotContext.Switch.OFF else f", against {printable(row['base_name'])}"
    return f"{label}: {printable(row['level_name'])}{against}" if row["level"] else label


def point_of(row: Row) -> Row:
    """A mark, `sure` if it holds after Holm's correction over all explanations with enough people."""
    name, p = name_of(row), number(row["p_holm"])
    told = f"{name}: {decimal(row['effect'], 3, sign=True)}{read.told_ends(row['ci'], partial(decimal, digits=3))}"
    is_sure = p is not None and p < LIMIT and is_enough(row)
    return read.make_mark(row["effect"], row["ci"], row=name, sure=is_sure, text=told)


def draw_forest(points: Sequence[Row], options: Options) -> Spec:
    """A row for each level: filled if it holds, hollow if it could be chance."""
    names = tuple(dict.fromkeys(point["row"] for point in points))
    room = room_for(names, 150 if options.narrow else 330)
    strips = Strips(names, options.width - 24 - room, room, step=18 if options.column else 24, padding=0.3)
    scale = alt.Scale(domain=[min(0.0, *read.reach(points)), max(0.0, *read.reach(points)) or 0.1], nice=True)
    axis = alt.Axis(title="unlikeness to all others", tickCount=5, grid=True, ticks=False, domain=False, format=".2~f")
    base = alt.Chart().encode(y=strips.axis("row"))
    sure, unsure = (
        base.transform_filter(alt.FieldEqualPredicate(field="sure", equal=is_one)) for is_one in (True, False)
    )
    marks: Row = {"opacity": 1, "size": 64, "stroke": LIGHT["ink"], "strokeWidth": 1.4, "aria": True}
    x = alt.X("value:Q", scale=scale, axis=axis)
    layers = [
        alt.Chart().mark_rule(stroke=LIGHT["strong-line"], strokeWidth=1).encode(x=alt.XDatum(0)),
        base.mark_rule(stroke=LIGHT["soft"], strokeWidth=1.6).encode(
            x=alt.X("low:Q", scale=scale, axis=axis), x2=alt.X2("high:Q")
        ),
        sure.mark_point(fill=LIGHT["ink"], **marks).encode(x=x, description=alt.Description("text:N")),
        unsure.mark_point(fill=LIGHT["paper"], **marks).encode(x=x, description=alt.Description("text:N")),
    ]
    return figure.below([figure.panel(figure.specs_of(layers), strips.width, strips.height)])


def caption(report: Report, rows: Sequence[Row], missing: int) -> str:
    lot = " *Drawn by lot, so an effect; the others are associations." if any(row["by_lot"] for row in rows) else ""
    return read.write_caption(
        report,
        f"{read.n_words(rows)} answers of {plural(rows[0]['units'], 'person', 'people')}; filled marks hold after "
        f"Holm’s correction over explanations.{lot}",
        "Lines are 95 % intervals over people.",
        definitions=["explanation"],
        missing=missing,
        sizes=False,
    )


def describe(points: Sequence[Row], has_enough: bool) -> str:
    if not has_enough:
        return f"{TITLE}: fewer than {FEWEST} people, too few to tell levels apart."
    sure = [point["text"] for point in points if point["sure"]]
    if not sure:
        return f"{TITLE}: none of {plural(len(points), 'level')} is told apart from its base."
    return f"Told apart of {plural(len(points), 'level')}: {'; '.join(sure)}."


# In tables --------------------------------------------------------------------------------------------------

EFFECT = NumberFormat(digits=3, sign=True)
COLUMNS = (
    Column("label", "Explanation"),
    Column("level_name", "Level", nothing=""),
    Column("base_name", "Against", nothing=""),
    Column("persons", "People with it", COUNT),
    Column("effect", "Unlikeness to all others", EFFECT, "ci", short="unlikeness"),
    replace(P_HOLM, label="p of all levels"),
    Column("by_lot", "Is an", value=lambda row: "effect (drawn by lot)" if row["by_lot"] else "association"),
)
TABLE = TableSpec("explanations", TITLE, COLUMNS, rows_in("explanations"), ("explanation",))
PAGE = replace(
    TABLE,
    title="What goes with answers further from everybody else’s",
    note="All explanations stand in one regression with a level for each prompt of each chatbot; above 0 is further "
    f"from everybody else. {col.CORRECTED.partition(',')[0]} over explanations (Holm).",
    empty=NOTHING_KNOWN,
)


def say(report: Report) -> str:
    rows, answers = report["explanations"], report["answers"]
    people = rows[0]["units"] if rows else answers["people"]
    if not rows and (people >= FEWEST or not answers["field"]):
        return NOTHING_KNOWN if answers["field"] else NOBODY
    if people >= FEWEST:
        return "People’s answers do not differ: there is nothing to explain."
    return f"Fewer than {FEWEST} people have answered: too few to compare."


PART = Part(
    "explanations",
    "what explains a distance",
    compute,
    {
        "explanation": "Mean unlikeness of a person’s answer to everybody else’s of the same chatbot, regressed on all "
        "that is known of people, with a level for each prompt: how much further a level lies than its base."
    },
    intervals=intervals("regression", "respondent", "ci"),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_explanations,
    say=say,
    is_brief=True,
)
