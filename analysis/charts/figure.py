"""Figures: a Vega-Lite spec with its words and its table; and the layout of panels beside and below each other."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import altair as alt
from altair.utils.schemapi import disable_debug_mode

from analysis.charts.tables import Column
from analysis.charts.theme import COLUMN_PX, CONFIG, HEADING, LIGHT, NARROW, PAPER, WIDE, printable

Spec = dict[str, Any]
Part = TypeVar("Part")
SCHEMA = alt.SCHEMA_URL
# Validating each scale, axis and mark takes longer than drawing; the tests validate whole figures. Channels are written
# as `alt.X2("high:Q")`, since a string takes a hundred times as long.
disable_debug_mode()
# All panels filter one dataset. Altair makes the panels, and this module puts them together: Altair's concatenation
# copies nested parts repeatedly, which takes seconds.
DATASET = "rows"


def panel(layers: Sequence[Spec], width: int, height: int, title: str = "", **where: Any) -> Spec:
    """A panel of layers on top of one another, for rows whose fields equal, or are among, the values of `where`."""
    filters = [{"filter": {"field": field, **match(value)}} for field, value in where.items()]
    return {
        "width": width,
        "height": height,
        **({"title": panel_title(title)} if title else {}),
        **({"transform": filters} if filters else {}),
        "layer": list(layers),
    }


def match(value: Any) -> Spec:
    return {"oneOf": list(value)} if isinstance(value, list | tuple) else {"equal": value}


def specs_of(charts: Sequence[alt.Chart]) -> list[Spec]:
    """Turn layers into specs without data."""
    found = [chart.to_dict(validate=False, context={"top_level": False}) for chart in charts]
    return [{key: value for key, value in spec.items() if key != "data"} for spec in found]


def of_kind(kind: str) -> alt.Chart:
    """A base chart that draws only the rows of one `kind`."""
    return alt.Chart().transform_filter(alt.FieldEqualPredicate(field="kind", equal=kind))


def panel_title(text: str) -> Spec:
    return {"text": text, "fontSize": 12, "fontWeight": "normal", "color": LIGHT["soft"], "offset": 5}


def heading(text: str | Sequence[str], offset: int = 5) -> Spec:
    """A panel's title in a journal column: above the panel itself, not above the names on its left."""
    lines = text if isinstance(text, str) else list(text)
    return panel_title("") | {"text": lines, "fontSize": 11, "offset": offset, "frame": "group"}


def beside(specs: Sequence[Spec], spacing: int = 22) -> Spec:
    return specs[0] if len(specs) == 1 else {"hconcat": list(specs), "spacing": spacing}


def in_rows(specs: Sequence[Spec], across: int, spacing: int, gap: int = 22, title: str = "") -> Spec:
    """Lay specs out in rows of at most `across`."""
    return below([beside(some, gap) for some in split(specs, across)], spacing, title)


BESIDE = " · "  # between the names of a chatbot and its model, which is set smaller


def below(specs: Sequence[Spec], spacing: int = 10, title: str = "", offset: int = 0) -> Spec:
    """Stack specs vertically. `offset` raises the title by this many px, to align it with the one beside it."""
    name, _, model = title.partition(BESIDE)
    smaller = {"subtitle": model, "subtitleFontSize": 11, "subtitleColor": LIGHT["soft"]} if model else {}
    heading = {"title": {"text": name, "style": HEADING, "offset": 8 + offset, **smaller}} if title else {}
    return {"vconcat": list(specs), "spacing": spacing, **heading}


def complete(spec: Spec, rows: Sequence[Spec], config: Spec = CONFIG) -> Spec:
    """The finished spec, with its rows and the theme."""
    return {"$schema": SCHEMA, "config": config, "data": {"name": DATASET}, "datasets": {DATASET: list(rows)}, **spec}


def split(names: Sequence[Part], most: int) -> list[Sequence[Part]]:
    return [names[start : start + most] for start in range(0, len(names), most)]


def split_evenly(names: Sequence[Part], most: int) -> list[Sequence[Part]]:
    """Split into as few parts as possible, of at most `most` and about equally many names."""
    parts = -(-len(names) // most)
    return split(names, -(-len(names) // parts)) if parts else []


Row = dict[str, Any]
Report = Mapping[str, Any]


def prompt_name(slug: str) -> str:
    """Turn `weekend-trips` into Weekend trips, for figures, tables, filters and sentences."""
    words = slug.replace("-", " ").strip()
    return words[:1].upper() + words[1:]


Columns = Sequence[Column]


@dataclass(frozen=True)
class Options:
    """How to draw a figure. `measure` and `prompt`: for figures that show one of several."""

    narrow: bool = False
    rarefied: bool = False
    measure: str = ""
    prompt: str = ""
    top: int = 12
    search: str = ""
    names: Mapping[str, str] = field(default_factory=dict)  # what to write for a prompt or model
    column: int = 0  # mm of a journal column, one of COLUMN_PX; all but the widest need `narrow`

    @property
    def width(self) -> int:
        return COLUMN_PX.get(self.column, NARROW if self.narrow else WIDE)

    def name(self, slug: str) -> str:
        """The name in `names`, else the prompt's own."""
        return printable(self.names[slug]) if slug in self.names else prompt_name(slug)


def for_column(options: Options, column: int) -> Options:
    """The options for a journal column of this many mm, narrow unless it is the widest; unchanged if `column` is 0."""
    return replace(options, column=column, narrow=column < max(COLUMN_PX)) if column else options


@dataclass(frozen=True)
class Figure:
    """A figure, ready to render. `table` has a row for each mark, drawn or not; `columns` describe it."""

    name: str
    title: str
    caption: str
    own: str  # the part of the caption that only this figure has
    alt: str
    spec: Row
    table: list[Row]
    columns: list[Column]
    width: int  # px of the column it is drawn for
    mark: str = ""  # a warning about its data within the drawing, so that copies keep it

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw: the figure is one sentence, both its caption and its description."""
        return self.alt == self.caption


SIMULATED = "Simulated, not real"


@dataclass(frozen=True)
class Words:
    """The title and the sentences of a figure."""

    title: str
    caption: str
    alt: str


def make_figure(
    name: str, words: Words, spec: Row, rows: Sequence[Row], table: list[Row], columns: Columns, options: Options
) -> Figure:
    """Assemble a figure from the `rows` that the spec draws; mark it as simulated if any of its data are."""
    whole = complete(spec, rows, PAPER if options.column else CONFIG)
    own = getattr(words.caption, "own", words.caption)
    told = [bool(row["simulated"]) for row in table if "simulated" in row]
    made_up = any(told) if told else bool(getattr(words.caption, "simulated", False))
    mark = SIMULATED if made_up and rows else ""
    if made_up:
        whole = whole | {"usermeta": {"mark": SIMULATED}}
    if told and "simulated" not in {column.name for column in columns}:
        columns = [*columns, Column("simulated", "simulated")]
    return Figure(name, words.title, words.caption, own, words.alt, whole, table, list(columns), options.width, mark)


def empty_figure(
    name: str, title: str, sentence: str, columns: Columns, options: Options, table: Sequence[Row] = ()
) -> Figure:
    """A figure of one sentence, if there is nothing to draw yet; `table` may give the reason in each row."""
    lines = wrap(sentence, 48 if options.narrow else 130)
    rows = [{"text": line, "line": place} for place, line in enumerate(lines)]
    text = alt.Chart().mark_text(color=LIGHT["soft"], fontSize=13, align="left", baseline="middle", limit=0)
    drawn = text.encode(x=alt.XValue(0), y=alt.Y("line:O", axis=None), text=alt.Text("text:N"))
    spec = panel(specs_of([drawn]), options.width - 20, 20 * len(lines))
    return make_figure(name, Words(title, sentence, sentence), spec, rows, list(table), columns, options)


def wrap(sentence: str, width: int) -> list[str]:
    """Break a sentence between words into lines of at most `width` characters; a longer word stays whole."""
    words = " ".join(sentence.split())  # also at thin and unbreakable spaces
    return textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False) or [""]
