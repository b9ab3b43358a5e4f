"""What a pilot says of its raters: a scenario of its own, in which α is as it came there."""

from dataclasses import replace

import numpy as np

from analysis.agreement.annotations import LabelChoice, gather
from analysis.plans.annotators.drawing import Design, RatedQuestion, draw_labels
from analysis.plans.annotators.scenarios import MIDDLE, RaterScenario
from analysis.stats.agreement.coefficients import coefficient_statistic
from analysis.stats.agreement.labels import PERSON, Labels, Scale, count_votes
from analysis.stats.intervals import Floats
from surveys.console.wording import decimal, plural
from surveys.models import Study

FEWEST = 20  # items, or things to rate in them, with two labels
MANY = Design(4000, 3)  # from which a scenario's α is known
STEPS = 12  # halvings on the way to it
PILOT = LabelChoice(pilot=True, simulated=False)


def seen_in_pilot(study: Study, rated: RatedQuestion) -> RaterScenario | None:
    """Raters who are equally often right, so that α of the study's first question is the pilot's; None before 20 of its
    items, or of the things to rate in them, have two people's labels, or where α is not above 0.
    """
    asked = gather(study, PILOT)[0]
    votes = votes_of_people(asked.labels)
    pairable = int((votes.sum(axis=1) > 1).sum())
    alpha = alpha_of(votes, rated.scale) if pairable >= FEWEST else 0.0
    if not alpha > 0:  # nor is it where only one label was given
        return None
    common = min(max(float(votes[:, -1].sum() / votes.sum()), 0.02), 0.98)
    source = f"as in the pilot, α {decimal(alpha)} of {plural(pairable, 'rating' if asked.question.per else 'item')}"
    usual = replace(MIDDLE, name="as in the pilot", guessing=0.0, common=common, source=source)
    return replace(usual, right=right_for(alpha, rated, usual))


def right_for(alpha: float, rated: RatedQuestion, scenario: RaterScenario) -> float:
    low, high = 1 / rated.k, 1.0
    for _ in range(STEPS):
        right = (low + high) / 2
        labels = draw_labels(np.random.default_rng(0), rated, MANY, replace(scenario, right=right))
        low, high = (right, high) if alpha_of(votes_of_people(labels), rated.scale) < alpha else (low, right)
    return (low + high) / 2


def votes_of_people(labels: Labels) -> Floats:
    return count_votes(labels, labels.kinds == PERSON)


def alpha_of(votes: Floats, scale: Scale) -> float:
    """Ordinal where labels have an order, as the report opens with; NaN where only one was given."""
    statistic = coefficient_statistic(votes, scale, votes.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = statistic.measure(statistic.summary.sum(axis=0)[:, None])
    return float(found["alpha_ordinal" if scale.ordered else "alpha_nominal"][0, 0])
