"""How a chatbot sets out items: the forms of lists, and tables with the column that names the items."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from surveys.reading.item_names import COLON, DASH, FOREWORD, cut_explanation, fold_name
from surveys.reading.item_sentences import CUE, NO_NAME
from surveys.reading.markup import (
    BOLD,
    BOLD_LINE,
    BULLET,
    HEADING,
    ITALIC,
    NUMBER,
    QUOTED,
    TABLE_RULE,
    bare_line,
    indent_of,
    strip_marker,
    strip_markup,
)
from surveys.reading.residue import strip_residue

TITLE_LENGTH = 80  # of a line without a mark: what is longer is a sentence
LINE_HEAD = 200  # a name stands within these characters of its line
LABEL = re.compile(
    r"^(?:\*\*|__)?(?:why|what|how|where|when|who|best for|known for|genre|director|starring|cast|year|price"
    r"|cost|location|address|pros?|cons?|note|tip|bonus|cuisine|rating|description|overview|details?|features?"
    r"|style|example|ingredients?|instructions?|directions?|method|steps?|platforms?|summary|plot"
    r"|warum|berufe|tipp|hinweis|fazit|preis|ort)\b[^:\n]{0,30}:",
    re.I,
)
# A further number within a line, by the mark after it, as in "1. Heat 2. Alien" and "1) Heat2) Alien".
INLINE = {
    ".": re.compile(r"(?:^|(?<=\s))(?<!No\.\s)(\d{1,2})\.\s+(?=[^\Wa-z])"),
    ")": re.compile(r"(?<![\d(#/.:-])(\d{1,2})\)\s?(?=\S)"),
    "-": re.compile(r"(?:^|(?<=[.!?:]\s)|(?<=[.!?:]\s\s))(\d{1,2})\s?-\s(?=\S)"),
}
LETTERED = re.compile(r"^\(?([A-Ja-j]|[ivx]{1,4})[.)]\s+(?=\S)")
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
ONLY = re.compile(r"^[*_(\[]{0,3}#?1\W(?!.*(?:;|\b2[.):]))")  # the number of a list of one
UNDOTTED = re.compile(r"^(\d{1,2})\s+(?=[A-Z])")

# A name that opens its paragraph as a sentence of its own, or as the subject of one.
OPENING = re.compile(r"^([A-Z][\w' -]{2,40})\.\s+[A-Z]")
SUBJECT = re.compile(
    r"^((?:[A-Z0-9][\w'.&+-]*|of|the|and)(?:[ ](?:[A-Z0-9][\w'.&+-]*|of|the|and|in)){0,5})(?:\s\([^()]{1,60}\))?"
    r"\s(?:is (?:an?|one|another|the)|allows|offers|provides|has an?|uses|lets|features)\s"
)

HEADER_CELL = re.compile(
    r"^(?:#|no\.?|rank|names?|titles?|items?|films?|movies?|songs?|books?|compan(?:y|ies)|restaurants?|majors?|style)$",
    re.I,
)
# Over a column of wishes, which stands before the column of what fulfils them.
WISH = re.compile(
    r"^(?:if|when|whenever|for|you|your|what|best for|mood|goal|need|looking for|wenn|falls|für|ziel|stimmung|si|se"
    r"|cuando|quand|quando)\b",
    re.I,
)

Lines = Sequence[str]
Numbered = tuple[int, int, str]  # indent, number, what follows it


# --- numbers


def _numbered_titles(lines: Lines) -> list[str]:
    """Lines that count upwards at the outermost level; numbers that start again are inside an item."""
    found: list[Numbered] = []
    for line in lines:
        found += _numbered(line, found[-1][1] if found else 0)
    if len(found) < 2:
        return []
    outer = min(indent for indent, _, _ in found)
    if outer > min((indent_of(line) for line in lines if BULLET.match(line.lstrip())), default=outer):
        return []
    bodies = _outer_bodies([(number, body) for indent, number, body in found if indent <= outer + 1])
    return [] if _are_questions(bodies) else _titles(bodies)


def _numbered(line: str, last: int) -> list[Numbered]:
    """The numbers that open the line or follow within it; one without its full stop where it is the next."""
    bare = bare_line(line)
    opened = NUMBER.match(bare)
    if opened is None:
        forgotten = UNDOTTED.match(bare)
        if forgotten and int(forgotten[1]) == last + 1 and (DASH.search(bare) or COLON.search(bare)):
            return [(indent_of(line), last + 1, bare[forgotten.end() :])]
        if last or not ("1." in bare or "1)" in bare):
            return []
    markers = (NUMBER.match(piece) for piece in _pieces(bare, opened))
    return [(indent_of(line), int(marker["number"]), _body(marker)) for marker in markers if marker]


def _pieces(line: str, opened: re.Match[str] | None) -> list[str]:
    """The line cut before each further number that has the mark of the first."""
    wanted = int(opened["number"]) + 1 if opened else 1
    mark = next((mark for mark in INLINE if mark in (opened[0] if opened else line)), "")
    if f"{wanted}{mark}" not in line and f"{wanted} {mark}" not in line:
        return [line]
    starts = [0] if opened else []
    for match in INLINE[mark].finditer(line, opened.end() if opened else 0) if mark else ():
        if int(match[1]) == wanted:
            starts.append(match.start())
            wanted += 1
    return [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)] if len(starts) > 1 else [line]


def _body(match: re.Match[str]) -> str:
    """What follows the number; the bold that opened before it, as in "**1. Tesla** made", is opened again."""
    opened, closed = match["open"].strip("(["), match["close"]
    rest = match.string[match.end() :]
    if opened:
        return rest if closed.startswith(opened) else opened + rest
    return closed + rest


def _outer_bodies(found: list[tuple[int, str]]) -> list[str]:
    """Markdown lets every item be "1.", and some count down; otherwise a 1 after a higher number is inside."""
    numbers = [number for number, _ in found]
    if len(set(numbers)) == 1 or numbers == list(range(len(numbers), 0, -1)):
        return [body for _, body in found]
    bold = [(number, body) for number, body in found if body.startswith(("**", "__"))]
    if len(bold) > 1 and [number for number, _ in bold] == list(range(bold[0][0], bold[0][0] + len(bold))):
        found = bold
    kept, expected = [], found[0][0]
    for number, body in found:
        if number >= expected:
            kept.append(body)
            expected = number + 1
    return kept


def _lettered_titles(lines: Lines) -> list[str]:
    """Lines that count "a)", "b)", "c)" or "i.", "ii.", "iii."."""
    found = [
        (match[1].lower(), line[match.end() :]) for line in map(str.strip, lines) if (match := LETTERED.match(line))
    ]
    counted = [mark for mark, _ in found]
    in_order = any(counted == list(order[: len(counted)]) for order in ("abcdefghij", ROMAN))
    return _titles([body for _, body in found]) if len(found) >= 2 and in_order else []


# --- bullets, headings, bold


def _bulleted_titles(lines: Lines) -> list[str]:
    found = [(indent_of(line), line.strip()) for line in lines if BULLET.match(line.strip())]
    if len(found) < 2:
        return []
    outer = min(indent for indent, _ in found)
    bodies = [BULLET.sub("", line) for indent, line in found if indent <= outer + 1]
    return [] if _are_labelled(bodies) or _are_questions(bodies) else _titles(bodies)


def grouped_titles(lines: Lines) -> list[str]:
    """The items one level below a list of bare groups, as "- Space" with "  - Alien" below it."""
    marked = [
        (indent_of(line), line.strip()) for line in lines if BULLET.match(line.strip()) or NUMBER.match(bare_line(line))
    ]
    outer = min((indent for indent, _ in marked), default=0)
    groups = [strip_marker(line).strip("*_ :") for indent, line in marked if indent <= outer + 1]
    below = [(indent, line) for indent, line in marked if indent > outer + 1]
    inner = min((indent for indent, _ in below), default=0)
    bodies = [strip_marker(line) for indent, line in below if indent <= inner + 1]
    bare = all(len(group.split()) <= 4 and not DASH.search(group) and not COLON.search(group) for group in groups)
    are_names = len(bodies) > len(groups) > 1 and not any(body[:1].islower() for body in bodies)
    if not bare or not are_names or _are_labelled(bodies) or _are_questions(bodies):
        return []
    return _titles(bodies)


def _are_labelled(bodies: Sequence[str]) -> bool:
    """Whether the bullets tell about one item each, as "Why: …" and "Mood: …" below every title."""
    labels = Counter(body.partition(":")[0].strip("*_ ").casefold() for body in bodies if ":" in body[:40])
    repeated = sum(count for count in labels.values() if count > 1)
    return 2 * max(repeated, sum(bool(LABEL.match(body)) for body in bodies)) > len(bodies)


def _are_questions(bodies: Sequence[str]) -> bool:
    """Whether the list asks, as a chatbot does that wants to know more; titles with a question mark are short."""
    return 2 * sum(body.rstrip().endswith("?") and len(body.split()) > 5 for body in bodies) > len(bodies)


def _headed_titles(lines: Lines) -> list[str]:
    """Headings, or lines that are bold from end to end, each with its paragraph or bullets below."""
    stripped = [line.strip() for line in lines]
    levels: dict[str, list[str]] = {}
    for line in stripped:
        if mark := HEADING.match(line):
            levels.setdefault(mark[0].strip(), []).append(line[mark.end() :])
    bold = [line for line in stripped if BOLD_LINE.match(line)]
    best = max(*levels.values(), [], bold, key=len)
    return _titles(best) if len(best) >= 2 else []


def _bold_titles(lines: Lines) -> list[str]:
    marked = [line.strip() for line in lines if "**" in line or "__" in line]
    opening = opening_bold(marked)
    anywhere = [match[2] for line in marked for match in BOLD.finditer(line)]
    found = opening if len(opening) >= 2 else anywhere
    return found if len(found) >= 2 else []


def opening_bold(lines: Lines) -> list[str]:
    """What is bold at the beginning of lines; what several lines begin with alike, or a label, tells about an item."""
    opening = [(match[2], line) for line in map(str.strip, lines) if (match := BOLD.match(line))]
    often = Counter(title for title, _ in opening)
    return [title for title, line in opening if often[title] == 1 and not LABEL.match(line)]


def _single_title(lines: Lines) -> list[str]:
    """One list line, as when only the first was copied; the prose around it names nothing."""
    marked = [line.strip() for line in lines if NUMBER.match(bare_line(line)) or BULLET.match(line.strip())]
    titles = _titles([strip_marker(marked[0])]) if len(marked) == 1 else []
    alone = len(lines) == 1 and not (ONLY.match(bare_line(lines[0])) and _are_names(titles))
    return [] if alone else titles


def _are_names(titles: Sequence[str]) -> bool:
    """Whether none is a sentence, which may recommend or enumerate."""
    return all(
        _is_bare_name(title)
        and "," not in title
        and NO_NAME.isdisjoint(title.casefold().split()[:1])
        and not CUE.search(title.lower())
        for title in titles
    )


# --- lines


def _quoted_titles(lines: Lines) -> list[str]:
    """Paragraphs that open with a title in quotes; what ends like a sentence is somebody's words."""
    opening = [match[1] for line in lines if (match := QUOTED.match(line.strip()))]
    return opening if len(opening) >= 2 and not any(title[-1] in ".!?" for title in opening) else []


def _titled_lines(lines: Lines) -> list[str]:
    """Lines such as "Tesla: electric cars" or plain names: a list that lost its markers in copying."""
    texts = [line.strip() for line in strip_residue("\n".join(lines)).splitlines() if line.strip()]
    titles = [title for line in texts if (title := _opening_title(line))]
    if len(titles) >= 2:
        return _titles(titles)
    above = [line for line, below in pairwise(texts) if _is_bare_name(line) and _is_sentence(below)]
    if len(above) >= 3:
        return above
    opening = [match[1] for line in texts if (match := OPENING.match(line))]
    if len(opening) >= 3:
        return opening
    short = [line for line in texts if _is_bare_name(line)]
    return short if len(short) >= 3 and len(short) >= len(texts) - 2 else []


def _is_bare_name(line: str) -> bool:
    return len(line.split()) <= 6 and not line.endswith((":", "?", "!", "."))


def _is_sentence(line: str) -> bool:
    return len(line.split()) > 3 and line.endswith((".", "!"))


def _opening_title(line: str) -> str:
    """The line, where a short name and a dash or a colon open it, or the name alone, where its verb follows."""
    head = line[:TITLE_LENGTH]
    cut = min((match.start() for match in (DASH.search(head), COLON.search(head)) if match), default=0)
    if 0 < cut < len(line) - 1 and len(line[:cut].split()) <= 6:
        return line
    verb = SUBJECT.match(head)
    return verb[1] if verb and verb[1].split()[0].lower() not in NO_NAME else ""


# Tried in this order: where none has the asked number, the first form that is there names the items.
FORMS: dict[str, Callable[[Lines], list[str]]] = {
    "numbered": _numbered_titles,
    "lettered": _lettered_titles,
    "bulleted": _bulleted_titles,
    "headed": _headed_titles,
    "bold": _bold_titles,
    "single": _single_title,
    "quoted": _quoted_titles,
    "lines": _titled_lines,
}


def _titles(bodies: Sequence[str]) -> list[str]:
    """The names at the heads of the lines; a colon that all of them have is no subtitle's."""
    bodies = [FOREWORD.sub("", body.strip()[:LINE_HEAD]) for body in bodies]
    marked = [_marked_title(body) for body in bodies]
    plain = [body for body, title in zip(bodies, marked, strict=True) if not title]
    colons = len(plain) >= 3 and all(COLON.search(body, 1) and not DASH.search(body, 1) for body in plain)
    return [title or _plain_title(body, colons) for body, title in zip(bodies, marked, strict=True)]


def _marked_title(body: str) -> str:
    """The name that is set off by bold, italics or quotes at the head of a list line."""
    for mark, group in ((BOLD, 2), (ITALIC, 2), (QUOTED, 1)):
        if match := mark.match(body):
            return match[group]
    return ""


def _plain_title(body: str, colons: bool) -> str:
    body = strip_markup(body)
    colon = COLON.search(body, 1) if colons else None
    return cut_explanation(body[: colon.start()] if colon else body)


# --- tables: of markdown, or copied from a page with tabs


@dataclass(frozen=True)
class FoundTable:
    """The header, empty where there is none, and the rows below it."""

    header: list[str]
    rows: list[list[str]]

    def titles(self, asked: int) -> list[str]:
        """The column that names the items: not ranks, nor what is wished for, and in bold where one is.

        Where the corner is empty and the header has the asked number, the header names them.
        """
        if self.header[:1] == [""] and len(self.header) == asked + 1 != len(self.rows) + 1:
            return self.header[1:]
        columns = range(max(map(len, self.rows), default=0))
        telling = [at for at in columns if not all(_is_rank(_cell(row, at)) for row in self.rows)]
        bold = [
            at for at in telling if len(self.rows) > 1 and all(BOLD_LINE.match(_cell(row, at)) for row in self.rows)
        ]
        past_wishes = telling[1:] if telling and WISH.match(_cell(self.header, telling[0])) else []
        column = next(iter(bold or past_wishes or telling), 0)
        return [row[column] for row in self.rows if len(row) > column]

    def names(self, items: Sequence[str]) -> bool:
        """Whether a cell names one of the items, or more or less of its name."""
        cells = {fold_name(strip_markup(cell)) for row in self.rows for cell in row} - {""}
        return any(item in cell or cell in item for item in items for cell in cells)


def _cell(row: Sequence[str], at: int) -> str:
    return (
        strip_markup(row[at]).strip() if at < len(row) and not BOLD_LINE.match(row[at]) else "".join(row[at : at + 1])
    )


def _is_rank(cell: str) -> bool:
    bare = strip_markup(cell).strip(" .#)")
    return not bare or bare.isdigit()


def split_tables(lines: Sequence[str]) -> tuple[list[str], list[FoundTable]]:
    """The lines outside of tables, and the tables."""
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
    tabbed = _tabbed(outside)
    return (
        (outside, tables)
        if tabbed is None
        else ([line for line in outside if "\t" not in line.strip()], [*tables, tabbed])
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _tabbed(lines: Sequence[str]) -> FoundTable | None:
    rows = [[cell.strip() for cell in line.strip().split("\t")] for line in lines if "\t" in line.strip()]
    if (
        len(rows) < 3
        or len(rows[0]) < 2
        or len({len(row) for row in rows}) > 1
        or NUMBER.match(rows[0][0])
        or BULLET.match(rows[0][0])
    ):
        return None
    headed = any(HEADER_CELL.match(cell) for cell in rows[0]) or bool(WISH.match(rows[0][0]))
    return FoundTable(rows[0], rows[1:]) if headed else FoundTable([], rows)
