"""Plans compared: the one frozen at the launch with today's, and assumptions with the answers that came."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from analysis.plans.kept import find_frozen, fingerprint_of, fingerprint_of_plan, say_changes
from analysis.plans.seen import FEWEST, PILOT, richness, slope_of
from analysis.plans.simulating import share_of
from analysis.plans.texts import say_chance
from analysis.plans.worlds import SCENARIOS, Assumed, truth_of
from analysis.report.filters import Filters
from analysis.report.planned.answers import Sides, ask, examine, find_sides
from analysis.report.planned.looks import stand
from analysis.report.planned.verdicts import unit_word, written
from analysis.report.reports import Reporting, keep_part, stamp_of, tidy
from analysis.report.samples import Data
from analysis.stats.heterogeneity import describe
from analysis.stats.hypotheses.measures import PromptSides
from analysis.stats.intervals import Interval, Z, share_difference, wilson_interval
from analysis.stats.resampling import UNKNOWN, ItemSample
from surveys.models import Study
from surveys.studies.files.hypotheses import OF_ONE_PROMPT, Hypothesis
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import decimal, percent, plural

Row = dict[str, Any]
SHARE, SLOPE = "share", "slope"
OF_LISTS = ("entropy_bits", "jsd_excess")
NAMES = [scenario.name for scenario in SCENARIOS]


# --- the frozen plan beside today's, if study, analysis or pilot have changed since


def beside_frozen(study: Study, found: Row | None, at: datetime | None) -> Row | None:
    """Both plans at their own number of people, by hypothesis and scenario; None without a frozen plan or a change.

    `found`: today's plan, simulated at `at`.
    """
    frozen = find_frozen(study)
    if frozen is None or frozen.fingerprint == fingerprint_of_plan(study):
        return None
    before, now = by_place(frozen.value), by_place(found) if found else {}
    plans = [plan for plan in (frozen.value, found) if plan]
    return {
        "why": say_changes(study, frozen, at),
        "simulated": [{name: plan[name] for name in ("version", "planned", "replicates")} for plan in plans],
        "rows": [compare(place, before.get(place), now.get(place)) for place in dict.fromkeys((*before, *now))],
    }


def by_place(plan: Row) -> dict[tuple[str, ...], Row]:
    return {
        (entry["hypothesis"], entry["measure"], row["scenario"]): row
        for entry in plan["hypotheses"]
        for row in plan["rows"]
        if (row["hypothesis"], row["people"]) == (entry["hypothesis"], plan["planned"])
    }


def compare(place: tuple[str, ...], frozen: Row | None, today: Row | None) -> Row:
    """Today's minus frozen numbers, with 95 % intervals as for simulations that share no draws."""
    found: Row = dict(zip(("hypothesis", "measure", "scenario"), place, strict=True))
    found |= {"frozen": frozen, "today": today, "wider": None, "wider_ci": None, "more": None, "more_ci": None}
    if frozen is None or today is None:
        return found
    found["more"] = today["supported"] - frozen["supported"]
    found["more_ci"] = share_difference(
        today["supported"], today["supported_ci"], frozen["supported"], frozen["supported_ci"]
    )
    if frozen["width"] is not None and today["width"] is not None:
        found["wider"] = wider = today["width"] - frozen["width"]
        if None not in (errors := (frozen["width_error"], today["width_error"])):
            half = Z * float(np.hypot(*errors))
            found["wider_ci"] = (wider - half, wider + half)
    return found


def head_of(beside: Row) -> str:
    """Write the numbers of people and simulated studies of each plan."""
    words = [
        f"{name}: {plural(plan['planned'], 'person', 'people')}, {plural(plan['replicates'], 'study', 'studies')}"
        for name, plan in zip(("Frozen", "today"), beside["simulated"], strict=False)
    ]
    return f"Simulated. {'; '.join(words)} for each number."


def cells_of(row: Row) -> Row:
    measure, plans = row["measure"], (row["frozen"], row["today"])
    widths = [plan["width"] if plan else None for plan in plans]
    return {
        "hypothesis": row["hypothesis"],
        "scenario": row["scenario"],
        "unit": unit_word(measure),
        "widths": ["–" if width is None else written(measure, width) for width in widths],
        "wider": say_ends(partial(written, measure), row["wider"], row["wider_ci"]),
        "chances": [say_chance(plan, "supported") if plan else "–" for plan in plans],
        "more": say_ends(points, row["more"], row["more_ci"]),
    }


def points(share: float, sign: bool = False) -> str:
    return decimal(100 * share, sign=sign, digits=0)


def say_ends(say: Callable[..., str], value: float | None, ends: Interval | None) -> str:
    """Such as "+2 (−6 to 10)"."""
    if value is None:
        return "–"
    return say(value, sign=True) + (f" ({' to '.join(map(say, ends))})" if ends else "")


def lines_of_frozen(beside: Row) -> list[str]:
    found = ["", beside["why"], f"{head_of(beside)} Differences are today’s minus frozen, in points or bits:"]
    for row in map(cells_of, beside["rows"]):
        widths, chances = (" → ".join(row[name]) for name in ("widths", "chances"))
        found.append(
            f"{row['hypothesis']}, {row['scenario']}: ± {widths} {row['unit']}, difference {row['wider']}; "
            f"supported {chances}, difference {row['more']}"
        )
    return found


# --- assumed beside came: the scenarios' assumptions, and the pilot's answers or, at its end, the study's


def find_came(study: Study) -> Row:
    """The comparison with the whole study at its end, before that with its pilot; no rows below FEWEST people."""
    standing = stand(study)
    is_pilot = not (standing.is_launched and standing.is_over)
    fingerprint = fingerprint_of(study, is_pilot, stamp_of(study))
    found: Row = keep_part(study, "came", fingerprint, lambda: tidy(compute(study, is_pilot))).value
    return found


def compute(study: Study, is_pilot: bool) -> Row:
    if not is_pilot:
        Reporting(study).part("as_planned")  # notes that the end was reached and shown
    data = Reporting(study, PILOT if is_pilot else Filters()).data
    people, definition = len(data.people), definition_of(study.current_id)
    rows = [row for each in definition.hypotheses for row in rows_of(data, each)] if people >= FEWEST else []
    return {"people": people, "pilot": is_pilot, "rows": list({row["what"]: row for row in rows}.values())}


def rows_of(data: Data, hypothesis: Hypothesis) -> Iterator[Row]:
    sides, prompts = find_sides(data, hypothesis), data.definition.asked_by(hypothesis)
    yield from shares_of_people(data, sides, prompts)
    if sides.b:
        name = sides.b.name
        for prompt in prompts:
            if prompt in data.prompts and len(sides.b.rows(prompt)) >= FEWEST:
                yield from rows_of_prompt(hypothesis, ask(sides.b, sides.b, hypothesis, prompt), f"{name}, {prompt}")
    found = examine(data, sides, prompts)
    if found.value is not None and (hypothesis.pooled or len(prompts) == 1):
        n = min(len(np.unique(np.concatenate([each.rows(one) for one in prompts]))) for each in sides.there)
        assumed = {each.name: truth_of(hypothesis, each) for each in SCENARIOS}
        row = came(f"a minus b: {hypothesis.text}", hypothesis.measure, assumed, found.value, found.ci, n, "answers")
        yield row | {"hypothesis": hypothesis.slug}


def shares_of_people(data: Data, sides: Sides, prompts: Sequence[str]) -> Iterator[Row]:
    """Yield the share of all people on each narrowed side of the field, such as a chatbot, or memory off."""
    for side in sides.there:
        share = share_of(data.definition, side.side.text)
        if share is not None and 0 < share < 1:
            rows = np.concatenate([side.rows(prompt) for prompt in prompts])
            here, people = len(np.unique(side.data.frames.field.who[rows])), len(data.people)
            yield counted(f"People who count: {side.name}", dict.fromkeys(NAMES, share), here, people, "people")


def rows_of_prompt(hypothesis: Hypothesis, asked: PromptSides, whose: str) -> Iterator[Row]:
    sample = asked.b
    if isinstance(sample, ItemSample):
        unknown, hits = sample.unknown, len(np.unique(sample.rows[sample.codes == asked.code]))
    else:
        unknown, hits = int((sample.codes == UNKNOWN).sum()), int((sample.codes == asked.code).sum())
    if not sample.clusters:  # simulated users with several answers each have no such interval
        assumed = of_each(lambda one: one.unusable)
        yield counted(f"Answers in which nothing is found: {whose}", assumed, unknown, sample.n)
        if hypothesis.measure in OF_ONE_PROMPT or hypothesis.measure == "correct_share":
            of = hypothesis.item or hypothesis.letter or "the right letter"
            assumed = of_each(lambda one: one.share * (1 - one.unusable))
            yield counted(f"Answers with {of}: {whose}", assumed, hits, sample.n)
    if isinstance(sample, ItemSample) and hypothesis.measure in OF_LISTS and sample.n > unknown:
        yield steepness(sample, whose)


def steepness(sample: ItemSample, whose: str) -> Row:
    """How steeply the popularity of items falls: the slopes of the observed entropy and of its interval's ends."""
    usable = sample.n - sample.unknown
    counts, found = sample.counts(), describe(sample)
    named = max(1, round(len(sample.codes) / usable))
    items = max(named + 1, round(richness(counts)))
    bits, ci = found.values["entropy_bits"], found.ci["entropy_bits"]
    value = slope_of(bits or 0.0, usable, named, items)
    ends = (slope_of(ci[1], usable, named, items), slope_of(ci[0], usable, named, items)) if ci else None
    return came(
        f"Popularity falls with: {whose}", SLOPE, of_each(lambda one: one.slope), value, ends, usable, "answers"
    )


def of_each(read: Callable[[Assumed], float]) -> dict[str, float]:
    return {scenario.name: read(scenario.usual) for scenario in SCENARIOS}


def counted(what: str, assumed: dict[str, float], hits: int, n: int, of: str = "answers") -> Row:
    low, high = wilson_interval(hits, n)
    return came(what, SHARE, assumed, hits / n, (float(low), float(high)), n, of)


def came(what: str, measure: str, assumed: dict[str, float], value: float, ci: Interval | None, n: int, of: str) -> Row:
    """A row of the comparison; `excluded`: the scenarios whose assumption lies outside the interval."""
    excluded = [name for name, one in assumed.items() if ci and not ci[0] <= one <= ci[1]]
    return {
        "what": what,
        "measure": measure,
        "assumed": assumed,
        "value": value,
        "ci": ci,
        "n": n,
        "of": of,
        "excluded": excluded,
    }


def came_on_page(study: Study, plan: Row | None) -> Row | None:
    """The comparison, with the widths that a simulated plan predicts for as many people; None without rows."""
    found = find_came(study)
    if not found["rows"]:
        return None
    rows = [row | (width_beside(row, plan, found["people"]) or {}) for row in found["rows"]]
    excluded = sum(bool(row["excluded"]) for row in rows)
    whose = "the pilot" if found["pilot"] else "the study"
    return {
        "pilot": found["pilot"],
        "names": NAMES,
        "answer": f"{plural(found['people'], 'person', 'people')} of {whose}: {excluded} of "
        f"{plural(len(rows), 'assumption')} {'lies' if excluded == 1 else 'lie'} outside the interval of what came in "
        "some scenario.",
        "rows": [shown(row) for row in rows],
    }


def width_beside(row: Row, plan: Row | None, people: int) -> Row | None:
    """The half width, and by scenario the predicted one: that of the nearest size simulated, scaled by 1/√n."""
    if plan is None or "hypothesis" not in row or not row["ci"]:
        return None
    predicted: dict[str, float] = {}
    for name in NAMES:
        same = [one for one in plan["rows"] if (one["scenario"], one["hypothesis"]) == (name, row["hypothesis"])]
        near = min((one for one in same if one["width"]), key=lambda one: abs(one["people"] - people), default=None)
        if near:
            predicted[name] = near["width"] * (near["people"] / people) ** 0.5
    return {"predicted": predicted, "half": (row["ci"][1] - row["ci"][0]) / 2} if predicted else None


def say(measure: str, value: float) -> str:
    if measure == SHARE:
        return percent(value)
    return decimal(value, 2) if measure == SLOPE else written(measure, value, sign=True)


def shown(row: Row) -> Row:
    measure = row["measure"]
    ends = " to ".join(say(measure, end) for end in row["ci"]) if row["ci"] else "no interval"
    unit = "" if measure in (SHARE, SLOPE) else f" {unit_word(measure)}"
    told = {
        "what": row["what"],
        "assumed": [(say(measure, row["assumed"][name]), name in row["excluded"]) for name in NAMES],
        "came": f"{say(measure, row['value'])}{unit} ({ends})",
        "n": plural(row["n"], "person", "people") if row["of"] == "people" else plural(row["n"], "answer"),
    }
    if "half" in row:
        predicted = [f"{name} ± {written(measure, width)}" for name, width in row["predicted"].items()]
        told["width"] = f"± {written(measure, row['half'])} {unit_word(measure)}; predicted {', '.join(predicted)}"
    return told
