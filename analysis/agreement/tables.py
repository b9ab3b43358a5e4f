"""One question's agreement as a page shows it: the answer in words, the matrix of raters, and tables of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Shape = Mapping[str, Any]

MEASURES = {
    "kappa": "Cohen’s κ",
    "kappa_linear": "κ, linear weights",
    "kappa_quadratic": "κ, quadratic weights",
    "spearman": "Spearman’s ρ",
}
COEFFICIENTS = {
    "alpha_nominal": "Krippendorff’s α, nominal",
    "alpha_ordinal": "Krippendorff’s α, ordinal",
    "alpha_interval": "Krippendorff’s α, interval",
    "fleiss": "Fleiss’ κ",
    "ac1": "Gwet’s AC1",
    "raw": "Raw agreement",
}
GROUPS = {"all": "All", "humans": "People", "models": "Judges", "across": "People with judges"}
GROUP_TITLES = {"corpus": "By corpus", "tag": "By kind of item", "user": "By user"}
GROUP_MEASURES = {"alpha": "α", "kappa": "Mean κ", "ac1": "AC1", "raw": "Raw agreement"}
SCORES = ("accuracy", "precision", "recall", "f1")
VIEWS = {
    "nominal": "Three labels",
    "ordinal": "Three labels in order",
    "maybe_is_no": "Maybe counts as no",
    "maybe_is_yes": "Maybe counts as yes",
}
MOST_RATERS = 60
MOST_PAIRS = 300
STEPS = (0.0, 0.2, 0.4, 0.6, 0.8)  # where a cell of the matrix gets its next colour


@dataclass(frozen=True)
class Number:
    """A number as it is written: value, interval, n, and the reason where something is undefined."""

    value: float | None
    ci: Sequence[float] | None = None
    n: int | None = None
    why: str = ""
    is_share: bool = False
    digits: int = 2

    @property
    def text(self) -> str:
        return write(self.value, self.is_share, self.digits)

    @property
    def range(self) -> str:
        return f"{write(self.ci[0], self.is_share)} to {write(self.ci[1], self.is_share)}" if self.ci else ""

    @property
    def words(self) -> str:
        """All of it in one line, for the hover and for screen readers."""
        parts = [f"95 % interval {self.range}" if self.ci else self.why, "" if self.n is None else f"n {self.n:,}"]
        return ", ".join([self.text, *(part for part in parts if part)])


def write(value: float | None, is_share: bool = False, digits: int = 2) -> str:
    if value is None:
        return "–"
    text = f"{100 * value:.{digits - 2}f} %" if is_share else f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text.rstrip(" %")) == 0 else text.replace("-", "−")


def read_number(shape: Shape, name: str, n: int | None = None, is_share: bool = False) -> Number:
    """The number of this name out of a shape that has its interval under `ci` and reasons under `why`."""
    ci = shape.get("ci", {})
    why = shape.get("why", {}).get(name) or ci.get("why", {}).get(name) or ""
    return Number(shape.get(name), ci.get(name), n, why, is_share)


# The matrix ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """How two raters agree; on the diagonal how many labels one gave."""

    a: str
    b: str
    number: Number
    tone: str
    is_own: bool = False


@dataclass(frozen=True)
class Row:
    rater: str
    is_model: bool
    cells: list[Cell]


def make_matrix(question: Shape, measure: str) -> list[Row]:
    """People first, then judges; nothing when there are too many raters for a matrix."""
    raters = sorted(question["raters"], key=lambda rater: rater["is_model"])
    if len(raters) > MOST_RATERS:
        return []
    found = {frozenset((pair["a"], pair["b"])): pair for pair in question["pairs"]}
    return [
        Row(one["rater"], one["is_model"], [make_cell(one, other["rater"], found, measure) for other in raters])
        for one in raters
    ]


def make_cell(one: Shape, other: str, found: Mapping[frozenset[str], Shape], measure: str) -> Cell:
    name = one["rater"]
    if name == other:
        return Cell(name, other, Number(None, n=one["n"]), "own", is_own=True)
    pair = found[frozenset((name, other))]
    number = read_number(pair, measure, pair["n"])
    return Cell(name, other, number, tone_of(number.value))


def tone_of(value: float | None) -> str:
    return "none" if value is None else f"k{sum(value >= step for step in STEPS)}"


@dataclass(frozen=True)
class PairLine:
    a: str
    b: str
    n: int
    numbers: list[Number]


def make_pairs(question: Shape) -> list[PairLine]:
    """The pairs that share items, those with most first."""
    shared = sorted((pair for pair in question["pairs"] if pair["n"]), key=lambda pair: -pair["n"])
    return [
        PairLine(pair["a"], pair["b"], pair["n"], [read_number(pair, name, pair["n"]) for name in MEASURES])
        for pair in shared[:MOST_PAIRS]
    ]


# Tables ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A row of a table: its name and its numbers."""

    label: str
    numbers: list[Number]
    note: str = ""


def label_columns(question: Shape) -> list[tuple[str, int | None]]:
    """The groups' names with how many items their coefficients compare."""
    return [(label, question["groups"][name].get("n")) for name, label in group_columns(question)]


def group_columns(question: Shape) -> list[tuple[str, str]]:
    """The groups of raters there are; one when there are only people or only judges."""
    groups = question["groups"]
    if "n" not in groups.get("humans", {}):
        return [("all", "All raters")]
    return [(name, label) for name, label in GROUPS.items() if name in groups]


def make_coefficients(question: Shape) -> list[Line]:
    columns = [question["groups"][name] for name, _ in group_columns(question)]
    lines = [Line(label, [coefficient(group, name) for group in columns]) for name, label in COEFFICIENTS.items()]
    lines += [Line(f"Mean {label}", [mean(group, name) for group in columns]) for name, label in MEASURES.items()]
    return [line for line in lines if any(number.value is not None for number in line.numbers)]


def coefficient(group: Shape, name: str) -> Number:
    if "n" not in group:
        return Number(None, why="for pairs only")
    kind, _, scale = name.partition("_")
    is_share = name == "raw"
    value = group["alpha"][scale] if kind == "alpha" else group[name]
    whys = group["alpha"].get("why", {}) if kind == "alpha" else group.get("why", {})
    why = whys.get(scale or name) or group["ci"].get("why", {}).get(name) or ""
    return Number(value, group["ci"].get(name), group["n"], why, is_share)


def mean(group: Shape, name: str) -> Number:
    return read_number(group["mean_pairwise"], name)


def make_shares(question: Shape, labels: Sequence[str]) -> list[Line]:
    """Of each label: its share among the labels of each group, with the items whose majority it is."""
    groups = [question["groups"][name] for name, _ in group_columns(question)]
    groups = [group for group in groups if "n" in group]
    majority = question["majority"]
    lines = [Line(label, [share_in(group, label) for group in groups], f"{majority[label]:,}") for label in labels]
    tied = f"{question['majority']['tie']:,}"
    return [*lines, Line("tie", [Number(None, why="no label") for _ in groups], tied)]


def share_in(group: Shape, label: str) -> Number:
    return Number(group["prevalence"][label], group["ci"]["prevalence"][label], is_share=True)


def share_columns(question: Shape) -> list[str]:
    return [label for name, label in group_columns(question) if "n" in question["groups"][name]]


@dataclass(frozen=True)
class GroupTable:
    """The groups of one kind, such as corpora, a line each."""

    title: str
    first: str  # the head of the first column
    lines: list[Line]


def make_groups(question: Shape, labels: Sequence[str]) -> list[GroupTable]:
    """Agreement and label shares by corpus, kind of item and user, each where there are several."""
    return [
        GroupTable(title, name.capitalize(), [make_group(row, name, labels) for row in question[f"by_{name}"]])
        for name, title in GROUP_TITLES.items()
        if len(question[f"by_{name}"]) > 1
    ]


def make_group(row: Shape, name: str, labels: Sequence[str]) -> Line:
    numbers = [read_estimate(row[measure], is_share=measure == "raw") for measure in GROUP_MEASURES]
    shares = [Number(row["shares"][label], row["ci"]["shares"][label], row["n"], is_share=True) for label in labels]
    return Line(row[name] or "none named", shares + numbers, f"{row['n']:,}")


@dataclass(frozen=True)
class RaterLine:
    """One rater: label shares, scores against the majority of the others, alpha without them, time, confusion."""

    rater: str
    is_model: bool
    n: int
    compared: int
    ties: int
    shares: list[Number]
    scores: list[Number]
    without: Number
    seconds: float | None
    confusion: list[tuple[str, list[tuple[str, int]]]]


def make_raters(question: Shape, labels: Sequence[str], times: Sequence[Shape]) -> list[RaterLine]:
    seconds = {row["rater"]: row["median_seconds"] for row in times}
    raters = sorted(question["raters"], key=lambda rater: rater["is_model"])
    return [make_rater(rater, labels, seconds.get(rater["rater"])) for rater in raters]


def make_rater(rater: Shape, labels: Sequence[str], seconds: float | None) -> RaterLine:
    shares = [
        Number(rater["distribution"][label], rater["ci"]["distribution"][label], rater["n"], is_share=True)
        for label in labels
    ]
    scores = [read_number(rater, name, rater["compared"], is_share=name == "accuracy") for name in SCORES]
    table = [
        (label, list(zip(labels, row, strict=True))) for label, row in zip(labels, rater["confusion"], strict=True)
    ]
    without = read_number(rater, "alpha_without")
    own = (rater["rater"], rater["is_model"], rater["n"], rater["compared"], rater["ties"])
    return RaterLine(*own, shares, scores, without, seconds, table)


def make_maybe(question: Shape) -> list[Line]:
    views = question.get("maybe", {})
    return [
        Line(
            label,
            [read_estimate(views[name][key], is_share=key == "raw") for key in ("alpha", "kappa", "ac1", "raw")],
        )
        for name, label in VIEWS.items()
        if name in views
    ]


def read_estimate(shape: Shape, is_share: bool = False) -> Number:
    return Number(shape["value"], shape["ci"], shape["n"], shape.get("why", ""), is_share)


def make_sides(question: Shape) -> list[Line]:
    """How often what stands on the left is preferred, of all and of each rater."""
    found = question.get("sides", {}).get("left", {})
    return [
        Line("All raters" if name == "all" else name, [read_estimate(each, is_share=True)])
        for name, each in sorted(found.items(), key=lambda entry: (entry[0] != "all", entry[0]))
    ]


# In words --------------------------------------------------------------------------------------------------


def say_answer(question: Shape) -> str:
    """The page's first sentence."""
    if not question["labels"]:
        return "No label to compare yet."
    if question["annotators"] < 2:
        return f"One rater has given {question['labels']:,} labels; agreement needs two."
    group = question["groups"][question["group"]]
    who = "Raters" if question["group"] == "all" else "People"
    raw, kappa = coefficient(group, "raw"), mean(group, "kappa")
    alpha = coefficient(group, "alpha_nominal")
    name, chance = ("κ", kappa) if kappa.value is not None else ("α", alpha)
    if raw.value is None or chance.value is None:
        return f"{who} have too few items in common to say how far they agree."
    beyond = f"beyond chance, {name} is {chance.text}{aside(chance)}"
    return f"{who} give the same label in {raw.text} of comparisons; {beyond}.{say_judges(question)}"


def say_judges(question: Shape) -> str:
    groups = question["groups"]
    if question["group"] != "humans":
        return ""
    judges, across = mean(groups["models"], "kappa"), mean(groups["across"], "kappa")
    parts = [
        f"{words} {number.text}{aside(number)}"
        for words, number in (("judges with one another", judges), ("judges with people", across))
        if number.value is not None
    ]
    return f" Mean κ of {' and of '.join(parts)}." if parts else ""


def aside(number: Number) -> str:
    return f" ({number.range})" if number.ci else ""
