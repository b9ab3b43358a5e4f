"""The column of a table in which an answer names its items."""

import re
from collections.abc import Sequence

from surveys.reading.markup import BULLET, NUMBER, TABLE_RULE, strip_markup

HEADER_CELL = re.compile(
    r"^(?:#|no\.?|rank|names?|titles?|items?|films?|movies?|songs?|books?|compan(?:y|ies)|restaurants?|majors?|style)$",
    re.I,
)


def table_titles(lines: Sequence[str]) -> list[str]:
    """First telling column of a markdown table, or of one that was copied from a page with tabs."""
    for at, line in enumerate(lines):
        if at and "|" in line and TABLE_RULE.match(line.strip()):
            return _first_column([row for row in _rows_below(lines, at) if row])
    return _tabbed_titles(lines)


def _rows_below(lines: Sequence[str], at: int) -> list[list[str]]:
    rows = []
    for line in lines[at + 1 :]:
        if "|" not in line:
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return rows


def _tabbed_titles(lines: Sequence[str]) -> list[str]:
    rows = [[cell.strip() for cell in line.strip().split("\t")] for line in lines if "\t" in line.strip()]
    if (
        len(rows) < 3
        or len(rows[0]) < 2
        or len({len(row) for row in rows}) > 1
        or NUMBER.match(rows[0][0])
        or BULLET.match(rows[0][0])
    ):
        return []
    return _first_column(rows[1:] if any(HEADER_CELL.match(cell) for cell in rows[0]) else rows)


def _first_column(rows: list[list[str]]) -> list[str]:
    column = 1 if all(_is_rank(row[0]) for row in rows) else 0
    return [row[column] for row in rows if len(row) > column]


def _is_rank(cell: str) -> bool:
    bare = strip_markup(cell).strip(" .#)")
    return not bare or bare.isdigit()
