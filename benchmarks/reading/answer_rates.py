"""How well the reader reads answers: precision and recall over a labelled sample, with intervals."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Protocol

import numpy as np

from analysis.stats.intervals import clustered_shares
from benchmarks.reading.answer_samples import LabelledAnswer
from benchmarks.reading.check_rates import wilson_interval
from surveys.reading.answers import AnswerReading, read_answer


@dataclass(frozen=True)
class Share:
    """`hits` of `n`, with the 95 % interval; None if n is 0, the ends also if there is only one text to vary."""

    n: int
    hits: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ItemRates:
    """Rates over the items of a group of texts: how many of those read are right, and how many were found."""

    half: str
    group: str
    texts: int
    precision: Share
    recall: Share
    f1: float | None
    lenient_precision: Share  # right also if one name contains the other
    lenient_recall: Share
    perfect: Share  # texts with all items, no others, in their order


@dataclass(frozen=True)
class LetterRates:
    """Rates over a group of texts: known letters that are right, letters that were found, all that were read right."""

    half: str
    group: str
    texts: int
    precision: Share
    recall: Share
    accuracy: Share  # includes unknown, if it is right


@dataclass(frozen=True)
class DoubtRates:
    """The share read perfectly of the texts that the reader doubts for one reason, or for none."""

    half: str
    doubt: str
    perfect: Share


@dataclass(frozen=True)
class Read:
    """A labelled answer and what the reader made of it."""

    answer: LabelledAnswer
    reading: AnswerReading

    @property
    def found(self) -> tuple[str, ...]:
        return self.reading.items if self.answer.kind == "recommendation" else tuple(self.reading.letter)

    @property
    def is_perfect(self) -> bool:
        return self.found == self.answer.wanted


class Labelled(Protocol):
    @property
    def wanted(self) -> tuple[str, ...]: ...


class Reading(Protocol):
    """What was found in a labelled text."""

    @property
    def answer(self) -> Labelled: ...
    @property
    def found(self) -> tuple[str, ...]: ...
    @property
    def is_perfect(self) -> bool: ...


HALVES = {"held-out": True, "developed": False}
GROUPS: dict[str, Callable[[LabelledAnswer], str]] = {
    "source": lambda answer: answer.source,
    "form": lambda answer: answer.form,
}


def read_all(answers: Sequence[LabelledAnswer]) -> tuple[list[Read], float]:
    """Read each answer; return the readings and the number of texts read per second."""
    start = perf_counter()
    read = [Read(answer, read_answer(answer.text, answer.kind)) for answer in answers]
    return read, len(read) / (perf_counter() - start)


def item_rates(read: Sequence[Read]) -> list[ItemRates]:
    """Compute rates for each half: clear texts, these by source and by form, then doubtful texts, then all."""
    lists = [one for one in read if one.answer.kind == "recommendation"]
    return [rates_of_items(half, group, found) for half, group, found in _grouped(lists)]


def letter_rates(read: Sequence[Read]) -> list[LetterRates]:
    letters = [one for one in read if one.answer.kind == "choice"]
    return [_letter_rates(half, group, found) for half, group, found in _grouped(letters)]


def doubt_rates(read: Sequence[Read]) -> list[DoubtRates]:
    """Show whether the reader doubts what it misreads, over clear and doubtful texts of the held-out half."""
    lists = [one for one in read if one.answer.kind == "recommendation" and one.answer.held_out]
    lists = [one for one in lists if one.answer.drawn == "sample"]
    doubts = dict.fromkeys(one.reading.doubt for one in lists)
    by_doubt = {doubt: [one for one in lists if one.reading.doubt == doubt] for doubt in sorted(doubts)}
    return [DoubtRates("held-out", doubt or "none", _perfect(found)) for doubt, found in by_doubt.items()]


def _grouped(read: Sequence[Read]) -> Iterator[tuple[str, str, list[Read]]]:
    for half, is_held_out in HALVES.items():
        of_half = [one for one in read if one.answer.held_out is is_held_out]
        sample = [one for one in of_half if one.answer.drawn == "sample"]
        clear = [one for one in sample if not one.answer.doubtful]
        yield half, "clear", clear
        for key, value_of in GROUPS.items():
            for value in dict.fromkeys(value_of(one.answer) for one in clear):
                yield half, f"{key}: {value}", [one for one in clear if value_of(one.answer) == value]
        if len(clear) < len(sample):
            yield half, "doubtful", [one for one in sample if one.answer.doubtful]
            yield half, "clear and doubtful", sample
        if further := [one for one in of_half if one not in sample and not one.answer.doubtful]:
            yield half, "clear, further ones without marks of a list", further


def rates_of_items(half: str, group: str, read: Sequence[Reading]) -> ItemRates:
    found, wanted = [len(one.found) for one in read], [len(one.answer.wanted) for one in read]
    hits = [len(set(one.found) & set(one.answer.wanted)) for one in read]
    lenient = [_lenient_hits(one.found, one.answer.wanted) for one in read]
    both = sum(found) + sum(wanted)
    return ItemRates(
        half,
        group,
        len(read),
        share_over_texts(found, hits),
        share_over_texts(wanted, hits),
        2 * sum(hits) / both if both else None,
        share_over_texts(found, lenient),
        share_over_texts(wanted, lenient),
        _perfect(read),
    )


def _lenient_hits(found: Sequence[str], wanted: Sequence[str]) -> int:
    """Count equal names first, then pairs of which one contains the other; each name counts once."""
    hits = len(set(found) & set(wanted))
    left = [item for item in wanted if item not in found]
    for name in found:
        match = next((item for item in left if name not in wanted and (item in name or name in item)), None)
        if match is not None:
            left.remove(match)
            hits += 1
    return hits


def _letter_rates(half: str, group: str, read: Sequence[Read]) -> LetterRates:
    right = sum(one.is_perfect and bool(one.found) for one in read)
    return LetterRates(
        half,
        group,
        len(read),
        share_of(sum(bool(one.found) for one in read), right),
        share_of(sum(bool(one.answer.wanted) for one in read), right),
        _perfect(read),
    )


def _perfect(read: Sequence[Reading]) -> Share:
    return share_of(len(read), sum(one.is_perfect for one in read))


def share_of(n: int, hits: int) -> Share:
    return Share(n, hits, hits / n, *wilson_interval(hits, n)) if n else Share(0, 0, None, None, None)


def share_over_texts(n: Sequence[int], hits: Sequence[int]) -> Share:
    """Compute a share of items from each text's number and hits; the interval is over texts, None for a single one."""
    sizes, right = (np.array([some for some, of in zip(part, n, strict=True) if of], dtype=float) for part in (n, hits))
    if not len(sizes):
        return share_of(0, 0)
    (low,), (high,) = clustered_shares(right[None], sizes)
    ends = (None, None) if len(sizes) == 1 else (float(low), float(high))
    return Share(sum(n), sum(hits), sum(hits) / sum(n), *ends)


def as_json(read: Sequence[Read]) -> dict[str, object]:
    return {
        "items": [asdict(rate) for rate in item_rates(read)],
        "letters": [asdict(rate) for rate in letter_rates(read)],
        "doubts": [asdict(rate) for rate in doubt_rates(read)],
    }


def as_tables(read: Sequence[Read]) -> str:
    """Return Markdown tables: items, letters, and how much the reader's doubts are worth."""
    items = [
        (
            r.half,
            r.group,
            str(r.texts),
            cell_of(r.precision),
            cell_of(r.recall),
            f"{r.f1:.3f}" if r.f1 is not None else "–",
        )
        + (f"{_bare(r.lenient_precision)} / {_bare(r.lenient_recall)}", cell_of(r.perfect))
        for r in item_rates(read)
    ]
    letters = [
        (r.half, r.group, str(r.texts), cell_of(r.precision), cell_of(r.recall), cell_of(r.accuracy))
        for r in letter_rates(read)
    ]
    doubts = [(r.doubt, str(r.perfect.n), cell_of(r.perfect)) for r in doubt_rates(read)]
    head = ("half", "texts that are", "texts", "precision", "recall")
    return "\n".join(
        (
            table_of("Items", (*head, "F1", "lenient precision / recall", "texts read perfectly"), items),
            table_of("Letters", (*head, "accuracy with unknown"), letters),
            table_of("The reader's doubts (held-out)", ("doubt", "texts", "read perfectly"), doubts),
        )
    )


def table_of(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"**{title}**", "", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])


def cell_of(share: Share) -> str:
    if share.share is None:
        return "–"
    ends = "–" if share.low is None else f"{share.low:.3f}–{share.high:.3f}"
    return f"{share.share:.3f} ({ends}), {share.hits} of {share.n}"


def _bare(share: Share) -> str:
    return "–" if share.share is None else f"{share.share:.3f}"
