"""The labels that count: chooses them, codes them as arrays by question, and finds items on which raters disagree."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from analysis.stats.agreement.agreement import THRESHOLD, Agreement, measure_agreement
from analysis.stats.agreement.labels import NOMINAL, Labels, Scale, choose_voters
from analysis.stats.agreement.ratings import join_orders
from analysis.stats.resampling import generator
from surveys.models import AnnotationItem, Study
from surveys.studies.files.kinds import KINDS, LabelQuestion
from surveys.studies.labels import Label, iter_labels, questions_of

MOST_OFFERED = 300
LONGEST = 200
LONGEST_SNIPPET = 160
# Parts of an item that say what it is about; the first one present counts.
HEADLINES = (*dict.fromkeys(kind.headline for kind in KINDS.values()), "text", "question")


@dataclass(frozen=True)
class LabelChoice:
    """A choice of labels: the pilot's or the main ones, one corpus, cluster or tag, with simulated people or not.

    Statements revised by models are left out unless `revised` includes them. `without` leaves out people's labels given
    faster than one reads, before both answers were seen to their ends, or by a browser under a program's control;
    labels for which the page could not tell stay.
    """

    pilot: bool = False
    simulated: bool = True
    corpus: str = ""
    cluster: str = ""
    tag: str = ""  # name:value
    without: str = ""  # one of WITHOUT
    revised: str = ""  # one of REVISED

    def has_tag(self, tags: Mapping[str, Any]) -> bool:
        """Whether these tags include the chosen one; true if none is chosen."""
        name, _, value = self.tag.partition(":")
        return not self.tag or str(tags.get(name, "")) == value


@dataclass(frozen=True, eq=False)
class QuestionLabels:
    """One question's labels as codes, with the names behind them.

    `given` has every label, `rows` one per rater and unit, which joins a judge's labels in both orders.
    """

    question: LabelQuestion
    labels: Labels
    scale: Scale
    names: tuple[str, ...]
    raters: tuple[str, ...]
    units: tuple[str, ...]
    items: tuple[str, ...]  # the item of each unit
    by_user: bool  # whether intervals draw users; otherwise items, each with all its parts
    rows: tuple[Label, ...]
    given: tuple[Label, ...]

    @property
    def unit(self) -> str:
        """The independent unit: a user with all items about them, or an item with all its parts."""
        return "user" if self.by_user else "item"

    @property
    def voters(self) -> set[str]:
        """The raters whose labels make the majority."""
        return {self.raters[code] for code in np.flatnonzero(choose_voters(self.labels)).tolist()}

    @cached_property
    def said(self) -> dict[str, dict[str, str]]:
        """Labels by unit, then by rater."""
        said: dict[str, dict[str, str]] = {}
        for row in self.rows:
            said.setdefault(row.unit, {})[row.rater] = row.value
        return said

    def majorities(self, voters: Collection[str]) -> dict[str, str]:
        """Return these raters' majority label by unit; empty for a tie or without a label of theirs."""
        return {unit: majority_without(labels, "", voters) for unit, labels in self.said.items()}

    @property
    def wholes(self) -> dict[str, int]:
        """Code of the user or item that each unit belongs to."""
        assert self.labels.clusters is not None, "labels are lined up with what they belong to"
        return dict(zip(self.units, self.labels.clusters.tolist(), strict=True))


EVERYTHING = LabelChoice()
REVISED = {"with": "with what models revised", "only": "only what models revised"}
DOUBTS: dict[str, tuple[str, Callable[[Label], bool]]] = {
    "unread": ("without those given before both answers were seen to their ends", lambda row: row.was_read is False),
    "quick": ("without those given quicker than one reads", lambda row: row.was_quick is True),
    "driven": ("without those of browsers that a program drives", lambda row: row.was_driven is True),
}
WITHOUT = DOUBTS | {
    "any": ("without any of these three", lambda row: any(doubts(row) for _, doubts in DOUBTS.values()))
}


def gather(study: Study, choice: LabelChoice = EVERYTHING) -> list[QuestionLabels]:
    """Return every question with its chosen labels, if any, in the order asked."""
    questions = [question for question in questions_of(study) if question.is_label]
    found: dict[str, list[Label]] = {question.name: [] for question in questions}
    for label in iter_labels(study, pilot=choice.pilot, simulated=choice.simulated):
        if label.question in found and fits(label, choice):
            found[label.question].append(label)
    return [encode(question, found[question.name]) for question in questions]


def fits(label: Label, choice: LabelChoice) -> bool:
    if choice.corpus and label.corpus != choice.corpus or choice.cluster and label.cluster != choice.cluster:
        return False
    if choice.revised != "with" and bool(label.revises) != (choice.revised == "only"):
        return False
    if choice.without and WITHOUT[choice.without][1](label):
        return False
    return choice.has_tag(label.tags)


def encode(question: LabelQuestion, rows: list[Label], by_user: bool = True) -> QuestionLabels:
    """Code labels as arrays. `by_user`: intervals draw users, if any, and each item about nobody."""
    given, names = tuple(rows), question.values
    rows = join_both_orders(rows, names)
    units = number(row.unit for row in rows)
    raters = number(row.rater for row in rows)
    items = {row.unit: row.item for row in rows}
    users = {row.unit: row.cluster for row in rows}
    by_user = by_user and any(users.values())
    labels = Labels(
        items=np.array([units[row.unit] for row in rows], np.int32),
        raters=np.array([raters[row.rater] for row in rows], np.int32),
        values=np.array([names.index(row.value) for row in rows], np.int16),
        n_items=len(units),
        n_raters=len(raters),
        n_labels=len(names),
        clusters=np.array(code_wholes(zip(users.values(), items.values(), strict=True), by_user), np.int32),
        is_model=np.isin(list(raters), [row.rater for row in rows if row.is_model]),
        is_baseline=np.isin(list(raters), [row.rater for row in rows if row.is_baseline]),
        is_trained=np.isin(list(raters), [row.rater for row in rows if row.is_trained]),
    )
    return QuestionLabels(
        question=question,
        labels=labels,
        scale=scale_of(question),
        names=names,
        raters=tuple(raters),
        units=tuple(units),
        items=tuple(items.values()),
        by_user=by_user,
        rows=tuple(rows),
        given=given,
    )


def number(values: Iterable[Any]) -> dict[Any, int]:
    """Number distinct values from 0, in the order of their first appearance."""
    return {value: code for code, value in enumerate(dict.fromkeys(values))}


def code_wholes(pairs: Iterable[tuple[str, Any]], by_user: bool) -> list[int]:
    """Code what intervals draw for each (user, item): the user, if `by_user` and there is one, else the item."""
    wholes = [("user", user) if by_user and user else ("item", item) for user, item in pairs]
    codes = number(wholes)
    return [codes[whole] for whole in wholes]


def join_both_orders(rows: Iterable[Label], names: Sequence[str]) -> list[Label]:
    """Keep one label per rater and unit; a judge's labels in both orders become the one between them."""
    found: dict[tuple[str, str], Label] = {}
    for row in rows:
        if first := found.get((row.unit, row.rater)):
            value = names[join_orders(names.index(first.value), names.index(row.value), len(names))]
            row = first._replace(value=value)
        found[row.unit, row.rater] = row
    return list(found.values())


def scale_of(question: LabelQuestion) -> Scale:
    """Return the scale of the labels: interval if they are rising numbers, else ordinal or nominal."""
    try:
        numbers = tuple(float(value) for value in question.values)
    except ValueError:
        numbers = ()
    if numbers and list(numbers) == sorted(set(numbers)) and all(np.isfinite(numbers)):
        return Scale(True, numbers)
    return Scale(True) if question.scale == "ordinal" else NOMINAL


# --- the choice in addresses and forms ---------------------------------------


@dataclass(frozen=True)
class Offered:
    """The values by which a study's items can be filtered."""

    corpora: list[str]
    clusters: list[str]
    tags: list[str]
    has_pilot: bool
    has_revised: bool


class ChoiceOption(NamedTuple):
    """The values that one field of LabelChoice takes in an address: any text, or a key of `values`."""

    words: str
    values: Mapping[str, Any] = {}


OPTIONS = {
    "pilot": ChoiceOption("The pilot's labels instead of the main ones.", {"only": True}),
    "simulated": ChoiceOption("Leave simulated people out.", {"without": False}),
    "corpus": ChoiceOption("Items of this corpus."),
    "cluster": ChoiceOption("Items about this user."),
    "tag": ChoiceOption("Items with this tag, as name:value."),
    "without": ChoiceOption("Labels of people that are left out.", {name: name for name in WITHOUT}),
    "revised": ChoiceOption("Statements that models revised; else none of them.", {name: name for name in REVISED}),
}


def read_choice(query: Mapping[str, str]) -> LabelChoice:
    """Read a choice from a query; unknown names are ignored, and unknown values become the default."""
    given = {name: query.get(name, "").replace("\x00", "")[:LONGEST] for name in OPTIONS}
    read: dict[str, Any] = {
        name: option.values.get(given[name]) if option.values else given[name] for name, option in OPTIONS.items()
    }
    return LabelChoice(**{name: value for name, value in read.items() if value is not None})


def write_choice(choice: LabelChoice, **more: str) -> str:
    """Write a choice as a query string with `more` added; defaults are left out."""
    given = {
        name: next((text for text, value in option.values.items() if value == getattr(choice, name)), "")
        if option.values
        else getattr(choice, name)
        for name, option in OPTIONS.items()
    }
    return urlencode({name: value for name, value in (given | more).items() if value})


def list_offered(study: Study, pilot: bool, most: int | None = MOST_OFFERED) -> Offered:
    """List at most this many values of each filter, in one query; a page's address may name any other."""
    rows = AnnotationItem.objects.filter(study=study, purpose=AnnotationItem.Purpose.WORK).order_by("position")
    corpora: set[str] = set()
    clusters: dict[str, bool] = {}
    tags: set[str] = set()
    has_pilot = has_revised = False
    fields = ("pilot", "corpus", "cluster", "tags", "payload__before")
    for of_pilot, corpus, cluster, tagged, before in rows.values_list(*fields):
        has_pilot, has_revised = has_pilot or of_pilot, has_revised or bool(before)
        if of_pilot is pilot:
            corpora.add(corpus)
            clusters[cluster] = True
            tags.update(f"{name}:{value}" for name, value in tagged.items() if isinstance(value, str | int | float))
    named = [cluster for cluster in clusters if cluster]
    kinds = sorted(tags)[:most]
    return Offered(sorted(corpora - {""})[:most], named[:most], kinds, has_pilot, has_revised)


# --- the items on which two raters disagree, or one and the majority of the others ---


@dataclass(frozen=True)
class Split:
    """A unit that both raters labelled: their two labels, and everybody's labels counted."""

    item: str
    part: str
    first: str
    second: str
    votes: tuple[tuple[str, int], ...]

    @property
    def differs(self) -> bool:
        return self.first != self.second


def compare_raters(asked: QuestionLabels, a: str, b: str) -> list[Split]:
    """List the units that both labelled, in the items' order; without `b`, `a` beside the majority of the others."""
    parts, voters = {row.unit: (row.item, row.part) for row in asked.rows}, asked.voters
    found = []
    for unit, labels in asked.said.items():
        second = labels.get(b, "") if b else majority_without(labels, a, voters)
        if a in labels and second:
            votes = Counter(labels.values())
            counted = tuple((label, votes[label]) for label in asked.names if votes[label])
            found.append(Split(*parts[unit], labels[a], second, counted))
    return found


def find_first_compared(every: Iterable[QuestionLabels]) -> tuple[QuestionLabels, str, str] | None:
    """Return the first question with an item that two raters labelled, and its first rater to compare with the
    majority of the others; without such a majority, two raters of one item.
    """
    for asked in every:
        shared, voters = [labels for labels in asked.said.values() if len(labels) > 1], asked.voters
        if shared:
            held = {name for labels in shared for name in labels if majority_without(labels, name, voters)}
            first, second = list(shared[0])[:2]
            a = next((name for name in asked.raters if name in held), "")
            return (asked, a, "") if a else (asked, first, second)
    return None


def majority_without(labels: dict[str, str], rater: str, voters: Collection[str]) -> str:
    """Return the label of most voters other than `rater`; empty for a tie or without votes."""
    others = [value for name, value in labels.items() if name != rater and name in voters]
    ranked = Counter(others).most_common(2)
    tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    return ranked[0][0] if ranked and not tied else ""


def cross_table(asked: QuestionLabels, splits: list[Split]) -> list[tuple[str, list[tuple[str, int]]]]:
    """Count pairs of labels: rows are the second rater's labels, columns the first's."""
    counts = Counter((split.second, split.first) for split in splits)
    return [(second, [(first, counts[second, first]) for first in asked.names]) for second in asked.names]


def find_items(study: Study, pilot: bool, keys: list[str]) -> dict[str, tuple[int, str]]:
    """Map each key to the item's primary key and the beginning of its text."""
    rows = AnnotationItem.objects.filter(study=study, pilot=pilot, key__in=keys).values_list("key", "pk", "payload")
    return {key: (pk, snippet(payload)) for key, pk, payload in rows}


def snippet(payload: dict[str, object]) -> str:
    text = next((payload[name] for name in HEADLINES if isinstance(payload.get(name), str)), "")
    words = " ".join(str(text).split())
    return words if len(words) <= LONGEST_SNIPPET else f"{words[:LONGEST_SNIPPET].rsplit(' ', 1)[0]} …"


DRAWS = 1000


@dataclass(frozen=True)
class Measuring:
    """The study, labels and settings of a measurement. `threshold`: items that a pair must share to count in a mean.
    `in_parts`: also measures groups and follow-ups, which take long and the gate does not need.
    """

    study: Study
    choice: LabelChoice = EVERYTHING
    seed: int = 0
    draws: int = DRAWS
    threshold: int = THRESHOLD
    in_parts: bool = True

    @property
    def settings(self) -> list[Any]:
        return [*astuple(self.choice), self.seed, self.draws, self.threshold]

    def rng(self, asked: QuestionLabels) -> np.random.Generator:
        """Return the same generator for each part of a question, so that equal labels get equal intervals."""
        return generator(self.seed, self.study.slug, asked.question.name)

    def measure(self, labels: Labels, scale: Scale, rng: np.random.Generator, positive: int | None = None) -> Agreement:
        return measure_agreement(labels, rng, scale, self.threshold, self.draws, positive)
