"""The kinds of claims: the part they are about, the page that shows more, and the pages that may make them."""

from collections.abc import Callable
from dataclasses import dataclass

from analysis.charts.figure import Report
from analysis.charts.tables import at
from analysis.report.claims import candidates as gathered
from analysis.report.claims import sentences as told
from analysis.report.claims.candidates import Gather, pair_shares, shared_range
from analysis.report.claims.sentences import Tell, asked_of, points
from analysis.report.dataset import OFFLINE
from analysis.report.sentences import who
from analysis.stats.simultaneous import PART_WAY
from surveys.studies.wording import INTERVAL, decimal, plural, span

PAIR_ITEMS, PAIR_OPTIONS, PAIR_VARIETY = "items of the pair", "options of the pair", "variety of the pair"
NO_ITEM = "For no item is a difference between the field and a model sure{within}."


def both_sides(report: Report) -> str:
    return " and ".join(report["pair"][key]["name"] for key in "ab")


def no_letter(report: Report) -> str:
    """Says how many letters only the field gives, in as many answers of each side, and how many so by chance."""
    found = [at(row, "against_field.new_letters") for row in report.get("choices") or [] if row["source"] == OFFLINE]
    known = [one for one in found if one]
    if not known:
        return "No letter is surely the field’s alone."
    value, chance = (sum(one[name] for one in known) / len(known) for name in ("value", "chance"))
    return (
        f"No letter is surely the field’s alone: of as many answers a question has {decimal(value, 1)} letters in the "
        f"field that offline never gives, by chance {decimal(chance, 1)}."
    )


def no_drift(report: Report) -> str:
    compared = plural(gathered.drift(report).tests, "comparison")
    return f"In none of {compared} of a run and its repetition is drift sure."


FEW_RUNS = 5  # fewer say nothing about a range
# Whether as many repeats alone may have every range; not sure does not mean equal.
HOLD = {True: "No score surely moves", False: "It is open whether scores hold"}


def no_spread(report: Report) -> str:
    """Says how far simulated users move a score where they move it most, compared with as many repeats."""
    rows = [row for row in report.get("benchmarks") or [] if span((row.get("noise_floor") or {}).get("ci"))]
    puppets = [row for row in rows if row["source"] != OFFLINE]
    if not puppets:
        return "Whether scores hold cannot be told: simulated users and repeats have too few runs."
    row = max(puppets, key=shared_range)
    floor, runs = row["noise_floor"], len(row["runs"])
    is_usual = all(shared_range(each) <= each["noise_floor"]["ci"][1] for each in puppets)
    opening = f"Fewer than {FEW_RUNS} runs do not tell whether scores hold" if runs < FEW_RUNS else HOLD[is_usual]
    return (
        f"{opening}: {runs} runs of {who(report, row)} lie {points(shared_range(row))} points "
        f"apart on {asked_of(row)}, as many offline repeats {points(floor['range'])} "
        f"({INTERVAL} {'–'.join(points(end) for end in floor['ci'])})."
    )


@dataclass(frozen=True)
class ClaimKind:
    """A kind of claim. `tested` (plural `many`) names a test of its family; `unsaid` says that nothing is sure, with
    the `sides` of a pair and, as `within`, from what size in `unit` a difference would be.
    """

    part: str
    page: str
    gather: Gather
    tell: Tell
    tested: str
    many: str
    unsaid: str | Callable[[Report], str]
    unit: str = ""

    def say_unsaid(self, report: Report, within: str) -> str:
        if callable(self.unsaid):
            return self.unsaid(report)
        return self.unsaid.format(within=within, sides=both_sides(report) if self.part == "pair" else "")


KINDS = {
    "items": ClaimKind(
        "heterogeneity", "items", gathered.items(True), told.tell_items,
        "prompt and offline source, each item", "prompts and offline sources, each item", NO_ITEM, "points",
    ),
    "items of puppets": ClaimKind(
        "heterogeneity", "items", gathered.items(False), told.tell_items,
        "prompt and other source, each item", "prompts and other sources, each item", NO_ITEM, "points",
    ),
    "variety": ClaimKind(
        "heterogeneity", "heterogeneity", gathered.variety, told.tell_variety, "entropy", "entropies",
        "No difference in how varied field and models are is sure{within}.", "bits",
    ),
    "right": ClaimKind(
        "choices", "choices", gathered.letters(True), told.tell_right,
        "share of right answers", "shares of right answers",
        "For no question is a difference between the field and a model sure{within}.", "points",
    ),
    "letters": ClaimKind(
        "choices", "choices", gathered.letters(False), told.tell_letters,
        "share of a letter", "shares of letters", no_letter,
    ),
    "nearest": ClaimKind(
        "calibration", "calibration", gathered.nearest, told.tell_nearest,
        "pair of sock puppets", "pairs of sock puppets",
        "No sock puppet is surely nearer to the field than all others.",
    ),
    "groups": ClaimKind(
        "cells", "demographics", gathered.groups, told.tell_groups, "group and prompt", "groups and prompts",
        "For no group of people is a difference from everybody else’s answers sure{within}.",
    ),
    "person": ClaimKind(
        "person_or_dice", "person-or-dice", gathered.person, told.tell_person,
        "chatbot, person against dice", "chatbots, person against dice",
        "Whether another person gets other answers than the same person asked again is not sure{within}.",
        "unlikeness",
    ),
    "states": ClaimKind(
        "arms", "person-or-dice", gathered.states, told.tell_states,
        "state of the account", "states of the account",
        "No state of the account moves answers surely beyond the dice{within}.", "unlikeness",
    ),
    "explained": ClaimKind(
        "explanations", "explanations", gathered.explained, told.tell_explained, "level", "levels",
        "Nothing known about people is told apart as an explanation{within}.", "unlikeness",
    ),
    "drift": ClaimKind(
        "drift", "drift", gathered.drift, told.tell_drift,
        "repetition and prompt", "repetitions and prompts", no_drift,
    ),
    "ranges": ClaimKind(
        "benchmarks", "benchmarks", gathered.ranges, told.tell_ranges, "place of a range", "places of ranges",
        "No range of scores lies surely apart from the offline runs’.",
    ),
    "novel": ClaimKind(
        "benchmarks", "benchmarks", gathered.new_letters, told.tell_new_letters,
        "share of new letters", "shares of new letters",
        "To no benchmark do runs surely give new letters more often than offline runs would.",
    ),
    PAIR_ITEMS: ClaimKind(
        "pair", "pair", pair_shares(PAIR_ITEMS, "items", 3, PART_WAY), told.tell_pair_shares,
        "prompt, each item", "prompts, each item",
        "For no item is a difference between {sides} sure{within}.", "points",
    ),
    PAIR_OPTIONS: ClaimKind(
        "pair", "pair", pair_shares(PAIR_OPTIONS, "options", 8, 0.0), told.tell_pair_shares,
        "prompt, each option", "prompts, each option",
        "For no option is a difference between {sides} sure{within}.", "points",
    ),
    PAIR_VARIETY: ClaimKind(
        "pair", "pair", gathered.pair_variety, told.tell_pair_variety, "entropy", "entropies",
        "No difference in how varied {sides} are is sure{within}.", "bits",
    ),
    "spread": ClaimKind(
        "benchmarks", "benchmarks", gathered.spread, told.tell_spread,
        "range beside repeats", "ranges beside repeats", no_spread,
    ),
}  # fmt: skip
# Each kind's part of the 5 in 100 that a page may claim by chance, shared among the kinds that a study has.
PAGES: dict[str, dict[str, float]] = {
    "overview": {
        "items": 1.0, "items of puppets": 0.4, "variety": 0.03, "right": 0.04, "letters": 0.03, "nearest": 0.02,
        "spread": 0.1, "ranges": 0.02, "novel": 0.02, "groups": 0.01, "drift": 0.05,
        "person": 0.2, "states": 0.05,
    },
    "pair": {PAIR_ITEMS: 0.7, PAIR_OPTIONS: 0.2, PAIR_VARIETY: 0.1},
    "heterogeneity": {"variety": 1.0},
    "choices": {"right": 0.6, "letters": 0.4},
    "benchmarks": {"spread": 0.4, "ranges": 0.3, "novel": 0.3},
    "items": {"items": 1.0, "items of puppets": 0.4},
    "distances": {"nearest": 1.0},
    "person-or-dice": {"person": 0.6, "states": 0.4},
    "explanations": {"explained": 1.0},
    "demographics": {"groups": 1.0},
    "drift": {"drift": 1.0},
}  # fmt: skip
OVERVIEW = "No difference between the field and the models is sure"
BESIDE_MODELS = ("items", "items of puppets", "variety", "right", "letters")  # the kinds that this sentence is about
HIDDEN = "Of what these filters show, no difference is sure."  # if a sure one is among what they hide
