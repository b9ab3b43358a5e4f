"""Who would stay as an annotator: the figures of each person, and limits that they keep or break."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.agreement.tables import Number, read_number, write
from analysis.stats.agreement.estimates import estimate_share
from surveys.annotation.counted import questions_of, rater_name
from surveys.annotation.qualification import annotators_of, gold_scores
from surveys.console.wording import join_words, minus, percent
from surveys.models import Participant, Study

Shape = Mapping[str, Any]
NO_GOLD = "answered no gold item"


@dataclass(frozen=True)
class Limit:
    """One figure with its slider. At `off`, the end where everybody passes, it is no part of the rule."""

    name: str
    label: str
    low: float
    high: float
    step: float
    off: float
    start: float
    says: str  # the rule in words, with {} for the limit
    is_share: bool = False

    def write(self, value: float) -> str:
        if value == self.off:
            return "off"
        return percent(value) if self.is_share else minus(f"{value:g}")

    def read(self, text: str) -> float:
        """The limit in an address; what is no number there, or out of bounds, is where the slider starts."""
        try:
            value = float(text)
        except ValueError:
            return self.start
        return value if self.low <= value <= self.high else self.start


LIMITS = (
    Limit("labels", "Labels, at least", 0, 200, 5, 0, 0, "at least {} labels"),
    Limit("kappa", "Mean κ, at least", -0.2, 1, 0.05, -0.2, 0.2, "a mean κ of {} or more with the others"),
    Limit("seconds", "Median active seconds, at least", 0, 60, 1, 0, 0, "a median active time of {} seconds or more"),
    Limit(
        "share", "Share of one label, at most", 0.3, 1, 0.05, 1, 1, "no label that takes more than {} of theirs", True
    ),
    Limit("gold_share", "Gold items right, at least", 0, 1, 0.05, 0, 0, "{} or more of their gold items right", True),
)


@dataclass(frozen=True)
class Candidate:
    """One annotator. What is None could not be measured and breaks no limit."""

    pseudonym: str
    kept: bool | None  # by the newest decision
    simulated: bool = False
    labels: int = 0
    shares: tuple[tuple[str, Number], ...] = ()
    seconds: float | None = None
    pairs: tuple[tuple[str, Number], ...] = ()
    kappa: float | None = None
    without: Number = field(default_factory=lambda: Number(None, why="gave no label that counts"))
    gold: Number = field(default_factory=lambda: Number(None, why=NO_GOLD))

    @property
    def share(self) -> float | None:
        return max((number.value or 0 for _, number in self.shares), default=None)

    @property
    def gold_share(self) -> float | None:
        return self.gold.value

    @property
    def kappa_text(self) -> str:
        return write(self.kappa)

    @property
    def figures(self) -> dict[str, Any]:
        """What a decision rests on, to be frozen with it."""
        return {
            "labels": self.labels,
            "shares": {label: number.value for label, number in self.shares},
            "median_seconds": self.seconds,
            "mean_kappa": self.kappa,
            "pairs": [{"with": name, "kappa": n.value, "ci": n.ci, "n": n.n} for name, n in self.pairs],
            "alpha_without": self.without.value,
            "alpha_without_ci": self.without.ci,
            "gold_right": self.gold.value,
            "gold_right_ci": self.gold.ci,
            "gold_items": self.gold.n,
        }


def find_candidates(study: Study, pilot: bool, question: Shape, times: list[Shape]) -> list[Candidate]:
    """Everybody who has labelled something, with figures from the labels that count."""
    raters = {rater["rater"]: rater for rater in question.get("raters", ()) if not rater["is_model"]}
    seconds = {row["rater"]: row["median_seconds"] for row in times}
    pairs = [pair for pair in question.get("pairs", ()) if pair["a"] in raters and pair["b"] in raters]
    labels = next((each.values for each in questions_of(study) if each.name == question["question"]), ())
    gold = gold_scores(study, pilot=pilot)
    found = []
    for person in annotators_of(study, pilot):
        name = rater_name(person.origin, person.pid, person.pseudonym)
        candidate = Candidate(person.pseudonym, person.kept)
        if name in raters:
            candidate = measure(person.pseudonym, person.kept, raters[name], labels, pairs, seconds.get(name))
        simulated = person.origin == Participant.Origin.SIMULATED
        found.append(replace(candidate, simulated=simulated, gold=share_right(*gold.get(person.pk, (0, 0)))))
    return found


def share_right(right: int, answered: int) -> Number:
    found = estimate_share(right, answered, NO_GOLD)
    return Number(found.value, found.ci, found.n, found.why, is_share=True)


def measure(
    pseudonym: str,
    kept: bool | None,
    rater: Shape,
    labels: tuple[str, ...],
    pairs: list[Shape],
    seconds: float | None,
) -> Candidate:
    name, shares, given = rater["rater"], rater["distribution"], rater["ci"]["distribution"]
    own = [pair for pair in pairs if name in (pair["a"], pair["b"]) and pair["n"]]
    row = tuple((pair["b"] if pair["a"] == name else pair["a"], read_number(pair, "kappa", pair["n"])) for pair in own)
    known = [number.value for _, number in row if number.value is not None]
    return Candidate(
        pseudonym=pseudonym,
        kept=kept,
        labels=rater["n"],
        shares=tuple((label, Number(shares[label], given[label], rater["n"], is_share=True)) for label in labels),
        seconds=seconds,
        pairs=row,
        kappa=sum(known) / len(known) if known else None,
        without=read_number(rater, "alpha_without"),
    )


# The rule --------------------------------------------------------------------------------------------------


def read_limits(query: Mapping[str, str]) -> dict[str, float]:
    return {limit.name: limit.read(query.get(limit.name, "")) for limit in LIMITS}


def broken_limits(person: Candidate, limits: Mapping[str, float]) -> list[str]:
    """What speaks against this person, in words; nothing when they would stay."""
    if not person.labels:
        return ["no labels that count"]
    broken = []
    for limit in LIMITS:
        value, bound = getattr(person, limit.name), limits[limit.name]
        if value is None or bound == limit.off:
            continue
        if value > bound if limit.name == "share" else value < bound:
            broken.append(f"{limit.label.split(',')[0].lower()} {limit.write(round(value, 2))}")
    return broken


def say_rule(limits: Mapping[str, float], question: str) -> str:
    """The rule as one sentence, as it is frozen."""
    parts = [limit.says.format(limit.write(limits[limit.name])) for limit in LIMITS if limits[limit.name] != limit.off]
    if not parts:
        return "Everybody with labels that count is kept."
    return f"Kept: {join_words(parts)}, by the question {question}; what cannot be measured speaks against nobody."
