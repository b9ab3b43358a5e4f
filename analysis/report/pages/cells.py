"""Tables of numbers: cells with value, interval and the address of the texts behind them, sorted as asked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.charts.rows import number, span

THIN = "\u202f"
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


def count(n: Any, href: str = "") -> Cell:
    known = number(n)
    if known is None:
        return Cell(NONE, is_number=True)
    return Cell(f"{known:,.0f}", href=href if known else "", key=known, is_number=True)


def share(value: Any, interval: Any = None, href: str = "", why: str = "") -> Cell:
    """As per cent: 35 % and 30–40. Behind 0 % there is nothing to read."""
    href = href if value else ""
    return measured(value, interval, scale=100, digits=0, unit=f"{THIN}%", href=href, why=why)


def bits(value: Any, interval: Any = None, href: str = "", why: str = "") -> Cell:
    return measured(value, interval, digits=2, href=href, why=why)


def measured(
    value: Any,
    interval: Any = None,
    scale: float = 1,
    digits: int = 2,
    unit: str = "",
    href: str = "",
    why: str = "",
    sign: bool = False,
) -> Cell:
    known, bounds = number(value), span(interval)
    if known is None:
        return Cell(NONE, why=why, is_number=True)
    form = f"{'+' if sign else ''},.{digits}f"
    around = f"{plain(bounds[0] * scale, digits)}–{plain(bounds[1] * scale, digits)}" if bounds else ""
    if bounds and bounds[0] < 0:
        around = around.replace("–", " to ", 1)
    return Cell(minus(f"{known * scale:{form}}") + unit, around, href, why, known, True)


def plain(value: float, digits: int) -> str:
    return minus(f"{value:,.{digits}f}")


def minus(text: str) -> str:
    """A real minus sign, and none before zero."""
    if text.startswith("-"):
        return f"\u2212{text[1:]}" if text.strip("-0.,") else text[1:]
    return text


def chance(p: Any, why: str = "") -> Cell:
    """A p-value: three digits, and never 0."""
    known = number(p)
    if known is None:
        return Cell(NONE, why=why, is_number=True)
    text = f"<{THIN}0.001" if known < 0.001 else f"{known:.3f}"
    return Cell(text, key=known, is_number=True)


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
