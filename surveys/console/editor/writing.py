"""Changes to the text of a study file that leave every other line, comments and order as they are."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item, String, StringType

from surveys.studies.files.definitions import StudyFileError, read_toml
from surveys.studies.files.lines import Statement, join_place, parts_of, statements

STEP = re.compile(r"(?P<name>[^.\[]+)(\[(?P<number>\d+)\])?\.?")


# Raised by tomlkit for statements that it does not expect.
UNUSUAL = (TOMLKitError, ValueError, KeyError, IndexError, TypeError)


class CannotWriteError(Exception):
    """A change that would not come out as meant, because the file is written in an unusual way."""


class Literal(str):
    """A value as TOML writes it: `5.00`, `true`, `{ gender = "Woman" }`."""


Value = str | list[str] | Literal


def read(text: str) -> dict[str, Any]:
    return read_toml(plain(text))


def plain(text: str) -> str:
    """The text as the checks read it: without a byte-order mark, and with Unix line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def change(text: str, table: str, changes: Mapping[str, Value | None]) -> str:
    """The text with these keys of a table set, or removed if None. Raises CannotWriteError if more would change."""

    def rewrite(own: str, wanted: dict[str, Any]) -> str:
        for key, value in changes.items():
            wanted_table = _table_in(wanted, table, value is not None)
            if value is not None:
                wanted_table[key] = read(f"value = {literal(value)}")["value"]
                own = _set(own, table, key, value)
            elif key in wanted_table:
                del wanted_table[key]
                own = _remove(own, table, key)
        return own

    return _rewritten_as_meant(text, table, rewrite)


def _rewritten_as_meant(text: str, place: str, rewrite: Callable[[str, dict[str, Any]], str]) -> str:
    """The text as `rewrite` makes it; it also changes the file's content to the one wanted.

    Raises CannotWriteError if the text does not say that content.
    """
    wanted = read(text)
    try:
        changed = rewrite(to_own_ends(text), wanted)
        if read(changed) == wanted:
            return with_ends_of(text, changed)
    except (StudyFileError, *UNUSUAL):
        pass
    raise CannotWriteError(f"{place or 'The top of the file'} is written in a way that this form cannot change.")


def to_own_ends(text: str) -> str:
    return text.replace("\r\n", "\n")


def with_ends_of(before: str, changed: str) -> str:
    """The changed text with the line ends that the file had."""
    return changed.replace("\n", "\r\n") if "\r\n" in before else changed


def _table_in(study: dict[str, Any], table: str, make: bool) -> dict[str, Any]:
    """The table of a place such as `prompts[3]`; with `make`, made if there is none."""
    found: Any = study
    for name in steps(table):
        if isinstance(name, int):
            found = found[name - 1]
        else:
            found = found.setdefault(name, {}) if make else found.get(name, {})
    assert isinstance(found, dict)
    return found


def steps(table: str) -> list[str | int]:
    """The names and numbers that lead to a place such as `prompts[3]`."""
    found: list[str | int] = []
    for step in STEP.finditer(table):
        found += [step["name"].strip('"')]
        found += [int(step["number"])] if step["number"] else []
    return found


# One key -------------------------------------------------------------------------------------------------------


def _set(text: str, table: str, key: str, value: Value) -> str:
    place = join_place(table, key)
    found = statements(text)
    for statement in found:
        if not statement.is_header and statement.place in (place, table) and statement.place:
            rest = [key] if statement.place == table else []
            return _spliced(text, statement, _rewritten(text[statement.start : statement.end], rest, value))
    line = f"{join_place('', key)} = {literal(value)}\n"
    at = _end_of_body(text, found, table)
    if at is None:
        gap = "" if text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[{table}]\n{line}"
    gap = "\n" if at and text[at - 1] != "\n" else ""
    return f"{text[:at]}{gap}{line}{text[at:]}"


def _end_of_body(text: str, found: Sequence[Statement], table: str) -> int | None:
    """The position behind the last key below the table's own header; None if it has no header."""
    heads = [at for at, each in enumerate(found) if each.is_header and each.place == table]
    if table and not heads:
        return None
    first = heads[0] + 1 if table else 0
    end = found[first - 1].end + 1 if table else 0
    for each in found[first:]:
        if each.is_header:
            break
        if each.place:
            end = each.end + 1
    return min(end, len(text))


def _remove(text: str, table: str, key: str) -> str:
    place = join_place(table, key)
    for each in statements(text):
        if each.place == place:
            return text[: each.start] + text[each.end + 1 :]
        if each.place and each.place == table and not each.is_header:
            return _spliced(text, each, _rewritten(text[each.start : each.end], [key], None))
    return text


def _spliced(text: str, statement: Statement, written: str) -> str:
    return text[: statement.start] + written + text[statement.end :]


def _rewritten(written: str, rest: list[str], value: Value | None) -> str:
    """An assignment with another value, or with another value of a key in its table, or without that key."""
    document = tomlkit.parse(written)
    *around, last = [*parts_of(written.partition("=")[0]), *rest]
    table: Any = document
    for name in around:
        table = table[name]
    if value is None:
        del table[last]
    elif isinstance(value, list) and isinstance(table.get(last), list):
        _change_entries(table[last], value)
    else:
        table[last] = tomlkit.value(literal(value, table.get(last)))
    return tomlkit.dumps(document)


def _change_entries(array: Any, wanted: list[str]) -> None:
    """Change only the entries that differ, so that the others keep their lines and comments."""
    before = [str(entry) for entry in array]
    for how, start, end, first, last in reversed(SequenceMatcher(None, before, wanted, False).get_opcodes()):
        if how == "equal":
            continue
        common = min(end - start, last - first)
        for at in range(common):
            array[start + at] = wanted[first + at]
        for at in range(end - 1, start + common - 1, -1):
            del array[at]
        for at in range(first + common, last):
            array.insert(start + at - first, wanted[at])


def literal(value: Value, before: Any = None) -> str:
    """A value as TOML; a text that was in three quotes stays in them."""
    if isinstance(value, Literal):
        return value
    if isinstance(value, list):
        return f"[{', '.join(literal(entry) for entry in value)}]"
    if "\n" in value or (isinstance(before, String) and before.as_string().startswith('"""')):
        return f'"""\n{_escaped(value)}"""'
    return tomlkit.string(value).as_string()


# Escapes, one by one, so that a backslash of the text's own is never taken for the beginning of one.
ESCAPED = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)")
UNESCAPED = {"\\u0000": "\n", '\\"': '"', "\\t": "\t"}


def _escaped(value: str) -> str:
    """Escape a text of several lines; its quotes only if they would end it."""
    written = String.from_raw(value.replace("\n", "\0"), StringType.SLB).as_string()[1:-1]
    written = ESCAPED.sub(lambda found: UNESCAPED.get(found[0], found[0]), written)
    written = written[:-1] + '\\"' if written.endswith('"') else written
    return written.replace('"""', '""\\"')


# Entries of a list -----------------------------------------------------------------------------------------------


def spans(text: str, name: str) -> list[tuple[int, int]]:
    """Where each [[name]] starts and ends, with the comments directly above it and the tables below it."""
    found, current, comment = [], [0, 0], None
    inside = ""
    for each in statements(text):
        written = text[each.start : each.end].strip()
        if each.is_header and not (inside and each.place.startswith(f"{inside}.")):
            found += [(current[0], current[1])] if inside else []
            is_entry = each.place.startswith(f"{name}[") and each.place.index("]") == len(each.place) - 1
            inside = each.place if is_entry else ""
            current = [each.start if comment is None else comment, each.end]
        if each.place and inside:
            current[1] = each.end
        comment = (each.start if comment is None else comment) if written.startswith("#") else None
    return [*found, (current[0], current[1])] if inside else found


def is_list_of_tables(text: str, name: str) -> bool:
    """Whether the list's entries are written as tables, one by one, so that they can be moved."""
    return len(spans(to_own_ends(text), name)) == len(read(text).get(name, []))


def add_entry(text: str, name: str) -> str:
    def rewrite(own: str, wanted: dict[str, Any]) -> str:
        if not wanted.get(name):
            own = _remove(own, "", name)  # a list that is written as empty, `questions = []`
        wanted[name] = [*wanted.get(name, []), {}]
        known = spans(own, name)
        at = min(known[-1][1] + 1, len(own)) if known else len(own)
        before, after = own[:at], own[at:]
        gap = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
        return f"{before}{gap}[[{name}]]\n{after}"

    return _rewritten_as_meant(text, name, rewrite)


def add_table(text: str, place: str) -> str:
    def rewrite(own: str, wanted: dict[str, Any]) -> str:
        _table_in(wanted, place, make=True)
        stripped = own.rstrip("\n")
        return f"{stripped}\n\n[{place}]\n"

    return _rewritten_as_meant(text, place, rewrite)


def remove_entry(text: str, name: str, number: int) -> str:
    def rewrite(own: str, wanted: dict[str, Any]) -> str:
        del wanted[name][number - 1]
        if not wanted[name]:
            del wanted[name]
        start, end = spans(own, name)[number - 1]
        rest = own[end + 1 :]
        return own[:start] + (rest.removeprefix("\n") if own[:start].endswith("\n\n") else rest)

    return _rewritten_as_meant(text, name, rewrite)


def move_entry(text: str, name: str, number: int) -> str:
    """Move an entry one place up; the text between the two stays."""

    def rewrite(own: str, wanted: dict[str, Any]) -> str:
        wanted[name].insert(number - 2, wanted[name].pop(number - 1))
        (start, end), (second, last) = spans(own, name)[number - 2 : number]
        return own[:start] + own[second:last] + own[end:second] + own[start:end] + own[last:]

    return _rewritten_as_meant(text, name, rewrite)


def as_toml(value: Any) -> str:
    """A value of a file, written in one line."""
    if isinstance(value, dict):
        entries = [f"{join_place('', key)} = {as_toml(entry)}" for key, entry in value.items()]
        return f"{{ {', '.join(entries)} }}" if entries else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, Decimal):
        return str(value).lower().replace("infinity", "inf")
    return tomlkit.item(value).as_string()


def item_of(written: str) -> Item | None:
    """A typed value as TOML; None if it is no value."""
    try:
        return tomlkit.value(written) if read_toml(f"value = {written}").keys() == {"value"} else None
    except (StudyFileError, *UNUSUAL):
        return None
