"""What a figure is: a Vega-Lite spec with its words and its table; and what the reader may choose about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from analysis.charts.layout import complete, panel, specs_of
from analysis.charts.theme import LIGHT, NARROW, WIDE, printable

Row = dict[str, Any]
Report = Mapping[str, Any]
Columns = Sequence[tuple[str, str, str]]  # name, label, unit


@dataclass(frozen=True)
class Options:
    """How a figure is drawn. `measure` and `prompt` choose where a figure shows one of several."""

    narrow: bool = False
    rarefied: bool = False
    measure: str = ""
    prompt: str = ""
    top: int = 12
    names: Mapping[str, str] = field(default_factory=dict)  # what to write for a prompt or model

    @property
    def width(self) -> int:
        return NARROW if self.narrow else WIDE

    def name(self, slug: str) -> str:
        """`family-names` is written as Family names when no better name is given."""
        if slug in self.names:
            return printable(self.names[slug])
        words = slug.replace("-", " ").strip()
        return words[:1].upper() + words[1:]


@dataclass(frozen=True)
class Figure:
    """`table` has a row for each mark that is drawn or could not be; `columns` names what stands in it."""

    name: str
    title: str
    caption: str
    alt: str
    spec: Row
    table: list[Row]
    columns: list[tuple[str, str, str]]
    width: int  # px of the column it is drawn for


@dataclass(frozen=True)
class Words:
    """The title and the sentences of a figure."""

    title: str
    caption: str
    alt: str


def make_figure(
    name: str, words: Words, spec: Row, rows: Sequence[Row], table: list[Row], columns: Columns, options: Options
) -> Figure:
    """`rows` are what the spec draws."""
    whole = complete(spec, rows)
    return Figure(name, words.title, words.caption, words.alt, whole, table, list(columns), options.width)


def empty_figure(
    name: str, title: str, sentence: str, columns: Columns, options: Options, table: Sequence[Row] = ()
) -> Figure:
    """A figure of one sentence, where there is nothing to draw yet; `table` may say why of each row."""
    lines = wrap(sentence, 48 if options.narrow else 130)
    rows = [{"text": line, "line": place} for place, line in enumerate(lines)]
    text = alt.Chart().mark_text(color=LIGHT["soft"], fontSize=13, align="left", baseline="middle", limit=0)
    drawn = text.encode(x=alt.value(0), y=alt.Y("line:O", axis=None), text=alt.Text("text:N"))
    spec = panel(specs_of([drawn]), options.width - 20, 20 * len(lines))
    return make_figure(name, Words(title, sentence, sentence), spec, rows, list(table), columns, options)


def wrap(sentence: str, width: int) -> list[str]:
    """Lines of at most `width` characters, broken between words."""
    lines = [""]
    for word in sentence.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
