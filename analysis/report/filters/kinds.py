"""What a filter of Compare is: its words, the values that it takes from an address, and what it leaves."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.models import Run
from analysis.report.dataset import runs_of
from surveys.models import ChatbotContext, Participant, Study
from surveys.studies.lifecycle import definition_of
from surveys.study_files.definitions import Definition

LONGEST_VALUE = 200
Mask = NDArray[np.bool_]
WITH, WITHOUT, ONLY = "with them", "without them", "nothing else"


class FilterError(ValueError):
    """A filter that means nothing; the message says which one and what there is."""


class Offer:
    """What a study has that a filter can name, looked up when it is asked for."""

    def __init__(self, study: Study) -> None:
        self.study = study

    @cached_property
    def definition(self) -> Definition:
        return definition_of(self.study.current_id)

    @cached_property
    def runs(self) -> list[Run]:
        return list(runs_of(self.study).select_related("endpoint"))

    @property
    def versions(self) -> list[int]:
        seen = Participant.objects.filter(study=self.study).values_list("version__number", flat=True)
        return sorted({*seen, self.study.current.number})

    @property
    def models_shown(self) -> list[str]:
        shown = ChatbotContext.objects.filter(participant__study=self.study).exclude(model_shown="")
        return sorted(set(shown.values_list("model_shown", flat=True)))

    @property
    def answers(self) -> Iterator[tuple[str, str]]:
        return ((question.slug, option) for question in self.definition.questions for option in question.options)

    def of_runs(self, setting: str) -> list[Any]:
        """The values of a setting that there are runs with."""
        return sorted({getattr(run, setting) for run in self.runs} - {None})


@dataclass(frozen=True)
class Filter:
    """One filter. Its name and default are those of its field in `Filters`.

    `people` and `answers` say which rows of these tables count when the filter has a value, `source` which sources are
    compared, `prompt` which prompts are shown; `of_rows` says that most parts are computed without it, because it only
    chooses among their rows.
    """

    label: str
    help: str = ""  # for the API
    type: type = str
    options: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # value → words in the form, in the sentence
    offered: Callable[[Offer], Mapping[Any, str]] = lambda offer: {}  # values of the study → words
    people: Callable[[pd.DataFrame, Any], Mask] | None = None
    answers: Callable[[pd.DataFrame, Any], Mask] | None = None
    source: Callable[[Any, Any], bool] | None = None
    prompt: Callable[[str, Any], bool] | None = None
    of_rows: bool = False

    @property
    def is_of_field(self) -> bool:
        """Whether it says whose answers count."""
        return bool(self.people or self.answers)

    def read(self, name: str, values: tuple[str, ...]) -> Any:
        """The value that an address gives. Raises FilterError."""
        if not self.options:
            return _READERS[self.type](name, values)
        if len(values) > 1 or values[0] not in self.options:
            raise FilterError(f"{name} is one of {', '.join(self.options)}, not {' and '.join(values)[:60]}.")
        return values[0]

    def say(self, value: Any) -> list[str]:
        """What a sentence says of it."""
        if self.options:
            return [words] if (words := self.options[value][1]) else []
        if self.type is tuple:
            return [f"{question} answered “{answer}”" for question, answer in value]
        return [f"{self.label.lower()} {' or '.join(map(str, value))}"] if value else []


def choice(label: str, options: dict[str, tuple[str, str]], **more: Any) -> Any:
    """A filter that always has one of these values; the first is the default."""
    return field(default=next(iter(options)), metadata={"filter": Filter(label, options=options, **more)})


def several(label: str, help: str, offered: Callable[[Offer], Mapping[Any, str]], **more: Any) -> Any:
    """A filter that leaves any of the values that are named, and everything when none is."""
    return field(default=(), metadata={"filter": Filter(label, help, offered=offered, **more)})


def plain(values: Iterable[Any]) -> dict[Any, str]:
    return {value: str(value) for value in values}


def among(column: str) -> Callable[[pd.DataFrame, Any], Mask]:
    return lambda rows, wanted: rows[column].isin(wanted).to_numpy()


def only_marked(wanted: str, marked: Any) -> Any:
    """What `with`, `without` or `only` leaves of what is marked; of a mask or of one value."""
    return marked | True if wanted == "with" else marked == (wanted == "only")


def marked(column: str) -> Callable[[pd.DataFrame, Any], Mask]:
    return lambda rows, wanted: only_marked(wanted, rows[column].to_numpy(bool))


def simulated(people: pd.DataFrame, wanted: str) -> Mask:
    return only_marked(wanted, (people["origin"] == Participant.Origin.SIMULATED).to_numpy())


def completed(people: pd.DataFrame, wanted: str) -> Mask:
    return (people["state"] == Participant.State.COMPLETED).to_numpy() | (wanted == "all")


def answered(people: pd.DataFrame, wanted: Iterable[tuple[str, str]]) -> Mask:
    """Whether people gave one of the wanted answers to each question that is named."""
    by_question: dict[str, set[str]] = {}
    for question, value in wanted:
        by_question.setdefault(question, set()).add(value)
    return np.array(
        [
            all(str(given.get(question)) in values for question, values in by_question.items())
            for given in people["answers"]
        ],
        dtype=bool,
    )


def write_value(value: Any) -> str:
    return ":".join(value) if isinstance(value, tuple) else str(value)


def say_offered(value: str, names: Sequence[str]) -> str:
    near = get_close_matches(value, names, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"There is {', '.join(names[:20])}." if names else "There is none yet."


# --- what an address holds ----------------------------------------------------


def _read_names(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if len(value) > LONGEST_VALUE or not value.isprintable():
            raise FilterError(f"{name} has a value that can't be a name: at most {LONGEST_VALUE} printable characters.")
    return values


def _read_answers(name: str, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = [value.partition(":") for value in _read_names(name, values)]
    for question, colon, answer in pairs:
        if not (question and colon and answer):
            raise FilterError(f"{name}={question[:60]} names no answer: write answer=QUESTION:ANSWER.")
    return tuple((question.strip(), answer.strip()) for question, _, answer in pairs)


def _read_integers(name: str, values: tuple[str, ...]) -> tuple[int, ...]:
    if not all(value.isascii() and value.isdecimal() and len(value) < 10 for value in values):
        raise FilterError(f"{name} takes whole numbers, not {', '.join(values)[:60]}.")
    return tuple(int(value) for value in values)


def _read_decimals(name: str, values: tuple[str, ...]) -> tuple[float, ...]:
    try:
        numbers = tuple(float(value) for value in values)
    except ValueError:
        raise FilterError(f"{name} takes numbers, not {', '.join(values)[:60]}.") from None
    if not all(0 <= number <= 100 for number in numbers):
        raise FilterError(f"{name} takes numbers from 0, not {', '.join(values)[:60]}.")
    return numbers


_READERS: dict[type, Callable[[str, tuple[str, ...]], Any]] = {
    str: _read_names,
    int: _read_integers,
    float: _read_decimals,
    tuple: _read_answers,
}
