"""How well the reader reads today's layouts: answers that we wrote, labelled by hand, half of them held out."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.reading.answer_rates import HALVES, ItemRates, Share, cell_of, rates_of_items, share_of, table_of
from surveys.reading.answers import AnswerReading, read_answer
from surveys.reading.markup import fold_name

HERE = Path(__file__).parent
# The first answers have both halves in one file, the further ones a file for each half.
FILES = {"first": "layouts.toml", "further, held out": "layouts_unseen.toml", "further, developed": "layouts_seen.toml"}


@dataclass(frozen=True)
class Layout:
    """An answer and its label; `disagree` if two of its lists name different things, so that a doubt is due."""

    text: str
    layout: str
    like: str
    items: tuple[str, ...]
    asked: int = 5
    language: str = "en"
    held_out: bool = False
    disagree: bool = False
    further: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        return tuple(fold_name(item) for item in self.items)

    @property
    def is_clear(self) -> bool:
        """Whether it gives what was asked for, in one way, so that a doubt costs and does not help."""
        return len(self.items) >= self.asked and not self.disagree


@dataclass(frozen=True)
class ReadLayout:
    """A labelled layout and what the reader made of it."""

    answer: Layout
    reading: AnswerReading

    @property
    def found(self) -> tuple[str, ...]:
        return self.reading.items

    @property
    def is_perfect(self) -> bool:
        return self.found == self.answer.wanted

    @property
    def is_silently_wrong(self) -> bool:
        return not self.is_perfect and not self.reading.doubt


@dataclass(frozen=True)
class DoubtShares:
    """Shares in a group of one half: misread without a doubt; in doubt where one is due; in doubt though clear."""

    half: str
    group: str
    silent: Share
    due: Share
    needless: Share


def read_layouts() -> list[ReadLayout]:
    return [ReadLayout(one, read_answer(one.text, "recommendation", limit=one.asked)) for one in labelled_layouts()]


def labelled_layouts() -> Iterator[Layout]:
    for name, file in FILES.items():
        for row in tomllib.loads((HERE / file).read_text(encoding="utf-8"))["layout"]:
            further = name != "first"
            held_out = {"held_out": name.endswith("held out")} if further else {}
            yield Layout(**row | held_out, further=further)


def layout_rates(read: Sequence[ReadLayout]) -> list[ItemRates]:
    """Compute rates for each half: all layouts, the first and the further ones, then each layout."""
    return [rates_of_items(half, group, found) for half, group, found in _grouped(read)]


def layout_doubts(read: Sequence[ReadLayout]) -> list[DoubtShares]:
    return [_doubts_of(half, group, found) for half, group, found in _grouped(read)]


def _grouped(read: Sequence[ReadLayout]) -> Iterator[tuple[str, str, list[ReadLayout]]]:
    for half, is_held_out in HALVES.items():
        of_half = [one for one in read if one.answer.held_out is is_held_out]
        yield half, "all", of_half
        yield half, "all of the first", [one for one in of_half if not one.answer.further]
        yield half, "all of the further", [one for one in of_half if one.answer.further]
        for layout in dict.fromkeys(one.answer.layout for one in of_half):
            yield half, layout, [one for one in of_half if one.answer.layout == layout]


def _doubts_of(half: str, group: str, read: Sequence[ReadLayout]) -> DoubtShares:
    silent = sum(one.is_silently_wrong for one in read)
    due = [one for one in read if one.answer.disagree or not one.is_perfect]
    clear = [one for one in read if one.answer.is_clear]
    return DoubtShares(half, group, share_of(len(read), silent), _in_doubt(due), _in_doubt(clear))


def _in_doubt(read: Sequence[ReadLayout]) -> Share:
    return share_of(len(read), sum(bool(one.reading.doubt) for one in read))


def layouts_as_json(read: Sequence[ReadLayout]) -> dict[str, object]:
    return {
        "layouts": [asdict(rate) for rate in layout_rates(read)],
        "layout_doubts": [asdict(shares) for shares in layout_doubts(read)],
    }


def layouts_as_tables(read: Sequence[ReadLayout]) -> str:
    rates = [
        (rate.half, rate.group, str(rate.texts), *map(cell_of, (rate.precision, rate.recall, rate.perfect)))
        for rate in layout_rates(read)
    ]
    doubts = [
        (shares.half, shares.group, cell_of(shares.silent), cell_of(shares.due), cell_of(shares.needless))
        for shares in layout_doubts(read)
    ]
    head = ("half", "layout", "texts", "precision", "recall", "texts read perfectly")
    told = ("half", "layout", "silently wrong", "in doubt where it is due", "in doubt though clear")
    return "\n".join((table_of("Layouts", head, rates), table_of("Doubts of layouts", told, doubts)))
