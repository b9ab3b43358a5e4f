"""A study as data: read from its file with every fault named, kept as a document, and what follows from it."""

import re
import tomllib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from surveys.reading.checks import SAME_AGAIN
from surveys.reading.nesting import is_deep_toml
from surveys.studies.files import schema
from surveys.studies.files.askings import Arm, Asking, Rating, Repeats, askings_of, order_for, put_in
from surveys.studies.files.hypotheses import Hypothesis, PlanKeys, prompts_asked
from surveys.studies.files.kinds import QuestionWords
from surveys.studies.files.languages import Texts, read_languages
from surveys.studies.files.lines import Misfit, find_lines, join_place, line_of
from surveys.studies.files.matrix import Matrix, SetQuestion
from surveys.studies.files.rules import find_misfits
from surveys.studies.files.values import faults_in, kind_of, listed, nearest

LARGEST_FILE = 1_000_000
# A file of nothing but typing errors need not be answered in full.
MOST_UNKNOWN = 50
MOST_ENTRIES = 200
NEEDED_LISTS = ("chatbots", "cells", "prompts")
# A study with the table `annotation` is worked on by annotators, who are shown items and need no chatbot.
NOT_FOR_ANNOTATORS = (
    *("chatbots", "chatbot_question", "prompts", "order", "checks", "attention", "perception"),
    *("repeats", "arms", "rating", "matrix", "exclusions", "languages"),
)
# A key of thousands of parts (a.a.a.…) keeps the TOML reader busy for minutes.
ENDLESS_KEY = re.compile(r"""(?<![\w"'-])(?:[\w"'-]+[ \t]*\.[ \t]*){100}""")

# By a chatbot's slug. Names before a slash are those of routers; `models/` is Google's own API.
WELL_KNOWN: dict[str, tuple[str, ...]] = {
    "chatgpt": ("gpt-*", "chatgpt-*", "o[0-9]*", "openai/*"),
    "gemini": ("gemini*", "google/gemini*", "models/gemini*"),
    "claude": ("claude*", "anthropic/*"),
}


@dataclass(frozen=True)
class StudyFault:
    """One thing wrong with a study file; `line` is None if no line can be named."""

    place: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.place} {self.message}" if self.line else f"{self.place} {self.message}"


class StudyFileError(Exception):
    """A study file that cannot be used, with all its faults in the file's order."""

    def __init__(self, faults: list[StudyFault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


@dataclass(frozen=True)
class Definition(schema.StudyHead):
    pay: schema.Reward
    consent: schema.Consent
    lease_minutes: int
    chatbot_question: schema.ChatbotQuestion
    codes: dict[str, str]
    order_scheme: str
    paste_checks: tuple[str, ...]
    debrief: str
    chatbots: tuple[schema.Chatbot, ...]
    questions: tuple[schema.Question, ...]
    cells: tuple[schema.CellDefinition, ...]
    comprehension: tuple[schema.ComprehensionCheck, ...]
    attention: tuple[schema.AttentionCheck, ...]
    prompts: tuple[schema.PromptDefinition, ...]
    exclusions: tuple[schema.Exclusion, ...]
    references: tuple[schema.Reference, ...] = ()
    annotation: schema.AnnotationWork | None = None
    languages: dict[str, Texts] = field(default_factory=dict)  # the texts in each language but the file's own
    own_language: str = ""  # the file's, if the texts here are in another
    description: str = ""  # on Prolific
    blocked_from: tuple[str, ...] = ()  # slugs of studies whose people may not come
    filters: tuple[schema.ProlificFilter, ...] = ()
    settings_later: bool = False  # whether the page on the chatbot's settings comes after the first prompt
    perception: schema.Perception | None = None  # the figure in moving dots; None: nobody is shown one
    repeats: Repeats | None = None  # what some people are asked twice
    arms: tuple[Arm, ...] = ()  # other states of the account
    rating: Rating | None = None  # the question about an answer
    matrix: Matrix | None = None  # the benchmark of which each person is asked some questions
    hypotheses: tuple[Hypothesis, ...] = ()
    plan: PlanKeys | None = None  # how they are tested, if the file says so
    second_person: tuple[str, ...] = ()  # what one researcher asks for and another confirms

    @property
    def offered(self) -> tuple[str, ...]:
        """The languages that people can take part in, the file's own first."""
        return (self.own_language or self.language, *self.languages)

    @property
    def pay_per_hour(self) -> Decimal:
        return round(self.pay.amount * 60 / self.minutes, 2)

    @property
    def branches(self) -> tuple[tuple[str, str], ...]:
        """Slug and name of every chatbot, with which cells are crossed; one empty pair if people annotate."""
        return tuple((bot.slug, bot.name) for bot in self.chatbots) or (("", ""),)

    @cached_property
    def askings(self) -> list[Asking]:
        """The prompts and their further askings; the set's questions are not among them."""
        return askings_of([prompt.slug for prompt in self.prompts], self.repeats, self.arms)

    @property
    def set_questions(self) -> dict[str, SetQuestion]:
        """The questions of the study's set, by slug."""
        return self.matrix.by_slug if self.matrix else {}

    @property
    def benchmark_width(self) -> str:
        """How exact the accuracy on the study's set will be once all places are filled; empty without a set."""
        return self.matrix.say_width(self.planned_people, len(self.branches)) if self.matrix else ""

    @property
    def most_asked(self) -> int:
        """Number of messages of a person who is asked everything."""
        return len(self.askings) + (self.matrix.each if self.matrix else 0)

    @property
    def planned_people(self) -> int:
        """The number of places, in all cells."""
        return sum(cell.places for cell in self.cells) * len(self.branches)

    @property
    def of_answers(self) -> tuple[Hypothesis, ...]:
        """The hypotheses about pasted answers; none in a study of annotators, whose hypotheses are about labels."""
        return () if self.annotation else self.hypotheses

    def asked_by(self, hypothesis: Hypothesis) -> list[str]:
        """The prompts that a hypothesis is about."""
        return prompts_asked(hypothesis, self.prompts, self.repeats.prompts if self.repeats else ())

    def order_of(self, place: int, cell: str, person: str, draw: int = 0) -> list[str]:
        """A person's order, by slug: the scheme's, with their further askings and the questions of their draw."""
        row = [self.prompts[at].slug for at in order_for(len(self.prompts), self.order_scheme, place, person)]
        order = put_in(row, self.repeats, self.arms, place, f"{self.slug}\n{cell}")
        chatbot, _, _ = cell.partition("\n")
        return self.matrix.put_in(order, draw, f"{self.slug}\n{chatbot}") if self.matrix else order

    def to_document(self) -> dict[str, Any]:
        """Everything as plain JSON values, as a frozen version stores and hashes it."""
        document: dict[str, Any] = _plain(asdict(self))
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The exact inverse of `to_document`."""
        fields = {name: frozen(value) for name, value in document.items()}
        fields["pay"] = schema.Reward(
            document["pay"]["currency"],
            Decimal(document["pay"]["amount"]),
            Decimal(document["pay"].get("screen_out", 0)),
        )
        fields["consent"] = schema.Consent(**frozen(document["consent"]))
        fields["chatbot_question"] = schema.ChatbotQuestion(**document["chatbot_question"])
        for name, part in (entry for entry in schema.LISTS.items() if entry[0] != "wordings"):
            fields[name] = tuple(part(**entry) for entry in fields.get(name, ()))
        if work := document.get("annotation"):
            scales = tuple(schema.LabelScale(**frozen(scale)) for scale in work.get("scales", ()))
            wordings = tuple(QuestionWords(**words) for words in work.get("wordings", ()))
            fields["annotation"] = schema.AnnotationWork(**{**work, "scales": scales, "wordings": wordings})
        for name, table in OPTIONAL.items():
            if fields.get(name):
                fields[name] = table(**fields[name])
        if matrix := fields.get("matrix"):
            fields["matrix"] = replace(matrix, questions=tuple(SetQuestion(**each) for each in matrix.questions))
        return cls(**fields)


# The tables that become one value of a definition, or None.
OPTIONAL: dict[str, Any] = {name: schema.TABLES[name] for name in schema.MAY_BE_ABSENT if name != "annotation"}
# Keys that the format gained later. Left out of the document where they say nothing, so that the document and the
# hash of a study that was loaded before stay what they were.
LATER_KEYS = frozenset(
    {
        *("minutes_under", "seconds_under", "pasted_under", "flags", "flags_kept", "context"),
        *("models", "variant_of", "variant", "references", "annotation", "scales"),
        *("wording", "wordings", "next", "pilot_overlap", "sittings", "screen_out"),
        *("model_offered", "settings", "memory_name", "instructions_name", "model_shown"),
        *("languages", "own_language", "shown_options", "description", "blocked_from", "filters"),
        *("summary", "full", "settings_later", "perception"),
        *("repeats", "arms", "rating", "matrix"),
        *("hypotheses", "plan", "multiverse", "second_person", "setting", "reference", "about"),
    }
)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items() if entry or key not in LATER_KEYS}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, Decimal) else value


def frozen(value: Any) -> Any:
    """A value of a document as definitions hold it: lists become tuples."""
    if isinstance(value, dict):
        return {key: frozen(entry) for key, entry in value.items()}
    return tuple(frozen(entry) for entry in value) if isinstance(value, list) else value


# Reading a file ------------------------------------------------------------------------------------------
Also = Callable[[dict[str, Any]], Iterable[Misfit]]


def read_study(path: Path | str, also: Also | None = None, named: bool = True) -> Definition:
    """Read the study of a file, `<slug>.toml` if it is `named`; raises `StudyFileError` with every fault at once."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise file_error(f"cannot be read: {error.strerror}") from error
    refuse_blank(content)
    return parse_study(content, path.stem if named else None, also)


def refuse_blank(content: bytes) -> None:
    """Raise StudyFileError for a file of only spaces and comments: a list of all that it lacks would not say so."""
    lines = map(bytes.strip, content.removeprefix(BOM_UTF8).splitlines())
    if len(content) <= LARGEST_FILE and not any(line and not line.startswith(b"#") for line in lines):
        raise file_error("is empty or has only comments; choose another file, or begin with a template")


def parse_study(content: bytes, name: str | None = None, also: Also | None = None) -> Definition:
    """Read the study of a file, called `name`.toml if it has a name; `also` finds further misfits of the read keys."""
    if len(content) > LARGEST_FILE:
        raise file_error(f"is larger than {LARGEST_FILE:,} bytes, the limit for a study")
    text = decoded(content)
    study, misfits = read_keys(read_toml(text))
    if name is not None and study.get("slug", name) != name:
        misfits.append(("slug", f"is `{study['slug']}`, but the file is called {name}.toml; make them equal"))
    misfits += [*find_misfits(study), *(also(study) if also else ())]
    if misfits:
        raise StudyFileError(_located(misfits, find_lines(text)))
    return _defined(study)


def file_error(message: str, line: int | None = None) -> StudyFileError:
    return StudyFileError([StudyFault("file", line, message)])


def decoded(content: bytes) -> str:
    try:
        # Windows editors put a byte order mark in front, which TOML does not know.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise file_error("is not UTF-8 text; save it with the encoding UTF-8", line) from error


def read_toml(text: str) -> dict[str, Any]:
    """Parse a text as TOML, without regard to its keys. Raises StudyFileError."""
    if endless := ENDLESS_KEY.search(text):
        raise file_error("has a key of more than 100 parts", text.count("\n", 0, endless.start()) + 1)
    if is_deep_toml(text):
        raise file_error("is nested too deeply")
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError) as error:
        # ArithmeticError: a number such as 1e99999999999999999999, which no Decimal can be.
        raise _syntax_error(str(error), text) from error


def _syntax_error(message: str, text: str) -> StudyFileError:
    if at := re.search(r" \(at line (\d+), (column \d+)\)$", message):
        return file_error(f"is not valid TOML at {at[2]}: {message[: at.start()]}", int(at[1]))
    return file_error(f"is not valid TOML: {message}", text.count("\n") + 1 if "end of" in message else None)


def _located(misfits: list[Misfit], lines: dict[str, int]) -> list[StudyFault]:
    faults = [StudyFault(place, line_of(place, lines), message) for place, message in misfits]
    return sorted(faults, key=lambda fault: (fault.line or 0, fault.place))


def read_keys(raw: dict[str, Any]) -> tuple[dict[str, Any], list[Misfit]]:
    """Fill in defaults and leave out unusable values; return the study and each misfit."""
    head = {name: value for name, value in raw.items() if name not in (*schema.TABLES, *schema.LISTS, "languages")}
    study, misfits = _read_table(
        "", head, schema.keys_of(schema.StudyHead), (*schema.TABLES, *schema.LISTS, "languages")
    )
    annotates = "annotation" in raw
    misfits += [(name, "is not for a study of annotators") for name in NOT_FOR_ANNOTATORS if annotates and name in raw]
    for name, table in schema.TABLES.items():
        keys = schema.keys_of(table)
        if name in raw or name not in schema.MAY_BE_ABSENT and not any(key.required for key in keys.values()):
            study[name], more = _read_table(name, raw.get(name, {}), keys)
            misfits += more
        elif name not in schema.MAY_BE_ABSENT and not (annotates and name in NOT_FOR_ANNOTATORS):
            misfits.append((name, "is missing"))
    for name in schema.LISTS:
        study[name], more = _read_list(name, raw.get(name, []), name in NEEDED_LISTS and not annotates)
        misfits += more
    study["languages"], more = ({}, []) if annotates else read_languages(raw.get("languages", {}), study)
    return study, misfits + more


def _read_list(name: str, raw: Any, is_needed: bool) -> tuple[list[dict[str, Any]], list[Misfit]]:
    if not isinstance(raw, list):
        return [], [(name, f"must be written as [[{name}]], once for each entry")]
    misfits = [(name, f"is missing: at least one [[{name}]] is needed")] if is_needed and not raw else []
    if len(raw) > MOST_ENTRIES:
        misfits = [(name, f"has {len(raw):,} entries; the limit is {MOST_ENTRIES}")]
    read = [_read_entry(name, f"{name}[{at}]", entry) for at, entry in enumerate(raw[:MOST_ENTRIES], 1)]
    return [entry for entry, _ in read], misfits + [misfit for _, more in read for misfit in more]


def _read_entry(name: str, place: str, raw: Any) -> tuple[dict[str, Any], list[Misfit]]:
    keys = schema.keys_of(schema.LISTS[name])
    if name != "prompts" or not isinstance(raw, dict):
        return _read_table(place, raw, keys)
    kind = raw.get("kind")
    if isinstance(kind, str) and kind in schema.PROMPT_KINDS:
        return _read_table(place, raw, keys | schema.keys_of(schema.PROMPT_KINDS[kind]))
    # Without a kind, nobody knows which keys of only one kind are missing; those present can be read.
    special = {
        key: read for table in schema.PROMPT_KINDS.values() for key, read in schema.keys_of(table).items() if key in raw
    }
    return _read_table(place, raw, keys | special)


def _read_table(
    place: str, raw: Any, keys: Mapping[str, schema.Key], elsewhere: tuple[str, ...] = ()
) -> tuple[dict[str, Any], list[Misfit]]:
    if not isinstance(raw, dict):
        return {}, [(place, f"must be a table, not {kind_of(raw)}")]
    misfits, table = _unknown_keys(place, raw, (*keys, *elsewhere)), {}
    for name, key in keys.items():
        if name not in raw and key.required:
            misfits.append((join_place(place, name), "is missing"))
        elif name not in raw or key.is_left_blank(raw[name]):
            table[name] = key.default
        else:
            try:
                table[name] = key.reader.validate_python(raw[name])
            except ValidationError as error:
                misfits += [(join_place(place, name), fault) for fault in faults_in(error)]
    return table, misfits


def _unknown_keys(place: str, raw: dict[str, Any], known: tuple[str, ...]) -> list[Misfit]:
    unknown = [name for name in raw if name not in known][:MOST_UNKNOWN]
    keys_here = f"; the keys here are {listed(known)}"
    return [(join_place(place, name), f"is not a key here{nearest(name, known) or keys_here}") for name in unknown]


TABLES_OF_FIELDS = ("places", "order", "checks", "recruiting", "team")


def _defined(study: dict[str, Any]) -> Definition:
    """Make the definition of a study without faults; tables of one key become plain fields."""
    document = {name: value for name, value in study.items() if name not in TABLES_OF_FIELDS}
    document["codes"] = {name: code for name, code in study["codes"].items() if code}
    document["lease_minutes"] = study["places"]["lease_minutes"]
    document["order_scheme"] = study["order"]["scheme"]
    document["settings_later"] = study["order"]["settings"] == "after-first-prompt"
    document["paste_checks"] = study["checks"]["paste"]
    if (study.get("repeats") or study["arms"]) and document["paste_checks"]:
        document["paste_checks"] = tuple(dict.fromkeys((*document["paste_checks"], SAME_AGAIN)))
    document["debrief"] = study["debrief"]["text"]
    document |= study["recruiting"] | study["team"]
    wordings = document.pop("wordings")
    if work := document.get("annotation"):
        work["wordings"] = wordings
        everybody = {"slug": "annotators", "name": "Annotators", "where": {}, "places": work.pop("annotators")}
        document["cells"] = document["cells"] or [everybody]
        document["chatbot_question"] = {"text": "", "several": "", "none": ""}
    return Definition.from_document(document)


def in_language(definition: Definition, language: str) -> Definition:
    """The study as shown in one of its languages. Chosen options are stored in the file's own words."""
    said = definition.languages.get(language)
    if said is None:
        return definition

    def worded(name: str) -> tuple[Any, ...]:
        texts = said.get(name, {})
        return tuple(replace(entry, **_shown(texts.get(entry.slug, {}))) for entry in getattr(definition, name))

    lists: dict[str, Any] = {
        name: worded(name) for name in ("chatbots", "questions", "comprehension", "attention", "prompts", "arms")
    }
    return replace(
        definition,
        language=language,
        own_language=definition.language,
        title=said["title"],
        contact=said["contact"],
        consent=replace(definition.consent, **said["consent"]),
        chatbot_question=replace(definition.chatbot_question, **said["chatbot_question"]),
        debrief=said["debrief"]["text"],
        perception=definition.perception and replace(definition.perception, **_shown(said.get("perception", {}))),
        rating=definition.rating and replace(definition.rating, **said["rating"]),
        matrix=definition.matrix and replace(definition.matrix, **said["matrix"]),
        **lists,
    )


def _shown(texts: Texts) -> Texts:
    """Turn options into shown options, since `options` holds the texts that are stored."""
    return {"shown_options" if key == "options" else key: words for key, words in texts.items()}


# What follows from it ------------------------------------------------------------------------------------


def cells_for(definition: Definition, chatbots: Iterable[str], answers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Every (chatbot, cell) that this person fits, in the order of the chatbots and then of the cells."""
    fitting = [cell.slug for cell in definition.cells if cell.fits(answers)]
    known = {slug for slug, _ in definition.branches}
    return [(chatbot, cell) for chatbot in chatbots if chatbot in known for cell in fitting]


def screened_out(definition: Definition, answers: Mapping[str, str], chatbot_answer: str) -> str | None:
    """Why this person cannot take part: `chatbot`, or the first screening question they fail; None if they can."""
    if chatbot_answer == schema.NONE and definition.chatbot_question.none:
        return "chatbot"
    for question in definition.questions:
        if question.purpose == "screening" and answers.get(question.slug) not in question.accept:
            return question.slug
    return None


def letters(prompt: schema.PromptDefinition) -> str:
    """The letters of a choice, such as ABCD; empty for a recommendation."""
    return "ABCDEFGH"[: len(prompt.choices)]


def prompt_text(prompt: schema.PromptDefinition) -> str:
    """The message that participants copy and models get, to the letter."""
    if prompt.kind == "recommendation":
        return prompt.text
    return choice_text(prompt.question, prompt.choices, prompt.request)


def choice_text(question: str, choices: Sequence[str], request: str) -> str:
    options = [f"{letter}. {choice}" for letter, choice in zip("ABCDEFGH", choices, strict=False)]
    return "\n\n".join([question, "\n".join(options), request])


def chatbot_of(definition: Definition, model: str) -> str | None:
    """The slug of the first chatbot that the model belongs to, by the chatbot's own patterns or the well-known ones.

    None: the model is compared with all field answers together.
    """
    name = model.strip().casefold()
    for bot in definition.chatbots:
        patterns = bot.models or WELL_KNOWN.get(bot.slug) or WELL_KNOWN.get(bot.name.casefold(), ())
        if any(fnmatchcase(name, pattern.casefold()) for pattern in patterns):
            return bot.slug
    return None
