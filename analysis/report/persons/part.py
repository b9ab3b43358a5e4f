"""Is it the person or the dice: what people get from one another, what one person gets twice, and what calls give."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.charts.figure import Options, Report, Row, prompt_name
from analysis.charts.tables import COUNT, PLAIN, Column, NumberFormat, P
from analysis.report import columns as col
from analysis.report.columns import Columns, Part, TableSpec, intervals, rows_in
from analysis.report.dataset import FIELD
from analysis.report.persons.askings import estimate_cells, fields_of, measured, offline_of, repeated_prompts
from analysis.report.persons.figure import draw_split
from analysis.report.samples import Data, Group, Source, correct_over_prompts, generator_for, reasons
from analysis.stats.persons import shares
from analysis.stats.persons.shares import FEWEST_TESTED, Assignments, Measured
from surveys.console.wording import decimal

NOT_ASKED = (
    "Nobody was asked a prompt twice, so the person cannot be told from the dice: [repeats] in the study file asks "
    "some people some prompts again."
)
OF_PERSONS = ("within", "between", "person", "share", "offline")


def compute(data: Data) -> list[Row]:
    """Rows of each prompt, and of the mean of them all, whose `prompt` is empty.

    Prompts that people were asked twice; where there are none, those that simulated users were.
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
    """A row for each prompt that the source has answers to, and for their mean where there are several."""
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
    """What a field adds to stateless calls; nothing of other sources, and where a prompt has fewer than two calls."""
    if not calls or min(each.between.units for each in calls) < 2:
        return {}
    found = shares.split(some, calls)
    return {
        **estimate_cells("offline", found.offline),
        "n_offline": sum(len(each.answers.of) for each in calls),
        **estimate_cells("dice", found.dice),
        **estimate_cells("added", found.added),
    }


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
    """With the model only where a source of one chatbot has several: the numbers need the room."""
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
