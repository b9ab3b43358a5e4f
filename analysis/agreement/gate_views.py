"""The gate after a pilot: annotators' figures, the rule made of limits on them, decisions, and invitations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from analysis.agreement.agreements import rows_for
from analysis.agreement.annotations import LabelChoice
from analysis.agreement.tables import ALPHA_NOMINAL, ALPHA_ORDINAL, aside, groups_of, read_estimate, share_of
from analysis.agreement.views import pick_question, work_of
from analysis.charts.tables import PLAIN, SHARE, Cell, Row
from analysis.stats.agreement.agreement import THRESHOLD
from analysis.stats.agreement.estimates import estimate_share
from surveys.annotation.qualification import GateError, Verdict, decide_gate, gold_scores, list_invited
from surveys.models import AnnotationItem, GateDecision, GateVerdict, Participant, Study
from surveys.studies.access import Role
from surveys.studies.labels import annotators_of, kept_people, rater_name
from surveys.studies.pages import as_file, may, show, study_page
from surveys.studies.wording import join_words, minus, percent

NO_GOLD = "answered no gold item"
NOBODY_ELSE = "nobody else gave labels that count"
DRAWS = 2_000


@dataclass(frozen=True)
class Limit:
    """A limit on one figure, set by a slider; at `off`, the end where everybody passes, the rule leaves it out."""

    name: str
    label: str
    low: float
    high: float
    step: float
    off: float
    start: float
    says: str  # the rule in words, with {} for the limit
    is_share: bool = False
    judges: bool = True  # whether it can be broken; else it is a setting of other limits
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
    """One annotator's figures; None if undefined, which breaks no limit."""

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
        """Figures with intervals, by the names of the limits on them."""
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
        """The figures as frozen with a decision."""
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
    """List everybody who has labelled anything, with figures from the labels that count."""
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

    The interval: percentiles of 2,000 draws of the person's labels by their shares, taken as independent. Chance
    enlarges distances, the draws' over the person's as much as the person's over the true one, so the lower end is
    lowered by twice that bias.
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


# --- the rule


def read_limits(query: Mapping[str, str]) -> dict[str, float]:
    return {limit.name: limit.read(query.get(limit.name, "")) for limit in LIMITS}


def broken_limits(person: AnnotatorFigures, limits: Mapping[str, float]) -> list[str]:
    """Say which limits this person breaks; empty if none."""
    if not person.labels:
        return ["no labels that count"]
    broken = []
    for limit, bound in limits_on(limits):
        value = person.value_of(limit.name)
        if value is not None and limit.breaks(value, bound):
            broken.append(f"{limit.called} {limit.write(round(value, 2))}")
    return broken


def unsure_limits(person: AnnotatorFigures, limits: Mapping[str, float]) -> list[str]:
    """Say for which limits it is uncertain whether this person breaks them, and why."""
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
    """Return the limits in use that can be broken, with their values."""
    return [(limit, limits[limit.name]) for limit in LIMITS if limit.judges and limits[limit.name] != limit.off]


def format_rule(limits: Mapping[str, float], question: str) -> str:
    """Write the rule as one sentence, as it is frozen."""
    rules = limits_on(limits)
    parts = [limit.says.format(limit.write(bound)) for limit, bound in rules]
    if any(limit.name.startswith("kappa") for limit, _ in rules):
        question = f"{question}; κ counts with others of whom at least {limits[SHARED.name]:g} items are shared"
    if not parts:
        return "Everybody with labels that count is kept."
    return f"Kept: {join_words(parts)}, by the question {question}; what cannot be measured counts against nobody."


# --- pages

HERE = "gate"
LONGEST_REASON, LONGEST_NOTE = 5_000, 500


def read_page(request: HttpRequest, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the people of the chosen part with their figures and the limits in the address that each one breaks."""
    work_of(request.study)
    has_pilot = AnnotationItem.objects.filter(study=request.study, pilot=True).exists()
    pilot = has_pilot and query.get("part") != "main"
    limits = read_limits(query)
    shared = round(limits[SHARED.name])
    found = rows_for(request.study, LabelChoice(pilot=pilot), threshold=shared, in_parts=False)
    question = pick_question(found, query.get("question", ""))
    people = find_candidates(request.study, pilot, question, found["times"])
    broken = {person.pseudonym: broken_limits(person, limits) for person in people}
    return {
        "has_pilot": has_pilot,
        "pilot": pilot,
        "part": "pilot" if pilot else "main",
        "names": [each["question"] for each in found["questions"]],
        "question": question["question"],
        "people": people,
        "labelled": sum(person.labels > 0 for person in people),
        "limits": limits,
        "sliders": [
            (limit, at := limits[limit.name], "off" if at == limit.off else limit.write(at)) for limit in LIMITS
        ],
        "broken": broken,
        "unsure": {person.pseudonym: unsure_limits(person, limits) for person in people},
        "stay": sum(not faults for faults in broken.values()),
        "rule": format_rule(limits, question["question"]),
        "alpha": find_alpha(question),
    }


def find_alpha(question: dict[str, Any]) -> Cell:
    """Return the main group's alpha, ordinal if labels have an order, to compare with alpha without each rater."""
    if not question["labels"]:
        return Cell(why=question["why"])
    group = groups_of(question)[question["group"]]
    ordinal = ALPHA_ORDINAL.cell(group)
    return ALPHA_NOMINAL.cell(group) if ordinal.value is None else ordinal


@study_page(only=require_safe)
def gate(request: HttpRequest) -> HttpResponse:
    page = read_page(request, request.GET)
    broken = page["broken"]
    page["rows"] = [(one, not broken[one.pseudonym], "") for one in page["people"]]
    if request.headers.get("HX-Request"):
        page["rows"] = list_people(page)
        frame = {"study": request.study, "live": True, "may_act": may(request, Role.RESEARCHER)}
        return render(request, "agreement/_who_stays.html", frame | page)
    return show_gate(request, page)


def show_gate(request: HttpRequest, page: dict[str, Any], status: int = 200, **more: Any) -> HttpResponse:
    decisions = request.study.gate_decisions.prefetch_related("verdicts__participant").order_by("-number")
    return show(
        request,
        "agreement/gate.html",
        HERE,
        status=status,
        decisions=[describe_decision(decision) for decision in decisions],
        kept=kept_people(request.study).count(),
        may_invite=may(request, Role.OWNER),
        **page | {"rows": list_people(page)},
        **more,
    )


def list_people(page: Mapping[str, Any]) -> list[tuple[AnnotatorFigures, list[str], list[str], bool, str]]:
    """List each person with broken and uncertain limits, and the form's choice and note."""
    return [
        (person, page["broken"][person.pseudonym], page["unsure"][person.pseudonym], kept, note)
        for person, kept, note in page["rows"]
    ]


def describe_decision(decision: GateDecision) -> dict[str, Any]:
    verdicts = list(decision.verdicts.all())
    return {
        "decision": decision,
        "kept": [(verdict, format_kappa(verdict)) for verdict in verdicts if verdict.kept],
        "excluded": [(verdict, format_kappa(verdict)) for verdict in verdicts if not verdict.kept],
    }


def format_kappa(verdict: GateVerdict) -> str:
    """Format the mean kappa frozen with a verdict, with its interval; empty if undefined."""
    figures = verdict.figures
    number = Cell(figures.get("mean_kappa"), PLAIN, figures.get("mean_kappa_ci"))
    return f"κ {number.text}{aside(number)}" if number.value is not None else ""


@study_page(Role.RESEARCHER, require_POST)
def decide(request: HttpRequest) -> HttpResponse:
    """Freeze the form's verdict on each person in it, with their current figures."""
    given = request.POST
    page = read_page(request, given)
    listed = [person for person in page["people"] if given.get(f"keep-{person.pseudonym}") in ("yes", "no")]
    rows = [(person, *read_verdict(given, person)) for person in listed]
    reason = given.get("reason", "").replace("\x00", "").strip()[:LONGEST_REASON]
    if fault := find_fault(rows, page["broken"], reason):
        return show_gate(request, page | {"rows": rows}, 422, fault=fault, reason=reason)
    verdicts = {
        person.pseudonym: Verdict(kept, person.figures | {"unsure": page["unsure"][person.pseudonym]}, note)
        for person, kept, note in rows
    }
    try:
        decision = decide_gate(
            request.study,
            request.user.get_username(),
            verdicts,
            pilot=page["pilot"],
            rule=page["rule"],
            thresholds=page["limits"] | {"question": page["question"]},
            reason=reason,
        )
    except GateError as error:
        return show_gate(request, page | {"rows": rows}, 422, fault=str(error), reason=reason)
    kept = sum(verdict.kept for verdict in verdicts.values())
    messages.success(request, f"Decision {decision.number}: {kept} kept, {len(verdicts) - kept} not.")
    return redirect(f"{reverse('agreement:gate', args=[request.study.slug])}?part={page['part']}")


def read_verdict(given: Mapping[str, str], person: AnnotatorFigures) -> tuple[bool, str]:
    note = given.get(f"note-{person.pseudonym}", "").replace("\x00", "").strip()
    return given[f"keep-{person.pseudonym}"] == "yes", note[:LONGEST_NOTE]


def find_fault(rows: list[tuple[AnnotatorFigures, bool, str]], broken: Mapping[str, list[str]], reason: str) -> str:
    """Say why this cannot be decided yet; empty if it can."""
    if not rows:
        return "There is nobody to decide about."
    if not reason:
        return "Say why you decide so: the reason is kept with the decision."
    unexplained = [one.pseudonym for one, kept, note in rows if kept is bool(broken[one.pseudonym]) and not note]
    if unexplained:
        return f"{', '.join(unexplained)}: this is not what the rule says. Write a note that says why."
    return ""


@study_page(Role.OWNER, require_POST)
def invited(request: HttpRequest) -> HttpResponse:
    """Send the Prolific ids of the people kept, one per line, for a participant group on Prolific."""
    work_of(request.study)
    ids = list_invited(request.study, request.user.get_username())
    lines = "".join(f"{pid}\n" for pid in ids)
    return as_file(lines, "text/plain; charset=utf-8", f"{request.study.slug}-invited.txt")


GATE = "console/<slug:slug>/gate/"
urlpatterns = [
    path(GATE, gate, name="gate"),
    path(f"{GATE}decide/", decide, name="decide"),
    path(f"{GATE}invited/", invited, name="invited"),
]
