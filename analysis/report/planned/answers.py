"""Both sides of a hypothesis, and their answers to its prompts as its measure's test takes them."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from django.utils import timezone
from numpy.typing import NDArray

from analysis.charts.figure import Row
from analysis.report.dataset import LETTERS, Frames
from analysis.report.filters import FilterError
from analysis.report.pairs.sides import Chosen, choose, name_items, read_side, why_not
from analysis.report.persons.askings import gather, measured
from analysis.report.samples import Data, generator_for
from analysis.stats.hypotheses.measures import PromptSides, further_from_crowd, person_share, test_of
from analysis.stats.hypotheses.tested import Tested
from analysis.stats.persons.shares import Assignments
from surveys.studies.files.hypotheses import ALONE, OF_CROWD, Hypothesis


@dataclass(frozen=True, eq=False)
class Sides:
    """The sides of a hypothesis; None for a side without answers, and for `b` if the hypothesis has one side only."""

    hypothesis: Hypothesis
    a: Chosen | None
    b: Chosen | None
    why: str

    @property
    def there(self) -> list[Chosen]:
        return [side for side in (self.a, self.b) if side]


def find_sides(data: Data, hypothesis: Hypothesis) -> Sides:
    found: list[Chosen | None] = []
    why = ""
    for text in filter(None, (hypothesis.a, hypothesis.b)):
        try:
            found.append(choose(data, text))
        except FilterError:
            found.append(None)
            why = why or f"There is no run with answers of {text} yet."
    a, b = (*found, None)[:2]
    if a and b and not why:
        why = why_not(data, a, b)
    return Sides(hypothesis, a, b, why)


def examine(data: Data, sides: Sides, prompts: list[str]) -> Tested:
    """Test a hypothesis on one prompt, or on the mean of several."""
    if sides.why or sides.a is None:
        return Tested(None, None, None, why=sides.why)
    if sides.hypothesis.measure == ALONE:  # as *Person or dice* has it
        data, source = sides.a.data, sides.a.source
        assignments = Assignments(generator_for(data, "person or dice", source, ""), data.draws)
        return person_share(measured(data, source, prompts), assignments)
    assert sides.b is not None
    if sides.hypothesis.measure == OF_CROWD:
        return unlikeness_of(data, sides.a, sides.b, prompts)
    asked = [ask(sides.a, sides.b, sides.hypothesis, prompt) for prompt in prompts]
    names = (sides.a.side.text, sides.b.side.text)
    return test_of(sides.hypothesis.measure, asked, data.shared_draws, names)


def ask(a: Chosen, b: Chosen, hypothesis: Hypothesis, prompt: str) -> PromptSides:
    if prompt in a.data.choices:
        letter = hypothesis.letter or a.data.frames.prompts[prompt].answer
        who = [side.data.frame(side.source.is_field).who[side.rows(prompt)] for side in (a, b)]
        return PromptSides(a.options(prompt), b.options(prompt), (who[0], who[1]), LETTERS.find(letter))
    named, wanted = name_items(a, b, prompt), hypothesis.item.casefold()
    pairs = zip(named.items, named.names, strict=True)
    spelled = [wanted in (item.casefold(), name.casefold()) for item, name in pairs]
    rows = [side.data.by_unit(side.source, side.rows(prompt)) for side in (a, b)]
    who = [side.data.frame(side.source.is_field).who[some] for side, some in zip((a, b), rows, strict=True)]
    return PromptSides(*named.samples, (who[0], who[1]), spelled.index(True) if any(spelled) else -1)


def unlikeness_of(data: Data, a: Chosen, b: Chosen, prompts: list[str]) -> Tested:
    """Test first answers of both sides against the crowd: everybody with the same chatbot, on a side or not."""
    crowd = gather(data)
    of_a, of_b = (people_of(side, prompts) for side in (a, b))
    kept = np.isin(crowd.prompts, prompts) & np.isin(crowd.persons, np.concatenate([of_a, of_b]))
    whose = crowd.persons[kept]
    return further_from_crowd(crowd.y[kept], crowd.fixed[kept], whose, np.isin(whose, of_a))


def people_of(side: Chosen, prompts: list[str]) -> NDArray[np.int64]:
    """The people who answered any of the prompts."""
    who = side.data.frame(side.source.is_field).who
    return np.unique(np.concatenate([np.empty(0, np.int64), *(who[side.rows(prompt)] for prompt in prompts)]))


def asked_twice(side: Chosen, prompts: list[str]) -> int:
    """The number of people with two readable answers to any of the prompts."""
    rests_on = [each.within.rests_on for each in measured(side.data, side.source, prompts)]
    return int(np.count_nonzero(np.any(rests_on, axis=0))) if rests_on else 0


def side_row(text: str, chosen: Chosen | None, prompts: list[str], is_twice: bool = False) -> Row:
    """A side by name, with the number of its units that answered any of the prompts (`is_twice`: answered twice)."""
    if chosen is None:
        unit = "person" if read_side(text).is_field else "repeat"
        return {"side": text, "name": text, "unit": unit, "n": 0, "answers": 0}
    frame = chosen.data.frame(chosen.source.is_field)
    rows = np.concatenate([np.empty(0, np.int64), *(chosen.rows(prompt) for prompt in prompts)])
    return {
        "side": text,
        "name": chosen.name,
        "unit": chosen.data.unit_of(chosen.source),
        "n": asked_twice(chosen, prompts) if is_twice else len(np.unique(frame.who[rows])),
        "answers": len(rows),
        "simulated": chosen.is_simulated,
        "runs": list(chosen.source.runs),
    }


def first_people(data: Data, count: int, until: str = "") -> Data:
    """The data of the first `count` people to complete, none after `until`, so that nobody replaces a withdrawal."""
    people = data.frames.people
    counted = data.people.sort_values(["finished_at", "origin"], kind="stable")
    counted = counted[counted["finished_at"] <= pd.Timestamp(until)] if until else counted
    left = people[people.index.isin(counted.index[:count])]
    frames = replace(data.frames, people=left)
    return Data(data.study, data.definition, frames, data.filters, data.seed, data.draws)


def without_later(frames: Frames, until: str) -> Frames:
    """Drop people who completed after `until`."""
    return replace(frames, people=frames.people[~(frames.people["finished_at"] > pd.Timestamp(until))])


def until_of(data: Data, count: int) -> str:
    """A time by which `count` people had completed: halfway to the next one, so that nobody's own time is stored."""
    last, following = [*sorted(data.people["finished_at"]), timezone.now()][count - 1 : count + 1]
    return str(last + (following - last) / 2)
