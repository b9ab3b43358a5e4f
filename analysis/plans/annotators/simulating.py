"""Simulates an annotation study many times: the width of its intervals, by scenario, items and labels per item."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from analysis.agreement.annotations import scale_of
from analysis.plans.annotators.drawing import (
    MIDDLE,
    RATER_SCENARIOS,
    Design,
    RatedQuestion,
    RaterScenario,
    draw_labels,
    seen_in_pilot,
)
from analysis.plans.simulating import (
    BLOCK,
    DRAWS,
    REPLICATES,
    Cell,
    Cells,
    PlanError,
    Progress,
    chance_of,
    cost_of,
    judge_look,
    mean_of,
    simulate_cells,
    width_of,
)
from analysis.report.claims.enough import FEWEST
from analysis.report.planned.verdicts import GOOD
from analysis.stats.agreement.agreement import THRESHOLD
from analysis.stats.agreement.coefficients import ONE_LABEL_IN_USE, coefficient_statistic, fit_metrics, room_above
from analysis.stats.agreement.estimates import Estimate, bootstrap, group_units
from analysis.stats.agreement.labels import PERSON, Labels, count_votes
from analysis.stats.agreement.pairs import GROUPS, find_shared, group_pairs, keep_pairs, pair_statistic, rooms_of_kappa
from analysis.stats.agreement.ratings import RatingRows, rating_statistic
from analysis.stats.hypotheses.measures import kappa_with_majority, only, turned
from analysis.stats.hypotheses.tested import Tested, of_interval
from analysis.stats.intervals import Z
from analysis.stats.resampling import generator
from surveys.models import AnnotationItem, Study
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import ALPHA, KAPPA, PREFERENCE, Hypothesis
from surveys.studies.files.kinds import IMPORTED, KINDS, LabelQuestion
from surveys.studies.labels import questions_for
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import plural

PARTS = (0.5, 1.0, 2.0)  # of the study's items
OVERLAPS = (2, 3, 5)
FEWEST_ITEMS, MOST_ITEMS = 10, 20_000
PER_USER = 10  # items about one user, before any are imported
WITHIN = 0.05  # the half width wanted
MOST_WITHOUT = 0.05  # of simulated studies may lack an interval in a design that counts


@dataclass(frozen=True)
class RaterSetting:
    """The designs to simulate: by default PARTS of the study's items, and OVERLAPS with its own. `within`: the half
    width wanted.
    """

    items: tuple[int, ...] = ()
    overlaps: tuple[int, ...] = ()
    replicates: int = REPLICATES
    seed: int = 0
    within: float = WITHIN

    @property
    def of_cell(self) -> "RaterSetting":
        return replace(self, items=(), overlaps=(), within=0)


@dataclass(frozen=True)
class Labelling:
    """The rating in a study, as a plan needs it. `known`: the number of items imported."""

    question: LabelQuestion
    rated: RatedQuestion
    planned: Design
    known: int
    is_sided: bool

    @property
    def measures(self) -> tuple[str, ...]:
        return (ALPHA, KAPPA, PREFERENCE) if self.is_sided else (ALPHA, KAPPA)

    @property
    def words(self) -> str:
        per_user, parts = self.rated.per_user, self.rated.parts
        users = f"{per_user} items about each user" if per_user > 1 else "each item about another user"
        shape = f"{users}, {parts} ratings an item" if parts > 1 else users
        known = f"on average in the {plural(self.known, 'item')} imported"
        source = known if self.known else "assumed: none is imported yet"
        return f"{shape}, {source}"


def find_labelling(study: Study, definition: Definition) -> Labelling:
    """The rating of the main study's items or, if none is imported, of as many as they can label; raises PlanError."""
    work = definition.annotation
    if work is None or work.kind == IMPORTED:
        raise PlanError(f"{definition.slug} has no annotators to plan for: its labels were imported.")
    question = questions_for(work)[0]
    items = AnnotationItem.objects.filter(study=study, pilot=False, purpose=AnnotationItem.Purpose.WORK)
    rows = list(items.values_list("cluster", f"payload__{question.per}" if question.per else "pk"))
    known = len(rows)
    own = sum(not cluster for cluster, _ in rows)
    users = own + len({cluster for cluster, _ in rows if cluster})
    parts = sum(len(listed) for _, listed in rows) / known if known and question.per else 1
    rated = RatedQuestion(
        k=len(question.values),
        scale=scale_of(question),
        quota=work.quota,
        by_user=work.block == "user",
        per_user=max(1, round(known / users)) if known else PER_USER,
        parts=max(1, round(parts)),
    )
    count = known or definition.planned_people * work.quota // work.overlap
    return Labelling(question, rated, Design(count, work.overlap), known, KINDS[work.kind].sided)


def usual_designs(labelling: Labelling, setting: RaterSetting) -> list[Design]:
    planned = labelling.planned
    items = setting.items or dict.fromkeys(
        min(MOST_ITEMS, max(FEWEST_ITEMS, round(part * planned.items))) for part in PARTS
    )
    overlaps = setting.overlaps or sorted({*OVERLAPS, planned.overlap} - {1})
    return [Design(*sizes) for sizes in product(items, overlaps)]


def plan_annotators(
    study: Study, setting: RaterSetting, progress: Progress = lambda done, total: None, cells: Cells | None = None
) -> dict[str, Any]:
    """Simulate the study's newest version in each scenario and design. Raises PlanError."""
    assert study.current is not None
    definition = definition_of(study.current.pk)
    labelling = find_labelling(study, definition)
    designs = usual_designs(labelling, setting)
    seen = seen_in_pilot(study, labelling.rated)
    scenarios = (*RATER_SCENARIOS, seen) if seen else RATER_SCENARIOS

    def draw(scenario: RaterScenario, size: tuple[Design, RatedQuestion]) -> Cell:
        return simulate_design(definition, labelling, scenario, size[0], setting)

    places = list(product(scenarios, ((design, labelling.rated) for design in designs)))
    found = simulate_cells(places, draw, progress, cells)
    rows, drawn_chances = ([row for cell in found for row in cell[name]] for name in ("rows", "chances"))
    sizes = [size_row(definition, labelling, design) for design in designs]
    texts = [{"hypothesis": each.slug, "text": each.text} for each in definition.hypotheses]
    return {
        "study": definition.slug,
        "simulated": True,
        "version": study.current.number,
        "version_sha256": study.current.sha256,
        "replicates": setting.replicates,
        "seed": setting.seed,
        "question": labelling.question.name,
        "rests_on": labelling.words,
        "planned": {"items": labelling.planned.items, "overlap": labelling.planned.overlap},
        "within": setting.within,
        "main": (seen or MIDDLE).name,
        "scenarios": [{"name": scenario.name, "words": scenario.words} for scenario in scenarios],
        "measures": list(labelling.measures),
        "sizes": sizes,
        "rows": rows,
        **({"hypotheses": texts, "chances": drawn_chances} if texts else {}),
        "cheapest": [
            cheapest_design(rows, sizes, scenario, measure, setting)
            for measure, scenario in product(labelling.measures, scenarios)
        ],
    }


def size_row(definition: Definition, labelling: Labelling, design: Design) -> dict[str, Any]:
    """A design's costs; a judge sees two responses in both orders."""
    people, orders = design.people(labelling.rated.quota), 2 if labelling.is_sided else 1
    return {
        "items": design.items,
        "overlap": design.overlap,
        "people": people,
        **cost_of(definition, people, design.items * orders),
    }


def simulate_design(
    definition: Definition, labelling: Labelling, scenario: RaterScenario, design: Design, setting: RaterSetting
) -> Cell:
    """A row for each measure, and the chance of each hypothesis. Studies are drawn in blocks with one seed each."""
    has_majority = any(each.measure == KAPPA and is_drawn(each, labelling.question) for each in definition.hypotheses)

    def draw_study(rng: np.random.Generator) -> dict[str, Estimate]:
        labels = draw_labels(rng, labelling.rated, design, scenario)
        found = measure_labels(labels, labelling.rated, rng, DRAWS, labelling.is_sided)
        if has_majority:  # the judge is the last rater
            found[MAJORITY] = kappa_with_majority(labels, [labels.n_raters - 1], rng, DRAWS)
        return found

    def draw(start: int) -> list[dict[str, Estimate]]:
        rng = generator(setting.seed, "plan of annotators", scenario.name, design.items, design.overlap, start)
        return [draw_study(rng) for _ in range(start, min(start + BLOCK, setting.replicates))]

    studies = [one for start in range(0, setting.replicates, BLOCK) for one in draw(start)]
    about = {"scenario": scenario.name, "items": design.items, "overlap": design.overlap}
    return {
        "rows": [about | {"measure": name, **summed([one[name] for one in studies])} for name in labelling.measures],
        "chances": [about | row for row in chances(definition, labelling.question, studies)],
    }


def summed(studies: Sequence[Estimate]) -> dict[str, Any]:
    """Summary of simulated studies, with Monte Carlo errors: mean `value`, mean half width (`width`), and `spread`, the
    distance from their mean within which 95 % of studies lie, each with its own raters.

    `without`: the studies that have no interval; `why`: the commonest reason.
    """
    whys = Counter(one.why for one in studies if not one.ci).most_common(1)
    values = [one.value for one in studies if one.value is not None]
    value, value_error = mean_of(values)
    n = len(values)
    spread = Z * float(np.std(values, ddof=1)) if n > 1 else None
    return {
        "value": value,
        "value_error": value_error,
        **width_of(studies),
        "spread": spread,
        "spread_error": None if spread is None else spread / (2 * (n - 1)) ** 0.5,
        "without": sum(not one.ci for one in studies),
        "why": whys[0][0] if whys else "",
    }


def cheapest_design(
    rows: Sequence[dict[str, Any]],
    sizes: Sequence[dict[str, Any]],
    scenario: RaterScenario,
    measure: str,
    setting: RaterSetting,
) -> dict[str, Any]:
    """The cheapest design simulated with a half width of at most `within` and intervals in all but MOST_WITHOUT of its
    studies; `why`: the commonest reason if no design has enough intervals.
    """
    own = [row for row in rows if (row["scenario"], row["measure"]) == (scenario.name, measure)]
    sure = [row for row in own if row["without"] <= MOST_WITHOUT * setting.replicates]
    widths = {(row["items"], row["overlap"]): row["width"] for row in sure}
    fits = [size for size in sizes if widths.get((size["items"], size["overlap"]), np.inf) <= setting.within]
    best = min(fits, key=lambda size: (size["total"], size["items"]), default=None)
    why = "" if widths else Counter(row["why"] for row in own).most_common(1)[0][0]
    return {"scenario": scenario.name, "measure": measure, "design": best, "why": why}


# --- the report's agreement, in simulated studies

ACROSS = list(GROUPS).index("across")


def measure_labels(
    labels: Labels, rated: RatedQuestion, rng: np.random.Generator, draws: int, with_share: bool
) -> dict[str, Estimate]:
    """Estimates by measure, with value, interval and n as in `measure_agreement` and the report's ratings.

    `alpha`: of people, ordinal if labels have an order; `kappa`: the mean of Cohen's over the people who share enough
    items with the judge; `preference_share`: of people's ratings above the middle of the scale.
    """
    of_people = labels.kinds == PERSON
    votes, shared = count_votes(labels, of_people), find_shared(labels)
    pairs = keep_pairs(shared, ~of_people[shared.second])  # the judge is the last rater
    across = group_pairs(labels, pairs, THRESHOLD)[[ACROSS]]
    kind = "alpha_ordinal" if rated.scale.ordered else "alpha_nominal"
    statistics = [
        only(kind, coefficient_statistic(votes, rated.scale, int(labels.seen.sum()))),
        only("mean_kappa", pair_statistic(labels, pairs, across, ordered=False)),
    ]
    if with_share:
        rows = of_people[labels.raters]
        ratings = RatingRows(labels.items[rows], labels.values[rows], np.zeros(rows.sum(), np.intp))
        rated_by = rating_statistic(ratings, np.array(rated.scale.numbers), labels.n_items, 1)
        statistics.append(only("no_better", rated_by))
    alpha, kappa, *low = bootstrap(statistics, group_units(labels), rng, draws)
    pairable = int((votes.sum(axis=1) > 1).sum())
    (of_people,) = alpha[kind].estimates([pairable], ONE_LABEL_IN_USE)
    (with_judge,) = kappa["mean_kappa"].estimates([int(across.sum())], f"no {GROUPS['across']} share {THRESHOLD} items")
    found = {
        ALPHA: of_people.reaching(room_above(votes, fit_metrics(rated.scale)[kind])),
        KAPPA: with_judge.reaching(*rooms_of_kappa(labels, pairs, across).tolist()),
    }
    if low:
        found[PREFERENCE] = turned(low[0]["no_better"].shares([int(votes.sum())], "no rating")[0])
    return found


MAJORITY = "kappa_with_majority"  # which hypotheses about a judge test


def is_drawn(hypothesis: Hypothesis, question: LabelQuestion) -> bool:
    """Whether a plan draws the hypothesis's labels: those of the first question and of one judge."""
    return not hypothesis.b and hypothesis.about in ("", question.name)


def chances(
    definition: Definition, question: LabelQuestion, studies: Sequence[Mapping[str, Estimate]]
) -> list[dict[str, Any]]:
    """For each hypothesis that is drawn the share of studies, with its interval, in which it is supported or equal
    within bounds, by Holm's steps over its whole family.
    """
    hypotheses = definition.hypotheses
    verdicts = []
    for one in studies:
        found = [tested_in(one, hypothesis, question) for hypothesis in hypotheses]
        verdicts.append(judge_look(hypotheses, found, definition, (1.0,), 0)[0])
    return [
        {"hypothesis": each.slug, **chance_of(sum(said[at] in GOOD for said in verdicts), len(studies), "supported")}
        for at, each in enumerate(hypotheses)
        if is_drawn(each, question)
    ]


def tested_in(study: Mapping[str, Estimate], hypothesis: Hypothesis, question: LabelQuestion) -> Tested:
    """The hypothesis as *Agreement* tests it; empty if the plan does not draw it."""
    if not is_drawn(hypothesis, question):
        return Tested(None, None, None)
    one = study[MAJORITY if hypothesis.measure == KAPPA else hypothesis.measure]
    ci = one.ci if one.units >= FEWEST else None
    return of_interval(one.value, ci, one.units - 1, hypothesis.held_against or 0.0)
