"""Figures of a page: drawn once for what they show, kept in the cache, and written as files."""

import csv
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.core.cache import cache

from analysis.charts.figure import Figure
from analysis.charts.rendering import render
from analysis.exports.formats import csv_cell
from analysis.report.pages.places import Places
from analysis.report.parts import FIGURES

Made = TypeVar("Made")
KEPT_SECONDS = 3600
DRAWN = ("svg", "png", "pdf")
SCHEMES = ("light", "dark", "print")


@dataclass(frozen=True)
class Drawing:
    """A figure as a page shows it: broad, and narrow for phones."""

    name: str
    title: str
    caption: str
    alt: str
    wide: str
    narrow: str

    @property
    def is_empty(self) -> bool:
        """Nothing to draw: the figure is one sentence, which is its caption and its description too."""
        return self.alt == self.caption


def make_figure(places: Places, name: str, narrow: bool = False) -> Figure:
    return FIGURES[name](places.shown.report, places.options(name, narrow))


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


def find_drawing(places: Places, name: str) -> Drawing | None:
    """The figure if it has been drawn; drawing takes a second that a page need not wait for."""
    found: Drawing | None = cache.get(key_of(places, f"page {name}"))
    return found


def draw(places: Places, name: str) -> Drawing:
    def make() -> Drawing:
        wide, narrow = (make_figure(places, name, narrow=narrow) for narrow in (False, True))
        pictures = [render(figure, "svg").decode() for figure in (wide, narrow)]
        return Drawing(name, wide.title, wide.caption, wide.alt, *pictures)

    return kept(places, f"page {name}", make)


def write_figure(places: Places, name: str, kind: str, scheme: str) -> bytes:
    """The file of a figure; `kind` is one of FILES."""

    def make() -> bytes:
        figure = make_figure(places, name)
        if kind in DRAWN:
            return render(figure, kind, scheme)
        return (write_csv(figure) if kind == "csv" else json.dumps(figure.spec, ensure_ascii=False)).encode()

    return kept(places, f"{kind} {name} {scheme}", make)


def write_csv(figure: Figure) -> str:
    """The figure's table, a row for each mark; units stand in the header."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([name for name, _, _ in figure.columns])
    writer.writerows([csv_cell(row.get(name)) for name, _, _ in figure.columns] for row in figure.table)
    return out.getvalue()


FILE_WORDS = [
    ("SVG", "svg"),
    ("PNG", "png"),
    ("PDF", "pdf"),
    ("CSV (its numbers)", "csv"),
    ("JSON (Vega-Lite spec)", "json"),
]
FILES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
}
