"""Whether raters prefer what is shown on the left, whatever it is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.agreement.estimates import Estimate, estimate_share

LEFT, RIGHT, NEITHER = 1, 0, -1
NO_PREFERENCE = "no side was preferred"


@dataclass(frozen=True)
class SideBias:
    """`share`: of the preferences, those for the side shown left; 0.5 is no bias when sides are balanced.

    `neither`: judgements that prefer no side, left out. `raters`: by rater code, the same share of each.
    """

    share: Estimate
    neither: int
    raters: tuple[Estimate, ...]


def measure_side_bias(sides: NDArray[np.int8], raters: NDArray[np.int32], n_raters: int) -> SideBias:
    """Of (judgements,) preferred sides LEFT, RIGHT or NEITHER; Wilson's intervals, each judgement a case of its own."""
    sided = sides != NEITHER
    totals = np.bincount(raters[sided], minlength=n_raters)
    lefts = np.bincount(raters[sides == LEFT], minlength=n_raters)
    shares = [estimate_share(left, n, NO_PREFERENCE) for left, n in zip(lefts.tolist(), totals.tolist(), strict=True)]
    whole = estimate_share(int(lefts.sum()), int(totals.sum()), NO_PREFERENCE)
    return SideBias(whole, int((~sided).sum()), tuple(shares))
