"""One question's agreement on a page: the answer in words, the matrix of raters, and tables of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.charts.tables import COUNT, PLAIN, SHARE, Cell, Column, NumberFormat, Row, Table, at, cells
from analysis.stats.agreement.estimates import FEW, FEWEST
from analysis.stats.agreement.labels import KIND_NAMES
from analysis.stats.agreement.pairs import cluster_order
from surveys.studies.wording import plural, sized


def read_estimate(found: Row, form: NumberFormat = PLAIN) -> Cell:
    return Cell(found["value"], form, found["ci"], found["n"], found.get("why", ""))


def estimate(name: str, label: str, form: NumberFormat = PLAIN, missing: str = "", short: str = "") -> Column:
    """Make a column of estimates with interval and n; `missing` says why a row has none."""

    def read(row: Row) -> Cell:
        return read_estimate(row[name], form) if name in row else Cell(why=missing)

    return Column(name, label, form, short=short, read=read)


def coefficient(name: str, label: str, form: NumberFormat = PLAIN, short: str = "") -> Column:
    """Make the column of a coefficient over all raters of a group."""
    return estimate(name, label, form, "for pairs only", short)


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
KAPPA = estimate("kappa", "Cohen’s κ", short="kappa")
# Of two raters, and as a mean over pairs.
OF_PAIRS = (
    KAPPA,
    estimate("kappa_linear", "κ, linear weights", short="kappa linear"),
    estimate("kappa_quadratic", "κ, quadratic weights", short="kappa quadratic"),
    estimate("spearman", "Spearman’s ρ", short="spearman"),
)
MEASURES = {column.name: column.label for column in OF_PAIRS}
# For each group of labels, and each reading of Maybe.
OF_PARTS = (
    estimate("alpha", "α"),
    estimate("kappa", "Mean κ"),
    estimate("ac1", "AC1"),
    estimate("raw", "Raw agreement", SHARE),
)
SCORES = (
    estimate("accuracy", "Accuracy", SHARE),
    estimate("precision", "Precision"),
    estimate("recall", "Recall"),
    estimate("f1", "F1"),
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
MOST_RATERS = 60  # in a matrix
MAKES_THE_MAJORITY = {"value": None, "ci": None, "n": None, "why": "one of those who make the majority"}
FEW_RATERS = 12  # with more, the matrix is drawn, in clusters, and its table is folded
LEAST, LEASTS = 5, (1, 5, 10, 20, 50)  # items that both must have labelled; with fewer, a cell is empty
MOST_PAIRS = 300
STEPS = (0.0, 0.2, 0.4, 0.6, 0.8)  # values at which a cell of the matrix changes colour


def count(label: str, name: str = "n") -> Column:
    return Column(name, label, COUNT)


# The matrix ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatrixCell:
    """The agreement of two raters; on the diagonal, a rater's number of labels."""

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


def make_matrix(question: Row, measure: str, least: int = LEAST) -> list[MatrixRow]:
    """Make the matrix, people first, then judges; empty if there are too many raters."""
    raters = clustered(question, measure)
    if len(raters) > MOST_RATERS:
        return []
    found = pairs_of(question)
    return [
        MatrixRow(one["rater"], one["kind"], [_cell(one, other["rater"], found, measure, least) for other in raters])
        for one in raters
    ]


def groups_of(question: Row) -> dict[str, Row]:
    return {row["group"]: row for row in question["groups"]}


def pairs_of(question: Row) -> dict[frozenset[str], Row]:
    return {frozenset((pair["a"], pair["b"])): pair for pair in question["pairs"]}


def clustered(question: Row, measure: str) -> list[Row]:
    """Order raters by kind and, if there are many, by clusters of those who agree within each kind."""
    raters = in_order(question["raters"])
    if len(raters) <= FEW_RATERS:
        return raters
    found, ordered = pairs_of(question), []
    for kind in KIND_NAMES:
        some = [rater for rater in raters if rater["kind"] == kind]
        values = [
            [at(found.get(frozenset((one["rater"], other["rater"]))), f"{measure}.value") for other in some]
            for one in some
        ]
        ordered += [some[place] for place in cluster_order(np.array(values, dtype=float).reshape(len(some), len(some)))]
    return ordered


def _cell(one: Row, other: str, found: Mapping[frozenset[str], Row], measure: str, least: int) -> MatrixCell:
    name = one["rater"]
    if name == other:
        return MatrixCell(name, other, Cell(n=one["n"]), "own", is_own=True)
    pair = found[frozenset((name, other))]
    if 0 < pair["n"] < least:
        return MatrixCell(name, other, Cell(n=pair["n"], why=f"{sized(pair['n'])}: too few"), "none")
    number = pair_cell(pair, measure)
    return MatrixCell(name, other, number, tone_of(number.value))


def pair_cell(pair: Row, measure: str) -> Cell:
    """Make a pair's cell; n counts the items that both labelled, even if the measure is undefined."""
    return replace(read_estimate(pair[measure]), n=pair["n"])


def tone_of(value: float | None) -> str:
    return "none" if value is None else f"k{sum(value >= step for step in STEPS)}"


def make_pairs(question: Row) -> list[tuple[Row, list[Cell]]]:
    """List the pairs that share items, the largest first."""
    shared = sorted((pair for pair in question["pairs"] if pair["n"]), key=lambda pair: -pair["n"])
    return [(pair, [pair_cell(pair, name) for name in MEASURES]) for pair in shared[:MOST_PAIRS]]


# Tables ----------------------------------------------------------------------------------------------------


def label_columns(question: Row) -> list[tuple[str, int | None]]:
    """Name the groups, with the number of items that their coefficients compare."""
    groups = groups_of(question)
    return [(label, groups[name].get("n")) for name, label in _group_columns(question)]


def _group_columns(question: Row) -> list[tuple[str, str]]:
    """List the groups of raters; one if there are only people or only judges."""
    groups = groups_of(question)
    if "n" in groups.get("humans", {}):
        return [(name, label) for name, label in GROUPS.items() if name in groups]
    if "baselines" in groups and any(rater["kind"] == "person" for rater in question["raters"]):
        return [("all", GROUPS["humans"]), ("baselines", GROUPS["baselines"])]
    return [("all", "All raters")]


def make_coefficients(question: Row) -> list[tuple[str, list[Cell]]]:
    groups = [groups_of(question)[name] for name, _ in _group_columns(question)]
    rows = [(each.label, [each.cell(group) for group in groups]) for each in COEFFICIENTS]
    rows += [(f"Mean {each.label}", [mean_cell(group, each.name) for group in groups]) for each in OF_PAIRS]
    return [(label, numbers) for label, numbers in rows if any(number.value is not None for number in numbers)]


def mean_cell(group: Row, measure: str) -> Cell:
    """Make the cell of a mean over pairs, without their number."""
    return replace(read_estimate(group["means"][measure]), n=None)


def make_shares(question: Row) -> Table:
    """Make the table of label shares by group, and of items by majority label."""
    groups = [(groups_of(question)[name], f"Share, {label.lower()}") for name, label in _group_columns(question)]
    groups = [(group, head) for group, head in groups if "n" in group]
    rows = [
        [Cell(label), *(share_in(group, label) for group, _ in groups), Cell(question["majority"][label], COUNT)]
        for label in question["values"]
    ]
    rows.append([Cell("tie"), *(Cell(why="no label") for _ in groups), Cell(question["ties"], COUNT)])
    heads = [Column("label", "Label"), *(Column("", head, SHARE) for _, head in groups)]
    return Table([*heads, count("Items with this majority")], rows)


def share_in(group: Row, label: str) -> Cell:
    found = group["shares"][label]
    return Cell(found["value"], SHARE, found["ci"])


def make_groups(question: Row) -> list[tuple[str, Table]]:
    """Make tables of agreement and label shares by corpus, kind of item, user and statement, if there are several."""
    columns = [*map(share_column, question["values"]), *OF_PARTS, count("Labels")]
    return [
        (title, make_table([Column(name, name.capitalize(), nothing="none named"), *columns], rows, is_broad=True))
        for name, title in GROUP_TITLES.items()
        if len(rows := question.get(f"by_{name}", ())) > 1
    ]


def whose_labels(question: Row) -> str:
    """Name the raters in the groups, whose labels make the majority: people, else judges, else other models."""
    kinds = {rater["kind"] for rater in question["raters"]}
    return "people" if "person" in kinds else "judges" if "judge" in kinds else "models"


def share_column(label: str) -> Column:
    return Column(label, label, SHARE, read=lambda row: share_of(row, label))


def share_of(row: Row, label: str) -> Cell:
    """Make the cell of a label's share of a rater's or group's labels, with n."""
    return replace(share_in(row, label), n=row["n"])


def make_table(columns: Sequence[Column], rows: Sequence[Row], title: str = "", *, is_broad: bool = False) -> Table:
    return Table(columns, cells(rows, columns), title, is_broad=is_broad)


def in_order(raters: Sequence[Row]) -> list[Row]:
    """Sort raters by kind: people, judges, baselines, trained models."""
    return sorted(raters, key=lambda rater: KIND_NAMES.index(rater["kind"]))


def make_raters(question: Row, times: Sequence[Row]) -> list[Row]:
    """Add label shares, scores against the others' majority, alpha without them, time and confusion to each rater."""
    by_rater, labels = {row["rater"]: row for row in times}, question["values"]
    return [
        rater
        | {
            "shares": [share_of(rater, label) for label in labels],
            "scores": [*(score.cell(rater) for score in SCORES), F1_OF_ALL.cell(rater)],
            "without": replace(read_estimate(rater["alpha_without"]), n=None),
            "time": by_rater.get(rater["rater"], {}),
            "confusion": _confusion(rater, labels),
        }
        for rater in in_order(question["raters"])
    ]


def _confusion(rater: Row, labels: Sequence[str]) -> list[tuple[str, list[tuple[str, int]]]]:
    """Pair counts with labels; of a non-voter, against the majority of all, so that each item counts once."""
    counts = rater.get("against_all", rater)["confusion"]
    return [(label, list(zip(labels, row, strict=True))) for label, row in zip(labels, counts, strict=True)]


# Against the majority of all who vote.
F1_OF_ALL = Column(
    "against_all",
    "F1 against all",
    PLAIN,
    read=lambda row: SCORES[-1].cell(row.get("against_all", {"f1": MAKES_THE_MAJORITY})),
)


# In words --------------------------------------------------------------------------------------------------


def summarise_agreement(question: Row) -> str:
    """Write the first sentence of the page."""
    if not question["labels"]:
        return "No label to compare yet."
    if question["annotators"] < 2:
        return f"One rater has given {plural(question['labels'], 'label')}; agreement needs two."
    group = groups_of(question)[question["group"]]
    who = "Raters" if question["group"] == "all" else "People"
    raw, kappa, alpha = RAW.cell(group), mean_cell(group, "kappa"), ALPHA_NOMINAL.cell(group)
    name, chance = ("κ", kappa) if kappa.value is not None else ("α", alpha)
    if raw.value is None:
        return f"{who} have too few items in common to say how far they agree."
    of = items_behind(question, group["units"], raw.n)
    beyond = f"beyond chance, {name} is {chance.text}{aside(chance, of)}"
    if chance.value is None:
        beyond = f"how far beyond chance cannot be told, since {chance.why}"
    same = f"{who} give the same label in {raw.text} of comparisons{aside(raw, of)}"
    return f"{same}; {beyond}.{_summarise_judges(question)}"


def say_items(question: Row) -> str:
    """Say how many items have labels, or parts of items if each attribute is rated."""
    if not (ratings := question.get("ratings")):
        return plural(question["items"], "item")
    of = "items" if ratings["drawn"] == "users" else plural(ratings["units"], "item")
    return f"{plural(question['items'], 'labelled part')} of {of}"


def items_behind(question: Row, units: int, n: int | None) -> str:
    """Say what n counts, and the number of independent units if it differs."""
    items = " item" if n == 1 else " items"
    if question["drawn"] == "users":
        items = " labelled parts of items" if question.get("ratings") else items
        return f"{items} about {plural(units, 'user')}"
    return items if units == n else f" labelled parts of {plural(units, 'item')}"


def say_intervals(question: Row, seed: int) -> str:
    """Say how the coefficients' intervals are made, and from which independent units."""
    units, drawn, group = question["units"], question["drawn"], groups_of(question)[question["group"]]
    if units < FEWEST:
        return f"95 % intervals of coefficients take at least {FEWEST} {drawn}"
    apart = ""
    if drawn == "users":
        apart = " (items about one user are not independent)"
    elif units != group["n"]:
        apart = " (each with all that was asked about it: answers about one item are not independent)"
    if units < FEW:
        return f"95 % intervals: {units} {drawn}, each left out once, by Student’s t: with so few they are wide{apart}"
    return f"{units:,} {drawn} drawn {question['draws']:,} times for the 95 % intervals (seed {seed}){apart}"


def _summarise_judges(question: Row) -> str:
    groups = groups_of(question)
    if question["group"] != "humans":
        return ""
    judges, across = (mean_cell(groups[name], "kappa") for name in ("models", "across"))
    parts = [
        f"{words} {number.text}{aside(number)}"
        for words, number in (("judges with one another", judges), ("judges with people", across))
        if number.value is not None
    ]
    return f" Mean κ of {' and of '.join(parts)}." if parts else ""


def aside(number: Cell, of: str = "") -> str:
    """Format interval and n in parentheses, as far as the cell has them; a mean over pairs has no n."""
    known = [number.range] if number.ci else []
    known += [] if number.n is None else [sized(number.n) + of]
    return f" ({', '.join(known)})" if known else ""
