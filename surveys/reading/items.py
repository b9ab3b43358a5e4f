"""The items that a text names: each once, in the order of the text, with the name it was written as."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from surveys.reading.item_forms import FORMS, grouped_titles, is_title, opening_bold
from surveys.reading.item_sentences import count_enumerated, find_named
from surveys.reading.markup import (
    BULLET,
    COLON,
    DASH,
    NUMBER,
    PARENTHESIS,
    bare_line,
    clean_name,
    fold_name,
    indent_of,
    normalise_item,
    split_lines,
    strip_marker,
)
from surveys.reading.records import FoundTable, json_titles, record_titles, split_tables
from surveys.reading.residue import without_questions
from surveys.reading.roles import answering, is_lead, without_thoughts
from surveys.reading.words import (
    AWARD,
    DETAIL,
    QUANTITY,
    QUESTION,
    SECTION,
    is_aspect,
    is_cited,
    is_in_two_scripts,
    is_label,
)

# A paste may hold 200 kB; an answer names its items near its beginning.
HEAD = 16_000
MOST_TITLES = 100
# Above each of two answers that a chatbot offers to choose from.
DRAFT = re.compile(r"^\W*(?:response|choice|draft|version|antwort|entwurf|auswahl) ?(?:[12]|[ab])\W*$", re.I)
ANOTHER = re.compile(
    r"[.!?)]\s+[A-Z][\w'.&+-]*(?: [A-Z][\w'.&+-]*){0,4} \(|https?://.{0,300},"
)  # in the line of a name
PERSON = re.compile(r"^[A-Z][\w'.-]*(?: [A-Z][\w'.-]*| (?:van|von|de|der|da|di|le|la|el)){0,3} [A-Z][\w'.-]+$")
EITHER = re.compile(r"\s[/|=]\s")  # between two names of one thing, or two things

INGREDIENTS = re.compile(r"^\W*ingredients\W*$", re.I)
RECIPE = re.compile(r"(?<!\s)\s+recipe\b.{0,20}$", re.I)
RECIPE_WORDS = 8
BARE_NUMBER = re.compile(r"^\s*(\d{1,2})\s*$")
UNMARKED = re.compile(r"^\s*#?(\d{1,2})[ \u00a0]+(?=[^\W\da-z])")

Lines = Sequence[str]


@dataclass(frozen=True)
class FoundList:
    """The form ("" = no list), the titles of its entries, and why they may be wrong."""

    form: str = ""
    titles: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def size(self) -> int:
        return len(set(self.titles))


@dataclass(frozen=True)
class NamedItems:
    """The form in which a text names its items ("" = none), the names by item, and why that may be wrong."""

    form: str
    names: dict[str, str]
    doubt: str = ""


# The checks of a paste and the reader of answers ask about one text several times in a row.
@lru_cache(maxsize=8)
def find_items(text: str, prose: bool, asked: int) -> NamedItems:
    """The items of `text`, of which `asked` were wanted; without `prose` only those set out as a list."""
    lines, found = _set_out(text[:HEAD], asked)
    if not found.titles and prose:
        found = FoundList("sentence", tuple(find_named(lines)))
    names = _names_by_item(found.titles)
    if 2 * sum(map(_asks, list(names)[:asked])) > min(len(names), asked):
        return NamedItems("", {})
    doubt = found.doubt or _doubt_of_names(list(names.values())[:asked], found.titles)
    doubt = doubt or _doubt_of_lines(lines, found, list(names.values())[:asked])
    return NamedItems(found.form if names else "", names, doubt)


@lru_cache(maxsize=8)
def _set_out(text: str, asked: int) -> tuple[Lines, FoundList]:
    """The lines, and the items set out as a list."""
    titles, text = json_titles(text, asked)
    if titles:
        return [], FoundList("json", tuple(titles))
    lines, takes_back = answering(_without_recipe(without_questions(split_lines(without_thoughts(text)))))
    found = find_list(lines, asked)
    return lines, replace(found, doubt="takes-back") if takes_back and found.titles else found


def count_items(text: str, prose: bool = True, asked: int = 5) -> int:
    """Count the distinct items that `text` names in all, of which `asked` were wanted.

    Without `prose`, only those in a list. In sentences everything that is enumerated counts, item or not, so that
    nobody is asked about too few items without need.
    """
    named = find_items(text, prose, asked)
    if not prose or named.form not in ("", "sentence"):
        return len(named.names)
    return max(len(named.names), count_enumerated(split_lines(text[:HEAD])))


def _without_recipe(lines: list[str]) -> list[str]:
    """Reduce one recipe to its title, or to the lines before its ingredients: these and its steps are no items."""
    found = [at for at, line in enumerate(lines) if INGREDIENTS.match(line)]
    before = [line.strip() for line in lines[: found[0]] if line.strip()] if len(found) == 1 else []
    if not before or any(NUMBER.match(line) or BULLET.match(line) for line in before):
        return lines
    title = RECIPE.sub("", before[-1].strip(":*# "))
    return [title] if len(title.split()) <= RECIPE_WORDS else before


def _names_by_item(titles: Sequence[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for title in titles[:MOST_TITLES]:
        name = clean_name(EITHER.split(title, maxsplit=1)[0] or title)
        item = fold_name(name)
        if item not in names and any(c.isalnum() for c in normalise_item(name)):  # else it is a mark of a list
            names[item] = name
    return names


def _asks(item: str) -> bool:
    """Whether the item is something to be asked about, or a question."""
    return is_aspect(item) or bool(QUESTION.match(item))


def _doubt_of_names(names: Sequence[str], titles: Sequence[str]) -> str:
    """The doubt if the names look like something else, or like two; else empty."""
    if any(EITHER.search(title) or is_in_two_scripts(name) for name, title in zip(names, titles, strict=False)):
        return "two-names"
    labels = sum(is_label(name) for name in names)
    odd = any(SECTION.match(name) or DETAIL.match(name) or is_cited(name) for name in names)
    return "label-like" if labels > 1 or odd else ""


def _doubt_of_lines(lines: Lines, found: FoundList, names: Sequence[str]) -> str:
    """The doubt if the words beside the names may be the names, or name more; else empty."""
    if len({line.strip().casefold() for line in lines if DRAFT.match(line.strip())}) > 1:
        return "two-lists"
    if found.form == "lines" and any(ANOTHER.search(line) for line in lines if line.strip().startswith(tuple(names))):
        return "loose-lines"
    sides = [line for line in lines if _has_two_sides(strip_marker(bare_line(line)))]
    return "two-names" if names and len(sides) > len(names) / 2 else ""


def _has_two_sides(line: str) -> bool:
    """Whether the name before the dash may be the person who made the work behind it, as in "Johnny Cash – Hurt"."""
    dash = DASH.search(line)
    if not dash or line[:1] in '*_"\u201c\u201e\u00ab':
        return False
    before, behind = line[: dash.start()], PARENTHESIS.sub("", line[dash.end() :]).strip()
    named = bool(PERSON.match(before)) and is_title(behind) and not AWARD.match(before)
    return named and not behind.endswith((".", "!"))


# --- which list names the items: the one with the asked number, and a list rather than a table


def find_list(lines: Lines, asked: int) -> FoundList:
    """The list with the asked number of items; else the first one there is."""
    if len(set(titles := record_titles(lines))) > 1:
        return FoundList("record", tuple(titles))
    outside, tables = split_tables(_with_numbers(lines))
    parts = _parts(outside)
    found = _among_lists(outside, parts, asked)
    table = max(tables, key=lambda one: _full_size(one.titles(asked), asked), default=None)
    if table and _counts_more(table, found, asked):
        return FoundList("table", tuple(table.titles(asked)), "two-lists" if table.is_unclear(asked) else "")
    if _is_disputed(found, outside, parts, tables, asked):
        return replace(found, doubt="two-lists")
    return replace(found, doubt="loose-lines" if found.form in LOOSE and found.size > asked else "")


def _full_size(titles: Sequence[str], asked: int) -> int:
    return min(len(set(titles)), asked)


def _counts_more(table: FoundTable, found: FoundList, asked: int) -> bool:
    """Whether the table names the items: a list with the asked number goes first, and of two short ones the longer."""
    if found.form in MARKED and found.size >= asked:
        return False
    return found.form not in MARKED or _full_size(table.titles(asked), asked) > found.size


# --- among the lists

LOOSE = ("headed", "bold", "lines", "quoted")  # forms that other lines of the text may have as well
MARKED = ("numbered", "lettered", "bulleted", "grouped", "headed", "bold")


def _among_lists(lines: Lines, parts: list[Lines], asked: int) -> FoundList:
    """The first with the asked number, else the first with more, else the first form there is."""
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
    """Yield the lists of the text, the most credible first."""
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
    """Cut the lines where another list begins; not if bullets and numbers alternate."""
    cuts: list[int] = []
    last = ""
    highest = previous = switches = 0
    for at, kind, number in _outer_marks(lines):
        lead = any(is_lead(line) for line in lines[previous + 1 : at])
        if last and (kind != last or (lead and (kind == "bulleted" or number <= highest))):
            switches += kind != last
            cuts.append(_start_of(lines, previous, at))
            highest = 0
        last, highest, previous = kind, max(highest, number), at
    return [lines] if switches > 1 else [lines[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]


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


def _start_of(lines: Lines, previous: int, at: int) -> int:
    """The first line of the lead of the list that begins at `at`."""
    return next((i for i in range(previous + 1, at) if is_lead(lines[i])), at)


def _kind(part: Lines) -> str:
    return next((kind for _, kind, _ in _outer_marks(part)), "")


# --- lists that disagree


def _is_disputed(found: FoundList, lines: Lines, parts: list[Lines], tables: list[FoundTable], asked: int) -> bool:
    """Whether another full list, or a full table, names nothing that this one names."""
    if not found.titles or found.form not in MARKED:
        return False
    several = parts if len(parts) > 1 and found.form in ("numbered", "bulleted") else []
    others = [FORMS[kind](part) for part in several if (kind := _kind(part)) and _names_things(part)]
    others += [titles for titles in (FORMS["headed"](lines), opening_bold(lines)) if len(set(titles)) == asked]
    others += _restarted(lines)
    rivals = [titles for titles in others if _full_size(titles, asked) == asked]
    full = [table for table in tables if _full_size(table.titles(asked), asked) == asked]
    items = _items(found.titles) if rivals or full else []
    return any(not table.names(items) for table in full) or any(
        not _share_a_name(_items(rival), items) for rival in rivals
    )


def _restarted(lines: Lines) -> list[list[str]]:
    """The two lists of an answer that counts from 1 twice; else none."""
    runs: list[list[str]] = []
    for at, kind, number in _outer_marks(lines):
        if kind == "numbered" and number == 1:
            runs.append([])
        if kind == "numbered" and runs:
            runs[-1].append(lines[at])
    return [FORMS["numbered"](run) for run in runs] if len(runs) == 2 and len(runs[1]) > 1 else []


def _share_a_name(some: Sequence[str], others: Sequence[str]) -> bool:
    return any(one in other or other in one for one in some if one for other in others if other)


def _items(titles: Sequence[str]) -> list[str]:
    return [normalise_item(title) for title in titles]


def _names_things(part: Lines) -> bool:
    """Whether the entries are not mostly sentences, as steps and tips are."""
    entries = [part[at].strip() for at, _, _ in _outer_marks(part)]
    told = [entry for entry in entries if entry.endswith((".", "!", "?"))]
    return 2 * sum(not (DASH.search(one) or COLON.search(one) or "**" in one) for one in told) <= len(entries)


def _with_numbers(lines: Lines) -> list[str]:
    """Put each number that has a line to itself in front of the next line, if these numbers count upwards.

    Numbers without a mark get one, as in "1 Heat", if three or more count upwards and no line tells a quantity.
    """
    unmarked = [int(match[1]) for line in lines if (match := UNMARKED.match(line))]
    if len(unmarked) > 2 and _count_up(unmarked) and not any(QUANTITY.match(line.strip()) for line in lines):
        return [UNMARKED.sub(r"\1. ", line) for line in lines]
    bare = [int(match[1]) for line in lines if (match := BARE_NUMBER.match(line))]
    if len(bare) < 2 or not _count_up(bare):
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


def _count_up(numbers: Sequence[int]) -> bool:
    return list(numbers) == list(range(1, len(numbers) + 1))
