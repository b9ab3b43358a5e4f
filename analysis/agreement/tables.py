"""One question's agreement as a page shows it: the answer in words, the matrix of raters, and tables of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.charts.tables import COUNT, PLAIN, SHARE, Cell, Column, NumberFormat, Row, Table, at, cells
from analysis.stats.agreement.labels import KIND_NAMES
from analysis.stats.agreement.pairs import cluster_order
from surveys.console.wording import sized

Shape = Mapping[str, Any]


def read_estimate(found: Shape, form: NumberFormat = PLAIN) -> Cell:
    return Cell(found["value"], form, found["ci"], found["n"], found.get("why", ""))


def read_number(shape: Shape, name: str, n: int | None = None, form: NumberFormat = PLAIN) -> Cell:
    """The number of this name out of a shape that has its interval under `ci` and reasons under `why`."""
    why = at(shape, f"why.{name}") or at(shape, f"ci.why.{name}") or ""
    return Cell(shape.get(name), form, at(shape, f"ci.{name}"), n, why)


def estimate(name: str, label: str, form: NumberFormat = PLAIN, missing: str = "") -> Column:
    """A column of estimates, each with its interval and n; `missing` is why a row has none."""

    def read(row: Row) -> Cell:
        return read_estimate(row[name], form) if name in row else Cell(why=missing)

    return Column(name, label, form, read=read)


def measured(name: str, label: str, form: NumberFormat = PLAIN, short: str = "", count: str = "") -> Column:
    """A column of numbers of rows that have all intervals together; `count` is where such a row has n."""
    return Column(
        name, label, form, short=short, read=lambda row: read_number(row, name, row[count] if count else None, form)
    )


def coefficient(name: str, label: str, form: NumberFormat = PLAIN, short: str = "") -> Column:
    """A column of a coefficient over all raters of a group."""
    path = name.replace("alpha_", "alpha.")
    of_scale = path.replace("alpha.", "alpha.why.") if path != name else f"why.{name}"

    def read(group: Row) -> Cell:
        if "n" not in group:
            return Cell(why="for pairs only")
        why = at(group, of_scale) or at(group, f"ci.why.{name}") or ""
        return Cell(at(group, path), form, at(group, f"ci.{name}"), group["n"], why)

    return Column(name, label, form, short=short, read=read)


ALPHA_NOMINAL = coefficient("alpha_nominal", "Krippendorff’s α, nominal", short="α nominal")
ALPHA_ORDINAL = coefficient("alpha_ordinal", "Krippendorff’s α, ordinal", short="α ordinal")
RAW = coefficient("raw", "Raw agreement", SHARE, "raw")
COEFFICIENTS = (
    ALPHA_NOMINAL,
    ALPHA_ORDINAL,
    coefficient("alpha_interval", "Krippendorff’s α, interval", short="α interval"),
    coefficient("fleiss", "Fleiss’ κ", short="Fleiss' κ"),
    coefficient("ac1", "Gwet’s AC1", short="AC1"),
    RAW,
)
KAPPA = measured("kappa", "Cohen’s κ", short="kappa")
# Of two raters, and as a mean over pairs.
OF_PAIRS = (
    KAPPA,
    measured("kappa_linear", "κ, linear weights", short="kappa linear"),
    measured("kappa_quadratic", "κ, quadratic weights", short="kappa quadratic"),
    measured("spearman", "Spearman’s ρ", short="spearman"),
)
MEASURES = {column.name: column.label for column in OF_PAIRS}
# What each part of the labels, and each reading of Maybe, has.
OF_PARTS = (
    estimate("alpha", "α"),
    estimate("kappa", "Mean κ"),
    estimate("ac1", "AC1"),
    estimate("raw", "Raw agreement", SHARE),
)
SCORES = (
    measured("accuracy", "Accuracy", SHARE, count="compared"),
    measured("precision", "Precision", count="compared"),
    measured("recall", "Recall", count="compared"),
    measured("f1", "F1", count="compared"),
)
GROUPS = {
    "all": "All",
    "humans": "People",
    "models": "Judges",
    "across": "People with judges",
    "baselines": "People with baselines",
}
GROUP_TITLES = {
    "corpus": "By corpus",
    "tag": "By kind of item",
    "user": "By user",
    "statement": "As extracted and revised",
}
MOST_RATERS = 60
TIE = "tie"
FEW_RATERS = 12  # of more the matrix is drawn, those who agree beside one another, and its table is folded
LEAST, LEASTS = 5, (1, 5, 10, 20, 50)  # items that both labelled, below which a cell is empty
MOST_PAIRS = 300
STEPS = (0.0, 0.2, 0.4, 0.6, 0.8)  # where a cell of the matrix gets its next colour


def count(label: str, name: str = "n") -> Column:
    return Column(name, label, COUNT)


# The matrix ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatrixCell:
    """How two raters agree; on the diagonal how many labels one gave."""

    a: str
    b: str
    number: Cell
    tone: str
    is_own: bool = False


@dataclass(frozen=True)
class MatrixRow:
    rater: str
    kind: str
    cells: list[MatrixCell]


def make_matrix(question: Shape, measure: str, least: int = LEAST) -> list[MatrixRow]:
    """People first, then judges; nothing when there are too many raters for a matrix."""
    raters = clustered(question, measure)
    if len(raters) > MOST_RATERS:
        return []
    found = pairs_of(question)
    return [
        MatrixRow(one["rater"], one["kind"], [_cell(one, other["rater"], found, measure, least) for other in raters])
        for one in raters
    ]


def pairs_of(question: Shape) -> dict[frozenset[str], Shape]:
    return {frozenset((pair["a"], pair["b"])): pair for pair in question["pairs"]}


def clustered(question: Shape, measure: str) -> list[Row]:
    """People, judges and baselines; of many raters each kind so ordered that those who agree stand together."""
    raters = in_order(question["raters"])
    if len(raters) <= FEW_RATERS:
        return raters
    found, ordered = pairs_of(question), []
    for kind in KIND_NAMES:
        some = [rater for rater in raters if rater["kind"] == kind]
        values = [
            [found.get(frozenset((one["rater"], other["rater"])), {}).get(measure) for other in some] for one in some
        ]
        ordered += [some[place] for place in cluster_order(np.array(values, dtype=float).reshape(len(some), len(some)))]
    return ordered


def _cell(one: Shape, other: str, found: Mapping[frozenset[str], Shape], measure: str, least: int) -> MatrixCell:
    name = one["rater"]
    if name == other:
        return MatrixCell(name, other, Cell(n=one["n"]), "own", is_own=True)
    pair = found[frozenset((name, other))]
    if 0 < pair["n"] < least:
        return MatrixCell(name, other, Cell(n=pair["n"], why=f"{sized(pair['n'])}: too few"), "none")
    number = read_number(pair, measure, pair["n"])
    return MatrixCell(name, other, number, tone_of(number.value))


def tone_of(value: float | None) -> str:
    return "none" if value is None else f"k{sum(value >= step for step in STEPS)}"


def make_pairs(question: Shape) -> list[tuple[Shape, list[Cell]]]:
    """The pairs that share items, those with most first."""
    shared = sorted((pair for pair in question["pairs"] if pair["n"]), key=lambda pair: -pair["n"])
    return [(pair, [read_number(pair, name, pair["n"]) for name in MEASURES]) for pair in shared[:MOST_PAIRS]]


# Tables ----------------------------------------------------------------------------------------------------


def label_columns(question: Shape) -> list[tuple[str, int | None]]:
    """The groups' names with how many items their coefficients compare."""
    return [(label, question["groups"][name].get("n")) for name, label in _group_columns(question)]


def _group_columns(question: Shape) -> list[tuple[str, str]]:
    """The groups of raters there are; one when there are only people or only judges."""
    groups = question["groups"]
    if "n" in groups.get("humans", {}):
        return [(name, label) for name, label in GROUPS.items() if name in groups]
    if "baselines" in groups and any(rater["kind"] == "person" for rater in question["raters"]):
        return [("all", GROUPS["humans"]), ("baselines", GROUPS["baselines"])]
    return [("all", "All raters")]


def make_coefficients(question: Shape) -> list[tuple[str, list[Cell]]]:
    groups = [question["groups"][name] for name, _ in _group_columns(question)]
    rows = [(each.label, [each.cell(group) for group in groups]) for each in COEFFICIENTS]
    rows += [(f"Mean {each.label}", [each.cell(group["mean_pairwise"]) for group in groups]) for each in OF_PAIRS]
    return [(label, numbers) for label, numbers in rows if any(number.value is not None for number in numbers)]


def make_shares(question: Shape, labels: Sequence[str]) -> Table:
    """The share of each label among the labels of each group, with the items whose majority it is."""
    named = [(question["groups"][name], f"Share, {label.lower()}") for name, label in _group_columns(question)]
    groups = [(group, head) for group, head in named if "n" in group]

    def numbers(label: str) -> list[Cell]:
        shares = [share_in(group, label) if label != TIE else Cell(why="no label") for group, _ in groups]
        return [Cell(label), *shares, Cell(question["majority"][label], COUNT)]

    heads = [
        Column("label", "Label"),
        *(Column("", head, SHARE) for _, head in groups),
        count("Items with this majority"),
    ]
    return Table(heads, [numbers(label) for label in (*labels, TIE)])


def share_in(group: Shape, label: str) -> Cell:
    return Cell(group["prevalence"][label], SHARE, group["ci"]["prevalence"][label])


def make_groups(question: Shape, labels: Sequence[str]) -> list[tuple[str, Table]]:
    """Agreement and label shares by corpus, kind of item and user, each where there are several."""
    return [
        (title, make_table([Column(name, name.capitalize(), nothing="none named"), *columns], rows, is_broad=True))
        for columns in [[*map(share_column, labels), *OF_PARTS, count("Labels")]]
        for name, title in GROUP_TITLES.items()
        if len(rows := question.get(f"by_{name}", ())) > 1
    ]


def share_column(label: str) -> Column:
    return Column(
        label, label, SHARE, read=lambda row: Cell(row["shares"][label], SHARE, row["ci"]["shares"][label], row["n"])
    )


def make_table(columns: Sequence[Column], rows: Sequence[Row], title: str = "", *, is_broad: bool = False) -> Table:
    return Table(columns, cells(rows, columns), title, is_broad=is_broad)


def in_order(raters: Sequence[Row]) -> list[Row]:
    """People, then judges, then baselines."""
    return sorted(raters, key=lambda rater: KIND_NAMES.index(rater["kind"]))


def make_raters(question: Shape, labels: Sequence[str], times: Sequence[Shape]) -> list[Row]:
    """Each rater with label shares, scores against the majority of the others, alpha without them, time, confusion."""
    by_rater = {row["rater"]: row for row in times}
    return [
        rater
        | {
            "shares": [
                Cell(rater["distribution"][label], SHARE, rater["ci"]["distribution"][label], rater["n"])
                for label in labels
            ],
            "scores": [*(score.cell(rater) for score in SCORES), F1_OF_ALL.cell(rater)],
            "without": read_number(rater, "alpha_without"),
            "time": by_rater.get(rater["rater"], {}),
            "confusion": _confusion(rater, labels),
        }
        for rater in in_order(question["raters"])
    ]


def _confusion(rater: Shape, labels: Sequence[str]) -> list[tuple[str, list[tuple[str, int]]]]:
    """Of a rater without a vote against the majority of all, so that it can be read item by item."""
    counts = rater.get("against_all", rater)["confusion"]
    return [(label, list(zip(labels, row, strict=True))) for label, row in zip(labels, counts, strict=True)]


def _f1_of_all(row: Row) -> Cell:
    whole = row.get("against_all")
    return read_number(whole, "f1", whole["compared"]) if whole else Cell(why="one of those who make the majority")


F1_OF_ALL = Column("against_all", "F1 against all", PLAIN, read=_f1_of_all)  # the majority of all who vote


# In words --------------------------------------------------------------------------------------------------


def say_answer(question: Shape) -> str:
    """The page's first sentence."""
    if not question["labels"]:
        return "No label to compare yet."
    if question["annotators"] < 2:
        return f"One rater has given {question['labels']:,} labels; agreement needs two."
    group = question["groups"][question["group"]]
    who = "Raters" if question["group"] == "all" else "People"
    raw, kappa, alpha = RAW.cell(group), KAPPA.cell(group["mean_pairwise"]), ALPHA_NOMINAL.cell(group)
    name, chance = ("κ", kappa) if kappa.value is not None else ("α", alpha)
    if raw.value is None or chance.value is None:
        return f"{who} have too few items in common to say how far they agree."
    beyond = f"beyond chance, {name} is {chance.text}{aside(chance)}"
    return f"{who} give the same label in {raw.text} of comparisons{aside(raw)}; {beyond}.{_say_judges(question)}"


def _say_judges(question: Shape) -> str:
    groups = question["groups"]
    if question["group"] != "humans":
        return ""
    judges, across = (KAPPA.cell(groups[name]["mean_pairwise"]) for name in ("models", "across"))
    parts = [
        f"{words} {number.text}{aside(number)}"
        for words, number in (("judges with one another", judges), ("judges with people", across))
        if number.value is not None
    ]
    return f" Mean κ of {' and of '.join(parts)}." if parts else ""


def aside(number: Cell) -> str:
    """The interval, and over how much where that is no number of pairs."""
    known = [number.range] if number.ci else []
    known += [] if number.n is None else [sized(number.n)]
    return f" ({', '.join(known)})" if known else ""
