"""From labels that count to arrays: one question at a time, people and models side by side."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from analysis.stats.agreement.labels import NOMINAL, Labels, Scale
from surveys.annotation.counted import Label, iter_labels, questions_of
from surveys.models import Study
from surveys.study_files.kinds import LabelQuestion


@dataclass(frozen=True)
class Choice:
    """Which labels: the pilot's or the main ones, of one corpus, cluster or tag, with made-up people or not."""

    pilot: bool = False
    simulated: bool = True
    corpus: str = ""
    cluster: str = ""
    tag: str = ""  # name:value


@dataclass(frozen=True, eq=False)
class Gathered:
    """The labels of one question with the names behind their codes."""

    question: LabelQuestion
    labels: Labels
    scale: Scale
    names: tuple[str, ...]
    raters: tuple[str, ...]
    units: tuple[str, ...]
    items: tuple[str, ...]  # of each unit the item that it is part of
    by_user: bool  # intervals draw users; otherwise items, each with all its parts
    rows: tuple[Label, ...]


EVERYTHING = Choice()


def gather(study: Study, choice: Choice = EVERYTHING) -> list[Gathered]:
    """Every question with its labels, in the order in which it is asked; those without a label too."""
    found: dict[str, list[Label]] = {question.name: [] for question in questions_of(study) if question.is_label}
    for label in iter_labels(study, pilot=choice.pilot, simulated=choice.simulated):
        if label.question in found and fits(label, choice):
            found[label.question].append(label)
    questions = {question.name: question for question in questions_of(study)}
    return [line_up(questions[name], rows) for name, rows in found.items()]


def fits(label: Label, choice: Choice) -> bool:
    if choice.corpus and label.corpus != choice.corpus or choice.cluster and label.cluster != choice.cluster:
        return False
    name, _, value = choice.tag.partition(":")
    return not choice.tag or str(label.tags.get(name, "")) == value


def line_up(question: LabelQuestion, rows: list[Label], by_user: bool = True) -> Gathered:
    """`by_user`: intervals draw users, where every label says which user its item is about."""
    names = question.values
    units = number(row.unit for row in rows)
    raters = number(rater_of(row) for row in rows)
    items = {row.unit: row.item for row in rows}
    by_user = by_user and bool(rows) and all(row.cluster for row in rows)
    wholes = list({row.unit: row.cluster for row in rows}.values() if by_user else items.values())
    drawn = number(wholes)
    labels = Labels(
        items=np.array([units[row.unit] for row in rows], np.int32),
        raters=np.array([raters[rater_of(row)] for row in rows], np.int32),
        values=np.array([names.index(row.value) for row in rows], np.int16),
        n_items=len(units),
        n_raters=len(raters),
        n_labels=len(names),
        clusters=np.array([drawn[whole] for whole in wholes], np.int32),
        is_model=np.array(models_among(raters, rows), bool),
    )
    return Gathered(
        question=question,
        labels=labels,
        scale=scale_of(question),
        names=names,
        raters=tuple(raters),
        units=tuple(units),
        items=tuple(items.values()),
        by_user=by_user,
        rows=tuple(rows),
    )


def number(values: Iterable[str]) -> dict[str, int]:
    """Codes from 0 in the order in which values come."""
    return {value: code for code, value in enumerate(dict.fromkeys(values))}


def rater_of(row: Label) -> str:
    """A model that saw two responses in both orders is a rater in each of them."""
    return f"{row.rater}, {row.left} first" if row.is_model and row.left else row.rater


def models_among(raters: dict[str, int], rows: list[Label]) -> list[bool]:
    models = {rater_of(row) for row in rows if row.is_model}
    return [rater in models for rater in raters]


def scale_of(question: LabelQuestion) -> Scale:
    """Labels that are numbers stand for these numbers; others have at most an order."""
    try:
        numbers = tuple(float(value) for value in question.values)
    except ValueError:
        numbers = ()
    if numbers and list(numbers) == sorted(set(numbers)) and all(np.isfinite(numbers)):
        return Scale(True, numbers)
    return Scale(True) if question.scale == "ordinal" else NOMINAL
