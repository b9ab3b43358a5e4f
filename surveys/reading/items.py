"""The items that a text names: each once, in the order of the text, with the name it was written as."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from surveys.reading.item_forms import FORMS, FoundTable, grouped_titles, opening_bold, split_tables
from surveys.reading.item_names import COLON, DASH, clean_name, fold_name, normalise_item
from surveys.reading.item_sentences import count_enumerated, find_named
from surveys.reading.markup import BOLD_LINE, BULLET, HEADING, NUMBER, bare_line, indent_of, split_lines

# A paste may hold 200 kB; an answer says what it names near its beginning.
HEAD = 16_000
MOST_TITLES = 100

# Replies in JSON, perhaps after a few words or in a code block, perhaps cut off at the longest length.
JSON_OPENING = re.compile(r"(?:^|\n)[ \t]*(?:```(?:json)?\s*)?(?=[{\[]\s*[\"{\[\]}])", re.I)
JSON_ITEMS = re.compile(r"(?:\{\s*\"[^\"\n]{1,40}\"\s*:\s*)?\[")
CITED = re.compile(r"\[\[[^\[\]\"{}\n]+\]\]")  # [[1]] or [[citation]], which open a line and are no list
JSON_STRING = re.compile(r'[\s,]*("(?:[^"\\]|\\.)*")')
INGREDIENTS = re.compile(r"^\W*ingredients\W*$", re.I)
RECIPE = re.compile(r"\s+recipe\b.{0,20}$", re.I)
RECIPE_WORDS = 8
BARE_NUMBER = re.compile(r"^\s*(\d{1,2})\s*$")
NAME_KEYS = ("name", "title", "item", "recommendation", "film", "movie", "company", "restaurant", "song", "book")

Lines = Sequence[str]


@dataclass(frozen=True)
class FoundList:
    """The form ("" = there is no list), what its entries name, and whether another list names other things."""

    form: str = ""
    titles: tuple[str, ...] = ()
    disputed: bool = False

    @property
    def size(self) -> int:
        return len(set(self.titles))


@dataclass(frozen=True)
class NamedItems:
    """The form in which a text names its items ("" = none), the names by item, whether another list names others."""

    form: str
    names: dict[str, str]
    disputed: bool = False


# The checks of a paste and the reader of answers ask about one text several times in a row.
@lru_cache(maxsize=8)
def find_items(text: str, prose: bool = True, asked: int = 5) -> NamedItems:
    """The items of `text`, of which `asked` were wanted; without `prose` only those set out as a list."""
    lines, found = _set_out(text[:HEAD], asked)
    if not found.titles and prose:
        found = FoundList("sentence", tuple(find_named(lines)))
    names = _names_by_item(found.titles)
    return NamedItems(found.form if names else "", names, found.disputed)


@lru_cache(maxsize=8)
def _set_out(text: str, asked: int) -> tuple[Lines, FoundList]:
    """The lines, and the items that are set out as a list."""
    titles, text = _json_titles(text)
    if titles:
        return [], FoundList("json", tuple(titles))
    lines = _without_recipe(split_lines(text))
    return lines, find_list(lines, asked)


def count_named(text: str, prose: bool = True, asked: int = 5) -> int:
    """How many items `text` names; in sentences everything that is enumerated counts, item or not."""
    named = find_items(text, prose, asked)
    if not prose or named.form not in ("", "sentence"):
        return len(named.names)
    return max(len(named.names), count_enumerated(split_lines(text[:HEAD])))


def _without_recipe(lines: list[str]) -> list[str]:
    """Of one recipe the title, or what comes before its ingredients: these and its steps are no items."""
    found = [at for at, line in enumerate(lines) if INGREDIENTS.match(line)]
    before = [line.strip() for line in lines[: found[0]] if line.strip()] if len(found) == 1 else []
    if not before or any(NUMBER.match(line) or BULLET.match(line) for line in before):
        return lines
    title = RECIPE.sub("", before[-1].strip(":*# "))
    return [title] if len(title.split()) <= RECIPE_WORDS else before


def _names_by_item(titles: Sequence[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for title in titles[:MOST_TITLES]:
        name = clean_name(title)
        item = fold_name(name)
        if item not in names and any(c.isalnum() for c in item):
            names[item] = name
    return names


# --- which list names the items: the one with the asked number, and a list rather than a table


def find_list(lines: Lines, asked: int) -> FoundList:
    """The list with the asked number of items; else the first one that is there."""
    outside, tables = split_tables(_with_numbers(lines))
    parts = _parts(outside)
    found = _among_lists(outside, parts, asked)
    table = max(tables, key=lambda one: _full_size(one.titles(asked), asked), default=None)
    if table and _counts_more(table, found, asked):
        return FoundList(
            "table", tuple(table.titles(asked)), _is_full(found, asked) and not table.names(_items(found.titles))
        )
    return replace(found, disputed=_is_disputed(found, parts, tables, asked))


def _full_size(titles: Sequence[str], asked: int) -> int:
    return min(len(set(titles)), asked)


def _is_full(found: FoundList, asked: int) -> bool:
    return found.form in MARKED and found.size >= asked


def _counts_more(table: FoundTable, found: FoundList, asked: int) -> bool:
    """Whether the table names the items: a list with the asked number goes first, of two short ones the longer."""
    if _is_full(found, asked):
        return False
    return found.form not in MARKED or _full_size(table.titles(asked), asked) > found.size


# --- among the lists

MARKED = ("numbered", "lettered", "bulleted", "grouped", "headed", "bold")


def _among_lists(lines: Lines, parts: list[Lines], asked: int) -> FoundList:
    """The first with the asked number, else the first with more, else the first form that is there."""
    full = None
    for one in _candidates(lines, parts):
        if one.size == asked:
            return one
        full = full or (one if one.size > asked else None)
    if full:
        return full
    return next(
        (FoundList(form, tuple(titles)) for form, find in FORMS.items() if (titles := find(lines))), FoundList()
    )


def _candidates(lines: Lines, parts: list[Lines]) -> Iterator[FoundList]:
    """The lists of the text in the order in which they are believed."""
    kinds = [_kind(part) for part in parts]
    by_kind = len(set(kinds)) > 1
    if by_kind or (len(parts) > 1 and kinds[0] == "numbered"):
        yield from (FoundList(kind, tuple(FORMS[kind](part))) for kind, part in zip(kinds, parts, strict=True))
    within = "numbered" in kinds and not by_kind
    for form in ("numbered", "lettered", *(() if within else ("bulleted",))):
        yield FoundList(form, tuple(FORMS[form](lines)))
    yield FoundList("grouped", tuple(grouped_titles(lines)))
    yield FoundList("headed", tuple(FORMS["headed"](lines)))
    if not by_kind and len(parts) > 1 and kinds[0] == "bulleted":
        yield from (FoundList("bulleted", tuple(FORMS["bulleted"](part))) for part in parts)
    yield FoundList("bold", tuple(opening_bold(lines)))


def _parts(lines: Lines) -> list[Lines]:
    """The lines cut where another list begins; one part where bullets stand between the numbers."""
    cuts: list[int] = []
    last = ""
    highest = previous = switches = 0
    for at, kind, number in _outer_marks(lines):
        lead = any(_is_lead(line) for line in lines[previous + 1 : at])
        if last and (kind != last or (lead and (kind == "bulleted" or number <= highest))):
            switches += kind != last
            cuts.append(_start_of(lines, previous, at))
            highest = 0
        last, highest, previous = kind, max(highest, number), at
    if switches > 1:
        return [lines]
    return [lines[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]


def _outer_marks(lines: Lines) -> list[tuple[int, str, int]]:
    """The line, kind and number (0 for a bullet) of the outermost entries."""
    marks = []
    for at, line in enumerate(lines):
        if number := NUMBER.match(bare_line(line)):
            marks.append((indent_of(line), at, "numbered", int(number["number"])))
        elif BULLET.match(line.strip()):
            marks.append((indent_of(line), at, "bulleted", 0))
    outer = min((indent for indent, *_ in marks), default=0)
    return [(at, kind, number) for indent, at, kind, number in marks if indent <= outer + 1]


def _is_lead(line: str) -> bool:
    """Whether a line announces a list: a heading, a line in bold, or one that ends in a colon."""
    line = line.strip()
    return bool(HEADING.match(line) or BOLD_LINE.match(line)) or line.rstrip("*_").endswith((":", "\uff1a"))


def _start_of(lines: Lines, previous: int, at: int) -> int:
    """The first line of the lead of the list that begins at `at`."""
    return next((i for i in range(previous + 1, at) if _is_lead(lines[i])), at)


def _kind(part: Lines) -> str:
    return next((kind for _, kind, _ in _outer_marks(part)), "")


# --- lists that disagree


def _is_disputed(found: FoundList, parts: list[Lines], tables: list[FoundTable], asked: int) -> bool:
    """Whether another full list, or a full table, names nothing of what this one names."""
    in_parts = found.form in ("numbered", "bulleted") and len(parts) > 1
    if found.form not in MARKED or not (tables or in_parts):
        return False
    items = _items(found.titles)
    if not items:
        return False
    if any(_full_size(table.titles(asked), asked) == asked and not table.names(items) for table in tables):
        return True
    if not in_parts:
        return False
    others = [FORMS[kind](part) for part in parts if (kind := _kind(part)) and _names_things(part)]
    rivals = [_items(titles) for titles in others if _full_size(titles, asked) == asked]
    return any(set(rival).isdisjoint(items) for rival in rivals)


def _items(titles: Sequence[str]) -> list[str]:
    return [normalise_item(title) for title in titles]


def _names_things(part: Lines) -> bool:
    """Whether the entries are not mostly sentences, as steps and tips are."""
    entries = [part[at].strip() for at, _, _ in _outer_marks(part)]
    told = [entry for entry in entries if entry.endswith((".", "!", "?"))]
    return 2 * sum(not (DASH.search(one) or COLON.search(one) or "**" in one) for one in told) <= len(entries)


def _with_numbers(lines: Lines) -> list[str]:
    """The lines with each number that has a line for itself in front of the next one, if they count upwards."""
    bare = [int(match[1]) for line in lines if (match := BARE_NUMBER.match(line))]
    if len(bare) < 2 or bare != list(range(1, len(bare) + 1)):
        return list(lines)
    joined: list[str] = []
    number = ""
    for line in lines:
        if match := BARE_NUMBER.match(line):
            number = f"{match[1]}. "
        elif line.strip():
            joined.append(number + line.strip() if number else line)
            number = ""
        else:
            joined.append(line)
    return joined


# --- replies in JSON


def _json_titles(text: str) -> tuple[list[str], str]:
    """The names in a reply that is JSON, as far as they are whole, and the text without JSON that names nothing."""
    opening = JSON_OPENING.search(text) if "{" in text or "[" in text else None
    if opening is None:
        return [], text
    start = opening.end()
    try:
        found, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        titles, end = _whole_strings(text, start)
    else:
        named = _titles_in(found)
        titles, end = named or [], start if named is None else end
    return titles, text[:start] + text[end:]


def _whole_strings(text: str, start: int) -> tuple[list[str], int]:
    """The strings of {"items": [...] up to where it is cut off, and where it ends: at once where it is no JSON."""
    opening = JSON_ITEMS.match(text, start)
    if opening is None:
        return [], start
    titles, at = [], opening.end()
    while found := JSON_STRING.match(text, at):
        titles.append(unquote(found[1]))
        at = found.end()
    return titles, start if CITED.match(text, start) else len(text)


def _titles_in(found: Any) -> list[str] | None:
    """The strings of a list, or the names of its objects; of an object, those of its first list."""
    if isinstance(found, dict):
        found = next((value for value in found.values() if isinstance(value, list)), None)
    if not isinstance(found, list):
        return None
    names = [_name_in(entry) for entry in found]
    return [name for name in names if name]


def _name_in(entry: Any) -> str:
    if isinstance(entry, dict):
        entry = next((entry[key] for key in NAME_KEYS if key in entry), next(iter(entry.values()), ""))
    return entry if isinstance(entry, str) else ""


def unquote(literal: str) -> str:
    """The text of a JSON string; as it stands where its escapes are wrong."""
    try:
        return str(json.loads(literal, strict=False))
    except ValueError:
        return literal.strip('"')
