"""The share of the differences between people's answers to a prompt that each explanation takes: PERMANOVA."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Panel, draw_grid, grid_of
from analysis.charts.tables import COUNT, FINE_SHARE, Column, P
from analysis.charts.theme import printable, series_of_groups
from analysis.report import columns as col
from analysis.report.columns import Part, TableSpec, rows_in
from analysis.report.dataset import FIELD
from analysis.report.persons.askings import MANY, Characteristic, fields_of, known_of, some_answers, values_of
from analysis.report.samples import Data, correct_over_prompts
from analysis.stats.persons.explaining import FEWEST_OF_A_LEVEL, Taken, centre, permanova
from analysis.stats.resampling import generator
from surveys.studies.wording import number, percent


def compute(data: Data) -> list[Row]:
    known = known_of(data)
    found = [row for prompt in data.prompts for row in prompt_rows(data, prompt, known)]
    correct_over_prompts(found, lambda row: row)
    return found


def prompt_rows(data: Data, prompt: str, known: Sequence[Characteristic]) -> list[Row]:
    """A row for each explanation that varies, from an eighth of the draws, as each permutes a whole matrix."""
    whole = centre([some_answers(data, group, prompt) for group in fields_of(data)])
    if whole is None:
        return []
    levels = [numbered(values_of(data, one, whole.who)) for one in known]
    told = [(one, level) for one, level in zip(known, levels, strict=True) if len(np.unique(level[level >= 0])) > 1]
    rng = generator(data.seed, "permanova", prompt)
    found = permanova(whole, [level for _, level in told], rng, max(1, data.draws // 8))
    return [
        taken_row(data, prompt, one, taken, len(whole.who))
        for (one, _), taken in zip(told, found, strict=True)
        if taken
    ]


def numbered(values: Sequence[str]) -> np.ndarray:
    """Number the levels: -1 for unknown ones and those of too few people."""
    names, of, counts = np.unique(np.array(values, dtype=object), return_inverse=True, return_counts=True)
    kept = (counts >= FEWEST_OF_A_LEVEL) & (names != "")
    return np.where(kept[of], of, -1).astype(np.int64)


def taken_row(data: Data, prompt: str, known: Characteristic, found: Taken, people: int) -> Row:
    return {
        "prompt": prompt,
        "kind": data.prompts[prompt].kind,
        "source": FIELD,
        "explanation": known.name,
        "label": known.label,
        "n": people,
        "unit": "person",
        "units": people,
        "persons": found.persons,
        "taken": found.share,
        "p": found.p,
        "p_tail": found.p_tail,
        "p_holm": None,
        "p_spread": found.p_spread,
    }


TITLE = "How much of all difference each explanation takes"
NOTHING = "Nothing known about people varies between enough of them: there is nothing to take."
DRAWN_COLUMNS = [
    Column("prompt", "prompt"),
    Column("label", "explanation"),
    Column("persons", "people of whom it is known"),
    Column("taken", "share of all difference"),
    *read.TESTED,
    Column("p_spread", "p of equal spread"),
    read.WHY,
]


def draw_taken(report: Report, options: Options) -> Figure:
    rows = read.rows_of(report, "taken")
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in rows if number(row["taken"]) is not None]
    if not known:
        return empty_figure("taken", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    prompts = read.prompts_in_order(report, known)
    points = [point_of(options.name(row["prompt"]), printable(row["label"]), row["taken"]) for row in known]
    panel = Panel("taken", "Share of all difference (pseudo-R²)", max(row["taken"] for row in known), format=".1~%")
    series = series_of_groups(point["series"] for point in points)
    grid = grid_of([panel], points, series, options, tuple(map(options.name, prompts)), 160)
    words = Words(TITLE, caption(report, rows, len(rows) - len(known)), describe(known, options))
    return make_figure("taken", words, draw_grid(grid), points, table, DRAWN_COLUMNS, options)


def point_of(prompt: str, label: str, share: float) -> Row:
    where = {"panel": "taken", "model": "", "prompt": prompt, "series": label}
    return read.make_mark(share, None, **where, text=f"{prompt}, {label}: {percent(share)}")


def caption(report: Report, rows: Sequence[Row], missing: int) -> str:
    people = f"{read.n_words(rows, 'units')} people a prompt."
    return read.write_caption(report, people, definitions=["taken"], missing=missing, sizes=False)


def describe(rows: Sequence[Row], options: Options) -> str:
    most = max(rows, key=lambda row: row["taken"])
    return f"The largest share is {percent(most['taken'])}: {printable(most['label'])}, {options.name(most['prompt'])}."


TABLE = TableSpec(
    "taken",
    TITLE,
    (
        col.PROMPT,
        Column("label", "Explanation"),
        Column("persons", "People", COUNT),
        Column("taken", "Of all difference", FINE_SHARE),
        Column("p_holm", "p", P, short="p (Holm)"),
        Column("p_spread", "p of equal spread", P),
    ),
    rows_in("taken"),
    ("taken",),
)
PAGE = replace(
    TABLE,
    note=f"Levels of {FEWEST_OF_A_LEVEL} people or more. Where the spread is not equal either, levels may differ in "
    "spread alone. p is corrected over prompts and explanations (Holm).",
    empty=NOTHING,
)
PART = Part(
    "taken",
    "shares of all difference",
    compute,
    {
        "taken": "Pseudo-R² of an explanation on how unlike people’s answers to a prompt are, within chatbots "
        f"(PERMANOVA), of at most {MANY:,} people with each; p by permuting people within their chatbot, "
        "`p_spread` that of equal spread."
    },
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_taken,
)
