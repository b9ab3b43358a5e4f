"""How far each person's answer lies from everybody else's of the same chatbot, and what could explain it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.charts.figure import prompt_name
from analysis.report.dataset import TOLD, background_of
from analysis.report.persons.askings import compare_answers, fields_of
from analysis.report.samples import Data, Group, generator_for
from analysis.stats.persons.explaining import Explanation, by_level, by_step
from analysis.stats.persons.shares import ReadableAnswers, unlike_others
from surveys.models import ChatbotContext
from surveys.studies.wording import language_name

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Characteristic:
    """Something known of each person: its column of people, its label, and the order of its levels, if any.

    Without an `order`, the level of most people is the base; `words` are the names of levels.
    """

    name: str
    label: str
    order: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()

    def say(self, level: str) -> str:
        return dict(self.words).get(level, level)


SWITCH, PLAN, DEVICE = (kind.choices for kind in (ChatbotContext.Switch, ChatbotContext.Plan, ChatbotContext.Device))
OF_CONTEXT = (
    Characteristic("memory", "Memory", ("off", "on"), tuple(SWITCH)),
    Characteristic("personalisation", "Custom instructions", ("off", "on"), tuple(SWITCH)),
    Characteristic("plan", "Plan", ("free", "paid", "work"), tuple(PLAN)),
    Characteristic("model_shown", "Model shown"),
    Characteristic("device", "Device", words=tuple(DEVICE)),
)
POSITION, BEFORE, CARRIED = "position", "prompt_before", "repeats_item"
MANY = 1000  # answers of one chatbot's people to one prompt
OF_SET = "question"  # stands for any question of the set
DRAWN = (POSITION, BEFORE)  # by lot, so associations with them are their effects


@dataclass(frozen=True, eq=False)
class Crowd:
    """Answers to all prompts, by row: how unlike everybody else's each is (`y`), whose, to which prompt and chatbot, at
    which position in the person's order (from 1, NaN if none), and after which prompt.
    """

    y: Floats
    persons: Ints
    prompts: NDArray[np.object_]
    blocks: Ints
    rows: Ints  # in the field's frame
    position: Floats
    before: NDArray[np.object_]

    @property
    def fixed(self) -> Ints:
        """The number of each answer's pair of chatbot and prompt."""
        names = [f"{block} {prompt}" for block, prompt in zip(self.blocks, self.prompts, strict=True)]
        return np.unique(names, return_inverse=True)[1].astype(np.int64) if names else np.empty(0, np.int64)


def some_answers(data: Data, group: Group, prompt: str) -> ReadableAnswers:
    """Answers from when people were first asked, MANY at random if there are more."""
    rows = data.rows_of(group.field, prompt)
    if len(rows) > MANY:
        rows = np.sort(generator_for(data, "first answers", group.field, prompt).choice(rows, MANY, replace=False))
    return compare_answers(data, group.field, prompt, rows)


def gather(data: Data) -> Crowd:
    def compute() -> Crowd:
        parts = list(parts_of(data))
        y, persons, prompts, blocks, rows = (
            np.concatenate([part[at] for part in parts]) if parts else np.empty(0) for at in range(5)
        )
        orders = data.frames.people["order"].to_dict()
        bases = {slug: asking.asks for slug, asking in data.frames.askings.items()}
        bases |= dict.fromkeys(data.frames.drawn, OF_SET)
        places = [place_of(orders.get(who) or [], prompt, bases) for who, prompt in zip(persons, prompts, strict=True)]
        position = np.array([place for place, _ in places], dtype=float)
        before = np.array([prompt for _, prompt in places], dtype=object)
        whose, bots, at = (column.astype(np.int64) for column in (persons, blocks, rows))
        return Crowd(y, whose, prompts.astype(object), bots, at, position, before)

    return data.once(("crowd",), compute)


def parts_of(data: Data) -> Iterator[tuple[NDArray, ...]]:
    for block, group in enumerate(fields_of(data)):
        for prompt in data.prompts:
            sample = (data.letters if prompt in data.choices else data.items)(group.field, prompt)
            found, others = unlike_others(sample)
            if len(found) < 2:
                continue
            rows = data.by_unit(group.field, data.rows_of(group.field, prompt))[found]
            same = np.full(len(rows), prompt, dtype=object)
            yield others, data.frames.field.who[rows], same, np.full(len(rows), block), rows


def place_of(order: Sequence[str], prompt: str, bases: dict[str, str]) -> tuple[float, str]:
    """Position of the prompt in the order, from 1, and the prompt before it; NaN and nothing if it is not there."""
    if prompt not in order:
        return np.nan, ""
    at = order.index(prompt)
    return at + 1.0, bases.get(order[at - 1], order[at - 1]) if at else ""


def known_of(data: Data) -> list[Characteristic]:
    """What the study knows of people: settings, group, and answers to background questions with options."""
    cells = tuple((cell.slug, cell.name) for cell in data.definition.cells)
    told = {question.slug: question for question in data.definition.questions}
    asked = [
        Characteristic(TOLD + slug, prompt_name(slug), tuple(told[slug].options))
        for slug in background_of(data.definition)
        if TOLD + slug in data.frames.people
    ]
    return [*OF_CONTEXT, Characteristic("cell", "Group", words=cells), *asked]


def values_of(data: Data, known: Characteristic, persons: Ints) -> list[str]:
    """This characteristic of each of these people; empty if unknown."""
    people = data.frames.people

    def written() -> NDArray[np.object_]:
        return np.array([*(value if isinstance(value, str) else "" for value in people[known.name]), ""], dtype=object)

    return data.once_for_all(("known", known.name), written)[people.index.get_indexer(persons)].tolist()


def explanations_of(data: Data, crowd: Crowd, repeats: Floats) -> list[tuple[Characteristic, Explanation]]:
    """All explanations that vary between enough people; a first answer repeats no item."""
    persons = crowd.persons
    found = [
        (known, by_level(known.name, values_of(data, known, persons), persons, known.order)) for known in known_of(data)
    ]
    codes = tuple((code, language_name(code)) for code in data.definition.offered)
    language = Characteristic("language", "Language", words=codes)
    spoken = data.frames.field.columns["language"][crowd.rows]
    found.append((language, by_level(language.name, list(spoken), persons)))
    found.append((Characteristic(POSITION, "Position, per step"), by_step(POSITION, crowd.position)))
    words = {slug: prompt_name(slug) for slug in data.frames.prompts} | {OF_SET: "a question of the benchmark"}
    before = Characteristic(BEFORE, "Prompt before", words=tuple(words.items()))
    found.append((before, by_level(BEFORE, list(crowd.before), persons)))
    found.append((Characteristic(CARRIED, "Repeats an earlier item"), by_step(CARRIED, np.nan_to_num(repeats))))
    return [(known, explanation) for known, explanation in found if explanation is not None]
