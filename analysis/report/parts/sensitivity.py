"""The field's measures with other answers left out."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

from analysis.charts.figure import Options, Report, Row, prompt_name
from analysis.charts.tables import Column
from analysis.charts.theme import printable
from analysis.report import columns as col
from analysis.report.claims.enough import FEWEST, is_enough, too_few_people
from analysis.report.claims.sentences import chatbot_name
from analysis.report.columns import Measure, Part, TableSpec, is_choice, rows_in
from analysis.report.dataset import FIELD
from analysis.report.parts.groups import GroupFigure, choice_values, common, item_values
from analysis.report.questions.choices import RIGHT
from analysis.report.samples import Data
from surveys.reading.checks import CHECKS
from surveys.studies.wording import INTERVAL, decimal, sized

AS_ANALYSED = "as analysed"
# The name of each set and the filters that choose it; BY_CHECK adds one for each check that flagged an answer.
SETS: dict[str, dict[str, str]] = {
    AS_ANALYSED: {},
    "with excluded": {"excluded": "with"},
    "without flagged": {"flagged": "without"},
    "with flagged": {"flagged": "with"},
    "everybody": {"people": "all", "excluded": "with", "flagged": "with"},
}
BY_CHECK = {f"without {check}": {"flagged": check} for check in CHECKS}
EVERY_SET = SETS | BY_CHECK


def compute(data: Data) -> list[Row]:
    """The field's measures as analysed, and with other answers left out."""
    flags = set(chain.from_iterable(data.frames.field.table["flags"]))
    names = [name for name in EVERY_SET if name not in BY_CHECK or EVERY_SET[name]["flagged"] in flags]
    found = [prompt_rows(data, prompt, names) for prompt in data.prompts]
    places = {name: place for place, name in enumerate(names)}
    ordered = sorted(chain.from_iterable(found), key=lambda entry: (places[entry[0]], entry[1]))
    return [row for _, _, row in ordered]


def prompt_rows(data: Data, prompt: str, names: list[str]) -> list[tuple[str, int, Row]]:
    """One prompt's rows, each after its sort key: the name of its set and the place of its chatbot."""
    values, found = choice_values if prompt in data.choices else item_values, []
    for name in names:
        view = data.once(("set", name), partial(data.narrowed, **EVERY_SET[name]))
        for place, group in enumerate(view.groups):
            if len(rows := view.rows_of(group.field, prompt)):
                row = {"set": name, **common(view, group.field, prompt, rows)}
                found.append((name, place, row | values(view, group.field, prompt, rows)))
    return found


# In tables --------------------------------------------------------------------------------------------------

TABLE = TableSpec(
    "sensitivity",
    "With other answers left out",
    (
        *(col.PROMPT, col.CHATBOT, Column("set", "Answers"), col.SIZE, col.UNKNOWN),
        *(*(measure.column() for measure in col.OF_LISTS), RIGHT),
    ),
    rows_in("sensitivity"),
    ("sensitivity", col.ENTROPY.name, col.CORRECT.name, "ci"),
)


def set_columns(name: str, measure: Measure) -> tuple[Column, Column]:
    def row_of(entry: Row) -> Row:
        found: Row = entry["sets"].get(name, {})
        return found

    label = shown_set(name).capitalize()
    return (
        Column(
            name,
            label,
            measure.format,
            lambda entry: measure.interval(row_of(entry)),
            value=lambda entry: measure.value(row_of(entry)),
            why=lambda entry: row_of(entry).get("why", ""),
        ),
        replace(
            col.N,
            label=f"n {label.lower()}",
            value=lambda entry: row_of(entry).get("n"),
            texts=lambda entry: {"source": FIELD, **EVERY_SET[name]},
        ),
    )


def shown_set(name: str) -> str:
    """The set's name, with a check's label."""
    return f"without “{CHECKS[BY_CHECK[name]['flagged']].label.lower()}”" if name in BY_CHECK else name


def page(name: str, title: str, of_choices: bool) -> TableSpec:
    """A table with a row for each prompt and chatbot, and columns for each set."""

    def measure_of(options: Options) -> Measure:
        asked = col.ASKED.get(options.measure, col.DEFAULT)
        return col.CORRECT if of_choices else asked if asked in col.OF_LISTS else col.DEFAULT

    def by_set(report: Report, options: Options) -> list[Row]:
        entries: dict[tuple[str, str], Row] = {}
        for row in report["sensitivity"]:
            if is_choice(row) == of_choices:
                same = {key: row[key] for key in ("prompt", "source", "model")}
                entries.setdefault((row["prompt"], row["model"]), same | {"sets": {}})["sets"][row["set"]] = row
        return list(entries.values())

    def columns(rows: list[Row], options: Options) -> list[Column]:
        there = [key for key in EVERY_SET if key in SETS or any(key in entry["sets"] for entry in rows)]
        return [col.PROMPT, col.CHATBOT, *(column for key in there for column in set_columns(key, measure_of(options)))]

    return TableSpec(name, lambda options: f"{title}: {measure_of(options).label.lower()}", columns, by_set)


# In sentences -----------------------------------------------------------------------------------------------


def say(report: Report) -> str:
    """Say how much another choice of answers changes at most."""
    rows = report["sensitivity"]
    if few := too_few_people([row for row in rows if row["set"] == AS_ANALYSED]):
        return few if rows else "No answers of people are counted: there is nothing to leave out."
    if len({(row["prompt"], row["model"], row["n"]) for row in rows}) == len(bases_in(rows)):
        return "No answer is flagged or excluded: there is nothing to leave out."
    changes = list(changes_of(rows))
    if not changes:
        return "No choice of answers leaves enough of them to compare."
    size, row, before = max(changes, key=lambda entry: entry[0])
    leaves_few = not is_enough(*rows)  # in some sets, which stay out of the sentence
    if size == 0:
        return (
            f"Flagged or excluded answers, in or out: no number{f' of {FEWEST} answers or more' * leaves_few} changes."
        )
    what, prompt = "share of right answers" if is_choice(row) else "entropy", prompt_name(row["prompt"])
    of = f"leaves {FEWEST} answers or more" if leaves_few else "could be left out or in"
    return (
        f"Of what {of}, the largest step is that of answers {printable(shown_set(row['set']))}: "
        f"the {what} of {chatbot_name(report, row)}’s answers to “{prompt}” goes from {told(before)} "
        f"to {told(row)}."
    )


def told(row: Row) -> str:
    """The value with its interval and n, such as "2.31 bits (95 % interval 2.1 to 2.5, n = 40)"."""
    measure, unit = (col.CORRECT, "%") if is_choice(row) else (col.ENTROPY, "bits")
    value, ends = measure.value(row), measure.interval(row)
    scale, digits = (100, 0) if unit == "%" else (1, 2)
    within = f"{INTERVAL} {' to '.join(decimal(scale * end, digits) for end in ends)}" if ends else "no interval"
    return f"{decimal(scale * (value or 0), digits, unit)} ({within}, {sized(row['n'])})"


def bases_in(rows: list[Row]) -> dict[tuple[str, str], Row]:
    return {(row["prompt"], row["model"]): row for row in rows if row["set"] == AS_ANALYSED}


def changes_of(rows: list[Row]) -> Iterator[tuple[float, Row, Row]]:
    """Yield each set's change from the one analysed, relative for entropy, and both rows; not for sets that are the
    same or have too few.
    """
    bases = bases_in(rows)
    for row in rows:
        other = bases.get((row["prompt"], row["model"]))
        measure = col.CORRECT if is_choice(row) else col.ENTROPY
        now, before = measure.value(row), measure.value(other)
        if other is None or other["n"] == row["n"] or now is None or before is None or not is_enough(row, other):
            continue
        yield abs(now - before) / (1 if measure is col.CORRECT else max(before, 1e-9)), row, other


DRAWN = GroupFigure(
    "sensitivity",
    "sensitivity",
    "The field with other answers left out",
    "No field answers yet: there is nothing to compare.",
    "answers",
    lambda row: printable(shown_set(row["set"])),
)
PART = Part(
    "sensitivity",
    "what exclusions change",
    compute,
    {
        "sensitivity": "The field's measures with excluded or flagged answers left in or out: all that are flagged, "
        "and those of each paste check."
    },
    intervals=(*col.OF_ITEMS, *col.OF_LETTERS),
    tables=(TABLE,),
    pages=(page("left-out", "Recommendations", False), page("left-out-choices", "Choices", True)),
    draw=DRAWN.draw,
    say=say,
)
