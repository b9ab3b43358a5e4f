"""Tables of numbers: cells, and columns that declare their value, its format and its interval.

Pages, terminal, HTML, PDF and figure files render the same table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surveys.studies.wording import INTERVAL, decimal, dollars, number, p_value, percent, sized, span, with_unit

Row = dict[str, Any]
Ends = Sequence[float] | None
Made = Callable[[Row], Any]
NOTHING = "–"
TO = " to "
LONG = 24  # rows, beyond which a table scrolls by itself


@dataclass(frozen=True)
class NumberFormat:
    """How to write a value. `kind`: number, count, p, dollars, ends or words, or a name: prompt, source, …"""

    kind: str = "number"
    digits: int = 2
    scale: float = 1
    unit: str = ""
    sign: bool = False

    @property
    def is_number(self) -> bool:
        return self.kind in ("number", "count", "p", "dollars", "ends")

    def write(self, value: Any, between: str = NOTHING) -> str:
        """Write 35 %, +0.12, 30–40 %, < 0.001; an undefined number is empty."""
        if not self.is_number:
            return "" if value is None else str(value)
        if self.kind == "ends":
            ends = dict.fromkeys(span(value) or ())  # one if they are equal
            return with_unit(self.write_ends([*ends], between), self.unit) if ends else ""
        known = number(value)
        if known is None:
            return ""
        if self.kind == "p":
            return p_value(known)
        if self.kind == "dollars":
            return dollars(known)
        if self.unit == "%" and self.scale == 100 and not self.sign:
            return percent(known, self.digits)
        return self.write_end(known)

    def write_end(self, value: float) -> str:
        return decimal(value * self.scale, self.digits, self.unit, self.sign)

    def write_ends(self, ends: Sequence[float], between: str) -> str:
        return between.join(decimal(end * self.scale, self.digits) for end in ends)


WORDS, COUNT, P, DOLLARS = NumberFormat("words"), NumberFormat("count", 0), NumberFormat("p"), NumberFormat("dollars")
PLAIN, FINE = NumberFormat(), NumberFormat(digits=3)
SHARE, FINE_SHARE = NumberFormat(digits=0, scale=100, unit="%"), NumberFormat(digits=1, scale=100, unit="%")
ENDS, FINE_ENDS = NumberFormat("ends", 0, 100, "%"), NumberFormat("ends", 1, 100, "%")  # values are [low, high]
CHANGE, POINTS = NumberFormat(sign=True), NumberFormat(digits=0, scale=100, sign=True)


def at(row: Any, path: str) -> Any:
    """The value in a row at keys joined by dots; None if one is missing."""
    for key in path.split("."):
        row = row.get(key) if isinstance(row, Mapping) else None
    return row


@dataclass(frozen=True)
class Cell:
    """A value with its interval, the number of values behind it, and the reason if either is undefined.

    Pages show `text` with `interval`, terminal and paper `line`; `words` is everything in one line. `href`: the link;
    `chip` and `soft`: texts beside the value; `key`: to sort by.
    """

    value: Any = None
    format: NumberFormat = WORDS
    ci: Ends = None
    n: int | None = None
    why: str = ""
    unsure: str = ""  # why a known value has no interval
    nothing: str = NOTHING
    key: Any = None
    href: str = ""
    chip: str = ""
    soft: str = ""
    mark: str = ""

    @property
    def is_number(self) -> bool:
        return self.format.is_number

    @property
    def text(self) -> str:
        written = self.format.write(self.value)
        return f"{written}{self.mark}" if written else self.nothing

    @property
    def interval(self) -> str:
        """The ends without a unit, 30–40 or −0.50 to 0.70; a dash if `unsure` says why there are none."""
        if self.ci is None:
            return NOTHING if self.unsure else ""
        return self.format.write_ends(self.ci, TO if self.ci[0] < 0 else NOTHING)

    @property
    def range(self) -> str:
        """The interval with its unit at both ends."""
        write = self.format.write_end if self.format.kind == "number" else self.format.write
        return TO.join(map(write, self.ci)) if self.ci else ""

    @property
    def line(self) -> str:
        written = self.format.write(self.value, TO)
        if not written:
            return NOTHING
        around = f" ({self.format.write_ends(self.ci, TO)})" if self.ci else f" ({NOTHING})" if self.unsure else ""
        return written + around + f", {self.soft}" * bool(self.soft)

    @property
    def words(self) -> str:
        """Everything in one line, for the hover and for screen readers."""
        parts = [f"{INTERVAL} {self.range}" if self.ci else self.why, "" if self.n is None else sized(self.n)]
        return ", ".join([self.text, *(part for part in parts if part)])


@dataclass(frozen=True)
class Column:
    """One number or word of a row, found at `name` (keys joined by dots) unless `value` reads it.

    `ci`: where its interval is; the reason for none is at `ci` + `_why`, unless `ci_why` reads it. `why`: where the
    reason for an undefined value is. `texts`: parameters of the address of the texts behind a page's number, besides
    the row's prompt, source and model; or None. `short`: the label if there is little room. `chip` and `soft` go beside
    the value.
    """

    name: str
    label: str
    format: NumberFormat = WORDS
    ci: str | Callable[[Row], Ends] = ""
    ci_why: Callable[[Row], str | None] | None = None
    short: str = ""
    value: Made | None = None
    texts: Made | None = None
    run: Callable[[Row], int] | None = None  # the run to whose page it leads
    why: str | Callable[[Row], str] = ""
    chip: Callable[[Row], str] | None = None
    soft: Callable[[Row], str] | None = None
    mark: Callable[[Row], str] | None = None  # a sign after the value
    key: Made | None = None  # what to sort by
    nothing: str = NOTHING
    unit: str = ""  # of the value itself, for programs
    format_of: Callable[[Row], NumberFormat] | None = None  # if rows differ in how they are written
    read: Callable[[Row], Cell] | None = None  # makes the cell, if a row holds value, interval and n in one place

    def of(self, row: Row) -> Any:
        return self.value(row) if self.value else at(row, self.name)

    def around(self, row: Row) -> Ends:
        found: Ends = self.ci(row) if callable(self.ci) else at(row, self.ci) if self.ci else None
        return found

    def unsure(self, row: Row) -> str:
        """Why a known value has no interval; empty if it has one."""
        if not self.ci or self.of(row) is None or self.around(row) is not None:
            return ""
        found = self.ci_why(row) if self.ci_why else at(row, f"{self.ci}_why") if isinstance(self.ci, str) else None
        return found if isinstance(found, str) else ""

    def reason(self, row: Row) -> str:
        return self.why(row) if callable(self.why) else at(row, self.why) or "" if self.why else ""

    @property
    def head(self) -> str:
        """The label within a line: `short`, or the label with its first letter in lower case."""
        return self.short or self.label[:1].lower() + self.label[1:]

    @property
    def is_number(self) -> bool:
        return self.format.is_number

    def cell(self, row: Row) -> Cell:
        if self.read:
            return self.read(row)
        value, form = self.of(row), self.format_of(row) if self.format_of else self.format
        is_known = form.write(value) != ""
        key = value if form.is_number else str(self.nothing if value is None else value).casefold()
        return Cell(
            value,
            form,
            span(self.around(row)) if is_known else None,
            why=self.reason(row),
            unsure=self.unsure(row),
            nothing=self.nothing,
            key=key if is_known or not form.is_number else None,
            soft=self.soft(row) if self.soft and is_known else "",
        )


@dataclass(frozen=True)
class Table:
    """A table of cells. `definitions`: names of its numbers in the report; `note` and `reasons` go below it."""

    columns: Sequence[Column]
    rows: list[list[Cell]]
    title: str = ""
    name: str = ""
    note: str = ""
    definitions: tuple[str, ...] = ()
    empty: str = ""
    reasons: Sequence[str] = ()
    is_broad: bool = False
    order: tuple[int, bool] = (-1, False)  # the column by which rows are sorted, and whether descending

    @property
    def is_long(self) -> bool:
        return len(self.rows) > LONG

    @property
    def whys(self) -> list[str]:
        """The reasons for its dashes."""
        shown = (cell for row in self.rows for cell in row if NOTHING in (cell.text, cell.interval))
        return list(dict.fromkeys(why for cell in shown if (why := cell.unsure or cell.why)))

    @property
    def headers(self) -> Iterator[dict[str, Any]]:
        """Each label with the query that sorts by it: numbers descending, words ascending, a second click reversed."""
        for place, column in enumerate(self.columns):
            is_here, falling = place == self.order[0], self.order[1]
            sign = "-" * (not falling if is_here else column.is_number)
            state = ("descending" if falling else "ascending") if is_here else ""
            head = {"label": column.label, "is_number": column.is_number}
            yield head | {"sort": f"{sign}{self.name}.{place}", "sorted": state}

    def sorted(self, wanted: str) -> "Table":
        """The table sorted by the column that `wanted` names (`items.2`, `-items.2`), undefined values last."""
        name, _, place = wanted.removeprefix("-").rpartition(".")
        if name != self.name or not (place.isascii() and place.isdecimal()) or int(place) >= len(self.columns):
            return self
        column, falling = int(place), wanted.startswith("-")
        known = [row for row in self.rows if row[column].key is not None]
        unknown = [row for row in self.rows if row[column].key is None]
        rows = [*sorted(known, key=lambda row: row[column].key, reverse=falling), *unknown]
        return replace(self, rows=rows, order=(column, falling))

    @property
    def lines(self) -> list[list[str]]:
        return [[cell.line for cell in row] for row in self.rows]

    def aligned(self) -> Iterator[str]:
        """Yield aligned lines, numbers to the right; blank a first cell that repeats the row above."""
        lines = [[column.head for column in self.columns], *self.lines]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        previous = None
        for line in lines:
            shown = ["" if line[0] == previous else line[0], *line[1:]]
            previous = line[0]
            cells = [
                cell.rjust(width) if column.is_number else cell.ljust(width)
                for cell, width, column in zip(shown, widths, self.columns, strict=True)
            ]
            yield "  ".join(cells).rstrip()


def cells(rows: Sequence[Row], columns: Sequence[Column]) -> list[list[Cell]]:
    return [[column.cell(row) for column in columns] for row in rows]
