"""Scenarios of raters: how often they are right, and how alike what they rate is, from hopeful to cautious."""

from dataclasses import dataclass

from surveys.console.wording import percent


@dataclass(frozen=True)
class RaterScenario:
    """`right`: chance of a rater who reads to give the right label; `guessing`: part of raters who give any label.

    `common`: share of items whose right label is the last of the scale, the others being equally frequent; `alike`:
    correlation of this between two items of one user.
    """

    name: str
    right: float
    guessing: float
    common: float
    alike: float
    source: str = ""  # of what is seen

    @property
    def words(self) -> str:
        words = (
            f"raters give the right label in {percent(self.right)} of cases, {percent(self.guessing)} of them guess; "
            f"the last label of the scale is right for {percent(self.common)} of items; items of one user correlate by "
            f"{self.alike:g}"
        )
        return f"{self.source}: {words}" if self.source else words


RATER_SCENARIOS = (
    RaterScenario("hopeful", 0.95, 0.0, 0.5, 0.05),
    RaterScenario("middle", 0.85, 0.05, 0.6, 0.1),
    RaterScenario("cautious", 0.7, 0.15, 0.75, 0.2),
)
HOPEFUL, MIDDLE, CAUTIOUS = RATER_SCENARIOS
