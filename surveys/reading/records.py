"""Answers with a structure of their own: JSON, blocks of lines such as "Name: Lilia" and "Price: $$", and tables."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from surveys.reading.markup import (
    BOLD_LINE,
    BULLET,
    NUMBER,
    TABLE_RULE,
    bare_line,
    fold_name,
    strip_marker,
    strip_markup,
)
from surveys.reading.nesting import read_json_at
from surveys.reading.words import CORNER, SPEAKERS, names_things, tells_about

# Replies in JSON, perhaps after a few words or in a code block, perhaps cut off at the longest length.
JSON_OPENING = re.compile(r"(?:^|\n)[ \t]*(?:```(?:json)?\s*)?(?=[{\[]\s*[\"{\[\]}])", re.I)
JSON_ITEMS = re.compile(r"(?:\{\s*\"[^\"\n]{1,40}\"\s*:\s*)?\[")
CITED = re.compile(r"\[\[[^\[\]\"{}\n]+\]\]")  # [[1]] or [[citation]], which open a line and are no list
JSON_STRING = re.compile(r'[\s,]*("(?:[^"\\]|\\.)*")')
ORDINAL = re.compile(
    r"^(?:\d{1,2}|first|second|third|fourth|fifth|[a-z]{1,14}[ _-]?\d{1,2}|erste[rs]?|zweite[rs]?|dritte[rs]?"
    r"|vierte[rs]?"
    r"|fünfte[rs]?)$",
    re.I,
)
_ASIDE = "tags genres keywords categories criteria filters sources questions references query"
ASIDE = frozenset(_ASIDE.split())
DEEPEST = 6


def json_titles(text: str, asked: int) -> tuple[list[str], str]:
    """The whole names in a reply that is JSON, and the text without the JSON if that holds lists."""
    opening = JSON_OPENING.search(text) if "{" in text or "[" in text else None
    if opening is None:
        return [], text
    start = opening.end()
    try:
        found, end = read_json_at(json.JSONDecoder(strict=False), text, start)
    except ValueError:
        titles, end = _whole_strings(text, start)
    else:
        named = _titles_in(found, asked)
        titles, end = named or [], start if named is None else end
    return titles, text[:start] + text[end:]


def _whole_strings(text: str, start: int) -> tuple[list[str], int]:
    """The strings of {"items": [...] up to where it is cut off, and where it ends: at `start` if it is not JSON."""
    opening = JSON_ITEMS.match(text, start)
    if opening is None:
        return [], start
    titles, at = [], opening.end()
    while found := JSON_STRING.match(text, at):
        titles.append(unquote(found[1]))
        at = found.end()
    return titles, start if CITED.match(text, start) else len(text)


def _titles_in(found: Any, asked: int) -> list[str] | None:
    """The names of the best list: no aside, then with the asked number, then of things; None without a list."""
    lists = list(_lists_in(found, "", 0))
    named = [(key, titles) for key, titles in lists if titles]
    if not named:
        return [] if lists else None
    return max(named, key=lambda one: (one[0] not in ASIDE, len(one[1]) == asked, names_things(one[0])))[1]


def _lists_in(found: Any, key: str, depth: int) -> Iterator[tuple[str, list[str]]]:
    """Yield every list in it, with its key and the names of its entries; an object that counts its entries is one."""
    if depth > DEEPEST:
        return
    if isinstance(found, dict):
        if len(found) > 1 and all(ORDINAL.match(name) for name in found):
            found = list(found.values())
        else:
            for name, value in found.items():
                yield from _lists_in(value, name.lower(), depth + 1)
    if isinstance(found, list):
        yield key, [name for name in map(_name_in, found) if name]


def _name_in(entry: Any) -> str:
    if isinstance(entry, dict):
        within = [value for key, value in entry.items() if isinstance(value, dict) and names_things(key)]
        said = {key: value for key, value in (within[0] if within else entry).items() if isinstance(value, str)}
        ranked = sorted(said, key=lambda key: (not names_things(key), tells_about(key)))
        return said[ranked[0]] if ranked else ""
    return entry if isinstance(entry, str) else ""


def unquote(literal: str) -> str:
    """The text of a JSON string; as written, without its quotes, if its escapes are wrong."""
    try:
        return str(json.loads(literal, strict=False))
    except ValueError:
        return literal.strip('"')


# --- blocks of labelled lines

LABELLED = re.compile(r"^[*_]{0,3}([^\W\d_][^:*_\n]{0,30}?)[*_]{0,3}:[*_]{0,3}\s+(?=\S)")
SURELY = ("name", "title", "titel", "film", "filmtitel")
RULE = re.compile(r"^(?:[-*_=]{3,}|#{0,4} ?\d{1,2}[.)]?|[-*•])$")


def record_titles(lines: Sequence[str]) -> list[str]:
    """The names in blocks with the same labels: those that are labelled as names, or else the first of each block.

    Without such a label the blocks may hold nothing but labels: a line without one may be the name.
    """
    cells = [cell for line in lines for cell in (line.split(" | ") if LABELLED.match(line) else [line]) if cell.strip()]
    labelled = [(_label_of(cell), cell) for cell in cells]
    counts = Counter(label for label, _ in labelled if label)
    most = max(counts.values(), default=0)
    repeated = [label for label, count in counts.items() if count > 1 and count >= most - 1]
    if len(repeated) < 2 or not SPEAKERS.isdisjoint(repeated):
        return []
    at = [place for place, (label, _) in enumerate(labelled) if label in repeated]
    within = labelled[at[0] : at[-1] + 1]
    apart = [line for label, line in within if not label and not RULE.match(line.strip())]
    naming = [label for label in repeated if (label in SURELY if apart else names_things(label))]
    if not naming and (apart or tells_about(repeated[0])):
        return []
    wanted = naming[0] if naming else repeated[0]
    return [_value_of(line) for label, line in within if label == wanted]


def _label_of(line: str) -> str:
    match = LABELLED.match(strip_marker(bare_line(line)))
    return match[1].strip().lower() if match and len(match[1].split()) <= 5 else ""


def _value_of(line: str) -> str:
    bare = strip_marker(bare_line(line))
    match = LABELLED.match(bare)
    return bare[match.end() :].strip("*_ ") if match else bare


# --- tables: of markdown, of commas or copied with tabs, and which of their columns or rows names the items

# Heads a column of wishes, which comes before the column of names.
WISH = re.compile(
    r"^(?:if|when|whenever|for|you|your|what|best for|mood|goal|need|looking for|wenn|falls|für|ziel|stimmung|si|se"
    r"|cuando|quand|quando)\b",
    re.I,
)
PLACEHOLDER = re.compile(r"^(?:[^\W\d_]{1,14} ?)?#?(?:\d{1,2}|[A-H])\.?$")  # "Cut 1", "Option B", "3"


@dataclass(frozen=True)
class FoundTable:
    """A table: its header, empty if there is none, and the rows below it."""

    header: list[str]
    rows: list[list[str]]

    def titles(self, asked: int) -> list[str]:
        """The names: in the row that has them if things are side by side, else in the column."""
        if self._is_turned(asked):
            named = [row for row in self.rows if names_things(_cell(row, 0))]
            generic = all(PLACEHOLDER.match(_cell(self.header, at)) for at in range(1, len(self.header)))
            return named[0][1:] if generic and named else self.header[1:]
        column = self._naming_column()
        return [row[column] for row in self.rows if len(row) > column]

    def _is_turned(self, asked: int) -> bool:
        """Whether each column is a thing and each row an aspect of it."""
        if len(self.header) < 3:
            return False
        if _cell(self.header, 0).lower() in CORNER:
            return not names_things(_cell(self.header, 1))
        labels = [_cell(row, 0) for row in self.rows]
        if all(PLACEHOLDER.match(_cell(self.header, at)) for at in range(1, len(self.header))):
            return any(names_things(label) for label in labels)
        if self.header[0]:
            return False
        if 2 * sum(tells_about(_cell(self.header, at)) for at in range(1, len(self.header))) > asked:
            return False
        return len(self.header) == asked + 1 and (len(self.rows) != asked or 2 * sum(map(tells_about, labels)) > asked)

    def is_unclear(self, asked: int) -> bool:
        """Whether as many things are at the top as on the left, and nothing says which are meant."""
        return (
            self.header[:1] == [""] and len(self.header) - 1 == len(self.rows) == asked and not self._is_turned(asked)
        )

    def _naming_column(self) -> int:
        """The column in bold, or whose header says so, or the first; not one of ranks, wishes or reasons."""
        telling = sorted({at for row in self.rows for at in range(len(row)) if not _is_rank(_cell(row, at))})
        bold = [
            at for at in telling if len(self.rows) > 1 and all(BOLD_LINE.match(_cell(row, at)) for row in self.rows)
        ]
        heads = {at: _cell(self.header, at).strip("*_ ") for at in telling}
        first = next(iter(telling), 0)
        leads_on = bool(WISH.match(heads.get(first, "")) or tells_about(heads.get(first, "")))
        named = [at for at in telling if names_things(heads[at])] if leads_on or not heads.get(first) else []
        past = telling[1:] if leads_on else []
        return next(iter(bold or named or past or telling), 0)

    def names(self, items: Sequence[str]) -> bool:
        """Whether a cell names one of the items, or more or less of its name."""
        cells = {fold_name(strip_markup(cell)) for row in (self.header, *self.rows) for cell in row} - {""}
        return any(item in cell or cell in item for item in items for cell in cells)


def _cell(row: Sequence[str], at: int) -> str:
    return (
        strip_markup(row[at]).strip() if at < len(row) and not BOLD_LINE.match(row[at]) else "".join(row[at : at + 1])
    )


def _is_rank(cell: str) -> bool:
    bare = strip_markup(cell).strip(" .#)")
    return not bare or bare.isdigit()


def split_tables(lines: Sequence[str]) -> tuple[list[str], list[FoundTable]]:
    """Split the lines into those outside tables, and the tables."""
    outside: list[str] = []
    tables: list[FoundTable] = []
    at = 0
    while at < len(lines):
        if at and "|" in lines[at] and TABLE_RULE.match(lines[at].strip()):
            end = next((i for i in range(at + 1, len(lines)) if "|" not in lines[i]), len(lines))
            header = _cells(outside.pop()) if outside and "|" in outside[-1] else []
            tables.append(FoundTable(header, [row for row in map(_cells, lines[at + 1 : end]) if any(row)]))
            at = end
        else:
            outside.append(lines[at])
            at += 1
    for mark in ("\t", ","):
        if (apart := _set_apart(outside, mark)) is not None:
            tables.append(apart)
            outside = [line for line in outside if mark not in line.strip()]
    return outside, tables


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _set_apart(lines: Sequence[str], mark: str) -> FoundTable | None:
    """A table with cells separated by tabs, or by commas below a header that says so; else None."""
    rows = [[cell.strip().strip('"') for cell in line.strip().split(mark)] for line in lines if mark in line.strip()]
    if (
        len(rows) < 3
        or len(rows[0]) < 2
        or len({len(row) for row in rows}) > 1
        or NUMBER.match(rows[0][0])
        or BULLET.match(rows[0][0])
    ):
        return None
    known = [names_things(cell) or cell.lower() in ("#", "no", "no.", "rank", "id", "nr") for cell in rows[0]]
    if mark == "," and not (
        any(known) and all(one or tells_about(cell) for one, cell in zip(known, rows[0], strict=True))
    ):
        return None
    headed = any(known) or bool(WISH.match(rows[0][0]) or tells_about(rows[0][0]))
    return FoundTable(rows[0], rows[1:]) if headed else FoundTable([], rows)
