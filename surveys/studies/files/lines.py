"""Where in a study file a table or key stands, so that a fault can name its line."""

import re

KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
DOTTED = rf"{KEY}(?:[ \t]*\.[ \t]*{KEY})*"
HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*({DOTTED})[ \t]*\]")
ASSIGNMENT = re.compile(rf"[ \t]*({DOTTED})[ \t]*=")
# What can hold a bracket, a quote or a line end without meaning it: strings and comments.
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


def find_lines(text: str) -> dict[str, int]:
    """Line number by place (`prompts[3].kind`, counted from 1) for text that is valid TOML."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, statement in _statements(text):
        if header := HEADER.match(statement):
            table = _open_table(header, counts)
            lines.setdefault(table.partition("[")[0], number)
            lines[table] = number
        elif assignment := ASSIGNMENT.match(statement):
            lines[_join(table, _parts(assignment[1]))] = number
    return lines


def line_of(place: str, lines: dict[str, int]) -> int | None:
    """The line of a place, or of the nearest table around it that stands in the file."""
    while place:
        if place in lines:
            return lines[place]
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    return None


def join_place(table: str, key: str) -> str:
    """A place written as in messages; a key of unusual characters is quoted."""
    shown = key if PLAIN_KEY.fullmatch(key) else f'"{key}"'
    return f"{table}.{shown}" if table else shown


def _statements(text: str) -> list[tuple[int, str]]:
    """Each header or assignment with the number of the line on which it starts."""
    found = []
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
                found.append((first, text[start : token.start()]))
                start, first = token.end(), line
    found.append((first, text[start:]))
    return found


def _open_table(header: re.Match[str], counts: dict[str, int]) -> str:
    """The place of a header: `[cells.where]` below the second `[[cells]]` is `cells[2].where`."""
    place = ""
    *around, last = _parts(header[2])
    for part in around:
        place = _numbered(join_place(place, part), counts)
    place = join_place(place, last)
    if header[1] == "[[":
        counts[place] = counts.get(place, 0) + 1
    return _numbered(place, counts)


def _numbered(place: str, counts: dict[str, int]) -> str:
    return f"{place}[{counts[place]}]" if place in counts else place


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(KEY, dotted)]


def _join(table: str, parts: list[str]) -> str:
    for part in parts:
        table = join_place(table, part)
    return table
