"""A plan simulated: its hypotheses drawn and tested many times, by scenario and number of people."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from analysis.plans.costs import cost_of
from analysis.plans.scenarios import MIDDLE, SCENARIOS, Scenario, truth_of
from analysis.plans.seen import seen_in
from analysis.plans.worlds import Prompted, reached, world_of
from analysis.report.planned.verdicts import GOOD, decide, p_of
from analysis.stats.hypotheses.families import passed
from analysis.stats.hypotheses.measures import test_of
from analysis.stats.hypotheses.tested import Tested
from analysis.stats.intervals import wilson_interval
from analysis.stats.resampling import SharedDraws, generator
from analysis.stats.speed import each
from surveys.models import Study
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import ALONE, EQUAL, FIELD, Hypothesis, PlanKeys
from surveys.studies.lifecycle import definition_of

REPLICATES, CALLS, WISH = 200, 100, 0.8
DRAWS = 200  # of each simulated study, where the report has 2,000
HALF = 0.5  # of a field that is narrowed by something nobody has a quota for
SIZES = (0.25, 0.5, 0.75, 1.0, 1.5)  # of the places
Progress = Callable[[int, int], None]


class PlanError(Exception):
    """A plan that cannot be simulated; the message says why and what to do."""


@dataclass(frozen=True)
class Setting:
    sizes: tuple[int, ...] = ()  # empty: parts of the places
    replicates: int = REPLICATES
    calls: int = CALLS
    seed: int = 0
    wish: float = WISH


def usual_sizes(definition: Definition) -> tuple[int, ...]:
    return tuple(dict.fromkeys(max(10, round(share * definition.planned_people)) for share in SIZES))


def plan_study(
    study: Study,
    setting: Setting,
    progress: Progress = lambda done, total: None,
    like: Study | None = None,
) -> dict[str, Any]:
    """The plan of the study's newest version, with a scenario of the answers of its pilot, or of another study; raises
    PlanError.
    """
    if study.current is None:
        raise PlanError(f"{study.slug} has no definition yet. Load its study file first.")
    definition = definition_of(study.current.pk)
    seen = seen_in(definition, check(definition), study, like or study)
    sized = replace(setting, sizes=setting.sizes or usual_sizes(definition))
    found = simulate(definition, sized, progress, seen)
    return found | {"version": study.current.number, "version_sha256": study.current.sha256}


def check(definition: Definition) -> list[Hypothesis]:
    """The hypotheses that can be simulated; raises PlanError where none can."""
    if not definition.hypotheses:
        none = f"{definition.slug} has no hypotheses. Write [[hypotheses]] in its study file and load it."
        raise PlanError(" ".join(filter(None, (none, definition.benchmark_width))))
    able = [each for each in definition.hypotheses if each.measure != ALONE]
    if not able:
        raise PlanError(f"Nobody is asked twice in a simulated study, so that `{ALONE}` alone cannot be planned.")
    return able


def share_of(definition: Definition, side: str) -> float | None:
    """The part of all people that a side of the field has; None for a model."""
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
    return calls if share is None else max(1, round(people * share))


def simulate(
    definition: Definition,
    setting: Setting,
    progress: Progress = lambda done, total: None,
    seen: Scenario | None = None,
) -> dict[str, Any]:
    """Widths and chances of each hypothesis in each scenario, for each number of people."""
    hypotheses = check(definition)
    scenarios = (*SCENARIOS, seen) if seen else SCENARIOS
    places, found = list(product(scenarios, setting.sizes)), []
    for number, (scenario, people) in enumerate(places):
        progress(number, len(places))
        found += simulate_size(definition, hypotheses, scenario, people, setting)
    progress(len(places), len(places))
    asked = {
        (side, prompt)
        for hypothesis in hypotheses
        for side in (hypothesis.a, hypothesis.b)
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
        "alpha": (definition.plan or PlanKeys()).alpha,
        "scenarios": [{"name": scenario.name, "words": scenario.words} for scenario in scenarios],
        "main": (seen or MIDDLE).name,
        "sizes": [{"people": people, **cost_of(definition, people, calls)} for people in setting.sizes],
        "hypotheses": [{"hypothesis": each.slug, "text": each.text, "measure": each.measure} for each in hypotheses],
        **({"benchmark": definition.benchmark_width} if definition.matrix else {}),
        "left_out": [each.slug for each in definition.hypotheses if each not in hypotheses],
        "rows": found,
        "smallest": [smallest_design(found, scenario, setting) for scenario in scenarios],
    }


def simulate_size(
    definition: Definition, hypotheses: Sequence[Hypothesis], scenario: Scenario, people: int, setting: Setting
) -> list[dict[str, Any]]:
    """The replicates of one scenario and size; Holm's steps are taken within each of them."""
    columns = each(lambda hypothesis: replicate(definition, hypothesis, scenario, people, setting), list(hypotheses))
    plan = definition.plan or PlanKeys()
    verdicts = np.full((len(hypotheses), setting.replicates), "", dtype=object)
    for study in range(setting.replicates):
        for family in dict.fromkeys(hypothesis.family for hypothesis in hypotheses):
            places = [at for at, hypothesis in enumerate(hypotheses) if hypothesis.family == family]
            p_values = [p_of(hypotheses[at].expected, hypotheses[at].smallest, columns[at][study]) for at in places]
            passes = passed(p_values, float, hypotheses[places[0]].alpha or plan.alpha)
            for at, is_passed in zip(places, passes, strict=True):
                one, tested = hypotheses[at], columns[at][study]
                verdicts[at, study] = decide(one.expected, one.smallest, tested.value, tested.ci, is_passed)
    return [
        {
            "scenario": scenario.name,
            "people": people,
            "hypothesis": hypothesis.slug,
            "n_a": size_of(definition, hypothesis.a, people, setting.calls),
            "n_b": size_of(definition, hypothesis.b, people, setting.calls),
            **truths(definition, hypothesis, scenario),
            **width_of(column),
            **chance_of([is_told(hypothesis, one, hypothesis.alpha or plan.alpha) for one in column], "told_apart"),
            **chance_of([verdict in GOOD for verdict in row], "supported"),
        }
        for hypothesis, column, row in zip(hypotheses, columns, verdicts, strict=True)
    ]


def prompts_of(definition: Definition, hypothesis: Hypothesis, scenario: Scenario) -> list[Prompted]:
    """Those of a hypothesis that is not pooled are tests of their own, all alike here: the first stands for them."""
    by_slug = {prompt.slug: prompt for prompt in definition.prompts}
    asked = [by_slug[slug] for slug in definition.asked_by(hypothesis)]
    prompts = [Prompted(scenario.of(hypothesis, one.slug), one.items, len(one.choices)) for one in asked]
    return prompts if hypothesis.pooled else prompts[:1]


def replicate(
    definition: Definition, hypothesis: Hypothesis, scenario: Scenario, people: int, setting: Setting
) -> list[Tested]:
    prompts = prompts_of(definition, hypothesis, scenario)
    draw = world_of(hypothesis, prompts, truth_of(hypothesis, scenario))
    a, b = (size_of(definition, side, people, setting.calls) for side in (hypothesis.a, hypothesis.b))
    shared = SharedDraws(setting.seed, DRAWS)
    rng = generator(setting.seed, "plan", hypothesis.slug, scenario.name, people)
    names = (hypothesis.a, hypothesis.b)
    return [test_of(hypothesis.measure, list(draw(rng, a, b)), shared, names) for _ in range(setting.replicates)]


def truths(definition: Definition, hypothesis: Hypothesis, scenario: Scenario) -> dict[str, float]:
    """The difference that the scenario wants, and the one its population has."""
    wanted = truth_of(hypothesis, scenario)
    return {"wanted": wanted, "true": reached(hypothesis, prompts_of(definition, hypothesis, scenario), wanted)}


def is_told(hypothesis: Hypothesis, tested: Tested, alpha: float) -> bool:
    """Whether it would be told apart, or equal within bounds, as the only one of its family."""
    smallest = hypothesis.smallest if hypothesis.expected == EQUAL else 0.0
    p = p_of(hypothesis.expected, smallest, tested)
    return decide(hypothesis.expected, smallest, tested.value, tested.ci, p is not None and p <= alpha) in GOOD


def width_of(column: Sequence[Tested]) -> dict[str, Any]:
    """Half the interval, on average, with its Monte Carlo error."""
    halves = np.array([(tested.ci[1] - tested.ci[0]) / 2 for tested in column if tested.ci])
    if not len(halves):
        return {"width": None, "width_error": None}
    error = float(halves.std(ddof=1) / len(halves) ** 0.5) if len(halves) > 1 else None
    return {"width": float(halves.mean()), "width_error": error}


def chance_of(hits: Sequence[bool], name: str) -> dict[str, Any]:
    """A share of the replicates, with the 95 % interval of so many."""
    low, high = wilson_interval(sum(hits), len(hits))
    return {name: sum(hits) / len(hits), f"{name}_ci": [float(low), float(high)]}


def smallest_design(rows: Sequence[dict[str, Any]], scenario: Scenario, setting: Setting) -> dict[str, Any]:
    """The fewest people, of the sizes simulated, with whom every hypothesis reaches the wish in this scenario."""
    lowest: dict[int, float] = {}
    for row in rows:
        if row["scenario"] == scenario.name:
            lowest[row["people"]] = min(row["supported"], lowest.get(row["people"], 1.0))
    return {
        "scenario": scenario.name,
        "people": min((people for people, chance in lowest.items() if chance >= setting.wish), default=None),
    }
