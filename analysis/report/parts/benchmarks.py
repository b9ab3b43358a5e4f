"""Benchmark runs: the accuracy of every run, their range, and what offline evaluation does not see of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.charts.figure import Figure, Options, Report, Row, Words, below, empty_figure, make_figure
from analysis.charts.keys import draw_key
from analysis.charts.panels import room_for
from analysis.charts.ranges import bound_of, draw_benchmark, key_entries
from analysis.charts.rows import (
    in_order,
    label_variants,
    name_of_source,
    number,
    rows_of,
    shown_model,
    span,
    write_caption,
)
from analysis.charts.theme import printable
from analysis.models import Completion, Run
from analysis.report.columns import (
    COUNT,
    DEFINITIONS,
    ENTROPY,
    FINE_ENDS,
    FINE_SHARE,
    MODEL,
    NOVEL,
    SETTINGS,
    SOURCE,
    VARIANT,
    Column,
    Finder,
    Form,
    Listing,
    Part,
    intervals,
    rows_in,
)
from analysis.report.dataset import LETTERS, OFFLINE
from analysis.report.parts.choices import BOUNDS, ENTROPY_OF_LETTERS
from analysis.report.samples import Data, Source, generator_for, low_high, source_of, source_order
from analysis.report.sentences import finding, who, within
from analysis.stats import benchmark_runs
from analysis.stats.heterogeneity import entropy
from analysis.stats.intervals import interval
from analysis.stats.resampling import UNKNOWN
from surveys.console.wording import percent, sized
from surveys.models import BenchmarkItem

CALLS = ("run", "user", "repeat", "item", "status", "answer", "letter")
PENDING = -2  # a question that has no answer yet, or one that was not read
NO_OFFLINE = "There is no offline run at temperature 1 on these questions."


@dataclass(frozen=True, eq=False)
class BenchmarkRuns:
    """The complete runs of one source on one benchmark: `letters` (runs, questions), PENDING nowhere."""

    benchmark: str
    source: Source
    labels: list[str]
    letters: NDArray[np.int8]
    questions: NDArray[np.int64]
    incomplete: int

    @property
    def is_reference(self) -> bool:
        """Whether it is what others are compared with: stateless, at temperature 1."""
        return self.source.name == OFFLINE and self.source.temperature in (None, 1)


def compute(data: Data) -> list[Row]:
    """The runs that the filters leave; those that they are compared with count though a filter hides them."""
    found = load_runs(data.narrowed(source=(), temperature=(), history_size=()))
    keys = load_keys({runs.benchmark for runs in found})
    shown = [runs for runs in found if data.filters.wants_source(runs.source)]
    return [benchmark_row(data, runs, keys, reference_for(runs, found)) for runs in shown]


def load_runs(data: Data) -> list[BenchmarkRuns]:
    asked: dict[tuple[str, Source], list[Run]] = {}
    for run in data.frames.runs.values():
        source = source_of(run, data.definition)
        if run.benchmark and data.filters.wants_source(source):
            asked.setdefault((run.benchmark, source), []).append(run)
    calls = load_calls([run.pk for runs in asked.values() for run in runs])
    found = [
        collect(benchmark, source, runs, calls[calls["run"].isin([run.pk for run in runs])])
        for (benchmark, source), runs in asked.items()
    ]
    return sorted(found, key=lambda runs: (runs.benchmark, source_order(runs.source)))


def load_calls(runs: list[int]) -> pd.DataFrame:
    calls = Completion.objects.filter(run__in=runs, item__isnull=False).order_by("run_id", "user__index", "repeat")
    rows = calls.values_list("run_id", "user__index", "repeat", "item_id", "status", "answer__id", "answer__letter")
    table = pd.DataFrame(list(rows), columns=list(CALLS))
    table["user"] = table["user"].fillna(-1).astype(int)
    table["code"] = table["letter"].map({letter: code for code, letter in enumerate(LETTERS)}).fillna(UNKNOWN)
    open_calls = (table["status"] != Completion.Status.FAILED) & table["answer"].isna()
    table.loc[open_calls, "code"] = PENDING
    return table


def collect(benchmark: str, source: Source, runs: list[Run], calls: pd.DataFrame) -> BenchmarkRuns:
    """One run is one repeat of one simulated user of one run; a call that failed for good is an unknown answer."""
    by_id = {run.pk: run for run in runs}
    wide = calls.pivot_table("code", ["run", "user", "repeat"], "item", fill_value=PENDING, sort=False)
    letters = wide.to_numpy(np.int8)
    complete = (letters != PENDING).all(axis=1)
    labels = [run_label(by_id[run], user, repeat, len(by_id)) for run, user, repeat in wide.index[complete]]
    questions = wide.columns.to_numpy(np.int64)
    return BenchmarkRuns(benchmark, source, labels, letters[complete], questions, int((~complete).sum()))


def run_label(run: Run, user: int, repeat: int, runs: int) -> str:
    name = run.imported_run or (f"run {run.pk}" if runs > 1 else "")
    part = f"user {user}" if user >= 0 else ""
    number = f"repeat {repeat}" if user < 0 and not run.imported_run or repeat else ""
    return ", ".join(words for words in (name, part, number) if words)


def load_keys(benchmarks: set[str]) -> dict[int, int]:
    items = BenchmarkItem.objects.filter(benchmark__in=benchmarks).values_list("pk", "answer")
    return {pk: LETTERS.find(answer) for pk, answer in items}


def reference_for(runs: BenchmarkRuns, found: list[BenchmarkRuns]) -> BenchmarkRuns | None:
    same = [other for other in found if (other.benchmark, other.source.model) == (runs.benchmark, runs.source.model)]
    return next((other for other in same if other.is_reference and other.labels), None)


def benchmark_row(data: Data, runs: BenchmarkRuns, keys: Mapping[int, int], offline: BenchmarkRuns | None) -> Row:
    key = np.array([keys[item] for item in runs.questions], dtype=np.int8)
    found = benchmark_runs.describe(runs.letters, key, random_for(data, runs, "benchmark"), data.draws)
    row: Row = {
        "benchmark": runs.benchmark,
        **runs.source.key,
        "chatbot": runs.source.chatbot,
        **runs.source.settings,
        "questions": found.questions,
        "runs": run_rows(runs, found),
        "min": found.minimum,
        "max": found.maximum,
        "mean": found.mean,
        "ci": low_high(found.ci),
        "sd": found.sd,
        "range": found.range,
        "unknown": found.unknown_share,
        "unknown_answers": int((runs.letters == UNKNOWN).sum()),
        "bounds": low_high(found.bounds),
        "incomplete": runs.incomplete,
        "simulated": runs.source.simulated,
        "references": reference_lines(data, runs.benchmark),
        **question_entropy(runs, random_for(data, runs, "entropy"), data.draws),
        **beside_offline(data, runs, offline, keys),
    }
    if found.why:
        row["why"] = "No run has an answer to every question yet." if runs.incomplete and not found.runs else found.why
    return row


def random_for(data: Data, runs: BenchmarkRuns, what: str) -> np.random.Generator:
    return generator_for(data, what, runs.source, runs.benchmark)


def run_rows(runs: BenchmarkRuns, found: benchmark_runs.RunScores) -> list[Row]:
    return [
        {"run": label, "accuracy": accuracy, "low": accuracy, "high": upper, "unknown": unknown}
        for label, accuracy, upper, unknown in zip(runs.labels, found.accuracy, found.upper, found.unknown, strict=True)
    ]


def reference_lines(data: Data, benchmark: str) -> list[Row]:
    lines = [line for line in data.definition.references if line.benchmark == benchmark]
    return [{"name": line.name, "accuracy": float(line.accuracy), "source": line.source} for line in lines]


def question_entropy(runs: BenchmarkRuns, rng: np.random.Generator, draws: int) -> Row:
    """Mean over questions of the entropy of the runs' known letters; questions without any are left out."""
    counts = np.stack([(runs.letters == code).sum(axis=0) for code in range(len(LETTERS))], axis=-1)
    bits = entropy(counts[counts.sum(axis=-1) > 0])
    if len(runs.labels) < 2 or not len(bits):
        return {ENTROPY.key: None, "ci_entropy": None}
    drawn = bits[rng.integers(0, len(bits), (draws, len(bits)))].mean(axis=1)
    return {ENTROPY.key: float(bits.mean()), "ci_entropy": low_high(interval(drawn))}


def beside_offline(data: Data, runs: BenchmarkRuns, offline: BenchmarkRuns | None, keys: Mapping[int, int]) -> Row:
    """What the offline runs at temperature 1 of the same model, on the same questions, say of these."""
    nothing: Row = {
        "overlaps_offline": None,
        "offline_mean": None,
        NOVEL.key: None,
        "novel_ci": None,
        "noise_floor": None,
    }
    if offline is None or not runs.labels:
        return nothing | {"why_offline": NO_OFFLINE}
    shared = np.intersect1d(runs.questions, offline.questions)
    if not len(shared):
        return nothing | {"why_offline": NO_OFFLINE}
    key = np.array([keys[item] for item in shared], dtype=np.int8)
    mine, theirs = (letters_to(part, shared) for part in (runs, offline))
    scores, others = ((letters == key).mean(axis=1) for letters in (mine, theirs))
    row = nothing | {"offline_mean": float(others.mean()), "noise_floor": noise_floor(data, runs, theirs, key, scores)}
    if offline is runs:
        return row
    novel = benchmark_runs.novel_share(theirs, mine)
    row["overlaps_offline"] = benchmark_runs.overlap(ends_of(others), ends_of(scores))
    return row | {NOVEL.key: novel.share, "novel_ci": low_high(novel.ci), "shared_questions": len(shared)}


def letters_to(runs: BenchmarkRuns, questions: NDArray[np.int64]) -> NDArray[np.int8]:
    """The runs' letters to these questions, in their order; a run may have been asked in any other."""
    order = np.argsort(runs.questions)
    return runs.letters[:, order[np.searchsorted(runs.questions, questions, sorter=order)]]


def ends_of(scores: NDArray[np.float64]) -> tuple[float, float]:
    return float(scores.min()), float(scores.max())


def noise_floor(
    data: Data, runs: BenchmarkRuns, offline: NDArray[np.int8], key: NDArray[np.int8], scores: NDArray[np.float64]
) -> Row | None:
    """The range that as many offline repeats would have."""
    if len(runs.labels) < 2:
        return None
    observed = float(np.ptp(scores))
    rng = random_for(data, runs, "noise floor")
    found = benchmark_runs.noise_floor(offline, key, len(runs.labels), rng, data.draws, observed)
    return {
        "low": found.low,
        "high": found.high,
        "range": found.range,
        "ci": low_high(found.ci),
        "p": found.p,
        "runs": found.runs,
        "of": f"{len(offline)} offline runs at temperature 1",
        **({"why": found.why} if found.why else {}),
    }


# In a figure -----------------------------------------------------------------------------------------------

ACCURACY = "accuracy: Questions answered correctly in one run, unknown ones counted as wrong."
TITLE = "How far benchmark scores range"
NOTHING = "No complete benchmark runs yet: there is nothing to compare."
DRAWN_COLUMNS = [
    ("benchmark", "benchmark", ""),
    ("model", "model", ""),
    ("source", "source", ""),
    ("temperature", "temperature", ""),
    ("history_size", "history size", "conversations"),
    ("runs", "runs", ""),
    ("questions", "questions", ""),
    ("min", "lowest accuracy", "share"),
    ("mean", "mean accuracy", "share"),
    ("mean_low", "from", "share"),
    ("mean_high", "to", "share"),
    ("max", "highest accuracy", "share"),
    ("sd", "standard deviation", "share"),
    ("highest_bound", "highest if unknown were right", "share"),
    ("floor_low", "lowest of as many repeats", "share"),
    ("floor_high", "highest of as many repeats", "share"),
    (NOVEL.key, "questions with a new answer", "share"),
    ("why", "why undefined", ""),
]


def draw_benchmarks(report: Report, options: Options) -> Figure:
    rows = rows_of(report, "benchmarks")
    table = [table_row(row) for row in rows]
    drawn = [row for row in rows if number(row.get("min")) is not None and number(row.get("max")) is not None]
    if not drawn:
        return empty_figure("benchmarks", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    names = label_variants(drawn)
    key, parts = draw_key(key_entries(drawn), options, indent := room_for(names))
    specs = [key]
    for benchmark in in_order(row["benchmark"] for row in drawn):
        here = [(name, row) for name, row in zip(names, drawn, strict=True) if row["benchmark"] == benchmark]
        spec, more = draw_benchmark(benchmark, here, indent, options)
        specs.append(spec)
        parts += more
    words = Words(TITLE, caption(report, rows, drawn), describe(list(zip(names, drawn, strict=True)), options))
    return make_figure("benchmarks", words, below(specs, 18), parts, table, DRAWN_COLUMNS, options)


def table_row(row: Row) -> Row:
    (mean_low, mean_high), floor = span(row.get("ci")) or (None, None), span(row.get("noise_floor")) or (None, None)
    same = ("benchmark", "model", "source", "temperature", "history_size", "questions")
    numbers = ("min", "mean", "max", "sd", NOVEL.key)
    found = {name: row.get(name) for name in same} | {name: number(row.get(name)) for name in numbers}
    found |= {"runs": len(row["runs"]), "mean_low": mean_low, "mean_high": mean_high, "why": row.get("why", "")}
    found |= {"highest_bound": bound_of(row), "floor_low": floor[0], "floor_high": floor[1]}
    return {name: found[name] for name, _, _ in DRAWN_COLUMNS}


# In words --------------------------------------------------------------------------------------------------


def caption(report: Report, rows: Sequence[Row], drawn: Sequence[Row]) -> str:
    runs = [len(row["runs"]) for row in drawn]
    questions = sorted({int(row["questions"]) for row in drawn if number(row.get("questions"))})
    asked = f" of {' and '.join(f'{count:,}' for count in questions)} questions" if questions else ""
    return write_caption(
        report,
        f"{sized(*runs)} runs{asked} a row; one run is one repeat, or one simulated user.",
        "The axis does not begin at 0.",
        definitions=[ACCURACY, "noise_floor"],
        missing=len(rows) - len(drawn),
    )


def describe(rows: Sequence[tuple[str, Row]], options: Options) -> str:
    """The range of each row, and which lie apart from all offline runs at temperature 1."""
    return " ".join(
        describe_model(
            [pair for pair in rows if (pair[1]["benchmark"], pair[1]["model"]) == (benchmark, model)], options
        )
        for benchmark in in_order(row["benchmark"] for _, row in rows)
        for model in in_order(row["model"] for _, row in rows if row["benchmark"] == benchmark)
    )


def describe_model(rows: Sequence[tuple[str, Row]], options: Options) -> str:
    ranges = [f"{name} {percent(row['min'], 1)} to {percent(row['max'], 1)}" for name, row in rows]
    first = rows[0][1]
    sentence = f"{printable(first['benchmark'])}, {shown_model(first['model'], options)}: {'; '.join(ranges)}."
    offline = next((row for _, row in rows if row["source"] == "offline" and row.get("temperature") in (None, 1)), None)
    apart = [name for name, row in rows if offline and not meets(row, offline)]
    return f"{sentence} Without overlap with offline: {', '.join(apart)}." if apart else sentence


def meets(one: Row, other: Row) -> bool:
    """Whether two ranges have a point in common."""
    return bool(max(one["min"], other["min"]) <= min(one["max"], other["max"]))


# In tables --------------------------------------------------------------------------------------------------

BENCHMARK, QUESTIONS = Column("benchmark", "Benchmark"), Column("questions", "Questions", COUNT)
RUNS = Column(
    "runs",
    "Runs",
    COUNT,
    value=lambda row: len(row["runs"]),
    texts=lambda row: {"prompt": "", "benchmark": row["benchmark"]},
)
MEAN_ACCURACY = Column("mean", "Mean accuracy", FINE_SHARE, "ci", short="mean", why="why")
RANGE = Column(
    "range",
    "Lowest to highest",
    FINE_ENDS,
    value=lambda row: None if row["min"] is None else [row["min"], row["max"]],
    key=lambda row: -1 if row["range"] is None else row["range"],
)
FLOOR = Column(
    "noise_floor.range",
    "Range by chance, points",
    Form(digits=1, scale=100),
    "noise_floor.ci",
    why="noise_floor.why",
)
UNKNOWN_SHARE = Column("unknown", "Unknown", FINE_SHARE)
OVERLAP = Column(
    "overlaps_offline", "Overlaps offline", value=lambda row: {True: "yes", False: "no"}.get(row["overlaps_offline"])
)
NEW_LETTERS = Column(NOVEL.key, NOVEL.label, NOVEL.form, "novel_ci", why="why_offline")
TABLE = Listing(
    "benchmarks",
    "Benchmark runs",
    (
        *(BENCHMARK, SOURCE, MODEL, SETTINGS, QUESTIONS, RUNS, RANGE, MEAN_ACCURACY),
        Column("sd", "SD", FINE_SHARE, short="SD"),
        *(FLOOR, UNKNOWN_SHARE, BOUNDS, NEW_LETTERS, OVERLAP, ENTROPY_OF_LETTERS),
    ),
    rows_in("benchmarks"),
    ("benchmark_run", "bounds", "noise_floor", NOVEL.name, "overlaps_offline"),
)
PAGE = Listing(
    "benchmarks",
    "The numbers in the figure",
    (
        *(BENCHMARK, VARIANT, MODEL, RUNS, QUESTIONS, MEAN_ACCURACY, RANGE, FLOOR),
        replace(UNKNOWN_SHARE, ci=lambda row: row["bounds"] if row["unknown"] else None),
        *(OVERLAP, NEW_LETTERS),
    ),
    rows_in("benchmarks"),
    ("benchmark_run", "noise_floor", "overlaps_offline", NOVEL.name),
    "Beside unknown: the accuracy if all of them were wrong, and if all were right.",
    "No benchmark has been run with this study's models yet.",
)

# In sentences -----------------------------------------------------------------------------------------------


def say(report: Report) -> str:
    known = [row for row in report["benchmarks"] if row["mean"] is not None]
    if not known:
        return "No benchmark has been run yet."
    widest = max(known, key=lambda row: row["range"] or 0)
    return (
        f"{name_of_source(widest['source'])} with {widest['model']} scores {100 * widest['min']:.0f} to "
        f"{percent(widest['max'])} of {widest['benchmark']} over {len(widest['runs'])} runs."
    )


def several_runs(report: Report) -> Iterator[Row]:
    """Benchmark rows of more than one run that offline runs stand beside."""
    return (row for row in report.get("benchmarks", ()) if row["source"] != OFFLINE and len(row["runs"]) > 1)


def find_ranges(report: Report) -> Iterator[Row]:
    """Ranges of benchmark scores that offline runs do not reach."""
    for row in several_runs(report):
        if row["overlaps_offline"] is False:
            ranges = f"{percent(row['min'])} to {percent(row['max'])} in {len(row['runs'])} runs"
            words = f"{who(row)} scores {ranges} of {row['benchmark']}: a range that offline runs never reach."
            params = {"source": row["source"], "model": row["model"]}
            gap = abs(row["mean"] - row["offline_mean"])
            yield finding(report, "benchmarks", gap, words, ["benchmark_run", "overlaps_offline"], **params)


def find_new_letters(report: Report) -> Iterator[Row]:
    """Questions to which offline runs never give a letter that others give."""
    for row in several_runs(report):
        if share := row[NOVEL.key]:
            words = (
                f"On {percent(share)} of {row['shared_questions']} questions of {row['benchmark']} a run "
                f"of {who(row)} gives a letter that no offline run gives"
            )
            words += f" {within(row['novel_ci'], row['shared_questions'])}." if row.get("novel_ci") else "."
            params = {"source": row["source"], "model": row["model"]}
            yield finding(report, "benchmarks", share, words, [NOVEL.name], **params)


PART = Part(
    "benchmarks",
    "benchmark runs",
    compute,
    {
        "benchmark_run": "Accuracy of one repeat, or of one simulated user, over all questions; unknown counts as "
        "wrong.",
        "noise_floor": "The range, highest minus lowest, that as many offline repeats have though nothing differs.",
        "overlaps_offline": "Whether the range of the runs meets the range of the offline runs at temperature 1.",
        NOVEL.name: DEFINITIONS[NOVEL.name],
    },
    intervals=(
        *intervals("bootstrap", "run", "ci"),
        *intervals("bootstrap", "question", "ci_entropy"),
        *intervals("wilson", "question", "novel_ci"),
        *intervals("simulation", "run", "noise_floor.ci"),
    ),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_benchmarks,
    say=say,
    finders=(Finder(4, find_ranges), Finder(7, find_new_letters)),
    is_brief=True,
)
