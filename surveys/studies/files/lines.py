"""The lines of tables and keys in a study file, for messages about faults; and the types of its misfits."""

import re
from collections.abc import Iterator
from functools import lru_cache, reduce
from typing import Any, NamedTuple

KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
DOTTED = rf"{KEY}(?:[ \t]*\.[ \t]*{KEY})*"
HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*({DOTTED})[ \t]*\]")
ASSIGNMENT = re.compile(rf"[ \t]*({DOTTED})[ \t]*=")
# Strings and comments, in which brackets, quotes and line ends mean nothing; and brackets and line ends outside them.
TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}\n]",
    re.DOTALL,
)
PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")

# The content of a file as read; a misfit's place and its message, which continues the place.
Study = dict[str, Any]
Misfit = tuple[str, str]
Misfits = Iterator[Misfit]


def numbered(study: Study, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each entry of a list with its place."""
    for count, entry in enumerate(study[name], 1):
        yield f"{name}[{count}]", entry


class Statement(NamedTuple):
    """A header, an assignment, or a line that is neither, with an empty place; `end` is before the line end."""

    place: str
    is_header: bool
    line: int
    start: int
    end: int


def find_lines(text: str) -> dict[str, int]:
    """The line number of each place (`prompts[3].kind`, counted from 1) in a text that is valid TOML."""
    lines: dict[str, int] = {}
    for statement in statements(text):
        if statement.is_header:
            lines.setdefault(statement.place.partition("[")[0], statement.line)
        if statement.place:
            lines[statement.place] = statement.line
    return lines


@lru_cache(maxsize=4)
def statements(text: str) -> tuple[Statement, ...]:
    """All statements of a text that is valid TOML, in order."""
    return tuple(_statements(text))


def _statements(text: str) -> Iterator[Statement]:
    counts: dict[str, int] = {}
    table = ""
    for line, start, end in _spans(text):
        written = text[start:end]
        if header := HEADER.match(written):
            table = _open_table(header, counts)
            yield Statement(table, True, line, start, end)
        elif assignment := ASSIGNMENT.match(written):
            yield Statement(reduce(join_place, parts_of(assignment[1]), table), False, line, start, end)
        else:
            yield Statement("", False, line, start, end)


def line_of(place: str, lines: dict[str, int]) -> int | None:
    """The line of a place, or of the nearest table around it that is in the file; None if there is none."""
    while place:
        if place in lines:
            return lines[place]
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    return None


def join_place(table: str, key: str) -> str:
    """Write a place as messages do; a key of unusual characters is quoted."""
    shown = key if PLAIN_KEY.fullmatch(key) else f'"{key}"'
    return f"{table}.{shown}" if table else shown


def _spans(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield for each statement the number of its first line, its start and its end."""
    start, line, depth = 0, 1, 0
    first = 1
    for token in TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        elif token[0] != "\n":
            line += token[0].count("\n")
        else:
            line += 1
            if depth == 0:
                yield first, start, token.start()
                start, first = token.end(), line
    yield first, start, len(text)


def _open_table(header: re.Match[str], counts: dict[str, int]) -> str:
    """The place of a header: `[cells.where]` below the second `[[cells]]` is `cells[2].where`."""
    place = ""
    *around, last = parts_of(header[2])
    for part in around:
        place = _numbered(join_place(place, part), counts)
    place = join_place(place, last)
    if header[1] == "[[":
        counts[place] = counts.get(place, 0) + 1
    return _numbered(place, counts)


def _numbered(place: str, counts: dict[str, int]) -> str:
    return f"{place}[{counts[place]}]" if place in counts else place


def parts_of(dotted: str) -> list[str]:
    """The parts of a dotted key, without their quotes."""
    return [part.strip("\"'") for part in re.findall(KEY, dotted)]
