"""Which differences a page may claim: of 100 studies without any difference, at most 5 make a claim on it.

A kind of claim has a part of the report, a page that shows more, and a share of the chance on each page that makes it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.charts.figure import Report, Row
from analysis.charts.tables import at
from analysis.report.claims import candidates as gathered
from analysis.report.claims import sentences
from analysis.report.claims.candidates import Candidate, Candidates, Gather, pair_shares, shared_range
from analysis.report.claims.enough import NOTHING_FOUND, too_few, unread_in
from analysis.report.claims.sentences import MakeClaims, Sure, asked_of, points, who
from analysis.report.dataset import OFFLINE
from analysis.stats.simultaneous import LEVEL, PART_WAY, Family, reach
from surveys.studies.wording import INTERVAL, Span, decimal, plural, span

PAIR_ITEMS, PAIR_OPTIONS, PAIR_VARIETY = "items of the pair", "options of the pair", "variety of the pair"
NO_ITEM = "For no item is a difference between the field and a model sure{within}."


def both_sides(report: Report) -> str:
    return " and ".join(report["pair"][key]["name"] for key in "ab")


def no_letter(report: Report) -> str:
    """Say how many letters only the field gives, among equally many answers of each side, and how many by chance."""
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


FEW_RUNS = 5  # fewer tell nothing about a range
# By whether as many repeats alone may have every range; "not sure" does not mean equal.
HOLD = {True: "No score surely moves", False: "It is open whether scores hold"}


def no_spread(report: Report) -> str:
    """Say how far simulated users move the score that they move most, compared with as many repeats."""
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
    """A kind of claim. `tested` (plural `many`) names a test of its family. `unsaid` says that nothing is sure; it may
    name the `sides` of a pair and, as `within`, the size in `unit` from which a difference would be.
    """

    part: str
    page: str
    gather: Gather
    make: MakeClaims
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
        "heterogeneity", "items", gathered.items(True), sentences.claim_items,
        "prompt and offline source, each item", "prompts and offline sources, each item", NO_ITEM, "points",
    ),
    "items of puppets": ClaimKind(
        "heterogeneity", "items", gathered.items(False), sentences.claim_items,
        "prompt and other source, each item", "prompts and other sources, each item", NO_ITEM, "points",
    ),
    "variety": ClaimKind(
        "heterogeneity", "heterogeneity", gathered.variety, sentences.claim_variety, "entropy", "entropies",
        "No difference in how varied field and models are is sure{within}.", "bits",
    ),
    "right": ClaimKind(
        "choices", "choices", gathered.letters(True), sentences.claim_right,
        "share of right answers", "shares of right answers",
        "For no question is a difference between the field and a model sure{within}.", "points",
    ),
    "letters": ClaimKind(
        "choices", "choices", gathered.letters(False), sentences.claim_letters,
        "share of a letter", "shares of letters", no_letter,
    ),
    "nearest": ClaimKind(
        "calibration", "calibration", gathered.nearest, sentences.claim_nearest,
        "pair of sock puppets", "pairs of sock puppets",
        "No sock puppet is surely nearer to the field than all others.",
    ),
    "groups": ClaimKind(
        "cells", "demographics", gathered.groups, sentences.claim_groups, "group and prompt", "groups and prompts",
        "For no group of people is a difference from everybody else’s answers sure{within}.",
    ),
    "person": ClaimKind(
        "person_or_dice", "person-or-dice", gathered.person, sentences.claim_person,
        "chatbot, person against dice", "chatbots, person against dice",
        "Whether another person gets other answers than the same person asked again is not sure{within}.",
        "unlikeness",
    ),
    "states": ClaimKind(
        "arms", "person-or-dice", gathered.states, sentences.claim_states,
        "state of the account", "states of the account",
        "No state of the account moves answers surely beyond the dice{within}.", "unlikeness",
    ),
    "explained": ClaimKind(
        "explanations", "explanations", gathered.explained, sentences.claim_explained, "level", "levels",
        "Nothing known about people is told apart as an explanation{within}.", "unlikeness",
    ),
    "drift": ClaimKind(
        "drift", "drift", gathered.drift, sentences.claim_drift,
        "repetition and prompt", "repetitions and prompts", no_drift,
    ),
    "ranges": ClaimKind(
        "benchmarks", "benchmarks", gathered.ranges, sentences.claim_ranges, "place of a range", "places of ranges",
        "No range of scores lies surely apart from the offline runs’.",
    ),
    "novel": ClaimKind(
        "benchmarks", "benchmarks", gathered.new_letters, sentences.claim_new_letters,
        "share of new letters", "shares of new letters",
        "To no benchmark do runs surely give new letters more often than offline runs would.",
    ),
    PAIR_ITEMS: ClaimKind(
        "pair", "pair", pair_shares(PAIR_ITEMS, "items", 3, PART_WAY), sentences.claim_pair_shares,
        "prompt, each item", "prompts, each item",
        "For no item is a difference between {sides} sure{within}.", "points",
    ),
    PAIR_OPTIONS: ClaimKind(
        "pair", "pair", pair_shares(PAIR_OPTIONS, "options", 8, 0.0), sentences.claim_pair_shares,
        "prompt, each option", "prompts, each option",
        "For no option is a difference between {sides} sure{within}.", "points",
    ),
    PAIR_VARIETY: ClaimKind(
        "pair", "pair", gathered.pair_variety, sentences.claim_pair_variety, "entropy", "entropies",
        "No difference in how varied {sides} are is sure{within}.", "bits",
    ),
    "spread": ClaimKind(
        "benchmarks", "benchmarks", gathered.spread, sentences.claim_spread,
        "range beside repeats", "ranges beside repeats", no_spread,
    ),
}  # fmt: skip
# Each kind's weight in the 5 in 100 that a page may claim by chance, divided among the kinds that a study has.
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


# --- the gate ----------------------------------------------------------------

OVERVIEW = "No difference between the field and the models is sure"
BESIDE_MODELS = ("items", "items of puppets", "variety", "right", "letters")  # the kinds that OVERVIEW is about
HIDDEN = "Of what these filters show, no difference is sure."  # if they hide a sure one


@dataclass(frozen=True, eq=False)
class TestedKind:
    """One kind of claim on one page."""

    kind: str
    pool: Candidates
    family: Family

    @property
    def candidates(self) -> list[Candidate]:
        return [one for one in self.pool.found if not one.turns]

    @cached_property
    def critical(self) -> float:
        return self.family.critical

    @property
    def half_width(self) -> float:
        """Half the width of the widest simultaneous interval; for shares, that of a share of a half."""
        normal = [one.error * reach(self.critical, one.freedom) for one in self.candidates if not one.is_share]
        return max([self.critical * self.pool.width, *normal])

    @property
    def held(self) -> int:
        """The number of comparisons not made, or not claimed because unknown answers could reverse them."""
        return self.pool.held + sum(self.family.p(one.strength) < LEVEL for one in self.pool.found if one.turns)

    def sure(self) -> list[Sure]:
        """The candidates too strong for chance anywhere in the family, strongest first."""
        judged = [(one, self.family.p(one.strength)) for one in self.candidates]
        found = [Sure(one, p, self.interval(one)) for one, p in judged if p < LEVEL]
        return sorted(found, key=lambda one: -one.candidate.strength)

    def interval(self, one: Candidate) -> Span | None:
        """The simultaneous interval; it excludes 0 if the difference is claimed."""
        if not one.error:
            return None
        half = one.error * (self.critical if one.is_share else reach(self.critical, one.freedom))
        low, high = one.estimate - half, one.estimate + half
        return (max(-1.0, low), min(1.0, high)) if one.is_share else (low, high)


Shown = Callable[[Row], bool]


def claims_of(
    report: Report, narrowed: Report | None = None, shown: Shown = lambda row: True
) -> tuple[list[Row], list[Row]]:
    """Return the claims of all pages whose parts are there, and for each page its family of tests and its opening.

    Tests cover the whole report; claims only the rows that filters leave, which are `shown` and in `narrowed`.
    """
    pools = {name: kind.gather(report) for name, kind in KINDS.items() if kind.part in report}
    claims: list[Row] = []
    families: list[Row] = []
    for page, weights in PAGES.items():
        tested = list(tested_on(weights, pools))
        if tested:
            family = family_row(report, page, tested, shown)
            found = claims_on(narrowed or report, page, tested, family["family"], shown)
            families.append(opened_with(found, family))
            claims += found
    return claims, families


def tested_on(weights: Mapping[str, float], pools: Mapping[str, Candidates]) -> Iterator[TestedKind]:
    there = {kind: weight for kind, weight in weights.items() if kind in pools and pools[kind].tests}
    for kind, weight in there.items():
        pool = pools[kind]
        yield TestedKind(kind, pool, Family(pool.normal, pool.tails, weight / sum(there.values())))


def shown_of(tested: TestedKind, shown: Shown) -> list[Sure]:
    """The sure candidates that filters leave; all of a pair, whose sides name their own answers."""
    return [one for one in tested.sure() if KINDS[tested.kind].part == "pair" or shown(one.row)]


def claims_on(report: Report, page: str, tested: list[TestedKind], family: str, shown: Shown) -> list[Row]:
    """Return claims of the page's kinds in turn, the largest of each kind first."""
    found = []
    for place, each in enumerate(tested):
        rows = KINDS[each.kind].make(report, shown_of(each, shown))
        for number, row in enumerate(sorted(rows, key=lambda row: -row["size"])):
            found.append((number, place, {"page": page, "kind": each.kind, "family": family, **row}))
    return [row for _, _, row in sorted(found, key=lambda entry: entry[:2])]


def opened_with(claims: Sequence[Row], family: Row) -> Row:
    """The page's family with its first claim as `sentence`, and without claimed kinds in `unsaid`."""
    if not claims:
        return family
    first, claimed = claims[0], {claim["kind"] for claim in claims}
    sentence = first.get("headline", first["sentence"]) if family["page"] == "overview" else first["sentence"]
    unsaid = {kind: words for kind, words in family["unsaid"].items() if kind not in claimed}
    return {**family, "sentence": sentence, "unsaid": unsaid}


def family_row(report: Report, page: str, tested: list[TestedKind], shown: Shown) -> Row:
    """The family of a page without claims. By kind, `within` is half the width of its widest interval, and `unsaid`
    the sentence if nothing sure is shown.
    """
    widths = {each.kind: half for each in tested if (half := each.half_width)}
    held = sum(each.held for each in tested)
    hidden = {each.kind for each in tested if each.sure() and not shown_of(each, shown)}
    unsaid = {
        each.kind: HIDDEN if each.kind in hidden else KINDS[each.kind].say_unsaid(report, width_words(each))
        for each in tested
    }
    opening = unsaid_on_overview(report, tested) if page == "overview" else unsaid[tested[0].kind]
    if hidden:
        opening = HIDDEN
    elif held and not any(each.pool.found for each in tested):
        opening = NOTHING_FOUND
    return {
        "page": page,
        "family": "; ".join(plural(each.pool.tests, KINDS[each.kind].tested, KINDS[each.kind].many) for each in tested),
        "tests": sum(each.pool.tests for each in tested),
        "within": widths,
        "held": held,
        "sentence": opening,
        "unsaid": unsaid,
    }


def unsaid_on_overview(report: Report, tested: list[TestedKind]) -> str:
    """Say that no difference between field and models is sure, or why they are not compared."""
    if tested[0].kind in BESIDE_MODELS:
        return f"{OVERVIEW}{width_words(tested[0])}."
    return too_few(report.get("heterogeneity") or report.get("choices") or [])


def width_words(tested: TestedKind) -> str:
    half, unit = tested.half_width, KINDS[tested.kind].unit
    if not half or not unit:
        return ""
    much = f"{100 * half:.0f} points" if unit == "points" else f"{half:.2f} {unit}"
    return f"; from {much} on one would be"


def opening_of(report: Report, page: str) -> str:
    """A page's opening: its first claim, or that none is sure; if nothing is tested, how many texts are unread, since
    missing answers may be among them; else empty.
    """
    family = next((family for family in report.get("families") or () if family["page"] == page), None)
    if family:
        return str(family["sentence"])
    return unread_in(report) if page in PAGES else ""


def said_of(report: Report, kinds: Sequence[str], page: str = "overview") -> str:
    """A page's first claim of these kinds, or that none of them is sure."""
    here = [claim for claim in report.get("claims") or () if claim["page"] == page and claim["kind"] in kinds]
    if here:
        return str(here[0]["sentence"])
    unsaid: Row = next((family["unsaid"] for family in report.get("families") or () if family["page"] == page), {})
    return next((unsaid[kind] for kind in kinds if kind in unsaid), "")
