"""The sections of a page: a figure, and tables whose numbers have an interval and lead to the texts behind them."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.core.cache import cache
from django.urls import reverse
from django.utils.safestring import mark_safe

from analysis.charts.figure import BESIDE, Figure, Options, for_column, prompt_name
from analysis.charts.rendering import render
from analysis.charts.rows import names_in
from analysis.charts.rows import setting_words as words_of
from analysis.charts.theme import COLUMN_PX
from analysis.exports.formats import figure_csv
from analysis.models.conditions import LABELS
from analysis.report.columns import Column, Form, Listing
from analysis.report.dataset import ALL, FIELD
from analysis.report.filters import names_of
from analysis.report.glance import GLANCES
from analysis.report.pages.shown import FIGURE_PAGES, Shown
from analysis.report.parts import FIGURES, PARTS
from surveys.console.wording import decimal, dollars, language_name, number, p_value, span, with_unit

# --- tables

NONE = "–"
LONG = 330  # characters of a description
PUT_AS = {"helm": "as HELM puts it", "bare": "question and choices only"}
SENTENCE_END = re.compile(r"(?<=\.) ")


@dataclass(frozen=True)
class Cell:
    """What stands in one field of a table; `key` is what it is sorted by."""

    text: str
    interval: str = ""
    href: str = ""
    why: str = ""
    key: Any = None
    is_number: bool = False
    chip: str = ""
    soft: str = ""


@dataclass(frozen=True)
class Header:
    label: str
    is_number: bool = False
    sort: str = ""  # the address' value that sorts by this column
    sorted: str = ""  # ascending, descending


@dataclass(frozen=True)
class PageTable:
    """`definitions` names what its numbers are called in the report."""

    name: str
    title: str
    headers: Sequence[Header]
    rows: list[list[Cell]]
    note: str = ""
    definitions: tuple[str, ...] = ()
    empty: str = "Nothing to show for these filters."
    whys: list[str] = field(default_factory=list)

    @property
    def is_long(self) -> bool:
        return len(self.rows) > 24


def words(text: Any, href: str = "", chip: str = "", soft: str = "", key: Any = None) -> Cell:
    return Cell(str(text), href=href, chip=chip, soft=soft, key=str(text).casefold() if key is None else key)


def write(form: Form, value: Any, interval: Any = None, nothing: str = NONE, why: str = "", unsure: str = "") -> Cell:
    """A number as a page shows it: 35 % and 30–40, +0.12 and −0.50 to 0.70; a p-value is never 0.

    `why` says why it is undefined, `unsure` why it has no interval.
    """
    if form.kind == "ends" and span(value) is not None:
        return Cell(with_unit(between(form, value, "–"), form.unit), key=value, is_number=True)
    known, bounds = number(value), span(interval)
    if known is None:
        return Cell(nothing, why=why, is_number=True)
    if form.kind == "p":
        return Cell(p_value(known), key=known, is_number=True)
    if form.kind == "dollars":
        return Cell(dollars(known), key=known, is_number=True)
    text = decimal(known * form.scale, form.digits, form.unit, form.sign)
    around = between(form, bounds, " to " if bounds[0] < 0 else "–") if bounds else NONE if unsure else ""
    return Cell(text, around, why=unsure or why, key=known, is_number=True)


def between(form: Form, bounds: Sequence[float], joined: str) -> str:
    return joined.join(decimal(end * form.scale, form.digits) for end in bounds)


def make_table(name: str, title: str, labels: Sequence[str], rows: Iterable[list[Cell]], **more: Any) -> PageTable:
    """A column is a column of numbers where its cells are."""
    given = list(rows)
    numbers = [bool(given) and all(row[place].is_number for row in given) for place in range(len(labels))]
    headers = [Header(label, is_number) for label, is_number in zip(labels, numbers, strict=True)]
    shown = (cell for row in given for cell in row if NONE in (cell.text, cell.interval))
    whys = list(dict.fromkeys(cell.why for cell in shown if cell.why))
    return PageTable(name, title, headers, given, whys=whys, **more)


def sort_table(table: PageTable, wanted: str) -> PageTable:
    """The rows by the column that `wanted` names (`items.2`, `-items.2`), undefined ones last."""
    name, _, place = wanted.removeprefix("-").rpartition(".")
    falling = wanted.startswith("-")
    column = int(place) if name == table.name and place.isascii() and place.isdecimal() else -1
    if column >= len(table.headers):
        column = -1
    headers = [header_of(table.name, header, at, column, falling) for at, header in enumerate(table.headers)]
    rows = table.rows
    if column >= 0:
        known = [row for row in rows if row[column].key is not None]
        unknown = [row for row in rows if row[column].key is None]
        rows = [*sorted(known, key=lambda row: row[column].key, reverse=falling), *unknown]
    return replace(table, headers=headers, rows=rows)


def header_of(name: str, header: Header, place: int, column: int, falling: bool) -> Header:
    """A click sorts numbers from the highest first, words from the first letter, and then the other way round."""
    here = place == column
    sign = ("" if falling else "-") if here else ("-" if header.is_number else "")
    state = ("descending" if falling else "ascending") if here else ""
    return replace(header, sort=f"{sign}{name}.{place}", sorted=state)


Row = dict[str, Any]
# --- how a page names what a row is about, and where the texts behind a number are

ABOUT = ("prompt", "source", "model")


@dataclass(frozen=True, eq=False)
class Places:
    """The names and addresses of one page."""

    shown: Shown

    @property
    def slug(self) -> str:
        return self.shown.study.slug

    @cached_property
    def names(self) -> dict[tuple[str, str], str]:
        return names_of(self.shown.study)

    def prompt(self, slug: str) -> str:
        return prompt_name(slug)

    def chatbot(self, slug: str | None) -> str:
        return "Everybody" if slug in (None, ALL) else self.names.get(("chatbot", str(slug)), str(slug))

    def model(self, row: Row) -> str:
        """The model; of the field, whose answers they are."""
        return self.chatbot(row["model"]) if row["source"] == FIELD else str(row["model"] or "all models")

    def prompt_cell(self, row: Row) -> Cell:
        order = list(self.names)
        place = order.index(("prompt", row["prompt"])) if ("prompt", row["prompt"]) in order else len(order)
        return words(self.prompt(row["prompt"]), key=place)

    def source_cell(self, row: Row, settings: bool = False) -> Cell:
        """With all that sets it apart, or how much history stands in front."""
        made_up = "simulated" if row.get("simulated") else ""
        name = LABELS.get(row["source"], row["source"])
        history = ", ".join(words_of(row, ("history_size",)))
        return words(name, chip=made_up, soft=setting_words(row) if settings else history)

    def model_cell(self, row: Row) -> Cell:
        """The chatbot, with the model that stands for it; a model of no chatbot by itself."""
        name = self.model(row)
        chatbot, _, model = names_in(self.shown.report).get(name, name).partition(BESIDE)
        return words(chatbot, soft=model)

    def texts(self, row: Row, **more: str) -> str:
        """The texts behind a row; `more` names an item or letter, or filters that narrow the field."""
        about = {name: row[name] for name in ABOUT}
        kept = [pair for pair in self.shown.asked.filters.to_pairs() if pair[0] not in about and pair[0] not in more]
        return f"{self.page('texts')}?{urlencode([*about.items(), *more.items(), *kept])}"

    def page(self, name: str) -> str:
        return reverse(f"compare:{name}", args=[self.slug])

    def run(self, number: int) -> str:
        return reverse("baselines:run", args=[self.slug, number])

    # --- how the page shows its parts

    def options(self, figure: str, narrow: bool = False) -> Options:
        """What the address chooses, as far as the figure's page lets a reader choose it."""
        asked, switches = self.shown.asked, FIGURE_PAGES[figure].switches
        return Options(
            narrow=narrow,
            rarefied=asked.rarefied and "values" in switches,
            measure=asked.measure,
            prompt=self.chosen_prompt if "prompt" in switches else "",
            names=names_in(self.shown.report) | {ALL: self.chatbot(ALL)},
            search=asked.q if "search" in switches else "",
        )

    @property
    def chosen_prompt(self) -> str:
        """The one that the address names, else the first that has items."""
        lists = [prompt["slug"] for prompt in self.shown.report["prompts"] if prompt["kind"] == "recommendation"]
        wanted = self.shown.asked.filters.prompt
        return next((slug for slug in lists if not wanted or slug in wanted), "")

    def table(self, listing: Listing, options: Options) -> PageTable | None:
        rows = listing.rows(self.shown.report, options)
        if listing.optional and not rows:
            return None
        columns = listing.columns_of(rows, options)
        return make_table(
            listing.name,
            listing.title(options) if callable(listing.title) else listing.title,
            [column.label for column in columns],
            [[self.cell(column, row) for column in columns] for row in rows],
            note=listing.note(rows) if callable(listing.note) else listing.note,
            definitions=listing.definitions,
            empty=listing.empty(options) if callable(listing.empty) else listing.empty,
        )

    def cell(self, column: Column, row: Row) -> Cell:
        value, form = column.of(row), column.form_in(row)
        if form.is_number:
            cell = write(form, value, column.around(row), column.nothing, column.reason(row), column.unsure(row))
        elif form.kind == "words":
            cell = words(column.nothing if value is None or value == "" else value)
        else:
            cell = self.name_cell(form.kind, row, value)
        changes: dict[str, Any] = {}
        if column.mark and cell.key is not None:
            changes["text"] = cell.text + column.mark(row)
        if column.texts and value:
            asked = column.texts(row)
            changes["href"] = self.texts(
                row | asked, **{key: value for key, value in asked.items() if key not in ABOUT}
            )
        if column.href:
            page, number = column.href(row)
            changes["href"] = getattr(self, page)(number)
        for name, found in (("chip", column.chip), ("soft", column.soft), ("key", column.key)):
            if found:
                changes[name] = found(row)
        return replace(cell, **changes) if changes else cell

    def name_cell(self, kind: str, row: Row, value: Any) -> Cell:
        if kind == "prompt":
            return self.prompt_cell(row)
        if kind == "model":
            return self.model_cell(row)
        if kind == "chatbot":
            return words(self.chatbot(value))
        return self.source_cell(row, settings=kind == "variant")


def setting_words(row: Row) -> str:
    """What sets a row apart from others of the same source and model."""
    settings = ", ".join(map(spoken_setting, (row.get("settings") or "").split(", ")))
    return ", ".join(words_of(row | {"per_user": row.get("per_user") or None, "settings": settings}))


def spoken_setting(setting: str) -> str:
    """As a reader says it what a row has in the words of a study file."""
    before, _, code = setting.rpartition("histories in ")
    return f"histories in {language_name(code)}" if before == "" and code != setting else PUT_AS.get(setting, setting)


Made = TypeVar("Made")
# --- figures: drawn once for what they show, kept in the cache, and written as files

KEPT_SECONDS = 3600
DRAWN = ("svg", "png", "pdf")
SCHEMES = ("light", "dark", "print")
DRAWN_BY = FIGURES | {name: glance.draw for name, glance in GLANCES.items()}


@dataclass(frozen=True)
class PageFigure:
    """A figure as a page shows it: broad, and narrow for phones."""

    name: str
    title: str
    caption: str
    own: str
    alt: str
    wide: str
    narrow: str

    @property
    def is_empty(self) -> bool:
        """Nothing to draw: the figure is one sentence, which is its caption and its description too."""
        return self.alt == self.caption

    @property
    def said(self) -> str:
        """The description, unless it is long, and what the caption adds to it."""
        if len(self.alt) >= LONG:
            return self.own
        return " ".join([self.alt, *(part for part in SENTENCE_END.split(self.own) if part not in self.alt)])


def make_figure(places: Places, name: str, narrow: bool = False, column: int = 0) -> Figure:
    return DRAWN_BY[name](places.shown.report, for_column(places.options(name, narrow), column))


def key_of(places: Places, what: str) -> str:
    """Anything that changes what is drawn changes the key."""
    shown = places.shown
    about = json.dumps([shown.study.pk, shown.fingerprint, shown.asked.address(sort="", q=""), what])
    return f"compare:{hashlib.sha256(about.encode()).hexdigest()}"


def kept(places: Places, what: str, make: Callable[[], Made]) -> Made:
    key = key_of(places, what)
    found: Made | None = cache.get(key)
    if found is None:
        found = make()
        cache.set(key, found, KEPT_SECONDS)
    return found


def find_drawing(places: Places, name: str) -> PageFigure | None:
    """The figure if it has been drawn; drawing takes a second that a page need not wait for."""
    found: PageFigure | None = cache.get(key_of(places, f"page {name}"))
    return found


def draw(places: Places, name: str) -> PageFigure:
    def make() -> PageFigure:
        wide, narrow = (make_figure(places, name, narrow=narrow) for narrow in (False, True))
        pictures = [render(figure, "svg").decode() for figure in (wide, narrow)[wide.width == narrow.width :]]
        return PageFigure(name, wide.title, wide.caption, wide.own, wide.alt, pictures[0], pictures[-1])

    return kept(places, f"page {name}", make)


def write_figure(places: Places, name: str, kind: str, scheme: str, column: int = 0) -> bytes:
    """The file of a figure; `kind` is one of FIGURE_FILES, `column` mm of a journal's."""

    def make() -> bytes:
        figure = make_figure(places, name, column=column)
        if kind in DRAWN:
            return render(figure, kind, scheme, column)
        return (figure_csv(figure) if kind == "csv" else json.dumps(figure.spec, ensure_ascii=False)).encode()

    return kept(places, f"{kind} {name} {scheme} {column}", make)


COLUMN_WORDS = dict(zip(COLUMN_PX, ("one column", "one and a half", "two columns"), strict=True))
FILE_WORDS = [
    ("SVG", "svg"),
    ("PNG", "png"),
    ("PDF", "pdf"),
    ("CSV (its numbers)", "csv"),
    ("JSON (Vega-Lite spec)", "json"),
]

# --- sections


def section_of(places: Places, name: str) -> dict[str, Any]:
    """A part's figure and the tables below it."""
    part = PARTS[name]
    options = places.options(part.drawn_as)
    made = [table for listing in part.pages if (table := places.table(listing, options)) is not None]
    return {
        **figure_of(places, part.drawn_as),
        "tables": [sort_table(table, places.shown.asked.sort) for table in made],
    }


def figure_of(places: Places, name: str) -> dict[str, Any]:
    return {"figure": name, **drawing_of(find_drawing(places, name))}


def drawing_of(drawing: PageFigure | None) -> dict[str, Any]:
    """The drawing for a template; its SVG is the renderer's, cleaned by figures.svg."""
    return {
        "drawing": drawing,
        "wide": mark_safe(drawing.wide) if drawing else "",  # noqa: S308
        "narrow": mark_safe(drawing.narrow) if drawing else "",  # noqa: S308
        "files": FILE_WORDS,
        "columns": COLUMN_WORDS,
        "drawn": DRAWN,
    }
