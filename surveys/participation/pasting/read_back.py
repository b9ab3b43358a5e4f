"""Read-back: a reading as shown to the person who pasted the text, and their reply."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surveys.models import Prompt, ReadBack
from surveys.models.hashes import hash_text
from surveys.reading.answers import (
    RULES_VERSION,
    AnswerReading,
    clean_text,
    find_name,
    normalise_item,
    read_answer,
)
from surveys.reading.checks import CHECKS, UNREAD

Verdict, NoAnswer = ReadBack.Verdict, ReadBack.NoAnswer
UNREACHED = NoAnswer.UNREACHED
CHOSEN = frozenset(NoAnswer.values) - {UNREACHED}  # by people who have no answer
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NONE = "none"
# With these findings there is nothing to read back.
NO_READING = frozenset(check.name for check in CHECKS.values() if check.is_last or UNREAD in check.silences)
# Longer texts are not read while somebody waits for the page: the worker reads them, as it reads every answer.
LONGEST_READ = 50_000  # characters
MOST_ADDED = 20
LONGEST_NAME = 300


@dataclass(frozen=True)
class ReadReply:
    """A page's reply to the reading it showed: names that don't belong, names that are missing, the right letter.

    `of` identifies the reading (`mark_of`), `read` is the letter that was read; `letter` is None if none was chosen.
    Names taken out or added apply to any later text too.
    """

    of: str = ""
    out: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    read: str = ""
    letter: str | None = None
    confirmed: bool = False
    no_answer: str = ""

    @property
    def corrects(self) -> bool:
        """Whether it holds corrections, which outlive a change of the text."""
        return bool(self.out or self.added or self.corrected_letter)

    @property
    def corrected_letter(self) -> str | None:
        return self.letter if self.letter and self.letter != (self.read or NONE) else None

    def fields(self) -> list[tuple[str, str]]:
        """The form's fields that repeat the corrections."""
        pairs = [(f"shown-{place}", name) for place, name in enumerate(self.out)]
        pairs += [(f"added-{place}", name) for place, name in enumerate(self.added)]
        if self.corrected_letter:
            pairs += [("read_letter", self.read), ("letter", self.corrected_letter)]
        return [("read_of", self.of), *pairs] if pairs else []


@dataclass(frozen=True)
class SaidBack:
    """A row of `ReadBack` without its response."""

    verdict: str
    reading: AnswerReading = AnswerReading()
    names: tuple[str, ...] = ()
    letter: str = ""
    absent: tuple[str, ...] = ()
    no_answer: str = ""

    @property
    def settles(self) -> bool:
        """Whether the person confirmed or corrected the reading."""
        return self.verdict != Verdict.UNSAID

    @property
    def key(self) -> str:
        """The correction as a text, which distinguishes two sendings of one form: it makes another revision."""
        return "\n".join((self.letter, *self.names)) if self.verdict == Verdict.CORRECTED else ""

    def values(self) -> dict[str, Any]:
        return {
            "rules_version": RULES_VERSION,
            "read_names": list(self.reading.names),
            "read_letter": self.reading.letter,
            "verdict": self.verdict,
            "names": list(self.names),
            "letter": self.letter,
            "absent": list(self.absent),
            "no_answer": self.no_answer,
        }


def is_read_later(text: str) -> bool:
    """Whether a text is too long to read back, so that its page asks nothing about a reading."""
    return len(text) > LONGEST_READ


def read_prompt(prompt: Prompt, text: str) -> AnswerReading:
    letters = LETTERS[: len(prompt.choices)]
    return read_answer(text, prompt.kind, limit=prompt.items or 5, letters=letters, choices=tuple(prompt.choices))


def mark_of(text: str) -> str:
    """A name for the reading of a text by the current rules."""
    return f"{RULES_VERSION}-{hash_text(clean_text(text))[:16]}"


def read_reply(form: Mapping[str, str]) -> ReadReply:
    """Read the panel's fields from a form or draft: a name that was shown but is not ticked does not belong."""
    ticked = {name.removeprefix("name-") for name in form if name.startswith("name-")}
    shown = [name for name in form if name.startswith("shown-") and name.removeprefix("shown-") not in ticked]
    no_answer = form.get("no_answer", "")
    return ReadReply(
        of=form.get("read_of", ""),
        out=_names_in({name: form[name] for name in shown}, "shown-"),
        added=_names_in(form, "added-"),
        read=form.get("read_letter", ""),
        letter=form.get("letter"),
        confirmed=form.get("read") == "right",
        no_answer=no_answer if no_answer in CHOSEN else "",
    )


def _names_in(form: Mapping[str, str], prefix: str) -> tuple[str, ...]:
    """The names in fields with this prefix, in their order, each once."""
    fields = sorted((name for name in form if name.startswith(prefix)), key=_number_in)
    names = (" ".join(clean_text(form[name]).split())[:LONGEST_NAME] for name in fields)
    return tuple(dict.fromkeys(filter(None, names)))[:MOST_ADDED]


def _number_in(name: str) -> int:
    number = name.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 4 else 0


def reply_of(said: ReadBack, text: str) -> ReadReply:
    """A person's earlier reply, for the page that shows it again; corrections outlive changes of the reader's rules."""
    return ReadReply(
        of=mark_of(text) if said.rules_version == RULES_VERSION else "",
        out=tuple(name for name in said.read_names if name not in said.names),
        added=tuple(name for name in said.names if name not in said.read_names),
        read=said.read_letter,
        letter=said.letter or (NONE if said.verdict != Verdict.UNSAID else None),
    )


def weigh_reply(prompt: Prompt, text: str, reply: ReadReply) -> SaidBack | None:
    """The reply as it applies to this text; None if its reading was not shown and no earlier correction changes it."""
    if reply.no_answer and not any(sign.isalnum() for sign in text):
        return SaidBack(Verdict.RIGHT, no_answer=reply.no_answer)
    if is_read_later(text) or not reply.of:
        return None
    is_seen = reply.of == mark_of(text)
    if not (is_seen or reply.corrects):
        return None
    reading = read_prompt(prompt, text)
    names, letter = reading.names, reading.letter
    given = reply.letter if is_seen else reply.corrected_letter
    if prompt.kind == Prompt.Kind.CHOICE:
        letter = _choose(reading.letter, given, LETTERS[: len(prompt.choices)])
        said = reply.confirmed and bool(letter or given) or (given == NONE and not letter)
    else:
        names = _place(text, _without(reading.names, reply.out), reply.added)
        said = reply.confirmed
    is_new = (names, letter) != (reading.names, reading.letter)
    if not is_seen and not is_new:
        return None
    verdict = Verdict.CORRECTED if is_new else Verdict.RIGHT if said else Verdict.UNSAID
    absent = tuple(name for name in names if name not in reading.names and find_name(text, name) is None)
    return SaidBack(verdict, reading, names, letter, absent)


def _without(names: tuple[str, ...], out: tuple[str, ...]) -> list[str]:
    left = {normalise_item(name) for name in out}
    return [name for name in names if normalise_item(name) not in left]


def _choose(read: str, given: str | None, letters: str) -> str:
    if given == NONE:
        return ""
    return given if given and len(given) == 1 and given in letters else read


def _place(text: str, kept: list[str], added: tuple[str, ...]) -> tuple[str, ...]:
    """The names in the order of the text, each once; those that it lacks come last."""
    if not added:
        return tuple(kept)
    places = {name: find_name(text, name) for name in (*kept, *added)}
    there = [normalise_item(name) for name in kept]
    for name in added:
        item, place = normalise_item(name), places[name]
        if not item or item in there:
            continue
        later = [at for at, other in enumerate(kept) if place is not None and (places[other] or 0) > place]
        kept.insert(later[0] if later else len(kept), name)
        there.append(item)
    return tuple(kept)


def show_reading(prompt: Prompt, text: str, reply: ReadReply, asks: bool) -> dict[str, Any]:
    """Context of the panel: the reading, with the person's corrections so far; `asks` if it must be answered.

    `gone` are names they took out or added that the text no longer holds.
    """
    reading, is_choice = read_prompt(prompt, text), prompt.kind == Prompt.Kind.CHOICE
    wanted = 0 if is_choice else prompt.items or 5
    is_seen = reply.of == mark_of(text)
    standing = set(_without(reading.names, reply.out))
    there = {normalise_item(name) for name in reading.names}
    added = tuple(name for name in reply.added if normalise_item(name) not in there)
    given = reply.letter if is_seen else reply.corrected_letter
    names = [(name, name in standing) for name in reading.names]
    changed = [] if is_seen else [*reply.out, *added]
    return {
        "of": mark_of(text),
        "asks": asks,
        "is_choice": is_choice,
        "letters": LETTERS[: len(prompt.choices)],
        "letter": given or reading.letter,
        "read": reading.letter,
        "names": names,
        "count": len(reading.names),
        "all": ", ".join([*(name for name in reading.names if name in standing), *added]),
        "left": len(standing) + len(added),
        "is_corrected": bool(added) or len(standing) < len(names) or (given or reading.letter) != reading.letter,
        "gone": [name for name in changed if find_name(text, name) is None],
        "added": [*added, *[""] * max(1, wanted - len(added))],
    }
