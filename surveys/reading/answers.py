"""What counts as an answer: one reader for pasted responses and for completions, items and choices alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from surveys.reading import endings, refusals
from surveys.reading.choice_letters import find_letters, outer_text
from surveys.reading.item_names import clean_name, normalise_item
from surveys.reading.items import Named, count_named, find_items

__all__ = [
    "DOUBTS",
    "RULES_VERSION",
    "Reading",
    "clean_name",
    "count_items",
    "normalise_item",
    "outer_text",
    "read_answer",
    "read_choice",
    "read_items",
]

# Raise this whenever the same text may be read differently; stored answers name the version that read them.
RULES_VERSION = 3

LONGEST_TEXT = 1_000_000  # characters of one answer, pasted or imported
LONG_NAME = 10  # words; a name this long may hold more than the name

# Why a reading may be wrong and a person should look at the text.
DOUBTS = {
    "refusal": "The text seems to decline the request or to report an error.",
    "nothing-found": "No item or letter was found in the text.",
    "several-letters": "The text names several letters and settles on none.",
    "prose-list": "The items stand in sentences, where names and other words look alike.",
    "long-item": "An item is so long that it may hold more than a name.",
    "cut-off": "The text stops early, so that the last item may be cut off or missing.",
    "fewer-than-asked": "Fewer items were found than were asked for.",
}


@dataclass(frozen=True)
class Reading:
    """What was read in a text: items and the names they were written as, or a letter ("" = unknown)."""

    items: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    letter: str = ""
    doubt: str = ""  # one of DOUBTS, or "" where there is none


def clean_text(text: str) -> str:
    """Line ends as \\n, as the box had them before the browser's form encoding; PostgreSQL holds no NUL."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")


def read_answer(text: str, kind: str, *, limit: int = 5, letters: str = "ABCD", choices: Sequence[str] = ()) -> Reading:
    """The items of a recommendation, at most `limit`, or the letter of a choice; with the first doubt there is."""
    if kind == "choice":
        return _read_letter(text, letters, choices)
    return _read_list(text, limit)


def read_items(text: str, limit: int = 5) -> list[str]:
    """The first `limit` distinct recommendations in `text`, normalised, in the order of the text."""
    return list(find_items(text).names)[:limit]


def count_items(text: str, prose: bool = True) -> int:
    """How many distinct recommendations `text` names in all; without `prose`, those in a list only.

    In sentences everything that is enumerated counts: who asks whether there are too few should rather not ask.
    """
    return count_named(text, prose)


def read_choice(text: str, letters: str = "ABCD", choices: Sequence[str] = ()) -> str | None:
    """The one letter that `text` settles on, or None: refusals, several letters, bare prose are unknown."""
    return _read_letter(text, letters, choices).letter or None


def _read_letter(text: str, letters: str, choices: Sequence[str]) -> Reading:
    found = find_letters(text, letters, choices)
    if len(found) == 1:
        return Reading(letter=found)
    if not found and text and refusals.declines(text):
        return Reading(doubt="refusal")
    return Reading(doubt="several-letters" if found else "nothing-found")


def _read_list(text: str, limit: int) -> Reading:
    named = find_items(text)
    if len(named.names) < min(3, limit) and _declines(text, named):
        return Reading(doubt="refusal")
    items, names = tuple(named.names)[:limit], tuple(named.names.values())[:limit]
    return Reading(items, names, doubt=_doubt_of(text, named, limit))


def _declines(text: str, named: Named) -> bool:
    """Whether what was found in the sentences of a refusal or an error message is no recommendation."""
    in_prose = named.form in ("", "sentence")
    return in_prose and (refusals.declines(text) or refusals.reports_failure(text) is not None)


def _doubt_of(text: str, named: Named, limit: int) -> str:
    """The first of the doubts there is; what comes after the last item that counts raises none."""
    if not named.names:
        return "nothing-found"
    if named.form == "sentence":
        return "prose-list"
    if any(len(name.split()) > LONG_NAME for name in list(named.names.values())[:limit]):
        return "long-item"
    if len(named.names) < limit:
        return "cut-off" if endings.find_break(text) else "fewer-than-asked"
    last = list(named.names.values())[limit - 1]
    return "cut-off" if last in text[-len(last) - 10 :] and endings.find_break(text) else ""
