"""Finds the place of a quote in a conversation."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from surveys.reading.privacy import REPLACEMENTS, find_personal

Message = Mapping[str, str]
# One character for one, so that places stay the same: models use other quotation marks, dashes and spaces.
ALIKE = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—―\u00a0\u202f", "''''" + '""""""' + "------" + "  ")
SPACES = re.compile(r"\s+")
AROUND = " \t\r\n\"'.…"


class _Folding(dict[int, int | str | None]):
    """A translation table that also folds case, one character for one; filled as characters occur."""

    def __missing__(self, code: int) -> int:
        sign = chr(code)
        self[code] = ord(next((small for small in (sign.casefold(), sign.lower()) if len(small) == 1), sign))
        return self[code]  # type: ignore[return-value]


FOLDING = _Folding(ALIKE | str.maketrans("İı", "ii"))


class QuotePlace(NamedTuple):
    """Characters `start` to `end` of the message with this number, from 0."""

    message: int
    start: int
    end: int


def locate(quote: str, messages: Sequence[Message]) -> QuotePlace | None:
    """Find the first place of the quote, in the user's messages before the replies; None if there is none.

    Unless a message has it exactly, white space, case, the kind of quotes and dashes, and marks around it are ignored.
    """
    order = sorted(range(len(messages)), key=lambda number: messages[number]["role"] != "user")
    for number in order:
        if quote in messages[number]["content"]:
            start = messages[number]["content"].index(quote)
            return QuotePlace(number, start, start + len(quote))
    words = " ".join(quote.translate(ALIKE).strip(AROUND).translate(FOLDING).split())
    if not words:
        return None
    for number in order:
        text = messages[number]["content"].translate(FOLDING)
        at = SPACES.sub(" ", text).find(words)
        if at >= 0:
            return QuotePlace(number, _place_in(text, at), _place_in(text, at + len(words) - 1) + 1)
    return None


def _place_in(text: str, at: int) -> int:
    """The index in `text` of the character that is at `at` once each run of white space is collapsed to one."""
    dropped = 0
    for space in SPACES.finditer(text):
        if space.start() - dropped >= at:
            break
        dropped += len(space[0]) - 1
    return at + dropped


def locate_in(quotes: Sequence[str], conversations: Iterable[tuple[str, Sequence[Message]]]) -> list[dict[str, Any]]:
    """Each quote with the first of the conversations (hash, messages) that holds it, or with nulls."""
    found: dict[int, dict[str, Any]] = {}
    for sha256, messages in conversations:
        for number, quote in enumerate(quotes):
            if number not in found and (place := locate(quote, messages)):
                found[number] = {"quote": quote, "conversation": sha256, **place._asdict()}
        if len(found) == len(quotes):
            break
    return [found.get(number, unlocated(quote)) for number, quote in enumerate(quotes)]


def unlocated(quote: str) -> dict[str, Any]:
    return {"quote": quote, "conversation": None, "message": None, "start": None, "end": None}


def without_personal(text: str, places: Sequence[tuple[int, int]]) -> tuple[str, list[tuple[int, int]], int]:
    """Replace each personal detail by words in brackets; return the text, the moved places and the number of details.

    A place that begins or ends within a detail takes in the whole replacement.
    """
    details = [(detail.start, detail.end, REPLACEMENTS[detail.kind]) for detail in find_personal(text)]
    pieces, at = [], 0
    for start, end, words in details:
        pieces += [text[at:start], words]
        at = end

    def moved(place: int, is_end: bool) -> int:
        shift = sum(len(words) - (end - start) for start, end, words in details if end <= place)
        for start, end, words in details:
            if start < place < end:
                return start + shift + (len(words) if is_end else 0)
        return place + shift

    new = [(moved(start, False), moved(end, True)) for start, end in places]
    return "".join([*pieces, text[at:]]), new, len(details)
