"""The tests of what is due to persons: the share of the unlikeness, and who lies further from everybody else."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.stats.hypotheses.tested import Tested
from analysis.stats.intervals import FEW_UNITS, FEWEST_UNITS
from analysis.stats.persons.explaining import Explanation, explain
from analysis.stats.persons.shares import Assignments, Measured, describe

NOBODY_TWICE = "Nobody was asked these prompts twice yet."
NO_CROWD = "One side has no answer beside those of others yet."


def person_share(some: Sequence[Measured], assignments: Assignments) -> Tested:
    """1 - D_within / D_between over the prompts that several persons answered and some of them twice."""
    asked = [each for each in some if each.within.units and each.between.units > 1]
    if not asked:
        return Tested(None, None, None, why=NOBODY_TWICE)
    found = describe(asked, assignments)
    share = found.share
    return Tested(share.value, share.ci, found.p, max(1, found.repeated - 1), found.why or share.why)


def further_from_crowd(
    y: NDArray[np.float64], fixed: NDArray[np.int64], persons: NDArray[np.int64], in_a: NDArray[np.bool_]
) -> Tested:
    """How much further the answers of side a lie from everybody else's than those of b: n answers' mean unlikeness `y`
    to everybody else, regressed on the side with a level for each number in `fixed`; errors leave out each person.
    """
    sizes = [len(np.unique(persons[of])) for of in (in_a, ~in_a)]
    if not min(sizes):
        return Tested(None, None, None, why=NO_CROWD)
    found = explain(y, fixed, persons, [Explanation("side", ("a",), "b", in_a[:, None].astype(float))])
    if not found or not found[0].effects:
        return Tested(None, None, None, why=NO_CROWD)
    (effect,), freedom = found[0].effects, sum(sizes) - 1
    if min(sizes) < FEWEST_UNITS:
        return Tested(effect.value, None, None, freedom, FEW_UNITS)
    return Tested(effect.value, effect.ci, found[0].p, freedom, None if effect.ci else FEW_UNITS)
