"""Looks at simulated studies: the verdicts where each stops, and whether it claimed anything on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.report.planned.verdicts import NOT_APART, decide, p_of
from analysis.stats.hypotheses.tested import Tested, level_at, passed
from analysis.stats.intervals import wilson_interval
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import Hypothesis, PlanKeys


def times_of(definition: Definition) -> tuple[float, ...]:
    """The share of all people at each look; the last is 1."""
    plan = definition.plan or PlanKeys()
    return (*(look / definition.planned_people for look in plan.looks), 1.0)


@dataclass(frozen=True, eq=False)
class Judged:
    """The `verdicts` (hypotheses, studies) of simulated studies at the look where each stops, `stops` (studies,): the
    first without a verdict "not told apart", else the last. `claims` (studies,): whether a p of the `family` passed at
    any look; `family` is the one with most such studies for its `alpha`.
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
    """How often a study stops at each look, and with how many people on average."""
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
