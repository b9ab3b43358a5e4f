"""The tables and keys of a study file, with their types and defaults."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, get_type_hints

from pydantic import StrictBool, StrictInt, TypeAdapter

from surveys.reading.checks import CHECKS
from surveys.studies.files.askings import SCHEMES, Arm, Rating, Repeats
from surveys.studies.files.hypotheses import Hypothesis, PlanKeys
from surveys.studies.files.kinds import KINDS, WORDINGS, QuestionWords
from surveys.studies.files.matrix import REQUEST, Matrix
from surveys.studies.files.values import (
    Line,
    Lines,
    LinesByKey,
    LongText,
    Money,
    Slug,
    Title,
    entries,
    matching,
    number,
    one_of,
    stored,
    within,
)

# The answers to the page about the chatbot's context (models.ChatbotContext); `product` may be a chatbot's slug too.
CONTEXT = {
    "product": ("other",),
    "plan": ("free", "paid", "work", "unknown"),
    "memory": ("on", "off", "unknown"),
    "personalisation": ("on", "off", "unknown"),
    "chat": ("new", "same", "temporary"),
    "device": ("computer", "phone", "tablet"),
    "model_shown": (),
}
# Typed by people: a rule names them by patterns, in which * matches anything.
TYPED = ("model_shown",)
# No longer asked: older versions have rules about them, for answers of their time.
NOT_ASKED = ("chat",)
# A question of the study can ask for these instead, before anybody has a place.
SETTINGS = ("plan", "memory", "personalisation")
# The answers to the first question besides a chatbot's slug.
SEVERAL, NONE = "several", "none"

StudySlug = Annotated[str, matching(r"[a-z0-9-]{2,50}", "2 to 50 lower-case letters, digits and hyphens")]
Language = Annotated[str, matching(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", "a language code such as en or pt-BR")]
ProlificId = Annotated[str, matching(r"[0-9a-f]{24}", "the 24 digits and letters a–f of a Prolific study")]
Address = Annotated[
    str, matching(r"https://[^\s/@\"'<>]+\.[^\s/@\"'<>]+(/[^\s\"'<>]*)?", "an address that begins with https://")
]
Code = Annotated[str, matching(r"[A-Z0-9]{4,20}", "4 to 20 capital letters and digits")]
ItemId = Annotated[str, matching(r"[A-Za-z0-9][\w./:-]{0,199}", "an item's id such as mmlu/college_medicine/test/34")]
ShortName = Annotated[str, matching(r".{1,40}", "a short name of at most 40 characters")]
ModelPattern = Annotated[
    str, matching(r"[A-Za-z0-9\[\]!?*._:/@-]{1,100}", "a model's name, in which * stands for anything")
]
WordsByLabel = dict[str, Line]
Options = Annotated[Lines, entries(2)]
CheckName = Annotated[str, one_of(*CHECKS)]
# The checks of a file without a list, for good: checks added later are for studies that name them.
USUAL_CHECKS = (
    *("empty", "prompt-itself", "refusal", "other-prompt", "cut-off"),
    *("residue", "same-as-other", "too-few-items"),
)


class LeftOut(NamedTuple):
    """The default of a key that a file may leave out but code has to give."""

    default: Any


# The tables ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyHead:
    """The keys at the top of a file."""

    slug: StudySlug
    title: Title
    language: Language
    minutes: Annotated[StrictInt, within(1, 240)]
    contact: Line
    prolific_study_ids: Annotated[tuple[ProlificId, ...], entries(), LeftOut(())]


@dataclass(frozen=True)
class Reward:
    currency: Annotated[str, one_of("USD", "GBP")]
    amount: Money
    screen_out: Annotated[Money, LeftOut(Decimal(0))] = Decimal(0)

    @property
    def cents(self) -> int:
        return int(self.amount * 100)

    @property
    def screen_out_cents(self) -> int:
        return int(self.screen_out * 100)


@dataclass(frozen=True)
class Consent:
    """The text that people agree to, and a summary of a few lines before it."""

    version: Line
    text: LongText
    summary: Annotated[Lines, entries(2, 6), LeftOut(())] = ()
    full: Annotated[str, one_of("below", "folded"), LeftOut("")] = ""  # where the text is; empty: below


@dataclass(frozen=True)
class PlaceKeys:
    lease_minutes: Annotated[StrictInt, within(5, 1440)] = 45


@dataclass(frozen=True)
class ChatbotQuestion:
    text: Line
    several: Annotated[Line, LeftOut("More than one of these")]
    none: Annotated[Line, LeftOut("")]  # empty: the answer is not offered, and nobody is turned away by this question


@dataclass(frozen=True)
class CompletionCodes:
    completed: Code
    no_consent: Code
    screened_out: Code
    over_quota: Code
    technical: Code
    late: Code
    withdrawn: Code
    returned: Code
    misunderstood: Code = ""


@dataclass(frozen=True)
class OrderKeys:
    scheme: Annotated[str, one_of(*SCHEMES)] = "williams"
    settings: Annotated[str, one_of("before-prompts", "after-first-prompt")] = "before-prompts"


@dataclass(frozen=True)
class CheckKeys:
    paste: Annotated[tuple[CheckName, ...], entries()] = USUAL_CHECKS


@dataclass(frozen=True)
class Debrief:
    text: LongText


@dataclass(frozen=True)
class LabelScale:
    """The labels that one question of imported annotations may have; in their order if they have one."""

    question: str
    labels: tuple[str, ...]
    ordered: bool


@dataclass(frozen=True)
class AnnotationWork:
    """The work of annotators, in a study of their own."""

    kind: Annotated[str, one_of(*KINDS)]
    overlap: Annotated[StrictInt, within(1, 20), LeftOut(3)]
    quota: Annotated[StrictInt, within(1, 10_000)]
    least: Annotated[StrictInt, within(1, 10_000), LeftOut(1)]
    block: Annotated[str, one_of("user", "shuffled"), LeftOut("shuffled")]
    hold_minutes: Annotated[StrictInt, within(1, 120), LeftOut(10)]
    pass_mark: Annotated[StrictInt, within(0, 100), LeftOut(70)]
    gold_every: Annotated[StrictInt, within(1, 1_000), LeftOut(10)]
    invited_from: Annotated[Slug, LeftOut("")]
    guidelines_version: Line
    guidelines: LongText
    scales: tuple[LabelScale, ...] = stored(())  # of imported annotations, which have no kind of ours
    wording: Annotated[str, one_of(*WORDINGS)] = ""
    wordings: tuple[QuestionWords, ...] = stored(())  # what the file's [[wordings]] say
    next: Annotated[str, matching(r"[a-z0-9-]{2,50}", "the slug of another study")] = ""  # the stage after this one
    pilot_overlap: Annotated[StrictInt, within(1, 20)] = 0  # 0: as `overlap`
    sittings: Annotated[StrictInt, within(1, 1_000)] = 0  # how often one person may come; 0: once

    def labels_wanted(self, pilot: bool) -> int:
        return (self.pilot_overlap if pilot else 0) or self.overlap


@dataclass(frozen=True)
class AnnotationKeys(AnnotationWork):
    annotators: Annotated[StrictInt, within(1, 100_000)] = 0  # becomes the places of one cell


# The lists -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chatbot:
    slug: Slug
    name: Line
    address: Address
    model: Line
    new_chat: LongText
    memory: LongText
    login: LongText
    models: Annotated[tuple[ModelPattern, ...], entries()] = ()  # of the API; empty: those of `WELL_KNOWN`
    model_offered: StrictBool = (
        False  # whether people find `model` in the chatbot, so that they can be asked to choose it
    )
    # The place of its settings, and its own names for them.
    settings: Annotated[Line, LeftOut("")] = ""
    memory_name: Annotated[Line, LeftOut("")] = ""
    instructions_name: Annotated[Line, LeftOut("")] = ""
    model_shown: Annotated[Line, LeftOut("")] = ""


class WithOptions:
    """Something with options, which may be shown in another language than they are stored in."""

    options: tuple[str, ...]
    shown_options: tuple[str, ...]

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Each option as it is stored, and as people read it."""
        return list(zip(self.options, self.shown_options or self.options, strict=True))


@dataclass(frozen=True)
class Question(WithOptions):
    slug: Slug
    text: LongText
    kind: Annotated[str, one_of("choice", "number", "text")]
    purpose: Annotated[str, one_of("screening", "quota", "background")]
    options: Annotated[Options, LeftOut(())]
    accept: Annotated[Lines, entries(1), LeftOut(())]
    required: Annotated[StrictBool, LeftOut(True)]
    help: Annotated[LongText, LeftOut("")]
    setting: Annotated[str, one_of(*SETTINGS), LeftOut("")] = ""
    shown_options: tuple[str, ...] = stored(())


def settings_asked(questions: Iterable[Question], answers: Mapping[str, str]) -> dict[str, str]:
    """The chatbot's settings, such as plan: paid, from the answered questions that ask for one."""
    asked = [question for question in questions if question.setting and answers.get(question.slug) in question.options]
    return {
        question.setting: CONTEXT[question.setting][question.options.index(answers[question.slug])]
        for question in asked
    }


@dataclass(frozen=True)
class CellDefinition:
    slug: Slug
    name: Title
    where: LinesByKey
    places: Annotated[StrictInt, within(1, 100_000)]

    def fits(self, answers: Mapping[str, str]) -> bool:
        return all(answers.get(slug) in wanted for slug, wanted in self.where.items())


@dataclass(frozen=True)
class ComprehensionCheck(WithOptions):
    slug: Slug
    text: LongText
    options: Options
    answer: Line
    explanation: LongText
    shown_options: tuple[str, ...] = stored(())

    def passed_by(self, given: str) -> bool:
        return given == self.answer


@dataclass(frozen=True)
class AttentionCheck(WithOptions):
    slug: Slug
    text: LongText
    options: Options
    answer: Line
    also: Annotated[Lines, entries(), LeftOut(())]
    after: Annotated[StrictInt, within(1, 200)]
    kind: Annotated[str, one_of("instruction", "nonsense")]
    shown_options: tuple[str, ...] = stored(())

    def passed_by(self, given: str) -> bool:
        return given == self.answer or given in self.also


@dataclass(frozen=True)
class Perception(WithOptions):
    """A figure in moving dots, and a question in words for people who cannot use pictures; without `text`, our own."""

    after: Annotated[StrictInt, within(1, 200)] = 0  # 0: after the last prompt
    text: Line = ""
    options: Options = ()
    answer: Line = ""
    shown_options: tuple[str, ...] = stored(())


@dataclass(frozen=True)
class RecommendationKeys:
    text: LongText
    items: Annotated[StrictInt, within(1, 20)] = 5


@dataclass(frozen=True)
class ChoiceKeys:
    question: LongText
    choices: Annotated[Lines, entries(2, 8)]
    answer: Annotated[str, matching(r"[A-H]", "the letter of the right choice")]
    request: Line = REQUEST
    benchmark: Slug = ""
    item: ItemId = ""


# The keys of a prompt besides those that all have.
PROMPT_KINDS: dict[str, type] = {"recommendation": RecommendationKeys, "choice": ChoiceKeys}


@dataclass(frozen=True)
class PromptDefinition:
    """A recommendation has `text` and `items`; a choice has `question`, `choices`, `answer` and `request`."""

    slug: Slug
    title: Title
    kind: Annotated[str, one_of(*PROMPT_KINDS)]
    text: str = stored()
    items: int = stored(0)
    question: str = stored()
    choices: tuple[str, ...] = stored(())
    answer: str = stored()
    request: str = stored()
    benchmark: str = stored()
    item: str = stored()
    imported: bool = stored(False)  # whether the item has replaced the file's default
    variant_of: Slug = ""  # the prompt that this one asks in other words
    variant: ShortName = ""  # how it asks: typos, slang, a dialect, a language


@dataclass(frozen=True)
class RecruitingKeys:
    """The study's description on Prolific, and the studies whose people it keeps out."""

    description: Annotated[LongText, LeftOut("")] = ""
    blocked_from: Annotated[tuple[StudySlug, ...], entries(), LeftOut(())] = ()


@dataclass(frozen=True)
class TeamKeys:
    """Steps that need a second person."""

    second_person: Annotated[tuple[Annotated[str, one_of("launch", "pay")], ...], entries(), LeftOut(())] = ()


@dataclass(frozen=True)
class ProlificFilter:
    """One of Prolific's filters: some of its values, or a range of numbers, both ends included."""

    filter: Annotated[str, matching(r"[a-z0-9][a-z0-9_-]{0,99}", "the id of one of Prolific's filters, such as age")]
    values: Annotated[Lines, entries(), LeftOut(())] = ()
    lower: Annotated[StrictInt, within(0, 1_000_000)] = 0
    upper: Annotated[StrictInt, within(1, 1_000_000)] = 0  # 0: no range


@dataclass(frozen=True)
class WordingKeys:
    """A study's own words for one question to its annotators."""

    question: Slug
    text: Line = ""
    labels: WordsByLabel = field(default_factory=dict)
    hints: WordsByLabel = field(default_factory=dict)


# Whether the rule of a key leaves out whole people or single responses.
EXCLUSION_KINDS = {
    "attention_fails": "person",
    "minutes_under": "person",
    "seconds_under": "person",
    "pasted_under": "person",
    "flags": "response",
    "flags_kept": "person",
    "perception": "person",
    "context": "person",
}


@dataclass(frozen=True)
class Exclusion:
    """A rule of exclusion from the analysis: by one of the kinds, or in words only."""

    slug: Slug
    text: LongText
    attention_fails: Annotated[StrictInt, within(0, 200)] = 0
    minutes_under: Annotated[float, number(0, 240, above=True)] = 0.0
    seconds_under: Annotated[float, number(0, 3600, above=True)] = 0.0
    pasted_under: Annotated[float, number(0, 1, above=True)] = 0.0
    flags: Annotated[tuple[CheckName, ...], entries(1)] = ()
    flags_kept: Annotated[StrictInt, within(1, 200)] = 0
    perception: Annotated[tuple[Annotated[str, one_of("wrong", "unseen")], ...], entries(1)] = ()
    context: LinesByKey = field(default_factory=dict)


@dataclass(frozen=True)
class Reference:
    """A published score that a benchmark's figure shows as a line."""

    benchmark: Slug
    name: Line
    accuracy: Annotated[float, number(0, 1)]
    source: Line


TABLES: dict[str, type] = {
    "pay": Reward,
    "consent": Consent,
    "places": PlaceKeys,
    "chatbot_question": ChatbotQuestion,
    "codes": CompletionCodes,
    "order": OrderKeys,
    "checks": CheckKeys,
    "debrief": Debrief,
    "annotation": AnnotationKeys,
    "recruiting": RecruitingKeys,
    "team": TeamKeys,
    "perception": Perception,
    "repeats": Repeats,
    "rating": Rating,
    "matrix": Matrix,
    "plan": PlanKeys,
}
MAY_BE_ABSENT = ("annotation", "perception", "repeats", "rating", "matrix", "plan")
LISTS: dict[str, type] = {
    "chatbots": Chatbot,
    "questions": Question,
    "cells": CellDefinition,
    "comprehension": ComprehensionCheck,
    "attention": AttentionCheck,
    "prompts": PromptDefinition,
    "arms": Arm,
    "exclusions": Exclusion,
    "references": Reference,
    "wordings": WordingKeys,
    "filters": ProlificFilter,
    "hypotheses": Hypothesis,
}


class Key(NamedTuple):
    """One key of a table: the reader of its value, and its default."""

    reader: TypeAdapter[Any]
    required: bool
    default: Any

    def is_left_blank(self, value: Any) -> bool:
        blank = () if value == [] else value
        return not self.required and blank in ("", ()) and blank == self.default


@lru_cache
def keys_of(table: type) -> dict[str, Key]:
    """The keys that a file may have for this table."""
    hints = get_type_hints(table, include_extras=True)
    return {key.name: _key(key, hints[key.name]) for key in fields(table) if not key.metadata}


def _key(key: Field[Any], hint: Any) -> Key:
    defaults = [mark.default for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, LeftOut)]
    defaults += [key.default_factory()] if key.default_factory is not MISSING else [key.default]
    return Key(TypeAdapter(hint), defaults[0] is MISSING, defaults[0])


OUTCOMES = tuple(name for name, key in keys_of(CompletionCodes).items() if key.required)
