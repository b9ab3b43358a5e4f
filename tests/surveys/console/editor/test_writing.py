"""What the editor writes: the same bytes if nothing changed, otherwise changes only in the lines concerned."""

import random
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.http import QueryDict

from surveys.console.editor import writing
from surveys.console.editor.copies import to_file
from surveys.console.editor.fields import FormField, as_words
from surveys.console.editor.sections import LANGUAGES, SECTIONS, FileSection, locate, parts_of_section, sections_for
from surveys.console.editor.views import arranged
from surveys.studies.files.definitions import StudyFileError, parse_study, read_study
from surveys.studies.files.lines import statements
from surveys.studies.files.schema import LISTS, TABLES
from surveys.studies.lifecycle import SHIPPED

FILES = sorted(SHIPPED.glob("*.toml"))
WORDS = ("Tea", "Größe \\ „so“", 'say "yes"', 'one\ntwo """three""" \\n', "  space  ", "12", "true", "x-1", "")
# What people type where another kind of value is expected, and what a file may hold instead.
BAD = ("ZZ z!", "-3", "0.5", "1979-05-27", "[]", "a\na", "\x07", "y" * 301)


def fields_of(text: str, only: FileSection | None = None) -> list[FormField]:
    text = writing.plain(text)
    raw = writing.read(text)
    sections = [only] if only else sections_for(raw)
    parts = [part for section in sections for part in parts_of_section(section, raw, text)]
    return [each for part in parts for card in part.cards for each in card.fields]


def as_posted(fields: list[FormField]) -> QueryDict:
    """What a browser sends for untouched forms: CRLF line ends, and nothing for unticked boxes."""
    form = QueryDict(mutable=True)
    for each in fields:
        match each.kind:
            case "tick":
                form.setlist(each.place, ["on"] if each.shown else [])
            case "set":
                form.setlist(each.place, list(each.shown))
            case "groups":
                for row in each.group_rows:
                    chosen = [option for option, is_chosen in row["options"] if is_chosen]
                    form.setlist(row["name"], chosen if row["options"] else [row["typed"].replace("\n", "\r\n")])
            case _:
                form[each.place] = each.shown.replace("\n", "\r\n")
    return form


def saved(text: str, form: QueryDict) -> str:
    for each in fields_of(text):
        if changes := each.change(form):
            text = writing.change(text, each.table, changes)
    return text


def test_each_table_and_list_of_a_file_is_in_one_section() -> None:
    shown = [part for section in SECTIONS for part in section.parts]
    assert sorted(shown) == sorted(["", *TABLES, *LISTS, LANGUAGES])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_forms_that_nobody_touched_give_the_file_to_the_letter(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert saved(text, as_posted(fields_of(text))) == text
    windows = "\ufeff" + text.replace("\n", "\r\n")
    assert saved(windows, as_posted(fields_of(windows))) == windows


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_study_that_is_there_becomes_a_file_that_says_the_same(path: Path) -> None:
    definition = read_study(path)
    assert parse_study(to_file(definition).encode()) == definition


@cache
def written_in(path: Path) -> tuple[str, list[list[FormField]]]:
    """A shipped file, and by section those of its fields that are typed or chosen from."""
    text = path.read_text(encoding="utf-8")
    sections = [fields_of(text, section) for section in sections_for(writing.read(text))]
    return text, [[each for each in fields if each.kind not in ("groups", "set", "tick")] for fields in sections]


def touched(number: int) -> tuple[str, FormField]:
    """A shipped file and one of its fields, drawn by number."""
    draw = random.Random(number)
    text, sections = written_in(draw.choice(FILES))
    fields = draw.choice(sections)
    return (text, draw.choice(fields)) if fields else touched(number + 1000)


def others(text: str, each: FormField) -> list[str]:
    """All statements but the field's own, and its table's line if the table is written on one."""
    own = [each.place, each.table]
    return [
        text[statement.start : statement.end]
        for statement in statements(text)
        if statement.place not in own or statement.is_header or not statement.place
    ]


def values_of(each: FormField, said: str) -> Any:
    """The value a file should hold for what was typed."""
    return [line.strip() for line in said.splitlines() if line.strip()] if each.kind == "lines" else said


@pytest.mark.parametrize("said", [WORDS, BAD], ids=["valid", "faults"])
def test_a_change_is_read_back_and_leaves_all_other_lines(said: tuple[str, ...]) -> None:
    for number in range(200):
        text, each = touched(number)
        typed = random.Random(number).choice(each.choices or said if said is WORDS else said)
        changed = writing.change(text, each.table, each.change(QueryDict(mutable=True) | {each.place: typed}))
        raw = writing.read(changed)
        for step in writing.steps(each.table):
            raw = raw[step - 1] if isinstance(step, int) else raw.get(step, {})
        if typed.strip() == "":
            assert not raw.get(each.key), (number, each.place)
        else:
            kept = raw[each.key]
            assert values_of(each, typed) in (kept, str(kept), writing.as_toml(kept)), (number, each.place)
        before, after = others(text, each), others(changed, each)
        assert after[: len(before)] == before, (number, each.place)
        assert after[len(before) :] in ([], ["", f"[{each.table}]"], [f"[{each.table}]", ""]), (number, each.place)


@pytest.mark.parametrize("number", range(20))
def test_form_text_and_command_find_the_same_faults(number: int, tmp_path: Path) -> None:
    """Ten faults at once: form, text and command find them all, each at a field, card or part of its section."""
    text = FILES[number % len(FILES)].read_text(encoding="utf-8")
    draw = random.Random(number)
    fields = [each for each in fields_of(text) if each.kind in ("line", "number", "choice", "lines")]
    for each in draw.sample(fields, 10):
        text = writing.change(text, each.table, {each.key: draw.choice(BAD)})
    raw = writing.read(text)
    parts = {section.name: parts_of_section(section, raw, text) for section in sections_for(raw)}
    with pytest.raises(StudyFileError) as told:
        parse_study(text.encode())
    (tmp_path / "file.toml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyFileError) as command:
        read_study(tmp_path / "file.toml")
    located = locate(told.value.faults, parts)
    assert {str(fault) for fault in told.value.faults} <= {str(fault) for fault in command.value.faults}
    assert all(each.anchor for each in located)
    for each in located:
        shown = {field.place for part in parts[each.section] for card in part.cards for field in card.fields}
        shown |= {card.place for part in parts[each.section] for card in part.cards} | {
            part.name for part in parts[each.section]
        }
        assert each.anchor in shown


def test_words_of_the_documentation_have_no_marks() -> None:
    words = as_words("a number; with [`[repeats]`](#repeats) or [`[[arms]]`](#arms) *that* of [all](data.md#who):")
    assert words == "a number; with [repeats] or [[arms]] that of all"


@pytest.mark.parametrize("wanted", ["a x c", "a x y", "x a y c z", "b c", "c b a", "a b c d", "x", ""])
def test_entries_of_a_list_that_stay_keep_their_lines_and_comments(wanted: str) -> None:
    lines = {entry: f'  "{entry}", # {entry} is here\n' for entry in "abc"}
    text = f"options = [\n{''.join(lines.values())}]\n"
    changed = writing.change(text, "", {"options": wanted.split()})
    assert writing.read(changed).get("options", []) == wanted.split()
    if wanted in ("a x c", "a x y", "a b c d"):
        assert changed.startswith(f"options = [\n{lines['a']}")


@pytest.mark.parametrize("said", ["Solve\n$\\theta$.", "Open\nC:\\temp\\u0000", 'Three\n"""', 'He said\n\\"no\\""""'])
def test_backslashes_of_a_text_of_several_lines_are_kept(said: str) -> None:
    text = 'title = "Teas"\n\n[debrief]\ntext = "Thanks."\n'
    assert writing.read(writing.change(text, "debrief", {"text": said}))["debrief"]["text"] == said


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_first_entry_takes_the_place_of_an_empty_list(ends: str) -> None:
    text = '# Tea\nquestions = []\ntitle = "Teas"\n\n[debrief]\ntext = "Thanks."\n'
    added = '# Tea\ntitle = "Teas"\n\n[debrief]\ntext = "Thanks."\n\n[[questions]]\n'
    assert writing.add_entry(text.replace("\n", ends), "questions") == added.replace("\n", ends)


# What is written below another table belongs to the last entry, wherever that is; `languages` is written in one line.
SCATTERED = """languages = { fr = { title = "Thés" } }
[[cells]]
slug = "women"
[[cells]]
slug = "men"
[pay]
amount = 5
[cells.where]
gender = ["Man"]
"""


@pytest.mark.parametrize("do", ["up/cells/2", "down/cells/1", "remove/cells/2", "add/cells", "speak/de"])
def test_a_button_changes_only_what_it_names_or_nothing(do: str) -> None:
    with suppress(writing.CannotWriteError):
        assert arranged(SCATTERED, do) == SCATTERED


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_entries_of_a_file_can_be_added_moved_and_removed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for name, entries in writing.read(text).items():
        if name in LISTS and writing.is_list_of_tables(text, name):
            last = len(entries)
            assert writing.read(arranged(text, f"up/{name}/{last}"))[name][-2:] == entries[-2:][::-1]
            assert writing.read(arranged(text, f"add/{name}"))[name] == [*entries, {}]
            assert writing.read(arranged(text, f"remove/{name}/{last}")).get(name, []) == entries[:-1]
