"""Which differences a page may claim: of 100 studies without any difference, at most 5 make a claim on it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.charts.figure import Report, Row
from analysis.report.claims.candidates import Candidate, Candidates
from analysis.report.claims.enough import NOTHING_FOUND, too_few
from analysis.report.claims.kinds import BESIDE_MODELS, HIDDEN, KINDS, OVERVIEW, PAGES
from analysis.report.claims.sentences import Sure
from analysis.stats.simultaneous import LEVEL, Family, reach
from surveys.studies.wording import Span, plural


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
        """How many comparisons are not made, or would be claimed if unknown answers could not reverse them."""
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
    report: Report, told: Report | None = None, shown: Shown = lambda row: True
) -> tuple[list[Row], list[Row]]:
    """All claims of the pages whose parts are there, and for each page what was tested and what it opens with.

    The whole report is tested; claimed is what filters leave of it: the rows that are `shown`, in the words of `told`.
    """
    pools = {name: kind.gather(report) for name, kind in KINDS.items() if kind.part in report}
    claims: list[Row] = []
    families: list[Row] = []
    for page, weights in PAGES.items():
        tested = list(tested_on(weights, pools))
        if tested:
            family = family_row(report, page, tested, shown)
            found = list(claims_on(told or report, page, tested, family["family"], shown))
            families.append(opened_with(found, family))
            claims += found
    return claims, families


def tested_on(weights: Mapping[str, float], pools: Mapping[str, Candidates]) -> Iterator[TestedKind]:
    there = {kind: weight for kind, weight in weights.items() if kind in pools and pools[kind].tests}
    for kind, weight in there.items():
        pool = pools[kind]
        yield TestedKind(kind, pool, Family(pool.normal, pool.tails, weight / sum(there.values())))


def shown_of(tested: TestedKind, shown: Shown) -> list[Sure]:
    """What filters leave of the sure candidates; all of a pair, whose sides say themselves whose answers they are."""
    return [one for one in tested.sure() if KINDS[tested.kind].part == "pair" or shown(one.row)]


def claims_on(report: Report, page: str, tested: list[TestedKind], family: str, shown: Shown) -> Iterator[Row]:
    """Yields the largest claim of each kind, in the order of the page's kinds, then the second of each, and so on."""
    found = []
    for place, each in enumerate(tested):
        rows = KINDS[each.kind].tell(report, shown_of(each, shown))
        for number, row in enumerate(sorted(rows, key=lambda row: -row["size"])):
            found.append((number, place, {"page": page, "kind": each.kind, "family": family, **row}))
    return iter([row for _, _, row in sorted(found, key=lambda entry: entry[:2])])


def opened_with(claims: Sequence[Row], family: Row) -> Row:
    """The family of a page with these claims: its `sentence` is the first one, and no kind of theirs is `unsaid`."""
    if not claims:
        return family
    first, claimed = claims[0], {claim["kind"] for claim in claims}
    sentence = first.get("headline", first["sentence"]) if family["page"] == "overview" else first["sentence"]
    unsaid = {kind: words for kind, words in family["unsaid"].items() if kind not in claimed}
    return {**family, "sentence": sentence, "unsaid": unsaid}


def family_row(report: Report, page: str, tested: list[TestedKind], shown: Shown) -> Row:
    """The family of a page without claims. `within`: by kind, half the width of its widest interval; `unsaid`: by kind,
    what to say if nothing sure is shown.
    """
    widths = {each.kind: half for each in tested if (half := each.half_width)}
    held = sum(each.held for each in tested)
    hidden = {each.kind for each in tested if each.sure() and not shown_of(each, shown)}
    unsaid = {
        each.kind: HIDDEN if each.kind in hidden else KINDS[each.kind].say_unsaid(report, told_width(each))
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
    """Says that no difference between field and models is sure, or why they are not compared."""
    if tested[0].kind in BESIDE_MODELS:
        return f"{OVERVIEW}{told_width(tested[0])}."
    return too_few(report.get("heterogeneity") or report.get("choices") or [])


def told_width(tested: TestedKind) -> str:
    half, unit = tested.half_width, KINDS[tested.kind].unit
    if not half or not unit:
        return ""
    much = f"{100 * half:.0f} points" if unit == "points" else f"{half:.2f} {unit}"
    return f"; from {much} on one would be"


def opening_of(report: Report, page: str) -> str:
    """What a page opens with: its first claim, or that there is none; empty if there is too little to compare.

    Says so if texts are unread, as what is missing may be among them.
    """
    family = next((family for family in report.get("families") or () if family["page"] == page), None)
    if family:
        return str(family["sentence"])
    count = report.get("answers", {}).get("unread")
    return f"Nothing is compared yet: {plural(count, 'text')} still to be read." if count and page in PAGES else ""


def said_of(report: Report, kinds: Sequence[str], page: str = "overview") -> str:
    """A page's first claim of these kinds, or that nothing of them is sure."""
    here = [claim for claim in report.get("claims") or () if claim["page"] == page and claim["kind"] in kinds]
    if here:
        return str(here[0]["sentence"])
    unsaid: Row = next((family["unsaid"] for family in report.get("families") or () if family["page"] == page), {})
    return next((unsaid[kind] for kind in kinds if kind in unsaid), "")
