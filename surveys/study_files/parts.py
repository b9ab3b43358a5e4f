"""The parts of a study: chatbots, questions, cells, checks, prompts and what goes with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any


@dataclass(frozen=True)
class Pay:
    currency: str
    amount: Decimal

    @property
    def cents(self) -> int:
        return int(self.amount * 100)


@dataclass(frozen=True)
class Consent:
    version: str
    text: str


@dataclass(frozen=True)
class Chatbot:
    slug: str
    name: str
    address: str
    model: str
    new_chat: str
    memory: str
    login: str
    models: tuple[str, ...] = ()  # patterns of API models; empty: those of pairing.WELL_KNOWN


@dataclass(frozen=True)
class ChatbotQuestion:
    text: str
    several: str
    none: str  # empty: the answer is not offered, and nobody is turned away by this question


@dataclass(frozen=True)
class Question:
    slug: str
    text: str
    kind: str
    purpose: str
    options: tuple[str, ...]
    accept: tuple[str, ...]
    required: bool
    help: str


@dataclass(frozen=True)
class Cell:
    slug: str
    name: str
    where: dict[str, tuple[str, ...]]
    places: int

    def fits(self, answers: Mapping[str, str]) -> bool:
        return all(answers.get(slug) in wanted for slug, wanted in self.where.items())


@dataclass(frozen=True)
class ComprehensionCheck:
    slug: str
    text: str
    options: tuple[str, ...]
    answer: str
    explanation: str

    def passed_by(self, given: str) -> bool:
        return given == self.answer


@dataclass(frozen=True)
class AttentionCheck:
    slug: str
    text: str
    options: tuple[str, ...]
    answer: str
    also: tuple[str, ...]
    after: int
    kind: str

    def passed_by(self, given: str) -> bool:
        return given == self.answer or given in self.also


@dataclass(frozen=True)
class Prompt:
    """A recommendation has `text` and `items`; a choice has `question`, `choices`, `answer` and `request`."""

    slug: str
    title: str
    kind: str
    text: str = ""
    items: int = 0
    question: str = ""
    choices: tuple[str, ...] = ()
    answer: str = ""
    request: str = ""
    benchmark: str = ""
    item: str = ""
    imported: bool = False  # whether the item has replaced the file's default
    variant_of: str = ""  # the prompt that this one asks in other words
    variant: str = ""  # how it asks: typos, slang, a dialect, a language


# What the keys of a rule leave out: whole people, or single responses.
EXCLUSION_KINDS = {
    "attention_fails": "person",
    "minutes_under": "person",
    "seconds_under": "person",
    "pasted_under": "person",
    "flags": "response",
    "flags_kept": "person",
    "context": "person",
}


@dataclass(frozen=True)
class Exclusion:
    """A rule about what is left out of the analysis: by one of its kinds, or in words only."""

    slug: str
    text: str
    attention_fails: int = 0
    minutes_under: float = 0.0
    seconds_under: float = 0.0
    pasted_under: float = 0.0
    flags: tuple[str, ...] = ()
    flags_kept: int = 0
    context: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return next((kind for kind in EXCLUSION_KINDS if getattr(self, kind)), "")

    @property
    def threshold(self) -> Any:
        return getattr(self, self.kind) if self.kind else None


@dataclass(frozen=True)
class Reference:
    """A published score that a benchmark's figure shows as a line."""

    benchmark: str
    name: str
    accuracy: float
    source: str


@dataclass(frozen=True)
class Scale:
    """The labels that one question of imported annotations may have; in their order where they have one."""

    question: str
    labels: tuple[str, ...]
    ordered: bool


@dataclass(frozen=True)
class AnnotationWork:
    """What annotators do in a study whose people judge items; None in a study whose people paste answers."""

    kind: str
    overlap: int
    quota: int
    least: int
    block: str
    hold_minutes: int
    pass_mark: int
    gold_every: int
    invited_from: str
    guidelines_version: str
    guidelines: str
    scales: tuple[Scale, ...] = ()  # of imported annotations, which have no kind of ours
