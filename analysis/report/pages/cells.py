"""Tables of numbers: cells with value, interval and the address of the texts behind them, sorted as asked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.charts.rows import number, span
from analysis.report.columns import Form
from surveys.console.wording import decimal, dollars, p_value, with_unit

NONE = "–"


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
class Table:
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


def write(form: Form, value: Any, interval: Any = None, nothing: str = NONE, why: str = "") -> Cell:
    """A number as a page shows it: 35 % and 30–40, +0.12 and −0.50 to 0.70; a p-value is never 0."""
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
    around = between(form, bounds, " to " if bounds[0] < 0 else "–") if bounds else ""
    return Cell(text, around, why=why, key=known, is_number=True)


def between(form: Form, bounds: Sequence[float], joined: str) -> str:
    return joined.join(decimal(end * form.scale, form.digits) for end in bounds)


def make_table(name: str, title: str, labels: Sequence[str], rows: Iterable[list[Cell]], **more: Any) -> Table:
    """A column is a column of numbers where its cells are."""
    given = list(rows)
    numbers = [bool(given) and all(row[place].is_number for row in given) for place in range(len(labels))]
    headers = [Header(label, is_number) for label, is_number in zip(labels, numbers, strict=True)]
    whys = list(dict.fromkeys(cell.why for row in given for cell in row if cell.why))
    return Table(name, title, headers, given, whys=whys, **more)


def sort_table(table: Table, wanted: str) -> Table:
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
