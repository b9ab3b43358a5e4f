"""The parts of a study: chatbots, questions, cells, checks, prompts and what goes with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal


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


@dataclass(frozen=True)
class Exclusion:
    slug: str
    text: str
    attention_fails: int
