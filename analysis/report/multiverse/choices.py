"""The choices that a multiverse varies, each declared once: its options in a study, and what each changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from analysis.answers.aliases import alias_map
from analysis.answers.readings import find_changes, outdated
from analysis.answers.reviews import answers_of, waiting
from analysis.report.dataset import Frame, Frames, load_frames
from analysis.report.filters import Filters
from analysis.report.pairs.sides import read_side
from analysis.report.planned.answers import without_later
from analysis.report.planned.looks import stand
from analysis.report.samples import Data
from surveys.models import Participant, Study
from surveys.reading.answers import normalise_item
from surveys.studies.exclusions import ExclusionRule, excluded_people, excluded_responses, rules_of
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import FIELD, MEASURES, Hypothesis
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import language_name

Universe = Mapping[str, str]  # choice → option
IN, OUT = "in", "out"
AS_REPORTED = "as reported"
ALL_RULES, NO_RULE, ALL_BUT = "all rules", "no rule", "all but "


class Answers:
    """A study's answers under each choice; loads each way of reading once."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.loaded: dict[tuple[str, ...], Frames] = {}
        self.out: dict[str, tuple[list[int], list[int]]] = {}

    @cached_property
    def definition(self) -> Definition:
        return definition_of(self.study.current_id)

    def frames(self, *ways: str) -> Frames:
        """Answers read as planned or in other ways, without people who completed after a shown end."""
        if ways not in self.loaded:
            given: dict[str, Any] = {name: value for way in ways for name, value in WAYS[way](self).items()}
            loaded, end = load_frames(self.study, **given), stand(self.study).shown
            self.loaded[ways] = without_later(loaded, end["until"]) if end else loaded
        return self.loaded[ways]

    @cached_property
    def planned(self) -> Data:
        return Data(self.study, self.definition, self.frames(), Filters())

    @cached_property
    def rules(self) -> list[ExclusionRule]:
        return [rule for rule in rules_of(self.study) if rule.scope]

    def left_out(self, option: str) -> tuple[list[int], list[int]]:
        """Ids of the people and responses that the option's rules exclude."""
        if option not in self.out:
            kept = [] if option == NO_RULE else [rule for rule in self.rules if option != ALL_BUT + rule.slug]
            self.out[option] = [*excluded_people(self.study, kept)], [*excluded_responses(self.study, kept)]
        return self.out[option]

    @cached_property
    def doubtful(self) -> tuple[list[int], list[int]]:
        """Ids of the responses and completions whose readings are doubtful and not decided by a person."""
        found = waiting(answers_of(self.study)).values_list("response_id", "completion_id")
        return [one for one, _ in found if one], [other for _, other in found if other]

    @cached_property
    def anew(self) -> dict[int, tuple[list[str], str]]:
        """Today's items and letter of answers that today's rules read differently, by the answer's id."""
        changed = {one["answer"]: one["after"] for one in find_changes(self.study)}
        return {key: ([*map(normalise_item, one["names"])], one["letter"]) for key, one in changed.items()}

    def data(self, universe: Universe, seed: int, draws: int) -> Data:
        chosen = [(CHOICES[name], option) for name, option in universe.items()]
        frames = self.frames(*(option for _, option in chosen if option in WAYS))
        changes: dict[str, Any] = {}
        for choice, option in chosen:
            frames = choice.frames(self, frames, option)
            changes |= choice.filters(option)
        return Data(self.study, self.definition, frames, Filters(**changes), seed, draws)


# --- how answers are read

AS_WRITTEN, ANEW = "as written", "by today’s rules"


WAYS: dict[str, Callable[[Answers], dict[str, Any]]] = {
    AS_WRITTEN: lambda answers: {"aliases": lambda study: {}},
    ANEW: lambda answers: {"anew": answers.anew},
}

# --- effects of options on answers


def leave_doubtful(answers: Answers, frames: Frames, option: str) -> Frames:
    if option == IN:
        return frames
    responses, completions = answers.doubtful
    return replace(frames, field=without(frames.field, responses), calls=without(frames.calls, completions))


def without(frame: Frame, ids: Sequence[int]) -> Frame:
    return frame.where(~np.isin(frame.table["id"].to_numpy(), ids))


def exclude_by(answers: Answers, frames: Frames, option: str) -> Frames:
    if option == ALL_RULES:
        return frames
    table, (people, responses) = frames.field.table, answers.left_out(option)
    excluded = np.isin(table["unit"], people) | np.isin(table["id"], responses)
    return replace(frames, field=replace(frames.field, table=table.assign(excluded=excluded)))


# --- the options of each choice, as planned first


def rule_options(answers: Answers, hypothesis: Hypothesis) -> list[str]:
    if not answers.frames().field.table["excluded"].any():
        return []
    singly = [ALL_BUT + rule.slug for rule in answers.rules] if len(answers.rules) > 1 else []
    return [ALL_RULES, *singly, NO_RULE]


def languages(answers: Answers, hypothesis: Hypothesis) -> list[str]:
    there = sorted(set(answers.frames().field.table["language"]))
    return ["all", *there] if len(there) > 1 else []


def temperatures(answers: Answers, hypothesis: Hypothesis) -> list[str]:
    """Temperatures of the runs, the report's first; for two models, shared ones, after AS_REPORTED if theirs differ."""
    data, found = answers.planned, list[list[str]]()
    for text in filter(None, (hypothesis.a, hypothesis.b)):
        side = read_side(text)
        if side.source != FIELD and "temperature" not in dict(side.narrowed):
            runs = [one for one in data.sources if (one.name, one.model) == (side.source, side.of)]
            known = [f"{one.temperature:g}" for one in sorted(runs, key=data.preference) if one.temperature is not None]
            found.append(list(dict.fromkeys(known)))
    shared = [each for each in found[0] if all(each in others for others in found)] if found else []
    return shared if len({known[0] for known in found if known}) < 2 else [AS_REPORTED, *shared]


def unfinished(answers: Answers, hypothesis: Hypothesis) -> list[str]:
    people = answers.frames().people
    answered = people.index.isin(answers.frames().field.table["unit"])
    others = answered & (people["state"] != Participant.State.COMPLETED)
    return ["completed", "all"] if others.any() else []


def when(is_there: Callable[[Answers, Hypothesis], Any], *options: str) -> Callable[[Answers, Hypothesis], list[str]]:
    """Offer these options if there is something to vary."""
    return lambda answers, hypothesis: list(options) if is_there(answers, hypothesis) else []


@dataclass(frozen=True)
class Choice:
    """A choice of analysis. `options`: those for a hypothesis, as planned first; fewer than two leave no choice."""

    label: str
    options: Callable[[Answers, Hypothesis], list[str]]
    frames: Callable[[Answers, Frames, str], Frames] = lambda answers, frames, option: frames
    filters: Callable[[str], dict[str, Any]] = lambda option: {}
    words: Callable[[str], str] = str


def is_of_items(hypothesis: Hypothesis) -> bool:
    return MEASURES[hypothesis.measure] != "choice"


CHOICES: dict[str, Choice] = {
    "exclusions": Choice("Exclusions", rule_options, frames=exclude_by),
    "flagged": Choice(
        "Flagged answers",
        when(lambda answers, hypothesis: answers.frames().field.table["flagged"].any(), IN, OUT),
        filters=lambda option: {"flagged": "with" if option == IN else "without"},
    ),
    "doubtful": Choice(
        "Doubtful readings", when(lambda answers, hypothesis: any(answers.doubtful), IN, OUT), frames=leave_doubtful
    ),
    "spellings": Choice(
        "Spellings",
        when(lambda answers, hypothesis: is_of_items(hypothesis) and alias_map(answers.study), "made one", AS_WRITTEN),
    ),
    "reader": Choice("Reader", when(lambda answers, hypothesis: outdated(answers.study), "as read then", ANEW)),
    "language": Choice(
        "Language",
        languages,
        filters=lambda option: {"language": () if option == "all" else (option,)},
        words=lambda option: "all" if option == "all" else language_name(option),
    ),
    "temperature": Choice(
        "Temperature of runs",
        temperatures,
        filters=lambda option: {"temperature": () if option == AS_REPORTED else (float(option),)},
    ),
    "pilot": Choice(
        "The pilot",
        when(lambda answers, hypothesis: answers.frames().people["pilot"].any(), OUT, IN),
        filters=lambda option: {"pilot": "without" if option == OUT else "with"},
    ),
    "people": Choice("People", unfinished, filters=lambda option: {"people": option}),
}


def choices_for(answers: Answers, hypothesis: Hypothesis) -> dict[str, list[str]]:
    """The choices for a hypothesis that have at least two options, among the plan's or else all."""
    plan = answers.definition.plan
    named = (plan and plan.multiverse) or tuple(CHOICES)
    found = {name: CHOICES[name].options(answers, hypothesis) for name in CHOICES if name in named}
    return {name: options for name, options in found.items() if len(options) > 1}
