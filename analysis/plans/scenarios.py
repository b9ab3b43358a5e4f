"""Scenarios: what plans assume about people and models before anybody has answered, from hopeful to cautious."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from surveys.studies.files.hypotheses import DIFFERENT, EQUAL, LESS, Hypothesis

ITEMS = 60  # named by anyone


@dataclass(frozen=True)
class Assumed:
    """Assumptions about side b's answers to one prompt: `share` of usable ones that name the item or take the letter;
    `slope` by which the popularity of `vocabulary` items falls (0: all alike); `unusable`, the share in which nothing
    is found; `named`, items per answer (0: as the prompt asks).
    """

    share: float
    slope: float
    unusable: float
    vocabulary: int = ITEMS
    named: int = 0


@dataclass(frozen=True)
class Scenario:
    """Assumptions under a name. `effect`: the true difference, in smallest differences that matter; `off`: the same for
    `equal` hypotheses, in bounds. `seen`: what existing answers say, by hypothesis and prompt, in place of `usual`.
    """

    name: str
    effect: float
    off: float
    usual: Assumed
    seen: Mapping[tuple[str, str], Assumed] = field(default_factory=dict, compare=False)
    source: str = ""  # of `seen`

    def of(self, hypothesis: Hypothesis, prompt: str) -> Assumed:
        return self.seen.get((hypothesis.slug, prompt), self.usual)

    @property
    def words(self) -> str:
        usual = f"side b {100 * self.usual.share:.0f} %, {100 * self.usual.unusable:.0f} % of answers unusable"
        return (
            f"{self.source or usual}; true difference {self.effect:g} × the smallest that matters "
            f"(equal: {self.off:g} × the bounds)"
        )


SCENARIOS = (
    Scenario("hopeful", 1.25, 0.0, Assumed(0.15, 1.2, 0.02)),
    Scenario("middle", 1.0, 0.0, Assumed(0.38, 1.0, 0.06)),
    Scenario("cautious", 0.7, 0.3, Assumed(0.5, 0.7, 0.15)),
)
HOPEFUL, MIDDLE, CAUTIOUS = SCENARIOS
NOTHING = Scenario("nothing differs", 0.0, 1.0, MIDDLE.usual)  # and `equal` hypotheses lie at their bounds
# The difference looked for if a hypothesis names no smallest one.
USUAL: Mapping[str, float] = {
    "item_share": 0.1,
    "letter_share": 0.1,
    "correct_share": 0.1,
    "entropy_bits": 0.3,
    "jsd_excess": 0.03,
    "person_share": 0.1,
    "unlikeness": 0.05,
}


def truth_of(hypothesis: Hypothesis, scenario: Scenario) -> float:
    """The true difference, `a` minus `b`, signed as expected."""
    size = hypothesis.smallest or USUAL[hypothesis.measure]
    if hypothesis.expected == EQUAL:
        return scenario.off * size
    sign = -1 if hypothesis.expected == LESS else 1
    assert sign == 1 or hypothesis.expected != DIFFERENT
    return sign * scenario.effect * size
