"""A scenario from existing answers: of a study's pilot, or of another study with the same prompts and sides."""

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.plans.worlds import MIDDLE, STEEPEST, Assumed, Scenario, draw_lists, halve
from analysis.report.filters import Filters
from analysis.report.planned.answers import ask, find_sides
from analysis.report.reports import Reporting
from analysis.report.samples import Data
from analysis.stats.hypotheses.measures import PromptSides
from analysis.stats.item_measures import Counted
from analysis.stats.resampling import UNKNOWN, ChoiceSample, ItemSample
from surveys.models import Study
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import ALONE, OF_CROWD, OF_ONE_PROMPT, Hypothesis
from surveys.studies.wording import plural

OF_PERSONS = (ALONE, OF_CROWD)
FEWEST = 20  # people, and answers to a prompt
MOST_ITEMS = 400
SAMPLES, STEPS = 10, 12  # of each slope tried; halvings
PILOT = Filters(pilot="only", simulated="without")


def seen_in(definition: Definition, hypotheses: Sequence[Hypothesis], study: Study, like: Study) -> Scenario | None:
    """The scenario; None without enough answers. Hypotheses without enough are simulated as in the middle scenario."""
    is_pilot = like.pk == study.pk
    data = Reporting(like, PILOT if is_pilot else Filters()).data
    if len(data.people) < FEWEST:
        return None
    seen = {
        (hypothesis.slug, prompt): assumed
        for hypothesis in hypotheses
        for prompt, assumed in assumed_of(data, hypothesis, definition.asked_by(hypothesis))
    }
    if not seen:
        return None
    name = "the pilot" if is_pilot else like.slug
    known = {slug for slug, _ in seen}
    left = ", ".join(each.slug for each in hypotheses if each.slug not in known)
    source = f"side b as in {name}, {plural(len(data.people), 'person', 'people')}"
    source += f" ({left} as in the middle)" if left else ""
    if any(each.vocabulary == MOST_ITEMS for each in seen.values()):
        source += f", of the items that could be named at most {MOST_ITEMS}"
    return Scenario(f"as in {name}", MIDDLE.effect, MIDDLE.off, MIDDLE.usual, seen, source)


def assumed_of(data: Data, hypothesis: Hypothesis, prompts: Sequence[str]) -> Iterator[tuple[str, Assumed]]:
    """Yield assumptions by prompt, from the answers of side b or, if it has too few, of side a."""
    sides = find_sides(data, hypothesis)
    for side in filter(None, (sides.b, sides.a)):
        if all(prompt in data.prompts and len(side.rows(prompt)) >= FEWEST for prompt in prompts):
            asked = [ask(side, side, hypothesis, prompt) for prompt in prompts]
            lists = lists_of(asked) if hypothesis.measure not in OF_ONE_PROMPT else None
            for prompt, one in zip(prompts, asked, strict=True):
                is_list = isinstance(one.b, ItemSample)
                yield prompt, lists if lists and is_list else share_of(one, hypothesis.measure in OF_PERSONS)
            return


def share_of(asked: PromptSides, commonest: bool = False) -> Assumed:
    """Assumptions from the share of the hypothesis's item or letter, or of the commonest letter."""
    sample = asked.b
    if isinstance(sample, ChoiceSample):
        letter = int(sample.counts().argmax()) if commonest else asked.code
        hits, unknown = np.mean(sample.codes == letter), float(np.mean(sample.codes == UNKNOWN))
    else:
        hits, unknown = np.mean(np.bincount(sample.rows[sample.codes == asked.code], minlength=sample.n) > 0), 0.0
    return Assumed(float(hits) / max(1 - unknown, 1e-9), 0.0, unknown)


def lists_of(asked: Sequence[PromptSides]) -> Assumed | None:
    """Assumptions averaged over prompts: items by Chao's estimate, the slope by the answers' entropy."""
    samples = [one.b for one in asked if isinstance(one.b, ItemSample) and len(one.b.codes)]
    if not samples:
        return None
    usable = [sample.n - sample.unknown for sample in samples]
    named = max(1, round(float(np.mean([len(each.codes) / n for each, n in zip(samples, usable, strict=True)]))))
    counts = [sample.counts() for sample in samples]
    items = min(MOST_ITEMS, max(named + 1, round(float(np.mean([richness(count) for count in counts])))))
    bits = float(np.mean([Counted(count).bits for count in counts]))
    unusable = float(np.mean([sample.unknown / sample.n for sample in samples]))
    return Assumed(0.0, slope_of(bits, round(float(np.mean(usable))), named, items), unusable, items, named)


def richness(counts: np.ndarray) -> float:
    """The estimated number of items: those named, and the others by those named once or twice (Chao 1984)."""
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return int((counts > 0).sum()) + once * (once - 1) / (2 * (twice + 1))


def slope_of(bits: float, answers: int, named: int, items: int) -> float:
    """The slope of Zipf's popularity at which this many answers have this entropy on average."""

    def is_flat(slope: float) -> bool:
        popular = -slope * np.log(np.arange(1, items + 1))
        drawn = draw_lists(np.random.default_rng(0), SAMPLES * answers, popular, named).reshape(SAMPLES, -1)
        return bool(np.mean([Counted(np.bincount(each, minlength=items)).bits for each in drawn]) > bits)

    return halve(0.0, STEEPEST, is_flat, STEPS)
