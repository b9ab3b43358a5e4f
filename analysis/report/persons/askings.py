"""The answers of one source to one prompt, in all states and on all occasions: how unlike they are, and whose."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.report.dataset import OFFLINE
from analysis.report.samples import Data, Group, Row, Rows, Source, low_high, reasons
from analysis.stats.persons.numbers import PersonEstimate
from analysis.stats.persons.shares import (
    Measured,
    ReadableAnswers,
    measure,
    unlike_choices,
    unlike_lists,
)
from analysis.stats.resampling import UNKNOWN
from surveys.models import Prompt

USUAL = ""  # the account's usual state


def fields_of(data: Data) -> list[Group]:
    """A group for each chatbot, since people of two are not compared; everybody if no chatbot is known."""
    named = [group for group in data.groups if group.chatbot is not None]
    return named or list(data.groups)


def again(data: Data, prompt: str, state: str = USUAL) -> list[Prompt]:
    """The prompts that ask this one again in this state, by occasion."""
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


def counted(data: Data, prompt: str, rows: Rows) -> dict[str, NDArray[np.float64]]:
    """Numbers of each of these field answers, by name; NaN if an answer has no such number."""
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
