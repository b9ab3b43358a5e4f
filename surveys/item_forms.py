"""How a chatbot sets out a list: the forms in which an answer names its items."""

import re
from collections.abc import Callable, Sequence

TITLE_WORDS = 12
MOST_SENTENCES = 60

NUMBER = re.compile(
    r"^(?P<open>[*_(\[]{0,3})(?:#|no\.? ?)?(?P<number>\d{1,2})(?:\u20e3|[.):\]]+(?!\d)"
    r"|\s?[-\u2013\u2014](?=\s))(?P<close>[*_]*)\s*",
    re.I,
)
BULLET = re.compile(r"^(?:[-*+\u2022\u25cf\u25cb\u25e6\u25aa\u2023\u00b7\u2043\u2013\u2014\u27a4\u2192]\s+|\u2022)")
HEADING = re.compile(r"^#{1,6}\s+")
BOLD = re.compile(r"(\*\*|__)(?=\S)([^*\n]{1,200}?)\1")
BOLD_LINE = re.compile(r"^(\*\*|__)([^*\n]{1,120})\1[:.]?$")
LINK = re.compile(r"!?\[([^\]\n]{1,300})\]\((?:[^()\s]|\([^()\s]*\)){0,500}(?:\s\"[^\"\n]{0,200}\")?\)")
CITATION = re.compile(
    r"\u3010[^\u3011\n]{0,80}\u3011|\[\d{1,3}\](?!\()|:contentReference\[[^\]\n]{0,80}\](?:\{[^}\n]{0,80}\})?"
)
TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
TABLE_RULE = re.compile(r"^\|?[\s:|+-]*-{2,}[\s:|+-]*$")
LABEL = re.compile(
    r"^(?:\*\*|__)?(?:why|what|how|where|when|who|best for|known for|genre|director|starring|cast|year|price"
    r"|cost|location|address|pros?|cons?|note|tip|bonus|cuisine|rating|description|overview|details?|features?"
    r"|style|example|ingredients?|instructions?|directions?|method|steps?|platforms?|summary|plot)\b[^:\n]{0,30}:",
    re.I,
)
DASH = re.compile(r"\s+[-\u2013\u2014\u2015]+\s+|\s*[\u2014\u2015]\s*|\s+\u2013|\s*--+\s*")
COLON = re.compile(r"\s*[:\uff1a](?:\s+|$)|\uff1a")
QUOTED = re.compile(
    r"^[\"\u201c\u00ab\u300c\u300e\u2018']([^\"\u201d\u00bb\u300d\u300f\u2019\n]{1,120})"
    r"[\"\u201d\u00bb\u300d\u300f\u2019'](?!\w)"
)
EXPLAINING = re.compile(
    r"(?:,\s+|\s+)(?:which|who|where|because|since|is an?|are an?|is the|was an?|offers?|provides?"
    r"|features?|has an?|lets|allows)\s"
    r"|,\s+(?:an?|the|with|made|known|featuring|starring|directed|based|located)\s|[.;!?]\s",
    re.I,
)
SYMBOLS = str.maketrans(dict.fromkeys("\u2122\u00ae\u00a9\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f\u00ad\u200e\u200f"))
MARKUP = str.maketrans({"*": None, "`": None, "\u2019": "'", "\u2018": "'", "\u2010": "-", "\u2011": "-"})
_QUOTES = "\"'\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f"
EDGES = _QUOTES + " \t\r\n.,;:!?\u3002\u3001\uff0c\uff01_~#>|-\u2013\u2014\u00b7\u2022&"
INTRODUCTION = re.compile(
    r"\b(?:recommend|suggest|try|consider|are|include|includes|including|like|such as|follows|be|love"
    r"|enjoy)\b:?\s+",
    re.I,
)
SEPARATOR = re.compile(
    r"\s*(?:[,;\u3001\uff0c\u060c]|\n)\s*(?:and\s+|or\s+|y\s+|et\s+|und\s+)?|\s+(?:and|or|&|y|et|und)\s+"
)


def find_titles(text: str, prose: bool = True) -> list[str]:
    """The items that `text` names, as it names them; without `prose` only those set out as a list."""
    lines = _split_lines(text)
    for find in FORMS if prose else FORMS[:-1]:
        titles = find(lines)
        if titles:
            return titles
    return []


def _split_lines(text: str) -> list[str]:
    text = CITATION.sub("", TAG.sub(" ", LINK.sub(r"\1", text.translate(SYMBOLS))))
    return [line.expandtabs(4).rstrip() for line in re.split(r"\r\n|[\n\r\u2028\u2029]", text)]


def _table_titles(lines: Sequence[str]) -> list[str]:
    """First telling column of a markdown table, or of one that was copied from a page with tabs."""
    for at, line in enumerate(lines):
        if at and "|" in line and TABLE_RULE.match(line.strip()):
            return _first_column([row for row in _rows_below(lines, at) if row])
    return []


def _rows_below(lines: Sequence[str], at: int) -> list[list[str]]:
    rows = []
    for line in lines[at + 1 :]:
        if "|" not in line:
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return rows


def _first_column(rows: list[list[str]]) -> list[str]:
    numbered = all(
        not strip_markup(row[0]).strip(" .#)") or strip_markup(row[0]).strip(" .#)").isdigit() for row in rows
    )
    column = 1 if numbered else 0
    return [row[column] for row in rows if len(row) > column]


def _numbered_titles(lines: Sequence[str]) -> list[str]:
    """Lines that count upwards at the outermost level; numbers that start again are inside an item."""
    found = [(_indent(line), match) for line in lines if (match := NUMBER.match(_bare(line)))]
    if len(found) < 2:
        return []
    outer = min(indent for indent, _ in found)
    bodies = [(int(match["number"]), _body(match)) for indent, match in found if indent <= outer + 1]
    return _titles(_drop_inner(bodies))


def _body(match: re.Match[str]) -> str:
    """What follows the number; the bold that opened before it, as in "**1. Tesla** made", is opened again."""
    opened, closed = match["open"].strip("(["), match["close"]
    rest = match.string[match.end() :]
    if opened:
        return rest if closed.startswith(opened) else opened + rest
    return closed + rest


def _drop_inner(bodies: list[tuple[int, str]]) -> list[str]:
    """Markdown lets every item be "1."; otherwise a 1 after a higher number opens an inner list."""
    if len({number for number, _ in bodies}) == 1:
        return [body for _, body in bodies]
    kept, expected = [], bodies[0][0]
    for number, body in bodies:
        if number >= expected:
            kept.append(body)
            expected = number + 1
    return kept


def _bulleted_titles(lines: Sequence[str]) -> list[str]:
    found = [(_indent(line), line.strip()) for line in lines if BULLET.match(line.strip())]
    if len(found) < 2:
        return []
    outer = min(indent for indent, _ in found)
    bodies = [BULLET.sub("", line) for indent, line in found if indent <= outer + 1]
    labelled = sum(bool(LABEL.match(body)) for body in bodies)
    return [] if labelled * 2 > len(bodies) else _titles(bodies)


def _headed_titles(lines: Sequence[str]) -> list[str]:
    """Headings, or lines that are bold from end to end, each with its paragraph or bullets below."""
    stripped = [line.strip() for line in lines]
    headings = [HEADING.sub("", line) for line in stripped if HEADING.match(line)]
    bold = [line for line in stripped if BOLD_LINE.match(line)]
    best = max(headings, bold, key=len)
    return _titles(best) if len(best) >= 2 else []


def _bold_titles(lines: Sequence[str]) -> list[str]:
    opening = [match[2] for line in lines if (match := BOLD.match(line.strip()))]
    anywhere = [match[2] for line in lines for match in BOLD.finditer(line)]
    found = opening if len(opening) >= 2 else anywhere
    return found if len(found) >= 2 else []


def _single_title(lines: Sequence[str]) -> list[str]:
    """One list line alone, as when only the first was copied; the prose around it names nothing."""
    marked = [line.strip() for line in lines if NUMBER.match(_bare(line)) or BULLET.match(line.strip())]
    return _titles([strip_marker(marked[0])]) if len(marked) == 1 and len(lines) > 1 else []


def _titled_lines(lines: Sequence[str]) -> list[str]:
    """Lines such as "Tesla: electric cars" or plain names: a list that lost its markers in copying."""
    texts = [line.strip() for line in lines if line.strip()]
    titled = [line for line in texts if _has_title(line)]
    if len(titled) >= 2:
        return _titles(titled)
    short = [line for line in texts if len(line.split()) <= 6 and not line.endswith((":", "?", "!", "."))]
    return short if len(short) >= 3 and len(short) >= len(texts) - 2 else []


def _has_title(line: str) -> bool:
    cut = min((m.start() for m in (DASH.search(line), COLON.search(line)) if m), default=0)
    return 0 < cut < len(line.rstrip()) - 1 and len(line[:cut].split()) <= 6


def _prose_titles(lines: Sequence[str]) -> list[str]:
    """The enumerations of its sentences, else one short answer; prose without either names nothing."""
    text = " ".join(line.strip() for line in lines if line.strip())
    if not text:
        return []
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)[:MOST_SENTENCES]
    named = [_enumeration(sentence) for sentence in sentences]
    introduced = [
        name
        for sentence, names in zip(sentences, named, strict=True)
        if INTRODUCTION.search(sentence)
        for name in names
    ]
    best = max((introduced, *named), key=len)
    if len(best) >= 2:
        return best
    return [text] if len(text.split()) <= 6 and not text.endswith("?") else []


def _enumeration(sentence: str) -> list[str]:
    start = max((m.end() for m in INTRODUCTION.finditer(sentence)), default=0)
    parts = [part.strip(EDGES) for part in SEPARATOR.split(sentence[start:])]
    names = [part for part in parts if part and len(part.split()) <= 6]
    enough = 3 if start == 0 else 2
    return names if len(names) >= enough and len(names) >= len(parts) - 1 else []


# Tried in this order: the first form that is there is the one in which the answer names its items.
FORMS: tuple[Callable[[Sequence[str]], list[str]], ...] = (
    _table_titles,
    _numbered_titles,
    _bulleted_titles,
    _headed_titles,
    _bold_titles,
    _single_title,
    _titled_lines,
    _prose_titles,
)


def _titles(bodies: Sequence[str]) -> list[str]:
    return [_title(body) for body in bodies]


def _title(body: str) -> str:
    """The name at the head of a list line: what is bold or quoted, else what precedes the explanation."""
    body = body.strip()
    bold = BOLD.match(body)
    if bold:
        return bold[2]
    quoted = QUOTED.match(strip_markup(body))
    if quoted:
        return quoted[1]
    return cut_explanation(strip_markup(body))


def cut_explanation(item: str) -> str:
    """Cut at the first dash or explaining colon; a long rest is also cut where a clause begins to explain."""
    dash = DASH.search(item, 1)
    if dash:
        item = item[: dash.start()]
    colon = COLON.search(item, 1)
    if colon and not _is_subtitle(item[colon.end() :]):
        item = item[: colon.start()]
    clause = EXPLAINING.search(item, 1) if len(item.split()) > 5 else None
    item = item[: clause.start()] if clause else item
    return " ".join(item.split()[:TITLE_WORDS])


def _is_subtitle(rest: str) -> bool:
    """True of "Avatar: The Way of Water", one title; not of "Tesla: makes electric cars"."""
    words = rest.strip(EDGES).split()
    long = [word for word in words if len(word) > 3]
    return (
        0 < len(words) <= 6 and bool(long) and all(not word[0].islower() for word in long) and rest.rstrip()[-1:] != "."
    )


def strip_marker(line: str) -> str:
    """The line without its bullet, heading mark or number."""
    return NUMBER.sub("", BULLET.sub("", HEADING.sub("", line)))


def strip_markup(text: str) -> str:
    return LINK.sub(r"\1", TAG.sub(" ", text)).translate(MARKUP).strip().lstrip("#>~ ")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _bare(line: str) -> str:
    """The line without what may stand before its number: heading marks and the marks of a quoted reply."""
    return line.strip().lstrip("#>").strip()
