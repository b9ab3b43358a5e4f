"""The forms of lists in which chatbots name items, and the names in their lines."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from surveys.reading.item_sentences import CUE, NO_NAME
from surveys.reading.markup import (
    BOLD,
    BOLD_LINE,
    BULLET,
    COLON,
    DASH,
    EDGES,
    FOREWORD,
    HEADING,
    ITALIC,
    NUMBER,
    QUOTED,
    bare_line,
    cut_explanation,
    explaining_colon,
    indent_of,
    strip_marker,
    strip_markup,
)
from surveys.reading.residue import strip_residue
from surveys.reading.words import AWARD, DETAIL, QUANTITY, QUESTION, SECTION, SPEAKERS, TIME, is_kind, is_step

TITLE_WORDS = 7  # of a name that is recognised by its capitals
TITLE_LENGTH = 80  # of a line without a mark: a longer one is a sentence
LINE_HEAD = 200  # a name is within these characters of its line
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
ARROW = re.compile(r"\s(?:→|=>|->)\s")
# A source at the end of a line: a site, or a name behind its number or before how many more there are.
SOURCED = re.compile(
    r"(?<!\s)\s++(?:\d{1,2}\s+[^\s\d][^\d+]{1,30}?\+\d{1,2}|[\w.-]{2,40}\.[a-z]{2,4}(?:\+\d{1,2})?|[^\W\d]\S{1,30}\+\d{1,2})\s*$"
)
SET_OFF = re.compile(
    r"^[^*_\"\u201c\u201e\u00ab:\n]{2,60}?(?::|\s[-\u2013\u2014\u2192])\s+(?=[*_\"\u201c\u201e\u00ab])"
)
SAID = re.compile(r"^[\"\u201c\u201e\u00ab*_].{0,80}[\"\u201d\u00bb*_]\s+(?!by\b|von\b|de\b|[(\u2013\u2014-])\w")
STUCK = re.compile(r"(?<=[^\W\d_])(\d{1,2})\s*$")
FROM_SOURCE = re.compile(r"(?<!\s)\s++\d{1,2}\s+[A-Z][\w.]*(?:\s[A-Z][\w.]*){0,2}\s*$")
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
ONLY = re.compile(r"^[*_(\[]{0,3}#?1\W(?!.*(?:;|\b2[.):]))")  # the number of a list of one
UNDOTTED = re.compile(r"^(\d{1,2})\s+(?=[A-Z])")

# A name that opens its paragraph as a sentence of its own, or as the subject of one.
OPENING = re.compile(r"^([A-Z][\w' -]{2,40})\.\s+[A-Z]")
SUBJECT = re.compile(
    r"^((?:[A-Z0-9][\w'.&+-]*|of|the|and)(?:[ ](?:[A-Z0-9][\w'.&+-]*|of|the|and|in)){0,5})(?:\s\([^()]{1,60}\))?"
    r"\s(?:is (?:an?|one|another|the)|allows|offers|provides|has an?|uses|lets|features)\s"
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
    """The numbers that open the line or follow within it; one without its full stop if it is the next."""
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
    """Cut the line before each further number that has the mark of the first."""
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
    """The line after its number; bold that opened before it, as in "**1. Tesla** made", is opened again."""
    opened, closed = match["open"].strip("([\uff08"), match["close"]
    rest = match.string[match.end() :]
    if opened:
        return rest if closed.startswith(opened) else opened + rest
    return closed + rest


def _outer_bodies(found: list[tuple[int, str]]) -> list[str]:
    """Leave out inner lists, which begin with 1 again; but in Markdown every item may be "1.", and some count down."""
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
    """The items one level below a list of bare groups, such as "- Space" with "  - Alien" below it."""
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
    """Whether the bullets describe an item, as "Why: …" and "Mood: …" do below every title."""
    labels = Counter(body.partition(":")[0].strip("*_ ").casefold() for body in bodies if ":" in body[:40])
    repeated = sum(count for label, count in labels.items() if count > 1 and not TIME.match(label))
    return 2 * max(repeated, sum(bool(LABEL.match(body)) for body in bodies)) > len(bodies)


def _are_questions(bodies: Sequence[str]) -> bool:
    """Whether the list asks, because the chatbot wants to know more; titles with a question mark are short."""
    return 2 * sum(body.rstrip().endswith("?") and len(body.split()) > 5 for body in bodies) > len(bodies)


def _headed_titles(lines: Lines) -> list[str]:
    """Headings, or lines that are bold from end to end, each with its paragraph or bullets below."""
    stripped = [line.strip() for line in lines]
    levels: dict[str, list[str]] = {}
    for line in stripped:
        if mark := HEADING.match(line):
            levels.setdefault(mark[0].strip(), []).append(line[mark.end() :])
    bold = [line for line in stripped if BOLD_LINE.match(line)]
    best = max(map(_without_sections, (*levels.values(), [], bold)), key=len)
    return _titles([strip_marker(heading) for heading in best]) if len(best) >= 2 else []


def _without_sections(headings: Sequence[str]) -> list[str]:
    """The headings that may be items: those with a number if two have one, and none over the whole answer."""
    numbered = [heading for heading in headings if NUMBER.match(bare_line(heading))]
    bare = [(heading, strip_markup(strip_marker(heading))) for heading in (numbered if len(numbered) > 1 else headings)]
    return [heading for heading, said in bare if not (SECTION.match(said) or QUESTION.match(said))]


def _bold_titles(lines: Lines) -> list[str]:
    marked = [line.strip() for line in lines if "**" in line or "__" in line]
    opening = opening_bold(marked)
    anywhere = [match[2] for line in marked for match in BOLD.finditer(line) if not SECTION.match(match[2])]
    found = opening if len(opening) >= 2 else anywhere
    return found if len(found) >= 2 else []


def opening_bold(lines: Lines) -> list[str]:
    """Bold beginnings of lines, without labels and repetitions, which describe an item."""
    opening = [(match[2], line) for line in map(str.strip, lines) if (match := BOLD.match(line))]
    often = Counter(title for title, _ in opening)
    kept = [(title, line) for title, line in opening if often[title] == 1 and not LABEL.match(line)]
    kept = [(title, line) for title, line in kept if not SECTION.match(title)]
    return _behind_awards([line for _, line in kept]) or [title for title, _ in kept]


def _single_title(lines: Lines) -> list[str]:
    """The name in the only list line, as if only the first was copied; the prose around it names nothing."""
    marked = [line.strip() for line in lines if NUMBER.match(bare_line(line)) or BULLET.match(line.strip())]
    bodies = [body for line in marked if not (SECTION.match(body := strip_marker(line)) or is_step(body))]
    titles = _titles(bodies) if len(marked) == 1 else []
    alone = len(lines) == 1 and not (ONLY.match(bare_line(lines[0])) and _are_names(titles))
    return [] if alone else titles


def _are_names(titles: Sequence[str]) -> bool:
    """Whether none of the titles is a sentence, which may recommend or enumerate."""
    return all(
        _is_bare_name(title)
        and "," not in title
        and NO_NAME.isdisjoint(title.casefold().split()[:1])
        and not CUE.search(title.lower())
        for title in titles
    )


# --- lines


def _quoted_titles(lines: Lines) -> list[str]:
    """Paragraphs that open with a title in quotes; one that ends like a sentence is a quotation."""
    opening = [match[1] for line in lines if (match := QUOTED.match(line.strip()))]
    return opening if len(opening) >= 2 and not any(title[-1] in ".!?" for title in opening) else []


def _titled_lines(lines: Lines) -> list[str]:
    """Lines such as "Tesla: electric cars" or plain names: a list that lost its markers in copying."""
    bare = strip_residue("\n".join(lines)).splitlines()
    if carded := _carded(bare):
        return carded
    texts = [line.strip() for line in bare if line.strip() and not _is_no_title(line.strip())]
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


def _is_no_title(line: str) -> bool:
    """Whether a line asks, is an ingredient, or is spoken by somebody in a dialogue."""
    return (
        line.endswith("?") or bool(QUANTITY.match(line)) or line.partition(":")[0].strip("*_[]<>").lower() in SPEAKERS
    )


def _carded(lines: Lines) -> list[str]:
    """The first lines of paragraphs such as a shop's or map's cards; without paragraphs, the lines above prices."""
    paragraphs = [paragraph.splitlines() for paragraph in "\n".join(map(str.strip, lines)).split("\n\n")]
    opening = [lines[0] for lines in paragraphs if len(lines) > 1]
    opening = [line for line in opening if _is_bare_name(line) and not (COLON.search(line) or DETAIL.match(line))]
    below = Counter(_head_of(line) for lines in paragraphs for line in lines[1:])
    are_groups = sum(count == 1 for head, count in below.items() if head) > len(opening)
    if len(opening) >= 3 and not are_groups:
        return opening
    texts = [line.strip() for line in lines if line.strip()]
    cards = [line for line, below in pairwise(texts) if DETAIL.match(below) and not DETAIL.match(line)]
    return cards if len(cards) >= 3 else []


def _head_of(line: str) -> str:
    """The words before a line's dash or colon, folded; empty if there are none."""
    return _plain_title(line, 2).casefold() if _opening_title(line) and not DETAIL.match(line) else ""


def _is_bare_name(line: str) -> bool:
    return len(line.split()) <= 6 and not line.endswith((":", "?", "!", "."))


def _is_sentence(line: str) -> bool:
    return len(line.split()) > 3 and line.endswith((".", "!"))


def _opening_title(line: str) -> str:
    """The line, if a short name and a dash or colon open it; the name alone, if its verb follows; else empty."""
    head = line[:TITLE_LENGTH]
    cut = min((match.start() for match in (DASH.search(head), COLON.search(head)) if match), default=0)
    if 0 < cut < len(line) - 1 and len(line[:cut].split()) <= 6:
        return "" if line.endswith(":") else line
    verb = SUBJECT.match(head)
    return verb[1] if verb and verb[1].split()[0].lower() not in NO_NAME else ""


# Tried in this order: if none has the asked number, the first form that is there names the items.
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
    """The names at the heads of the lines."""
    bodies = [FOREWORD.sub("", body.strip()[:LINE_HEAD]) for body in _uncited(bodies)]
    bodies = _behind_awards(bodies) or _behind_leads(bodies) or bodies
    marked = [_marked_title(body) for body in bodies]
    plain = [body for body, title in zip(bodies, marked, strict=True) if not title]
    counts = [0 if DASH.search(body, 1) else len([*COLON.finditer(body, 1)]) for body in plain]
    colons = min(counts) if len(plain) >= 3 else 0
    return [title or _plain_title(body, colons) for body, title in zip(bodies, marked, strict=True)]


def _behind_awards(bodies: Sequence[str]) -> list[str]:
    """The lines after their verdicts, as in "Best overall: Apple", if most open with one; else nothing."""
    found = [_award(body) for body in bodies]
    return (
        [rest or body for rest, body in zip(found, bodies, strict=True)]
        if 2 * sum(map(bool, found)) > len(bodies)
        else []
    )


def _behind_leads(bodies: Sequence[str]) -> list[str]:
    """The names set off behind leads, as in "For snow: **Fargo**", if most lines have one; else nothing."""
    found = [_set_off(body) for body in bodies]
    enough = len(bodies) > 1 and 2 * sum(map(bool, found)) > len(bodies)
    return [rest or body for rest, body in zip(found, bodies, strict=True)] if enough else []


def _set_off(body: str) -> str:
    """The rest of a line from its first bold, italics or quotes on, if a plain lead precedes it; else empty."""
    lead = SET_OFF.match(body)
    if not lead or _marked_title(body):
        return ""
    rest = body[lead.end() :]
    title = _marked_title(rest)
    is_bold = bool(BOLD.match(rest))
    return rest if title and (is_bold or (is_title(title) and not SAID.match(rest))) else ""


def is_title(name: str) -> bool:
    """Whether it is written like a name and not like a description, such as "crime drama" and "A thriller"."""
    words = strip_markup(name).strip(EDGES).split()
    long = [word for word in words if len(word) > 3] or words
    return 0 < len(words) <= TITLE_WORDS and not any(word[0].islower() for word in long) and not is_kind(name)


def _award(body: str) -> str:
    """The line after the verdict that opens it; empty without one."""
    bare = strip_markup(body)
    cut = min(
        (match for match in (COLON.search(bare), DASH.search(bare), ARROW.search(bare)) if match),
        key=re.Match.start,
        default=None,
    )
    return (_set_off(body) or bare[cut.end() :].strip()) if cut and AWARD.match(bare[: cut.start()]) else ""


def _unnumbered(bodies: Sequence[str]) -> list[str]:
    """The lines without the running number of a note that sticks to each of them."""
    ends = [STUCK.search(body) for body in bodies]
    counted = len(bodies) > 2 and [int(end[1]) if end else 0 for end in ends] == list(range(1, len(bodies) + 1))
    return [STUCK.sub("", body) for body in bodies] if counted else list(bodies)


def _uncited(bodies: Sequence[str]) -> list[str]:
    """The lines without the names of sources that stuck to them in copying, as in "Apple 1 Wikipedia+2"."""
    if sum(bool(SOURCED.search(body)) for body in bodies) < 2:
        return _unnumbered(bodies)
    return [FROM_SOURCE.sub("", SOURCED.sub("", body)) for body in bodies]


def _marked_title(body: str) -> str:
    """The name set off by bold, italics or quotes at the head of a list line; else empty."""
    for mark, group in ((BOLD, 2), (ITALIC, 2), (QUOTED, 1)):
        if match := mark.match(body):
            return match[group]
    return ""


def _plain_title(body: str, colons: int) -> str:
    """The words before the explanation in a line of a list whose lines have at least so many colons each.

    One that all have begins no subtitle, but may end one; behind the first of two, all have something else.
    """
    body = strip_markup(body)
    colon = COLON.search(body, 1) if colons > 1 else explaining_colon(body, subtitled=False) if colons else None
    return cut_explanation(body[: colon.start()]) if colon else cut_explanation(body)
