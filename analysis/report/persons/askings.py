"""The answers of one source to one prompt, in all states and on all occasions: whose they are, and how unlike.

Also how far each person's answer lies from everybody else's with the same chatbot, and what could explain that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.charts.figure import prompt_name
from analysis.report.dataset import OFFLINE, TOLD, background_of
from analysis.report.samples import Data, Group, Row, Rows, Source, generator_for, low_high, reasons
from analysis.stats.persons.explaining import Explanation, by_level, by_step
from analysis.stats.persons.numbers import PersonEstimate
from analysis.stats.persons.shares import (
    Measured,
    ReadableAnswers,
    measure,
    unlike_choices,
    unlike_lists,
    unlike_others,
)
from analysis.stats.resampling import UNKNOWN
from surveys.models import ChatbotContext, Prompt
from surveys.studies.wording import language_name

USUAL = ""  # the account's usual state
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def fields_of(data: Data) -> list[Group]:
    """A group for each chatbot, since its people are not compared with others'; everybody if none is known."""
    named = [group for group in data.groups if group.chatbot is not None]
    return named or list(data.groups)


def again(data: Data, prompt: str, state: str = USUAL) -> list[Prompt]:
    """The prompts that repeat this one in this state, by occasion."""
    found = [asking for asking in data.frames.askings.values() if (asking.asks, asking.arm) == (prompt, state)]
    return sorted(found, key=lambda asking: asking.occasion)


def repeated_prompts(data: Data) -> list[str]:
    return [prompt for prompt in data.prompts if again(data, prompt)]


def rows_in_state(data: Data, source: Source, prompt: str, state: str = USUAL) -> Rows:
    """A source's answers in this state: people's by occasion, without unreached ones; simulated users' by repeat."""
    asked = [prompt] if state == USUAL else []
    asked += [asking.slug for asking in again(data, prompt, state)]
    found = [data.by_unit(source, data.rows_of(source, slug)) for slug in asked]
    rows = np.concatenate([np.empty(0, dtype=np.int64), *found])
    return rows[~data.frames.field.columns["unreached"][rows]] if source.is_field else rows


def compare_answers(data: Data, source: Source, prompt: str, rows: Rows) -> ReadableAnswers:
    of = data.frame(source.is_field).who[rows]
    if prompt in data.choices:
        return unlike_choices(data.options_in(source.is_field, prompt, rows), of)
    return unlike_lists(data.items_in(source.is_field, prompt, rows), of)


def usual_answers(data: Data, source: Source, prompt: str) -> ReadableAnswers:
    """Answers in the usual state, on any occasion."""
    return data.once(
        ("usual answers", source, prompt),
        lambda: compare_answers(data, source, prompt, rows_in_state(data, source, prompt)),
    )


def counted(data: Data, prompt: str, rows: Rows) -> dict[str, Floats]:
    """Numbers (answers,) of these field answers by name, NaN if an answer has none."""
    rating = data.frames.field.columns["rating"][rows]
    if prompt in data.choices:
        options, key = data.frames.field.columns["option"][rows], data.options_in(True, prompt, rows).correct
        right = np.full(len(rows), np.nan) if key is None else (options == key).astype(float)
        return {"correct_share": right, "unknown_share": (options == UNKNOWN).astype(float), "rating": rating}
    sample = data.items_in(True, prompt, rows)
    lengths = np.bincount(sample.rows, minlength=sample.n).astype(float)
    items = np.where(lengths > 0, lengths, np.nan)
    return {"items": items, "unknown_share": (lengths == 0).astype(float), "rating": rating}


def measured(data: Data, source: Source, prompts: Sequence[str]) -> list[Measured]:
    return measure([usual_answers(data, source, prompt) for prompt in prompts])


def offline_of(group: Group) -> Source | None:
    """The stateless calls that a chatbot's field is compared with, if any."""
    return next((source for source in group.others if source.name == OFFLINE), None)


def estimate_cells(name: str, found: PersonEstimate) -> Row:
    """A number with its interval, or why it has none."""
    why = {f"ci_{name}_why": found.why} if found.value is not None and found.ci is None else {}
    return {name: found.value, f"ci_{name}": low_high(found.ci), **reasons(**why)}


# --- beside everybody else's --------------------------------------------------


@dataclass(frozen=True)
class Characteristic:
    """Something known of each person: its column of people, its label, and the order of its levels, if any.

    Without an `order`, the commonest level is the base. `words`: the names of levels.
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
OF_SET = "question"  # any question of the set
DRAWN = (POSITION, BEFORE)  # by lot, so associations with them are their effects


@dataclass(frozen=True, eq=False)
class Crowd:
    """Answers to all prompts: their unlikeness to everybody else's (`y`), persons, prompts and chatbots (`blocks`), the
    position in the person's order (from 1, NaN if none), and the prompt before.
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
    """Answers to first askings; if there are more than MANY, as many at random."""
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
    """Position of the prompt in the order, from 1, and the prompt before it; NaN and "" if it is not in the order."""
    if prompt not in order:
        return np.nan, ""
    at = order.index(prompt)
    return at + 1.0, bases.get(order[at - 1], order[at - 1]) if at else ""


def known_of(data: Data) -> list[Characteristic]:
    """All that is known of people: settings, group, and answers to background questions with options."""
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
