"""What simulated studies of annotators make of the hypotheses: how often each is supported, by scenario and design."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.plans.looks import chance_of, judge_look
from analysis.report.claims.enough import FEWEST
from analysis.report.planned.verdicts import GOOD
from analysis.stats.agreement.estimates import Estimate
from analysis.stats.hypotheses.tested import Tested, of_interval
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import KAPPA, Hypothesis
from surveys.studies.files.kinds import LabelQuestion

MAJORITY = "kappa_with_majority"  # of a simulated study: what its hypotheses about a judge are about


def is_drawn(hypothesis: Hypothesis, question: LabelQuestion) -> bool:
    """Whether a plan has its labels: of the first question, and of one judge."""
    return not hypothesis.b and hypothesis.about in ("", question.name)


def needs_majority(definition: Definition, question: LabelQuestion) -> bool:
    return any(each.measure == KAPPA and is_drawn(each, question) for each in definition.hypotheses)


def chances(
    definition: Definition, question: LabelQuestion, studies: Sequence[Mapping[str, Estimate]]
) -> list[dict[str, Any]]:
    """By hypothesis that is drawn the share of studies that support it, or find it equal within bounds, by Holm's steps
    over all of its family; with the interval of so many studies.
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
    """As Agreement tests it; nothing where it decides nothing."""
    if not is_drawn(hypothesis, question):
        return Tested(None, None, None)
    one = study[MAJORITY if hypothesis.measure == KAPPA else hypothesis.measure]
    ci = one.ci if one.units >= FEWEST else None
    return of_interval(one.value, ci, one.units - 1, hypothesis.held_against or 0.0)
