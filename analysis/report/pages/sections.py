"""The sections of a page: a figure, and tables whose numbers have an interval and link to the texts behind them."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.core.cache import cache
from django.urls import reverse
from django.utils.safestring import mark_safe

from analysis.charts.figure import BESIDE, Figure, Options, Row, for_column, prompt_name
from analysis.charts.rendering import render
from analysis.charts.rows import amount_words, names_in
from analysis.charts.rows import setting_words as words_of
from analysis.charts.tables import Cell, Column, Table
from analysis.charts.theme import COLUMN_PX
from analysis.exports.formats import figure_csv
from analysis.models.conditions import LABELS
from analysis.report.columns import TableSpec
from analysis.report.dataset import ALL, FIELD
from analysis.report.filters import names_of
from analysis.report.overview import OVERVIEW_FIGURES
from analysis.report.pages.shown import FIGURE_PAGES, OVERVIEW, Shown
from analysis.report.parts import FIGURES, PARTS
from surveys.models import Study
from surveys.models.hashes import hash_text
from surveys.studies.wording import language_name

LONG = 330  # characters of a description
PUT_AS = {"helm": "as HELM puts it", "bare": "question and choices only"}
SENTENCE_END = re.compile(r"(?<=\.) ")

# --- names on a page, and addresses of the texts behind its numbers

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

    def chatbot(self, slug: str | None) -> str:
        return "Everybody" if slug in (None, ALL) else self.names.get(("chatbot", str(slug)), str(slug))

    def model(self, row: Row) -> str:
        """The model's name; for the field, the chatbot's."""
        return self.chatbot(row["model"]) if row["source"] == FIELD else str(row["model"] or "all models")

    def prompt_cell(self, row: Row) -> Cell:
        order = list(self.names)
        place = order.index(("prompt", row["prompt"])) if ("prompt", row["prompt"]) in order else len(order)
        return Cell(prompt_name(row["prompt"]), key=place)

    def source_cell(self, row: Row, settings: bool = False) -> Cell:
        """The source with all its settings, or only its history size."""
        made_up = "simulated" if row.get("simulated") else ""
        name = LABELS.get(row["source"], row["source"])
        return named(str(name), chip=made_up, soft=setting_words(row) if settings else amount_words(row))

    def model_cell(self, row: Row) -> Cell:
        """The chatbot with its model; a model without a chatbot by itself."""
        name = self.model(row)
        chatbot, _, model = names_in(self.shown.report).get(name, name).partition(BESIDE)
        return named(chatbot, soft=model)

    def texts(self, row: Row, study: str = "", **more: str | list[int]) -> str:
        """The address of the texts behind a row; `more` names an item, letter, runs or filters of the field, `study`
        another study with this field.
        """
        about = {name: row[name] for name in ABOUT}
        left = (*about, *more, *(["compare"] if study else []))
        kept = [pair for pair in self.shown.asked.filters.to_pairs() if pair[0] not in left]
        query = urlencode([*about.items(), *more.items(), *kept], doseq=True)
        return f"{reverse('compare:texts', args=[study or self.slug])}?{query}"

    def compared(self, page: str, query: str) -> str:
        return address_of(self.shown.study, page, query)

    def run(self, number: int) -> str:
        return reverse("baselines:run", args=[self.slug, number])

    # --- how the page shows its parts

    def options(self, figure: str, narrow: bool = False) -> Options:
        """The choices of the address that the figure's page offers."""
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
        """The prompt of the page's first claim, else the first recommendation, among those that the address names."""
        report, wanted = self.shown.report, self.shown.asked.filters.prompt
        lists = [prompt["slug"] for prompt in report["prompts"] if prompt["kind"] == "recommendation"]
        told = [claim["prompt"] for claim in report["claims"] if claim["page"] == "items"][:1]
        return next((slug for slug in (*told, *lists) if not wanted or slug in wanted), "")

    def table(self, spec: TableSpec, options: Options) -> Table | None:
        rows = spec.rows(self.shown.report, options)
        return None if spec.optional and not rows else spec.table(rows, options, self.cell)

    def cell(self, column: Column, row: Row) -> Cell:
        is_name = column.format.kind in ("prompt", "model", "chatbot", "source", "variant")
        cell = self.name_cell(column.format.kind, row, column.of(row)) if is_name else column.cell(row)
        changes: dict[str, Any] = {}
        if column.mark and cell.key is not None:
            changes["mark"] = column.mark(row)
        if column.texts and cell.value and (asked := column.texts(row)) is not None:
            changes["href"] = self.texts(
                row | asked, **{key: value for key, value in asked.items() if key not in ABOUT}
            )
        if column.run:
            changes["href"] = self.run(column.run(row))
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
            return named(self.chatbot(value))
        return self.source_cell(row, settings=kind == "variant")


def address_of(study: Study, name: str, query: str = "") -> str:
    path = reverse("compare:overview", args=[study.slug])
    path = path if name == OVERVIEW.name else reverse("compare:page", args=[study.slug, name])
    return f"{path}?{query}" if query else path


def named(text: str, chip: str = "", soft: str = "") -> Cell:
    return Cell(text, key=text.casefold(), chip=chip, soft=soft)


def setting_words(row: Row) -> str:
    """The row's settings in words; a switch that is off is left out."""
    settings = ", ".join(map(spoken_setting, (row.get("settings") or "").split(", ")))
    given = {name: None if value is False else value for name, value in row.items()}
    return ", ".join(words_of(given | {"settings": settings}))


def spoken_setting(setting: str) -> str:
    """Put a setting in the words of a study file into a reader's."""
    before, _, code = setting.rpartition("histories in ")
    return f"histories in {language_name(code)}" if before == "" and code != setting else PUT_AS.get(setting, setting)


Made = TypeVar("Made")
# --- figures: drawn once, cached, and written as files

KEPT_SECONDS = 3600
DRAWN = ("svg", "png", "pdf")
DRAWN_BY = FIGURES | {name: figure.draw for name, figure in OVERVIEW_FIGURES.items()}


@dataclass(frozen=True)
class PageFigure:
    """A figure as a page shows it: wide, and narrow for phones."""

    name: str
    title: str
    caption: str
    own: str
    alt: str
    wide: str
    narrow: str

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw: the figure is one sentence, both its caption and its description."""
        return self.alt == self.caption

    @property
    def said(self) -> str:
        """The description and what the caption adds to it; only the caption's own part if the description is long."""
        if len(self.alt) >= LONG:
            return self.own
        return " ".join([self.alt, *(part for part in SENTENCE_END.split(self.own) if part not in self.alt)])


def make_figure(places: Places, name: str, narrow: bool = False, column: int = 0) -> Figure:
    return DRAWN_BY[name](places.shown.report, for_column(places.options(name, narrow), column))


def key_of(kind: str, *about: Any) -> str:
    return f"{kind}:{hash_text(json.dumps(about))}"


def key_in(places: Places, what: str) -> str:
    """A cache key of all that the drawing depends on."""
    shown = places.shown
    return key_of("compare", shown.study.pk, shown.fingerprint, shown.asked.address(sort="", q=""), what)


def draw_once(key: str, make: Callable[[], Made]) -> Made:
    """Return the value cached under this key within the hour, else make it."""
    found: Made | None = cache.get(key)
    if found is None:
        found = make()
        cache.set(key, found, KEPT_SECONDS)
    return found


def draw(places: Places, name: str) -> PageFigure:
    def make() -> PageFigure:
        wide, narrow = (make_figure(places, name, narrow=narrow) for narrow in (False, True))
        pictures = [render(figure, "svg").decode() for figure in (wide, narrow)[wide.width == narrow.width :]]
        return PageFigure(name, wide.title, wide.caption, wide.own, wide.alt, pictures[0], pictures[-1])

    return draw_once(key_in(places, f"page {name}"), make)


def write_figure(places: Places, name: str, kind: str, scheme: str, column: int = 0) -> bytes:
    """Write the file of a figure; `kind` is one of FIGURE_FILES, `column` the mm of a journal column."""

    def make() -> bytes:
        return file_of(make_figure(places, name, column=column), kind, scheme, column)

    return draw_once(key_in(places, f"{kind} {name} {scheme} {column}"), make)


def file_of(figure: Figure, kind: str, scheme: str = "light", column: int = 0) -> bytes:
    if kind in DRAWN:
        return render(figure, kind, scheme, column)
    return (figure_csv(figure) if kind == "csv" else json.dumps(figure.spec, ensure_ascii=False)).encode()


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
    made = [table for spec in part.pages if (table := places.table(spec, options)) is not None]
    return {**figure_of(places, part.drawn_as), "tables": [table.sorted(places.shown.asked.sort) for table in made]}


def figure_of(places: Places, name: str) -> dict[str, Any]:
    """The figure if it has been drawn; a page need not wait a second for it."""
    return {"figure": name, **drawing_of(cache.get(key_in(places, f"page {name}")))}


def drawing_of(drawing: PageFigure | None) -> dict[str, Any]:
    """The drawing for a template; its SVG is safe, as `analysis.charts.rendering` cleans it."""
    return {
        "drawing": drawing,
        "wide": mark_safe(drawing.wide) if drawing else "",  # noqa: S308
        "narrow": mark_safe(drawing.narrow) if drawing else "",  # noqa: S308
        "files": FILE_WORDS,
        "columns": COLUMN_WORDS,
        "drawn": DRAWN,
    }
