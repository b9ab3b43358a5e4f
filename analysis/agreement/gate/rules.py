"""The rule of the gate: the figures of each annotator, and the limits that they keep or break."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.agreement.tables import read_estimate, share_of
from analysis.charts.tables import SHARE, Cell, Row
from analysis.stats.agreement.agreement import THRESHOLD
from analysis.stats.agreement.estimates import estimate_share
from surveys.annotation.qualification import gold_scores
from surveys.models import Participant, Study
from surveys.studies.labels import annotators_of, rater_name
from surveys.studies.wording import join_words, minus, percent

NO_GOLD = "answered no gold item"
NOBODY_ELSE = "nobody else gave labels that count"
DRAWS = 2_000


@dataclass(frozen=True)
class Limit:
    """A limit on one figure, set by a slider. At `off`, the end where everybody passes, it is not part of the rule."""

    name: str
    label: str
    low: float
    high: float
    step: float
    off: float
    start: float
    says: str  # the rule in words, with {} for the limit
    is_share: bool = False
    judges: bool = True  # whether it can be broken; else it is a setting of another figure
    is_most: bool = False  # broken by more than the limit, not by less

    def breaks(self, value: float, bound: float) -> bool:
        return value > bound if self.is_most else value < bound

    @property
    def called(self) -> str:
        return self.label.split(",")[0][0].lower() + self.label.split(",")[0][1:]

    def write(self, value: float) -> str:
        return percent(value) if self.is_share else minus(f"{value:g}")

    def read(self, text: str) -> float:
        """Read the limit from an address; anything but a number within bounds becomes the slider's start."""
        try:
            value = float(text)
        except ValueError:
            return self.start
        return value if self.low <= value <= self.high else self.start


# Items that a pair must share for its kappa to count in a mean: few items give arbitrary values.
SHARED = Limit("shared", "Items shared by a pair, at least", 5, 100, 5, -1, THRESHOLD, "", judges=False)
LIMITS = (
    Limit("labels", "Labels, at least", 0, 200, 5, 0, 0, "at least {} labels"),
    Limit("kappa", "Mean κ, at least", -0.2, 1, 0.05, -0.2, 0.2, "a mean κ of {} or more with the others"),
    Limit("kappa_most", "Mean κ, at most", 0, 1, 0.05, 1, 1, "a mean κ of {} or less with the others", is_most=True),
    Limit("seconds", "Median active seconds, at least", 0, 60, 1, 0, 0, "a median active time of {} seconds or more"),
    Limit(
        "share",
        "Share of one label, at most",
        0.3,
        1,
        0.05,
        1,
        1,
        "no label that takes more than {} of theirs",
        True,
        is_most=True,
    ),
    Limit(
        "distance",
        "Distance from the others’ labels, at most",
        0,
        1,
        0.05,
        1,
        1,
        "labels of which {} or less would have to be others to be spread as those of the others",
        True,
        is_most=True,
    ),
    Limit("gold_share", "Gold items right, at least", 0, 1, 0.05, 0, 0, "{} or more of their gold items right", True),
    SHARED,
)


@dataclass(frozen=True)
class AnnotatorFigures:
    """One annotator's figures. A figure that could not be measured is None and breaks no limit."""

    pseudonym: str
    kept: bool | None  # by the newest decision
    simulated: bool = False
    labels: int = 0
    shares: tuple[tuple[str, Cell], ...] = ()
    seconds: float | None = None
    pairs: tuple[tuple[str, Cell], ...] = ()
    agreement: Cell = Cell(why="gave no label that counts")
    without: Cell = Cell(why="gave no label that counts")
    gold: Cell = Cell(why=NO_GOLD)
    distance: Cell = Cell(why=NOBODY_ELSE)

    @property
    def numbers(self) -> dict[str, Cell]:
        """The figures that have an interval, by the names of the limits on them."""
        most = max((number for _, number in self.shares), key=lambda number: number.value or 0, default=Cell())
        return {
            **{"kappa": self.agreement, "kappa_most": self.agreement, "share": most},
            **{"distance": self.distance, "gold_share": self.gold},
        }

    def value_of(self, limit: str) -> float | None:
        found = self.numbers.get(limit)
        value: float | None = getattr(self, limit) if found is None else found.value
        return value

    @property
    def figures(self) -> dict[str, Any]:
        """What a decision rests on, frozen with it."""
        return {
            "labels": self.labels,
            "shares": {label: number.value for label, number in self.shares},
            "median_seconds": self.seconds,
            "mean_kappa": self.agreement.value,
            "mean_kappa_ci": self.agreement.ci,
            "mean_kappa_pairs": self.agreement.n,
            "mean_kappa_why": self.agreement.why,
            "pairs": [{"with": name, "kappa": n.value, "ci": n.ci, "n": n.n} for name, n in self.pairs],
            "alpha_without": self.without.value,
            "alpha_without_ci": self.without.ci,
            "gold_right": self.gold.value,
            "gold_right_ci": self.gold.ci,
            "gold_items": self.gold.n,
            "distance": self.distance.value,
            "distance_ci": self.distance.ci,
        }


def find_candidates(study: Study, pilot: bool, question: Row, times: list[Row]) -> list[AnnotatorFigures]:
    """List everybody who has labelled something, with figures from the labels that count."""
    raters = {rater["rater"]: rater for rater in question.get("raters", ()) if not rater["is_model"]}
    seconds = {row["rater"]: row["median_seconds"] for row in times}
    pairs = [pair for pair in question.get("pairs", ()) if pair["a"] in raters and pair["b"] in raters]
    labels = tuple(question["values"])
    gold = gold_scores(study, pilot=pilot)
    found = []
    for person in annotators_of(study, pilot):
        name = rater_name(person.origin, person.pid, person.pseudonym)
        simulated = person.origin == Participant.Origin.SIMULATED
        right = share_right(*gold.get(person.pk, (0, 0)))
        candidate = AnnotatorFigures(person.pseudonym, person.kept, simulated, gold=right)
        if rater := raters.get(name):
            own = [pair for pair in pairs if name in (pair["a"], pair["b"]) and pair["n"]]
            others = [other for other in raters.values() if other["rater"] != name and other["n"]]
            candidate = replace(
                candidate,
                labels=rater["n"],
                shares=tuple((label, share_of(rater, label)) for label in labels),
                seconds=seconds.get(name),
                pairs=tuple((pair["b" if pair["a"] == name else "a"], read_estimate(pair["kappa"])) for pair in own),
                agreement=read_estimate(rater["mean_kappa"]),
                without=replace(read_estimate(rater["alpha_without"]), n=None),
                distance=measure_distance(rater, others, labels),
            )
        found.append(candidate)
    return found


def share_right(right: int, answered: int) -> Cell:
    found = estimate_share(right, answered, NO_GOLD)
    return Cell(found.value, SHARE, found.ci, found.n, found.why)


def measure_distance(rater: Row, others: list[Row], labels: tuple[str, ...]) -> Cell:
    """Measure the total variation between a person's label shares and the mean shares of the others, 0 to 1.

    The interval: percentiles of 2,000 draws of the person's labels by their shares, taken as independent. Chance makes
    distances larger, the draws' by as much above the person's as that above the true one, so the lower end is twice
    this lower.
    """
    if not others or not rater["n"]:
        return Cell(why=NOBODY_ELSE)
    own, *theirs = (np.array([each["shares"][label]["value"] for label in labels]) for each in (rater, *others))
    usual = np.mean(theirs, axis=0)
    drawn = np.random.default_rng(0).multinomial(rater["n"], own / own.sum(), DRAWS) / rater["n"]
    distances, value = np.abs(drawn - usual).sum(axis=1) / 2, float(np.abs(own - usual).sum() / 2)
    low, high = np.percentile(distances, [2.5, 97.5])
    if high == low:  # all labels of one kind
        return Cell(value, SHARE, None, rater["n"], "no interval: every draw of their labels is the same")
    low = max(0.0, min(value, low - 2 * (distances.mean() - value)))
    return Cell(value, SHARE, (float(low), float(high)), rater["n"])


# The rule --------------------------------------------------------------------------------------------------


def read_limits(query: Mapping[str, str]) -> dict[str, float]:
    return {limit.name: limit.read(query.get(limit.name, "")) for limit in LIMITS}


def broken_limits(person: AnnotatorFigures, limits: Mapping[str, float]) -> list[str]:
    """Say which limits this person breaks; empty if they would stay."""
    if not person.labels:
        return ["no labels that count"]
    broken = []
    for limit, bound in limits_on(limits):
        value = person.value_of(limit.name)
        if value is not None and limit.breaks(value, bound):
            broken.append(f"{limit.called} {limit.write(round(value, 2))}")
    return broken


def unsure_limits(person: AnnotatorFigures, limits: Mapping[str, float]) -> list[str]:
    """Say for which limits the labels do not settle this person's side, and why."""
    unsure = []
    for limit, bound in limits_on(limits):
        number = person.numbers.get(limit.name)
        if not person.labels or number is None:
            continue
        if number.value is None and limit.name.startswith("kappa"):
            unsure.append(f"{limit.called} is not known: {number.why}")
        elif number.ci and number.ci[0] <= bound <= number.ci[1]:
            unsure.append(f"{limit.called} may be {number.range}, on either side of {limit.write(bound)}")
        elif number.value is not None and not number.ci:
            unsure.append(f"{limit.called} has {number.why or 'no interval'}")
    return unsure


def limits_on(limits: Mapping[str, float]) -> list[tuple[Limit, float]]:
    """Return the limits that are on and can be broken, with their values."""
    return [(limit, limits[limit.name]) for limit in LIMITS if limit.judges and limits[limit.name] != limit.off]


def format_rule(limits: Mapping[str, float], question: str) -> str:
    """Write the rule as one sentence, as it is frozen."""
    parts = [limit.says.format(limit.write(bound)) for limit, bound in limits_on(limits)]
    if any(limit.name.startswith("kappa") for limit, _ in limits_on(limits)):
        question = f"{question}; κ counts with others of whom at least {limits[SHARED.name]:g} items are shared"
    if not parts:
        return "Everybody with labels that count is kept."
    return f"Kept: {join_words(parts)}, by the question {question}; what cannot be measured counts against nobody."
