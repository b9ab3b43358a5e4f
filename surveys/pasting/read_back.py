"""What was read in an answer, as the person who saw the answer is shown it, and what they make of it."""

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
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NONE = "none"
# With these findings there is nothing to read back.
NO_READING = frozenset(check.name for check in CHECKS.values() if check.is_last or UNREAD in check.silences)
MOST_ADDED = 20
LONGEST_NAME = 300


@dataclass(frozen=True)
class ReadReply:
    """What a page says of the reading that it showed: which names stand, which are missing, which letter it is.

    `of` says which reading of which text the page showed; `letter` is None where none was chosen.
    """

    of: str = ""
    kept: frozenset[int] = frozenset()
    added: tuple[str, ...] = ()
    letter: str | None = None
    confirmed: bool = False
    no_answer: str = ""


@dataclass(frozen=True)
class SaidBack:
    """A row of `ReadBack` but for its response."""

    verdict: str
    reading: AnswerReading = AnswerReading()
    names: tuple[str, ...] = ()
    letter: str = ""
    absent: tuple[str, ...] = ()
    no_answer: str = ""

    @property
    def settles(self) -> bool:
        """Whether the person has said what the answer says."""
        return self.verdict != Verdict.UNSAID

    @property
    def key(self) -> str:
        """What sets two sendings of one form apart: with another correction it is another revision."""
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


def read_prompt(prompt: Prompt, text: str) -> AnswerReading:
    letters = LETTERS[: len(prompt.choices)]
    return read_answer(text, prompt.kind, limit=prompt.items or 5, letters=letters, choices=tuple(prompt.choices))


def mark_of(text: str) -> str:
    """Names the reading of a text by today's rules."""
    return f"{RULES_VERSION}-{hash_text(clean_text(text))[:16]}"


def read_reply(form: Mapping[str, str]) -> ReadReply:
    """The fields of the panel, of a form or of a draft."""
    kept = {name.removeprefix("name-") for name in form if name.startswith("name-")}
    names = sorted((name for name in form if name.startswith("added-")), key=_number_in)
    added = [clean_text(form[name]) for name in names]
    no_answer = form.get("no_answer", "")
    return ReadReply(
        of=form.get("read_of", ""),
        kept=frozenset(int(place) for place in kept if place.isdecimal() and len(place) < 4),
        added=tuple(name for name in (" ".join(words.split())[:LONGEST_NAME] for words in added) if name)[:MOST_ADDED],
        letter=form.get("letter"),
        confirmed=form.get("read") == "right",
        no_answer=no_answer if no_answer in NoAnswer.values else "",
    )


def _number_in(name: str) -> int:
    number = name.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 4 else 0


def reply_of(said: ReadBack, text: str) -> ReadReply:
    """What a person has said before, for the page that shows it again; nothing where the reader has changed since."""
    if said.rules_version != RULES_VERSION:
        return ReadReply()
    return ReadReply(
        of=mark_of(text),
        kept=frozenset(place for place, name in enumerate(said.read_names) if name in said.names),
        added=tuple(name for name in said.names if name not in said.read_names),
        letter=said.letter or (NONE if said.verdict != Verdict.UNSAID else None),
    )


def weigh_reply(prompt: Prompt, text: str, reply: ReadReply) -> SaidBack | None:
    """What the reply makes of this text; None where the page showed no reading of it."""
    if reply.no_answer and not any(sign.isalnum() for sign in text):
        return SaidBack(Verdict.RIGHT, no_answer=reply.no_answer)
    if not reply.of or reply.of != mark_of(text):
        return None
    reading = read_prompt(prompt, text)
    names, letter = reading.names, reading.letter
    if prompt.kind == Prompt.Kind.CHOICE:
        letter = _choose(reading.letter, reply.letter, LETTERS[: len(prompt.choices)])
        said = reply.confirmed and bool(letter or reply.letter) or (reply.letter == NONE and not letter)
    else:
        names = _place(text, [name for place, name in enumerate(names) if place in reply.kept], reply.added)
        said = reply.confirmed
    is_new = (names, letter) != (reading.names, reading.letter)
    verdict = Verdict.CORRECTED if is_new else Verdict.RIGHT if said else Verdict.UNSAID
    absent = tuple(name for name in names if name not in reading.names and find_name(text, name) is None)
    return SaidBack(verdict, reading, names, letter, absent)


def _choose(read: str, given: str | None, letters: str) -> str:
    if given == NONE:
        return ""
    return given if given and len(given) == 1 and given in letters else read


def _place(text: str, kept: list[str], added: tuple[str, ...]) -> tuple[str, ...]:
    """The names in the order of the text, each once; what the text does not hold comes last."""
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
    """The panel: what was read, with what the person has made of it so far; `asks` where it must be answered."""
    reading, is_choice = read_prompt(prompt, text), prompt.kind == Prompt.Kind.CHOICE
    wanted = 0 if is_choice else prompt.items or 5
    same = reply.of == mark_of(text)
    added = reply.added if same else ()
    return {
        "of": mark_of(text),
        "asks": asks,
        "is_choice": is_choice,
        "letters": LETTERS[: len(prompt.choices)],
        "letter": reply.letter if same and reply.letter else reading.letter,
        "read": reading.letter,
        "names": [(name, not same or place in reply.kept) for place, name in enumerate(reading.names)],
        "count": len(reading.names),
        "added": [*added, *[""] * max(1, wanted - len(added))],
    }
