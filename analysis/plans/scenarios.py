"""Scenarios: what is assumed of people and models where nobody has answered yet, from hopeful to cautious."""

from collections.abc import Mapping
from dataclasses import dataclass

from surveys.studies.files.hypotheses import DIFFERENT, EQUAL, LESS, Hypothesis


@dataclass(frozen=True)
class Scenario:
    """`effect` is the true difference, in smallest differences that matter; of `equal` hypotheses `off`, in bounds.

    `share` is that of side b, of an item or a letter; `slope` how fast the popularity of items falls (0: all alike);
    `unusable` the share of answers in which nothing is found.
    """

    name: str
    effect: float
    off: float
    share: float
    slope: float
    unusable: float

    @property
    def words(self) -> str:
        return (
            f"side b {100 * self.share:.0f} %, true difference {self.effect:g} × the smallest that matters "
            f"(equal: {self.off:g} × the bounds), {100 * self.unusable:.0f} % of answers unusable"
        )


SCENARIOS = (
    Scenario("hopeful", 1.25, 0.0, 0.15, 1.2, 0.02),
    Scenario("middle", 1.0, 0.0, 0.38, 1.0, 0.06),
    Scenario("cautious", 0.7, 0.3, 0.5, 0.7, 0.15),
)
NOTHING = "nothing differs"
# The difference that is looked for where a hypothesis names no smallest one.
USUAL: Mapping[str, float] = {
    "item_share": 0.1,
    "letter_share": 0.1,
    "correct_share": 0.1,
    "entropy_bits": 0.3,
    "jsd_excess": 0.03,
}


def truth_of(hypothesis: Hypothesis, scenario: Scenario) -> float:
    """Of `a` minus `b`, signed as expected."""
    size = hypothesis.smallest or USUAL[hypothesis.measure]
    if hypothesis.expected == EQUAL:
        return scenario.off * size
    sign = -1 if hypothesis.expected == LESS else 1
    assert sign == 1 or hypothesis.expected != DIFFERENT
    return sign * scenario.effect * size
