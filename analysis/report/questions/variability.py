"""How much a model's offline answers to questions with choices vary between repeats.

The most variable questions can become prompts of a study file.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import altair as alt
import numpy as np
from numpy.typing import NDArray

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, prompt_name
from analysis.charts.marks import Strips, along, dots, make_legend, room_for
from analysis.charts.tables import COUNT, SHARE, Column
from analysis.charts.theme import printable, series_of_groups
from analysis.report import columns as col
from analysis.report.columns import Part, TableSpec, intervals
from analysis.report.dataset import LETTERS
from analysis.report.filters import OF_SETTINGS
from analysis.report.questions.benchmark_letters import BenchmarkRuns, is_reference, load_keys, load_runs
from analysis.report.samples import Data, Source, interval_cells, reasons
from analysis.stats.repeated_runs import Variability, variabilities
from analysis.stats.resampling import UNKNOWN
from surveys.models import BenchmarkItem
from surveys.studies.files.definitions import StudyFileError, parse_study
from surveys.studies.wording import decimal, join_words, number, plural

MOST = 50  # questions of a benchmark and model that are listed
DRAWN = 12
NO_LETTER = "No repeat gives a letter."
NOTHING = "No question with choices has two offline repeats yet: there is nothing to rank."


def compute(data: Data) -> list[Row]:
    """The study's own questions, then the MOST most variable of each benchmark and model; the most variable first."""
    own = [row for group in data.groups for source in group.others for row in own_rows(data, source)]
    anything = data.narrowed(source=(), **dict.fromkeys(OF_SETTINGS, ()))
    benchmarks = [runs for runs in load_runs(anything) if runs.is_reference and len(runs.labels) > 1]
    keys = load_keys({runs.benchmark for runs in benchmarks})
    taken = {(prompt.benchmark, prompt.item) for prompt in data.definition.prompts if prompt.item}
    return [*ranked(own), *(row for runs in benchmarks for row in item_rows(runs, keys, taken))]


def own_rows(data: Data, source: Source) -> Iterator[Row]:
    asked = [prompt for prompt in data.choices if is_reference(source) and data.options(source, prompt).n > 1]
    for prompt in asked:
        sample = data.options(source, prompt)
        counts = sample.counts()
        (found,) = variabilities(counts[None], np.array([sample.unknown]), [sample.options])
        key = "" if sample.correct is None else LETTERS[sample.correct]
        yield {"benchmark": "", "prompt": prompt, "item": "", "taken": True} | cells(
            source, found, counts, sample.unknown, key
        )


def item_rows(runs: BenchmarkRuns, keys: dict[int, int], taken: set[tuple[str, str]]) -> list[Row]:
    items = BenchmarkItem.objects.filter(pk__in=runs.questions.tolist()).values_list("pk", "item", "choices")
    known = {pk: (item, len(choices)) for pk, item, choices in items}
    counts = np.stack([(runs.letters == code).sum(axis=0) for code in range(len(LETTERS))], axis=-1)
    unknown = (runs.letters == UNKNOWN).sum(axis=0)
    found = variabilities(counts, unknown, [known[pk][1] for pk in runs.questions.tolist()])
    rows = [
        {"benchmark": runs.benchmark, "prompt": None, "item": known[pk][0]}
        | {"taken": (runs.benchmark, known[pk][0]) in taken}
        | cells(runs.source, one, counts[place], int(unknown[place]), LETTERS[keys[pk]])
        for place, (pk, one) in enumerate(zip(runs.questions.tolist(), found, strict=True))
    ]
    return ranked(rows)[:MOST]


def cells(source: Source, found: Variability, counts: NDArray[np.int64], unknown: int, key: str) -> Row:
    n = int(counts.sum()) + unknown
    given = {LETTERS[place]: int(count) for place, count in enumerate(counts) if count}
    return {
        **source.key,
        "n": n,
        "unit": "repeat",
        "units": n,
        col.ENTROPY.key: found.entropy,
        **interval_cells("ci", found.ci, found.ci_why),
        "counts": given | {"unknown": unknown},
        "correct": key,
        "right": given.get(key, 0) / n if key else None,
        "simulated": source.simulated,
        **reasons(why=None if found.entropy is not None else NO_LETTER),
    }


def ranked(rows: Sequence[Row]) -> list[Row]:
    """Sort the most variable first, ties by name; add `rank` and the number of rows (`among`)."""
    placed = sorted(rows, key=lambda row: (-(row[col.ENTROPY.key] or 0.0), row["prompt"] or "", row["item"]))
    return [row | {"rank": place, "among": len(placed)} for place, row in enumerate(placed, 1)]


# --- in a figure

TITLE = "Questions that a model answers differently each time"
DRAWN_COLUMNS = [
    Column("benchmark", "benchmark"),
    Column("question", "question", value=lambda row: name_of(row)),
    Column("model", "model"),
    Column("n", "repeats"),
    Column(col.ENTROPY.name, col.ENTROPY.spoken, unit=col.ENTROPY.unit),
    *read.ends_in("bits"),
    Column("correct", "correct answer"),
    Column("right", "answered correctly", unit="share"),
    Column("taken", "asked in the study"),
    read.WHY,
]


def name_of(row: Row) -> str:
    return prompt_name(row["prompt"]) if row["prompt"] else printable(row["item"])


def draw_variability(report: Report, options: Options) -> Figure:
    rows = read.rows_of(report, "variability")
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in rows if number(row[col.ENTROPY.key]) is not None]
    most = sorted(known, key=lambda row: -row[col.ENTROPY.key])
    chosen = read.in_order(name_of(row) for row in most)[:DRAWN]
    shown = [row for row in most if name_of(row) in chosen]
    if not shown:
        return figure.empty_figure("variability", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    points = [point_of(row, options) for row in shown]
    series = series_of_groups(read.in_order(point["series"] for point in points))
    room = room_for(tuple(chosen), 130 if options.narrow else 260, 11)
    width = options.width - 24 - room
    strips = Strips(tuple(chosen), width, room, step=max(16, 9 * len(series.names) + 6), padding=0.1, lined=True)
    scale = alt.Scale(domain=[0, max(1.0, *read.reach(points))], nice=True)
    x = along(alt.X, scale, alt.Axis(title=None, tickCount=5, format=".1~f", ticks=False, grid=True))
    layers = dots(strips.rows_of("row", series), x, series, make_legend(series, options, room), 60)
    panel = figure.panel(figure.specs_of(layers), width, strips.height) | {"title": figure.panel_title("Entropy, bits")}
    words = Words(TITLE, caption(report, rows, shown), describe(most, options))
    return figure.make_figure("variability", words, panel, points, table, DRAWN_COLUMNS, options)


def point_of(row: Row, options: Options) -> Row:
    bits, name, model = row[col.ENTROPY.key], name_of(row), read.shown_model(row["model"], options)
    return read.make_mark(bits, row["ci"], row=name, series=model, text=f"{name}, {model}: {decimal(bits, 2)} bits")


def caption(report: Report, rows: Sequence[Row], shown: Sequence[Row]) -> str:
    known = [row for row in rows if number(row[col.ENTROPY.key]) is not None]
    count, of = (len(read.in_order(name_of(row) for row in some)) for some in (shown, known))
    which = f"The {count} that vary most" if count < of else plural(count, "question")
    return read.write_caption(
        report,
        f"{which}; {read.n_words(shown)} repeats each.",
        "The highest of many are partly so by chance: further repeats vary less.",
        "Lines are 95 % intervals over repeats.",
        definitions=["offline_variability"],
        missing=sum(number(row[col.ENTROPY.key]) is None for row in rows),
        rows=shown,
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    """Name the most variable questions, which come first."""
    first, bits = rows[0], decimal(rows[0][col.ENTROPY.key], 2)
    if not first[col.ENTROPY.key]:
        return "To no question do repeats give different letters."
    tied = [row for row in rows if decimal(row[col.ENTROPY.key], 2) == bits]
    which, models = name_of(first), read.in_order(read.shown_model(row["model"], options) for row in tied)
    if (count := len(read.in_order(map(name_of, tied)))) > 1:
        return f"{count} questions are the most variable, {bits} bits each, among them {which}, {models[0]}."
    return f"The most variable is {which}, {join_words(models)}, {bits} bits."


# --- in tables


def counted(row: Row) -> str:
    return "  ".join(f"{letter} {count}" for letter, count in sorted(row["counts"].items()) if count)


TABLE = TableSpec(
    "variability",
    TITLE,
    (
        Column("rank", "Rank", COUNT, soft=lambda row: f"of {row['among']:,}"),
        Column("benchmark", "Benchmark", value=lambda row: row["benchmark"] or "the study"),
        Column("question", "Question", value=name_of),
        *(col.MODEL, Column("n", "Repeats", COUNT)),
        Column(col.ENTROPY.name, "Entropy, bits", col.ENTROPY.format, "ci", why="why"),
        *(Column("counts", "Answers", value=counted), Column("correct", "Key")),
        Column("right", "Right", SHARE),
        Column("taken", "In the study", value=lambda row: "yes" if row["taken"] else None),
    ),
    lambda report, options: read.rows_of(report, "variability"),
    ("offline_variability",),
    f"At most {MOST} of each benchmark and model. Among many questions, the highest are partly so by chance.",
    NOTHING,
)
PAGE = replace(TABLE, title="The numbers in the figure")


PART = Part(
    "variability",
    "offline variability of questions",
    compute,
    {
        "offline_variability": "Entropy, in bits, of the letters that offline repeats at temperature 1 give to one "
        "question, with an interval over repeats."
    },
    intervals=intervals("jackknife", "unit", "ci"),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_variability,
)

# --- as prompts of a study file

LONGEST = 50  # characters of a slug


class NothingToTake(ValueError):
    """No question can be taken; the message says why."""


def choose(rows: Sequence[Row], most: int, benchmark: str = "", model: str = "") -> list[BenchmarkItem]:
    """The first questions that the study does not ask yet, of this benchmark and model or of the first listed.
    Raises NothingToTake.
    """
    there = [
        row
        for row in rows
        if row["benchmark"] and row["benchmark"] == (benchmark or row["benchmark"])
        if row["model"] == (model or row["model"])
    ]
    if not there:
        raise NothingToTake("No such benchmark and model have two offline repeats: `run_benchmark` makes them.")
    first = there[0]["benchmark"], there[0]["model"]
    names = dict.fromkeys(
        row["item"] for row in there if (row["benchmark"], row["model"]) == first and not row["taken"]
    )
    if not names:
        raise NothingToTake(f"The study asks all that are listed of {first[0]} already.")
    found = {item.item: item for item in BenchmarkItem.objects.filter(benchmark=first[0], item__in=[*names])}
    return [found[name] for name in names][:most]


def as_prompts(items: Sequence[BenchmarkItem]) -> str:
    """The items as [[prompts]] tables for the end of a study file; JSON strings and lists are valid TOML."""
    return "\n".join(as_prompt(item) for item in items)


def as_prompt(item: BenchmarkItem) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", item.item.lower()).strip("-")
    values = {"slug": words[-LONGEST:].strip("-"), "title": item.item, "kind": "choice"}
    values |= {key: getattr(item, key) for key in ("question", "choices", "answer", "benchmark", "item")}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "\n".join(["[[prompts]]", *lines, ""])


def put_into(content: bytes, items: Sequence[BenchmarkItem]) -> str:
    """The study file with these items at its end. Raises NothingToTake if it would have faults."""
    whole = content.rstrip() + b"\n\n" + as_prompts(items).encode()
    try:
        parse_study(whole)
    except StudyFileError as error:
        faults = f"{plural(len(error.faults), 'fault')}, the first: {error.faults[0]}"
        raise NothingToTake(
            f"With these questions the study file has {faults}. Without --into they are printed, to be put in by hand."
        ) from None
    return whole.decode()
