"""A study as data: read from its file with every fault named, kept as a document, and asked what follows."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from surveys.study_files.lines import find_lines, line_of
from surveys.study_files.parts import (
    AnnotationWork,
    AttentionCheck,
    Cell,
    Chatbot,
    ChatbotQuestion,
    ComprehensionCheck,
    Consent,
    Exclusion,
    Pay,
    Prompt,
    Question,
    Reference,
    Scale,
)
from surveys.study_files.rules import find_misfits
from surveys.study_files.schema import ANNOTATION, NONE, Misfit, read_keys

LARGEST_FILE = 1_000_000
# A key of thousands of parts (a.a.a.…) keeps the TOML reader busy for minutes.
ENDLESS_KEY = re.compile(r"""(?<![\w"'-])(?:[\w"'-]+[ \t]*\.[ \t]*){100}""")


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a study file; `line` is None where no line can be named."""

    place: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.place} {self.message}" if self.line else f"{self.place} {self.message}"


class StudyFileError(Exception):
    """A study file that cannot be used, with all its faults in the order of the file."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


@dataclass(frozen=True)
class Definition:
    slug: str
    title: str
    language: str
    minutes: int
    contact: str
    prolific_study_ids: tuple[str, ...]
    pay: Pay
    consent: Consent
    lease_minutes: int
    chatbot_question: ChatbotQuestion
    codes: dict[str, str]
    order_scheme: str
    paste_checks: tuple[str, ...]
    debrief: str
    chatbots: tuple[Chatbot, ...]
    questions: tuple[Question, ...]
    cells: tuple[Cell, ...]
    comprehension: tuple[ComprehensionCheck, ...]
    attention: tuple[AttentionCheck, ...]
    prompts: tuple[Prompt, ...]
    exclusions: tuple[Exclusion, ...]
    references: tuple[Reference, ...] = ()
    annotation: AnnotationWork | None = None

    @property
    def pay_per_hour(self) -> Decimal:
        return round(self.pay.amount * 60 / self.minutes, 2)

    @property
    def branches(self) -> tuple[tuple[str, str], ...]:
        """Slug and name of what each cell is crossed with: every chatbot; nothing where people annotate."""
        return tuple((bot.slug, bot.name) for bot in self.chatbots) or (("", ""),)

    def to_document(self) -> dict[str, Any]:
        """All of it as plain JSON values: what a frozen version stores and what is hashed."""
        document: dict[str, Any] = _plain(asdict(self))
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The exact inverse of `to_document`."""
        fields = {name: frozen(value) for name, value in document.items()}
        fields["pay"] = Pay(document["pay"]["currency"], Decimal(document["pay"]["amount"]))
        fields["consent"] = Consent(**document["consent"])
        fields["chatbot_question"] = ChatbotQuestion(**document["chatbot_question"])
        for name, part in LISTED_PARTS.items():
            fields[name] = tuple(part(**entry) for entry in fields.get(name, ()))
        if work := document.get("annotation"):
            scales = tuple(Scale(**frozen(scale)) for scale in work.get("scales", ()))
            fields["annotation"] = AnnotationWork(**{**work, "scales": scales})
        return cls(**fields)


LISTED_PARTS: dict[str, type] = {
    "chatbots": Chatbot,
    "questions": Question,
    "cells": Cell,
    "comprehension": ComprehensionCheck,
    "attention": AttentionCheck,
    "prompts": Prompt,
    "exclusions": Exclusion,
    "references": Reference,
}
# Keys that the format gained later. Left out of the document where they say nothing, so that the document and the
# hash of a study that was loaded before stay what they were.
LATER_KEYS = frozenset(
    {
        *("minutes_under", "seconds_under", "pasted_under", "flags", "flags_kept", "context"),
        *("models", "variant_of", "variant", "references", "annotation", "scales"),
    }
)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items() if entry or key not in LATER_KEYS}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, Decimal) else value


def frozen(value: Any) -> Any:
    """A value of a document as definitions hold it: lists as tuples."""
    if isinstance(value, dict):
        return {key: frozen(entry) for key, entry in value.items()}
    return tuple(frozen(entry) for entry in value) if isinstance(value, list) else value


# Reading a file ------------------------------------------------------------------------------------------


def read_study(path: Path | str) -> Definition:
    """The study of a file `<slug>.toml`; raises `StudyFileError` with every fault at once."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise _file_error(f"cannot be read: {error.strerror}") from error
    return parse_study(content, path.stem)


def parse_study(content: bytes, name: str | None = None) -> Definition:
    """The study of a file's content; `name` is the file's name without `.toml`, where there is one."""
    if len(content) > LARGEST_FILE:
        raise _file_error(f"is larger than {LARGEST_FILE:,} bytes, the limit for a study")
    text = _decoded(content)
    study, misfits = read_keys(_parsed(text))
    if name is not None and study.get("slug", name) != name:
        misfits.append(("slug", f"is `{study['slug']}`, but the file is called {name}.toml; make them equal"))
    misfits += find_misfits(study)
    if misfits:
        raise StudyFileError(_located(misfits, find_lines(text)))
    return _defined(study)


def _file_error(message: str, line: int | None = None) -> StudyFileError:
    return StudyFileError([Fault("file", line, message)])


def _decoded(content: bytes) -> str:
    try:
        # Windows editors put a byte order mark in front, which TOML does not know.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _file_error("is not UTF-8 text; save it with the encoding UTF-8", line) from error


def _parsed(text: str) -> dict[str, Any]:
    if endless := ENDLESS_KEY.search(text):
        raise _file_error("has a key of more than 100 parts", text.count("\n", 0, endless.start()) + 1)
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except RecursionError as error:
        raise _file_error("is nested too deeply") from error
    except (ValueError, ArithmeticError) as error:
        # ArithmeticError: a number such as 1e99999999999999999999, which no Decimal can be.
        raise _syntax_error(str(error), text) from error


def _syntax_error(message: str, text: str) -> StudyFileError:
    if at := re.search(r" \(at line (\d+), (column \d+)\)$", message):
        return _file_error(f"is not valid TOML at {at[2]}: {message[: at.start()]}", int(at[1]))
    return _file_error(f"is not valid TOML: {message}", text.count("\n") + 1 if "end of" in message else None)


def _located(misfits: list[Misfit], lines: dict[str, int]) -> list[Fault]:
    faults = [Fault(place, line_of(place, lines), message) for place, message in misfits]
    return sorted(faults, key=lambda fault: (fault.line or 0, fault.place))


def _defined(study: dict[str, Any]) -> Definition:
    """The definition of a study without faults; tables of one key become plain fields."""
    document = {name: value for name, value in study.items() if name not in ("places", "order", "checks")}
    document["pay"] = {"currency": study["pay"]["currency"], "amount": f"{study['pay']['amount']:.2f}"}
    document["codes"] = {name: code for name, code in study["codes"].items() if code}
    document["cells"] = [cell | {"where": _listed_options(cell["where"])} for cell in study["cells"]]
    document["exclusions"] = [rule | {"context": _listed_options(rule["context"])} for rule in study["exclusions"]]
    document["lease_minutes"] = study["places"]["lease_minutes"]
    document["order_scheme"] = study["order"]["scheme"]
    document["paste_checks"] = study["checks"]["paste"]
    document["debrief"] = study["debrief"]["text"]
    if ANNOTATION in study:
        work = dict(study[ANNOTATION])
        everybody = {"slug": "annotators", "name": "Annotators", "where": {}, "places": work.pop("annotators")}
        document["cells"] = document["cells"] or [everybody]
        document["chatbot_question"] = {"text": "", "several": "", "none": ""}
        document[ANNOTATION] = work
    return Definition.from_document(document)


def _listed_options(where: Mapping[str, Any]) -> dict[str, list[str]]:
    return {slug: wanted if isinstance(wanted, list) else [wanted] for slug, wanted in where.items()}


# What follows from it ------------------------------------------------------------------------------------


def cells_for(definition: Definition, chatbots: Iterable[str], answers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Every (chatbot, cell) that this person fits, in the order of the chatbots and then of the cells."""
    fitting = [cell.slug for cell in definition.cells if cell.fits(answers)]
    known = {slug for slug, _ in definition.branches}
    return [(chatbot, cell) for chatbot in chatbots if chatbot in known for cell in fitting]


def screened_out(definition: Definition, answers: Mapping[str, str], chatbot_answer: str) -> str | None:
    """Why this person cannot take part: `chatbot`, or the first screening question that says so."""
    if chatbot_answer == NONE and definition.chatbot_question.none:
        return "chatbot"
    for question in definition.questions:
        if question.purpose == "screening" and answers.get(question.slug) not in question.accept:
            return question.slug
    return None


def letters(prompt: Prompt) -> str:
    """The letters of a choice, such as ABCD; empty for a recommendation."""
    return "ABCDEFGH"[: len(prompt.choices)]


def prompt_text(prompt: Prompt) -> str:
    """What the participant copies, and what the models are asked, to the letter."""
    if prompt.kind == "recommendation":
        return prompt.text
    options = [f"{letter}. {choice}" for letter, choice in zip(letters(prompt), prompt.choices, strict=True)]
    return "\n\n".join([prompt.question, "\n".join(options), prompt.request])


def fill_benchmark_items(definition: Definition, items: Mapping[str, Mapping[str, Any]]) -> Definition:
    """The study with its default items replaced by the benchmark's, where `items` (by id) has them.

    A default stays where variants of it ask for another letter or have another number of choices than the item.
    """

    def fits(prompt: Prompt) -> bool:
        item = items[prompt.item]
        wanted = (len(item["choices"]), item["answer"])
        variants = [variant for variant in definition.prompts if variant.variant_of == prompt.slug]
        return all((len(variant.choices), variant.answer) == wanted for variant in variants)

    prompts = [
        _filled(prompt, items[prompt.item]) if prompt.item in items and fits(prompt) else prompt
        for prompt in definition.prompts
    ]
    return replace(definition, prompts=tuple(prompts))


def _filled(prompt: Prompt, item: Mapping[str, Any]) -> Prompt:
    filled = replace(
        prompt,
        question=item["question"],
        choices=tuple(item["choices"]),
        answer=item["answer"],
        imported=True,
    )
    if len(filled.answer) != 1 or filled.answer not in letters(filled):
        raise ValueError(f"The answer {filled.answer!r} of the item {prompt.item} is the letter of no choice.")
    return filled
