"""Effects of another state of the account on people's answers: distances beyond the dice, and changes of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Panel, draw_grids, grid_of
from analysis.charts.tables import CHANGE, COUNT, POINTS, Column, NumberFormat, P
from analysis.charts.theme import printable, series_of_groups
from analysis.report import columns as col
from analysis.report.columns import Part, TableSpec, intervals
from analysis.report.persons.askings import (
    USUAL,
    again,
    compare_answers,
    counted,
    estimate_cells,
    fields_of,
    rows_in_state,
)
from analysis.report.persons.person_or_dice import P_HOLM, PROMPT, SIGNED, of_number, prompt_or_mean
from analysis.report.samples import (
    Data,
    Rows,
    Source,
    correct_over_prompts,
    difference_in,
    generator_for,
    low_high,
    reasons,
)
from analysis.stats.persons.arms import FEW_THRICE, Change, States, Trio, change_of
from analysis.stats.persons.numbers import estimate, mean_of, mean_over
from surveys.studies.wording import decimal, number, plural

TOP = 5
NOBODY = np.empty(0)
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Told:
    """One prompt's answers in the usual state and in another one, with their numbers (`values`)."""

    states: States
    values: Mapping[str, Values]
    people: int  # asked in the other state
    unreached: int
    unread: int

    every: States  # including answers in which nothing was found

    def changes(self, name: str) -> Trio:
        return self.every.change(self.values[name])


def compute(data: Data) -> list[Row]:
    """Rows for each state, prompt and chatbot, and for the mean over prompts, whose `prompt` is empty."""
    names = {arm.slug: arm.name for arm in data.definition.arms}
    asked: dict[str, list[str]] = {}
    for asking in data.frames.askings.values():
        if asking.arm and asking.asks in data.prompts:
            asked.setdefault(asking.arm, []).append(asking.asks)
    found = [
        {"arm": arm, "name": names.get(arm, arm), **row}
        for arm, prompts in asked.items()
        for group in fields_of(data)
        for row in state_rows(data, group.field, arm, [prompt for prompt in data.prompts if prompt in prompts])
    ]
    tests = (lambda row: row, *(difference_in("changes", name) for name in CHANGES))
    correct_over_prompts(found, *tests, tables=2)  # the page shows the person's share too
    return found


def state_rows(data: Data, field: Source, arm: str, prompts: Sequence[str]) -> list[Row]:
    told = {prompt: tell(data, field, prompt, arm) for prompt in prompts}
    asked = [prompt for prompt, one in told.items() if one.people]
    places = [[prompt] for prompt in asked] + [asked] * (len(asked) > 1)
    return [
        {
            "prompt": some[0] if len(some) == 1 else "",
            "kind": data.prompts[some[0]].kind if len(some) == 1 else "",
            "prompts": len(some),
            **field.key,
            "chatbot": field.chatbot,
            **cells_of(
                [told[prompt] for prompt in some], generator_for(data, "arms", field, "|".join(some), arm), data.draws
            ),
        }
        for some in places
    ]


def tell(data: Data, field: Source, prompt: str, arm: str) -> Told:
    usual, other = (rows_in_state(data, field, prompt, state) for state in (USUAL, arm))
    rows = np.concatenate([usual, other])
    of, is_other = data.frames.field.who[rows], np.arange(len(rows)) >= len(usual)
    found = compare_answers(data, field, prompt, rows)
    every = States(np.zeros((0, 0), np.float32), of, is_other)
    # All people asked in this state, even those who could not reach it.
    slugs = [asking.slug for asking in again(data, prompt, arm)]
    asked = np.concatenate([np.empty(0, np.int64), *(data.rows_of(field, slug) for slug in slugs)])
    return Told(
        States(found.unlike, found.of, is_other[found.rows]),
        values_of(data, prompt, rows, usual),
        len(np.unique(data.frames.field.who[asked])),
        int(data.frames.field.columns["unreached"][asked].sum()),
        int(is_other.sum() - is_other[found.rows].sum()),
        every,
    )


def values_of(data: Data, prompt: str, rows: Rows, usual: Rows) -> dict[str, Values]:
    """Each answer's numbers; for lists also the share of items among the TOP most frequent in the usual state."""
    found = counted(data, prompt, rows)
    if prompt in data.choices:
        return found
    sample = data.items_in(True, prompt, rows)
    frequent = np.argsort(-data.items_in(True, prompt, usual).counts(), kind="stable")[:TOP]
    top = np.bincount(sample.rows[np.isin(sample.codes, frequent)], minlength=sample.n)
    return {"top5_share": top / found["items"], **found}


def cells_of(told: Sequence[Told], rng: np.random.Generator, draws: int) -> Row:
    far = [one.states.distance() for one in told]
    beyond = change_of([one.states.beyond_dice() for one in told], rng, draws, 1.0, FEW_THRICE)
    people = np.unique(np.concatenate([who for who, _ in far]))
    known = [(np.searchsorted(people, who), values) for who, values in far if len(who)]
    mean = mean_over([mean_of(who, values, len(people)) for who, values in known]) if known else None
    return {
        "unit": "person",
        "units": len(people),
        "asked": max(one.people for one in told),
        "unreached": sum(one.unreached for one in told),
        "unread": sum(one.unread for one in told),
        **estimate_cells("distance", estimate(mean, 0.0)),
        "thrice": beyond.mean.units,
        **estimate_cells("effect", beyond.mean),
        **tested(beyond),
        "changes": {
            name: change_cells(change_of([one.changes(name) for one in told if name in one.values], rng, draws))
            for name in CHANGES
            if any(not np.isnan(one.values.get(name, NOBODY)).all() for one in told)
        },
    }


def change_cells(found: Change) -> Row:
    return {
        "effect": found.mean.value,
        "ci": low_high(found.mean.ci),
        "n": found.mean.units,
        **tested(found),
        **reasons(ci_why=found.mean.why if found.mean.value is not None else None),
    }


def tested(found: Change) -> Row:
    return {"p": found.p, "p_tail": found.p_tail, "p_holm": None, **reasons(why=found.why)}


# What may change, with its heading and number format.
CHANGES: dict[str, tuple[str, NumberFormat]] = {
    "top5_share": ("Of the five most frequent, points", POINTS),
    "items": ("Items", CHANGE),
    "correct_share": ("Right, points", POINTS),
    "unknown_share": ("Nothing found, points", POINTS),
    "rating": ("Rating, 1 to 5", CHANGE),
}

# In a figure -----------------------------------------------------------------------------------------------

TITLE = "What another state of the account changes"
NOTHING = "Nobody was asked in another state of their account: [[arms]] in the study file asks for one."
NOBODY_THRICE = "Nobody answered a prompt twice in the usual state and once in the other: that takes [repeats] too."
DRAWN_COLUMNS = [
    Column("prompt", "prompt", value=lambda row: row["prompt"] or "mean"),
    Column("model", "chatbot"),
    Column("arm", "state"),
    Column("asked", "people asked"),
    Column("unreached", "could not reach it"),
    Column("thrice", "people with both occasions and the state"),
    Column("effect", "unlikeness beyond the dice"),
    *read.ends_in("unlikeness", "ci_effect"),
    *(*read.TESTED, read.WHY),
]


def draw_arms(report: Report, options: Options) -> Figure:
    rows = read.rows_of(report, "arms")
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    points = [point_of(row, options) for row in rows if number(row["effect"]) is not None]
    if not points:
        return empty_figure("arms", TITLE, NOBODY_THRICE if rows else NOTHING, DRAWN_COLUMNS, options, table)
    ends = max(0.1, *read.reach(points)), min(0.0, *read.reach(points))
    panel = Panel("effect", "Unlikeness beyond the dice", *ends, ".2~f")
    series = series_of_groups(read.in_order(point["series"] for point in points))
    grid = grid_of([panel], points, series, options, height=150)
    words = Words(TITLE, caption(report, rows), " ".join(f"{point['text']}." for point in points[:6]))
    return make_figure("arms", words, draw_grids([grid]), points, table, DRAWN_COLUMNS, options)


def point_of(row: Row, options: Options) -> Row:
    prompt = options.name(row["prompt"]) if row["prompt"] else prompt_or_mean(row)
    ends, said = row["ci_effect"], decimal(row["effect"], sign=True) + read.told_ends(row["ci_effect"])
    where = read.shown_model(row["model"], options), prompt, printable(row["name"])
    return read.mark_at("effect", *where, row["effect"], ends, said)


def caption(report: Report, rows: Sequence[Row]) -> str:
    out = sum(row["unreached"] for row in rows if row["prompt"])
    return read.write_caption(
        report,
        f"{read.n_words(rows, 'thrice')} people a mark, who answered twice in the usual state and once in the other.",
        f"{plural(out, 'asking')} could not be answered because the state was not found." if out else "",
        "Lines are 95 % intervals over people.",
        definitions=["arm_effect"],
        missing=sum(number(row["effect"]) is None for row in rows),
        sizes=False,
    )


# In tables --------------------------------------------------------------------------------------------------

STATE = Column("name", "State")


def change_columns() -> tuple[Column, ...]:
    return tuple(
        column
        for name, (label, form) in CHANGES.items()
        for column in (
            Column(f"changes.{name}.effect", label, form, f"changes.{name}.ci", why=f"changes.{name}.why"),
            Column(f"changes.{name}.p_holm", "p", P, short="p (Holm)", why=f"changes.{name}.why"),
        )
    )


COLUMNS = (
    *(replace(PROMPT, name="where"), STATE, col.CHATBOT, Column("asked", "Asked", COUNT)),
    Column("unreached", "Not reached", COUNT),
    of_number("distance", "Usual to this state"),
    Column("thrice", "In both, twice in the usual", COUNT),
    *(of_number("effect", "Beyond the dice", SIGNED), P_HOLM),
)
TABLE = TableSpec(
    "arms",
    TITLE,
    (*COLUMNS, *change_columns()),
    lambda report, options: report.get("arms") or [],
    ("arm_distance", "arm_effect", "arm_change"),
)
PAGE = replace(
    TABLE,
    columns=COLUMNS,
    note="Distances of the same people’s answers. p: a person’s answer in this state is as like the others as these "
    "are, corrected over the page (Holm).",
    empty=NOTHING,
)


def changed_rows(report: Report, options: Options) -> list[Row]:
    return [
        {**row, "what": CHANGES[name][0], "measure": name, "change": change}
        for row in report.get("arms") or []
        for name, change in row["changes"].items()
    ]


PAGE_OF_CHANGES = TableSpec(
    "arm-changes",
    "The same people, this state minus the usual one",
    (
        replace(PROMPT, name="where"),
        STATE,
        col.CHATBOT,
        Column("what", "What"),
        Column("change.n", "People", COUNT),
        Column(
            "change.effect",
            "Change",
            CHANGE,
            "change.ci",
            why="change.why",
            format_of=lambda row: CHANGES[row["measure"]][1],
        ),
        Column("change.p_holm", "p", P, short="p (Holm)", why="change.why"),
    ),
    changed_rows,
    ("arm_change",),
    optional=True,
)

PART = Part(
    "arms",
    "states of the account",
    compute,
    {
        "arm_distance": "`distance`: mean unlikeness of one person’s answers in this state and in the usual one.",
        "arm_effect": "`effect`: that minus the unlikeness of the same person’s two answers in the usual state: what "
        "the state does beyond the dice. Of people with all three answers.",
        "arm_change": "`changes`: what the same people get in this state minus the usual one: share of items that are "
        "among the five most frequent, number of items, right letters, answers in which nothing was found, rating.",
    },
    intervals=intervals("jackknife", "unit", "ci_distance", "ci_effect", "changes.*.ci"),
    tables=(TABLE,),
    pages=(PAGE, PAGE_OF_CHANGES),
    draw=draw_arms,
    is_brief=True,
)
