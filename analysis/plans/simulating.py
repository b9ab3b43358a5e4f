"""Simulates a plan: draws and tests its hypotheses many times, by scenario and number of people; with the look at which
each study stops, and whether it claims anything.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from analysis.plans.seen import seen_in
from analysis.plans.worlds import (
    MIDDLE,
    NOTHING,
    SCENARIOS,
    Prompted,
    Scenario,
    World,
    crowd_world,
    reached,
    reached_in_crowd,
    share_world,
    sided_world,
    truth_of,
)
from analysis.report.claims.enough import FEWEST
from analysis.report.planned.verdicts import GOOD, NOT_APART, decide, p_of
from analysis.stats.agreement.estimates import Estimate
from analysis.stats.hypotheses.tested import Tested, level_at, passed
from analysis.stats.intervals import wilson_interval
from analysis.stats.resampling import SharedDraws, generator
from surveys.models import Study, fee_of
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import ALONE, EQUAL, FIELD, OF_CROWD, Hypothesis, PlanKeys
from surveys.studies.lifecycle import definition_of

REPLICATES, CALLS, WISH = 200, 100, 0.8
DRAWS = 200  # in each simulated study; the report has 2,000
BLOCK = 50  # replicates
HALF = 0.5  # of a field narrowed by something without a quota
SIZES = (0.25, 0.5, 0.75, 1.0, 1.5)  # of the places
UNTESTED = Tested(None, None, None)
Progress = Callable[[int, int], None]
Cell = dict[str, Any]  # the result of one scenario and number of people


class Cells(Protocol):
    """Storage for the results of a plan while it is being simulated."""

    def find(self, scenario: object, size: object) -> Cell | None: ...

    def keep(self, scenario: object, size: object, cell: Cell, seconds: float) -> None: ...


class PlanError(Exception):
    """A plan that cannot be simulated; the message says why and what to do."""


@dataclass(frozen=True)
class Setting:
    sizes: tuple[int, ...] = ()  # empty: parts of the places
    replicates: int = REPLICATES
    calls: int = CALLS
    seed: int = 0
    wish: float = WISH

    @property
    def of_cell(self) -> "Setting":
        """The part that determines the result of one scenario and size."""
        return replace(self, sizes=(), wish=0)


def cost_of(definition: Definition, people: int, calls: int) -> dict[str, Any]:
    """Pay, the platform's fee, minutes and calls of models."""
    pay = definition.pay.cents * people
    fee = fee_of(pay)
    return {
        "currency": definition.pay.currency,
        "pay": pay / 100,
        "fee": fee / 100,
        "total": (pay + fee) / 100,
        "minutes": definition.minutes * people,
        "calls": calls,
    }


def usual_sizes(definition: Definition) -> tuple[int, ...]:
    return tuple(dict.fromkeys(max(10, round(share * definition.planned_people)) for share in SIZES))


def plan_study(
    study: Study,
    setting: Setting,
    progress: Progress = lambda done, total: None,
    like: Study | None = None,
    cells: Cells | None = None,
) -> dict[str, Any]:
    """Simulate the study's newest version, with a scenario from answers of its pilot or of `like`. Raises PlanError."""
    if study.current is None:
        raise PlanError(f"{study.slug} has no definition yet. Load its study file first.")
    definition = definition_of(study.current.pk)
    seen = seen_in(definition, check(definition), study, like or study)
    sized = replace(setting, sizes=setting.sizes or usual_sizes(definition))
    found = simulate(definition, sized, progress, seen, cells)
    version = {"version": study.current.number, "version_sha256": study.current.sha256}
    return found | version | {"has_pilot": seen is not None and like in (None, study)}


def check(definition: Definition) -> tuple[Hypothesis, ...]:
    """The hypotheses about answers. Raises PlanError if there are none."""
    if not definition.of_answers:
        none = f"{definition.slug} has no hypotheses. Write [[hypotheses]] in its study file and load it."
        raise PlanError(" ".join(filter(None, (none, definition.benchmark_width))))
    return definition.of_answers


def share_of(definition: Definition, side: str) -> float | None:
    """The share of all people who are on a side of the field: 0 if there is no side, None for a model."""
    if not side:
        return 0.0
    source, *rest = side.split("/")
    if source != FIELD:
        return None
    share = 1.0
    if rest and "=" not in rest[0]:
        share /= len(definition.branches)
        rest = rest[1:]
    cells = [part.partition("=")[2] for part in rest if part.startswith("cell=")]
    if cells:
        places = sum(cell.places for cell in definition.cells)
        share *= sum(cell.places for cell in definition.cells if cell.slug in cells) / places
    others = {part.partition("=")[0] for part in rest if not part.startswith("cell=")}
    return share * HALF ** len(others)


def size_of(definition: Definition, side: str, people: int, calls: int) -> int:
    share = share_of(definition, side)
    return calls if share is None else max(1, round(people * share)) if share else 0


def simulate(
    definition: Definition,
    setting: Setting,
    progress: Progress = lambda done, total: None,
    seen: Scenario | None = None,
    cells: Cells | None = None,
) -> dict[str, Any]:
    """Compute widths and chances of each hypothesis in each scenario, for each number of people."""
    hypotheses = check(definition)
    scenarios = (*SCENARIOS, seen) if seen else SCENARIOS
    places = list(product(scenarios, setting.sizes))
    if has_looks := len(times_of(definition)) > 1:
        places.append((NOTHING, definition.planned_people))

    def draw(scenario: Scenario, people: int) -> Cell:
        return simulate_size(definition, hypotheses, scenario, people, setting)

    found = list(zip(places, simulate_cells(places, draw, progress, cells), strict=True))
    nothing = found.pop()[1]["claims"] if has_looks else None
    rows = [row for _, cell in found for row in cell["rows"]]
    asked = {
        (side, prompt)
        for hypothesis in hypotheses
        for side in filter(None, (hypothesis.a, hypothesis.b))
        for prompt in definition.asked_by(hypothesis)
        if side.split("/")[0] != FIELD
    }
    calls = len(asked) * setting.calls
    return {
        "study": definition.slug,
        "simulated": True,
        "replicates": setting.replicates,
        "seed": setting.seed,
        "calls_a_side": setting.calls,
        "wish": setting.wish,
        "planned": definition.planned_people,
        "alphas": alphas_of(hypotheses, definition),
        "scenarios": [{"name": scenario.name, "words": scenario.words} for scenario in scenarios],
        "main": (seen or MIDDLE).name,
        "sizes": [{"people": people, **cost_of(definition, people, calls)} for people in setting.sizes],
        "hypotheses": [{"hypothesis": each.slug, "text": each.text, "measure": each.measure} for each in hypotheses],
        **({"benchmark": definition.benchmark_width} if definition.matrix else {}),
        "rows": rows,
        "looks": [{"scenario": scenario.name, **cell["looks"]} for (scenario, _), cell in found] if has_looks else [],
        "nothing": nothing,
        "smallest": [smallest_design(rows, scenario, setting) for scenario in scenarios],
    }


def simulate_cells(
    places: Sequence[tuple[Any, Any]], draw: Callable[[Any, Any], Cell], progress: Progress, cells: Cells | None
) -> list[Cell]:
    """The result of each scenario and size; simulates only those that `cells` lacks."""
    found = []
    for number, place in enumerate(places):
        progress(number, len(places))
        cell, began = cells.find(*place) if cells else None, time.monotonic()
        if cell is None:
            cell = draw(*place)
            if cells:
                cells.keep(*place, cell, time.monotonic() - began)
        found.append(cell)
    progress(len(places), len(places))
    return found


def simulate_size(
    definition: Definition, hypotheses: Sequence[Hypothesis], scenario: Scenario, people: int, setting: Setting
) -> Cell:
    """Simulate one scenario and size: a row for each hypothesis, and how often studies stop at each look or claim
    anything.
    """
    columns = columns_of(definition, hypotheses, scenario, people, setting)
    able = [
        where_enough(column, has_enough(definition, hypothesis, people, setting.calls))
        for hypothesis, column in zip(hypotheses, columns, strict=True)
    ]
    judged, alphas = judge_looks(hypotheses, able, definition), alphas_of(hypotheses, definition)
    rows = []
    for hypothesis, column, decided, verdicts in zip(hypotheses, columns, able, judged.verdicts, strict=True):
        last = [tested[-1] for tested in column]
        told = sum(is_told(hypothesis, study[-1], alphas[hypothesis.family]) for study in decided)
        rows.append(
            {
                "scenario": scenario.name,
                "people": people,
                "hypothesis": hypothesis.slug,
                "n_a": size_of(definition, hypothesis.a, people, setting.calls),
                "n_b": size_of(definition, hypothesis.b, people, setting.calls),
                **truths(definition, hypothesis, scenario),
                **width_of(last),
                **chance_of(told, len(column), "told_apart"),
                **chance_of(sum(verdict in GOOD for verdict in verdicts), len(column), "supported"),
            }
        )
    claims = {"people": people, "family": judged.family, "alpha": judged.alpha}
    claims |= chance_of(int(judged.claims.sum()), setting.replicates, "claimed")
    return {"rows": rows, "looks": looks_row(judged, definition, people), "claims": claims}


def has_enough(definition: Definition, hypothesis: Hypothesis, people: int, calls: int) -> list[bool]:
    """Whether both sides have enough for a verdict, by look: of people asked twice, if only these count. A model has
    all its calls from the first look.
    """
    sides = [side for side in (hypothesis.a, hypothesis.b) if side]
    sizes = [(size_of(definition, side, people, calls), share_of(definition, side) is None) for side in sides]
    twice = definition.repeats.people if definition.repeats and hypothesis.measure == ALONE else 1.0
    return [
        min(n if is_model else int(round(n * share) * twice) for n, is_model in sizes) >= FEWEST
        for share in times_of(definition)
    ]


def where_enough(column: list[list[Tested]], enough: list[bool]) -> list[list[Tested]]:
    """The tests of each study, by look; UNTESTED at looks with too few."""
    return [[one if is_enough else UNTESTED for one, is_enough in zip(study, enough, strict=True)] for study in column]


def prompts_of(definition: Definition, hypothesis: Hypothesis, scenario: Scenario) -> list[Prompted]:
    """The prompts to simulate; if not pooled, only the first, which represents the others."""
    by_slug = {prompt.slug: prompt for prompt in definition.prompts}
    asked = [by_slug[slug] for slug in definition.asked_by(hypothesis)]
    prompts = [Prompted(scenario.of(hypothesis, one.slug), one.items, len(one.choices)) for one in asked]
    return prompts if hypothesis.pooled else prompts[:1]


def columns_of(
    definition: Definition, hypotheses: Sequence[Hypothesis], scenario: Scenario, people: int, setting: Setting
) -> list[list[list[Tested]]]:
    """Tests by hypothesis, simulated study and look. Each block of studies has its own seed."""
    worlds = [world_for(definition, hypothesis, scenario, people, setting) for hypothesis in hypotheses]
    times, blocks = times_of(definition), range(0, setting.replicates, BLOCK)

    def draw(at: int, start: int) -> list[list[Tested]]:
        rng = generator(setting.seed, "plan", hypotheses[at].slug, scenario.name, people, start)
        studies = (worlds[at](rng) for _ in range(start, min(start + BLOCK, setting.replicates)))
        return [[study(share) for share in times] for study in studies]

    # Not in threads: they would wait for each other over many small arrays.
    return [[one for start in blocks for one in draw(at, start)] for at in range(len(hypotheses))]


def world_for(
    definition: Definition, hypothesis: Hypothesis, scenario: Scenario, people: int, setting: Setting
) -> World:
    prompts, truth = prompts_of(definition, hypothesis, scenario), truth_of(hypothesis, scenario)
    sides = hypothesis.a, hypothesis.b
    a, b = (size_of(definition, side, people, setting.calls) for side in sides)
    if hypothesis.measure == ALONE:
        twice = definition.repeats.people if definition.repeats else 0.0
        return share_world(prompts, truth, a, twice, DRAWS)
    if hypothesis.measure == OF_CROWD:
        return crowd_world(prompts, truth, (a, b))
    of_people = share_of(definition, sides[0]) is not None, share_of(definition, sides[1]) is not None
    return sided_world(hypothesis, prompts, truth, (a, b), of_people, SharedDraws(setting.seed, DRAWS))


def truths(definition: Definition, hypothesis: Hypothesis, scenario: Scenario) -> dict[str, float]:
    """The scenario's difference, and the one that its population reaches."""
    wanted, prompts = truth_of(hypothesis, scenario), prompts_of(definition, hypothesis, scenario)
    if hypothesis.measure == OF_CROWD:
        a, b = (share_of(definition, side) or 0.0 for side in (hypothesis.a, hypothesis.b))
        return {"wanted": wanted, "true": reached_in_crowd(prompts, wanted, a / (a + b))}
    return {"wanted": wanted, "true": reached(hypothesis, prompts, wanted)}


def is_told(hypothesis: Hypothesis, tested: Tested, alpha: float) -> bool:
    """Whether the hypothesis would be told apart, or equal within bounds, as the only one of its family."""
    smallest = hypothesis.smallest if hypothesis.expected == EQUAL else 0.0
    p = p_of(hypothesis.expected, smallest, tested)
    return decide(hypothesis.expected, smallest, tested.value, tested.ci, p is not None and p <= alpha) in GOOD


def width_of(column: Sequence[Tested | Estimate]) -> dict[str, Any]:
    """Mean half width of the intervals, with its Monte Carlo error."""
    width, error = mean_of([(one.ci[1] - one.ci[0]) / 2 for one in column if one.ci])
    return {"width": width, "width_error": error}


def mean_of(found: Sequence[float]) -> tuple[float | None, float | None]:
    """The mean and its standard error over simulated studies; None if there are too few."""
    if len(found) < 2:
        return (float(found[0]) if found else None), None
    return float(np.mean(found)), float(np.std(found, ddof=1) / len(found) ** 0.5)


def smallest_design(rows: Sequence[dict[str, Any]], scenario: Scenario, setting: Setting) -> dict[str, Any]:
    """The fewest people, of the sizes simulated, at which every hypothesis reaches `wish` in this scenario."""
    lowest: dict[int, float] = {}
    for row in rows:
        if row["scenario"] == scenario.name:
            lowest[row["people"]] = min(row["supported"], lowest.get(row["people"], 1.0))
    return {
        "scenario": scenario.name,
        "people": min((people for people, chance in lowest.items() if chance >= setting.wish), default=None),
    }


def times_of(definition: Definition) -> tuple[float, ...]:
    """The share of all people at each look; the last is 1."""
    plan = definition.plan or PlanKeys()
    return (*(look / definition.planned_people for look in plan.looks), 1.0)


@dataclass(frozen=True, eq=False)
class Judged:
    """The `verdicts` (hypotheses, studies) of simulated studies at the look where each stops, `stops` (studies,): the
    first without a verdict "not told apart", else the last. `claims` (studies,): whether a p of the `family` passed at
    any look; `family`: the one with most such studies for its `alpha`.
    """

    verdicts: NDArray[np.object_]
    stops: NDArray[np.int64]
    claims: NDArray[np.bool_]
    family: str
    alpha: float


def alphas_of(hypotheses: Sequence[Hypothesis], definition: Definition) -> dict[str, float]:
    """Alpha by family."""
    plan = definition.plan or PlanKeys()
    return {each.family: each.alpha or plan.alpha for each in hypotheses}


def judge_looks(
    hypotheses: Sequence[Hypothesis], columns: Sequence[Sequence[Sequence[Tested]]], definition: Definition
) -> Judged:
    """Judge all simulated studies. `columns`: by hypothesis and study, what was tested at each look."""
    times, studies = times_of(definition), len(columns[0])
    alphas = alphas_of(hypotheses, definition)
    verdicts = np.full((len(hypotheses), studies), "", dtype=object)
    stops, claims = np.full(studies, -1), np.zeros((len(alphas), studies), dtype=bool)
    for study in range(studies):
        for look in range(len(times)):
            found = [column[study][look] for column in columns]
            said, passes = judge_look(hypotheses, found, definition, times, look)
            for at, family in enumerate(alphas):
                own = [ok for ok, each in zip(passes, hypotheses, strict=True) if each.family == family]
                claims[at, study] |= any(own)
            if stops[study] < 0 and (NOT_APART not in said or look == len(times) - 1):
                stops[study], verdicts[:, study] = look, said
    worst = int((claims.sum(axis=1) / list(alphas.values())).argmax())
    return Judged(verdicts, stops, claims[worst], *list(alphas.items())[worst])


def judge_look(
    hypotheses: Sequence[Hypothesis],
    found: Sequence[Tested],
    definition: Definition,
    times: tuple[float, ...],
    look: int,
) -> tuple[list[str], list[bool]]:
    """The verdicts on all hypotheses at one look, and which of their p pass."""
    level = partial(level_at, look, times) if len(times) > 1 else float
    p_values = [p_of(one.expected, one.smallest, tested) for one, tested in zip(hypotheses, found, strict=True)]
    passes = [False] * len(hypotheses)
    for family, alpha in alphas_of(hypotheses, definition).items():
        places = [at for at, hypothesis in enumerate(hypotheses) if hypothesis.family == family]
        of_family = passed([p_values[at] for at in places], level, alpha)
        for at, is_passed in zip(places, of_family, strict=True):
            passes[at] = is_passed
    verdicts = [
        decide(one.expected, one.smallest, tested.value, tested.ci, is_passed)
        for one, tested, is_passed in zip(hypotheses, found, passes, strict=True)
    ]
    return verdicts, passes


def looks_row(judged: Judged, definition: Definition, people: int) -> dict[str, Any]:
    """The chance that a study stops at each look, and its mean number of people."""
    at = [round(share * people) for share in times_of(definition)]
    counts = np.bincount(judged.stops, minlength=len(at))
    return {
        "people": people,
        "stops": [
            {"people": size, **chance_of(int(count), len(judged.stops), "chance")}
            for size, count in zip(at, counts, strict=True)
        ],
        "expected": float(np.array(at)[judged.stops].mean()),
    }


def chance_of(hits: int, studies: int, name: str) -> dict[str, Any]:
    """A share of the simulated studies and its 95 % interval, under `name` and `name_ci`."""
    low, high = wilson_interval(hits, studies)
    return {name: hits / studies, f"{name}_ci": [float(low), float(high)]}
