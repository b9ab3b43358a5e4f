"""A text in pieces: where evidence stands in it and where words that were searched for do."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_FOUND = 500


@dataclass(frozen=True)
class Mark:
    """Something that is highlighted from `start` to before `end`: evidence `number`, or with `found` a search hit."""

    start: int
    end: int
    number: int
    found: bool = False


@dataclass(frozen=True)
class Piece:
    """Text under the same marks; `opens` are the marks that begin here."""

    text: str
    evidence: tuple[int, ...] = ()
    found: tuple[int, ...] = ()
    opens: tuple[Mark, ...] = ()

    @property
    def is_marked(self) -> bool:
        return bool(self.evidence or self.found)

    @property
    def anchors(self) -> list[str]:
        """Names by which links find the beginning of a mark."""
        return [f"{'found' if mark.found else 'evidence'}-{mark.number}" for mark in self.opens]


def cut_text(text: str, marks: Iterable[Mark]) -> list[Piece]:
    """The text from its beginning to its end, cut wherever a mark begins or ends; marks may overlap."""
    marks = [mark for mark in marks if 0 <= mark.start < mark.end <= len(text)]
    cuts = sorted({0, len(text), *(mark.start for mark in marks), *(mark.end for mark in marks)})
    return [cut_piece(text, start, end, marks) for start, end in zip(cuts, cuts[1:], strict=False)]


def cut_piece(text: str, start: int, end: int, marks: list[Mark]) -> Piece:
    over = [mark for mark in marks if mark.start <= start and end <= mark.end]
    return Piece(
        text[start:end],
        tuple(mark.number for mark in over if not mark.found),
        tuple(mark.number for mark in over if mark.found),
        tuple(mark for mark in over if mark.start == start),
    )


def find_quote(text: str, quote: str, number: int) -> Iterator[Mark]:
    start = text.find(quote)
    if start >= 0:
        yield Mark(start, start + len(quote), number)


def find_words(text: str, words: str, first: int) -> list[Mark]:
    """Where the words stand, in whatever case, numbered from `first`; at most MOST_FOUND in all."""
    if not words:
        return []
    hits = re.finditer(re.escape(words), text, re.IGNORECASE)
    numbers = range(first, MOST_FOUND + 1)
    return [Mark(hit.start(), hit.end(), number, found=True) for number, hit in zip(numbers, hits, strict=False)]
