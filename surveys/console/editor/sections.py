"""The sections of the editor: each shows some tables of a study file, as cards with a field for each key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from surveys.console.editor.fields import FormField, Groups, as_words, fields_for, words_of_docs
from surveys.console.editor.writing import is_list_of_tables
from surveys.studies.files.definitions import NOT_FOR_ANNOTATORS, StudyFault, read_keys
from surveys.studies.files.languages import PAGE_LANGUAGES, Wanted, texts_of
from surveys.studies.files.lines import join_place
from surveys.studies.files.schema import CONTEXT, LISTS, NOT_ASKED, PROMPT_KINDS, TABLES, Key, StudyHead, keys_of

NAMED_BY = ("title", "name", "text", "question", "slug", "filter", "measure")
LANGUAGES = "languages"


@dataclass(frozen=True)
class FileSection:
    name: str
    title: str
    parts: tuple[str, ...]


SECTIONS = (
    FileSection("about", "About & pay", ("", "pay", "places", "recruiting", "filters", "team")),
    FileSection("consent", "Consent", ("consent", "debrief")),
    FileSection("chatbots", "Chatbots", ("chatbots", "chatbot_question")),
    FileSection("questions", "Questions & cells", ("questions", "cells")),
    FileSection("prompts", "Prompts", ("prompts", "matrix", "order", "repeats", "arms", "rating")),
    FileSection("checks", "Checks", ("checks", "comprehension", "attention", "perception", "exclusions")),
    FileSection("annotation", "Annotation", ("annotation", "wordings")),
    FileSection("plan", "Plan", ("hypotheses", "plan", "references")),
    FileSection("codes", "Codes", ("codes",)),
    FileSection(LANGUAGES, "Languages", (LANGUAGES,)),
)


@dataclass
class EntryCard:
    """A table of the file, or one entry of a list."""

    place: str
    fields: list[FormField]
    number: int = 0
    title: str = ""
    faults: list[StudyFault] = field(default_factory=list)
    people: int = 0  # of a cell, with what they cost
    cost: str = ""

    @property
    def by_key(self) -> dict[str, FormField]:
        return {each.key: each for each in self.fields}

    @property
    def others(self) -> list[FormField]:
        """A cell's fields that have no column of their own."""
        return [each for each in self.fields if each.key not in ("name", "slug", "where", "places")]

    @property
    def is_open(self) -> bool:
        return not self.title or bool(self.faults) or any(each.faults for each in self.fields)


@dataclass
class SectionPart:
    """A whole table or list of the file."""

    name: str
    title: str
    words: str
    cards: list[EntryCard]
    is_list: bool = False
    faults: list[StudyFault] = field(default_factory=list)

    @property
    def place(self) -> str:
        return self.name

    @property
    def one(self) -> str:
        """The name of one entry, for the button that adds one."""
        return {"hypotheses": "Hypothesis"}.get(self.name, self.title.removesuffix("s"))


def section_of(place: str) -> str:
    top = place.partition(".")[0].partition("[")[0]
    return next((section.name for section in SECTIONS if top in section.parts), SECTIONS[0].name)


def sections_for(raw: Mapping[str, Any]) -> list[FileSection]:
    """Sections of use to people who paste answers, or to annotators, with all that the file has."""
    annotates = "annotation" in raw

    def is_of_use(part: str) -> bool:
        fits = part not in NOT_FOR_ANNOTATORS if annotates else part not in ("annotation", "wordings")
        return fits or part in raw

    return [
        FileSection(section.name, section.title, parts)
        for section in SECTIONS
        if (parts := tuple(part for part in section.parts if is_of_use(part)))
    ]


def parts_of_section(section: FileSection, raw: Mapping[str, Any], text: str) -> list[SectionPart]:
    return [part for name in section.parts for part in _parts(name, raw, text)]


def _parts(name: str, raw: Mapping[str, Any], text: str) -> Iterator[SectionPart]:
    if name == LANGUAGES:
        yield from _translations(raw)
        return
    title = name.replace("_", " ").capitalize() or "The study"
    part = SectionPart(name, title, as_words(words_of_docs().get((name, ""), "")) if name else "", [], name in LISTS)
    if name in LISTS and _is_list(raw.get(name, []), text, name):
        part.cards = [_entry(name, number, raw) for number in range(1, len(raw.get(name, [])) + 1)]
    elif name in TABLES and isinstance(raw.get(name, {}), dict):
        part.cards = [EntryCard(name, fields_for(name, name, keys_of(TABLES[name]), raw.get(name, {})))]
    elif not name:
        head = {key: value for key, value in raw.items() if key not in (*TABLES, *LISTS, LANGUAGES)}
        part.cards = [EntryCard("", fields_for("", "", keys_of(StudyHead), head))]
    else:
        part.is_list, part.cards = False, [EntryCard("", [FormField("", name, "toml", raw=raw[name])])]
    yield part


def _is_list(entries: Any, text: str, name: str) -> bool:
    whole = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    return whole and is_list_of_tables(text, name)


def _entry(name: str, number: int, raw: Mapping[str, Any]) -> EntryCard:
    entry, place = raw[name][number - 1], f"{name}[{number}]"
    fields = fields_for(name, place, keys_of_entry(name, entry), entry, groups_of(name, raw))
    return EntryCard(place, fields, number, next((str(entry[key]) for key in NAMED_BY if entry.get(key)), ""))


def keys_of_entry(name: str, entry: Mapping[str, Any]) -> Mapping[str, Key]:
    kind = entry.get("kind")
    special = PROMPT_KINDS.get(kind) if name == "prompts" and isinstance(kind, str) else None
    return keys_of(LISTS[name]) | (keys_of(special) if special else {})


def groups_of(name: str, raw: Mapping[str, Any]) -> dict[str, Groups]:
    """The names that tables of options in an entry can use, by their key."""
    if name == "cells":
        questions = [each for each in _entries(raw, "questions") if each.get("purpose") == "quota"]
        offered = {
            str(each.get("slug")): (str(each.get("text", "")), _lines(each.get("options"))) for each in questions
        }
        return {"where": {slug: group for slug, group in offered.items() if group[1]}}
    if name == "exclusions":
        bots = tuple(str(bot["slug"]) for bot in _entries(raw, "chatbots") if "slug" in bot)
        asked = {key: answers for key, answers in CONTEXT.items() if key not in NOT_ASKED}
        return {"context": {key: (key, (*bots, *said) if key == "product" else said) for key, said in asked.items()}}
    return {}


def turned_away(raw: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(question, option) that no cell takes, whatever the other answers."""
    cells = [cell["where"] for cell in _entries(raw, "cells") if isinstance(cell.get("where"), dict)]
    asked = groups_of("cells", raw)["where"] if cells else {}
    return [
        (words, option)
        for slug, (words, options) in asked.items()
        for option in options
        if not any(option in (said if isinstance(said := cell.get(slug, option), list) else [said]) for cell in cells)
    ]


def _entries(raw: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    listed = raw.get(name, [])
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _lines(options: Any) -> tuple[str, ...]:
    return tuple(option for option in options if isinstance(option, str)) if isinstance(options, list) else ()


# Languages -------------------------------------------------------------------------------------------------------


def _translations(raw: Mapping[str, Any]) -> Iterator[SectionPart]:
    """Each text of the study beside its translation into every further language."""
    given = raw.get(LANGUAGES, {})
    if not isinstance(given, dict) or not all(isinstance(said, dict) for said in given.values()):
        yield SectionPart(LANGUAGES, "Languages", "", [EntryCard("", [FormField("", LANGUAGES, "toml", raw=given)])])
        return
    words = as_words(words_of_docs().get(("languages.de", ""), ""))
    yield SectionPart(LANGUAGES, "Languages", words, [])
    wanted = texts_of(read_keys(dict(raw))[0]) if given else {}
    for place, texts in _levels(wanted):
        shown = [_translated(code, place, key, what, raw) for key, what in texts.items() for code in given if what.own]
        yield SectionPart(
            "", " · ".join(place).replace("_", " ").capitalize() or "The study", "", [EntryCard("", shown)]
        )


def _levels(
    wanted: Mapping[str, Any], place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, Wanted]]]:
    texts = {key: what for key, what in wanted.items() if isinstance(what, Wanted)}
    if texts:
        yield place, texts
    for key, inner in wanted.items():
        if key and not isinstance(inner, Wanted):
            yield from _levels(inner, (*place, key))


def _translated(code: str, place: tuple[str, ...], key: str, what: Wanted, raw: Mapping[str, Any]) -> FormField:
    said: Any = raw[LANGUAGES]
    table = reduce(join_place, (LANGUAGES, code, *place))
    for name in (code, *place):
        said = said.get(name, {}) if isinstance(said, dict) else {}
    found = said.get(key) if isinstance(said, dict) else None
    own = "\n".join(what.own) if isinstance(what.own, tuple) else what.own
    kind = "lines" if isinstance(what.own, tuple) else "text" if len(own) > 100 or "\n" in own else "line"
    kind = "toml" if found is not None and not isinstance(found, list if kind == "lines" else str) else kind
    return FormField(table, key, kind, help=code, required=True, raw=found, own=own)


def languages_left(raw: Mapping[str, Any]) -> dict[str, str]:
    """Languages of the pages that the study does not have yet."""
    given = raw.get(LANGUAGES, {})
    taken = {raw.get("language"), *(given if isinstance(given, dict) else ())}
    return {code: name for code, name in PAGE_LANGUAGES.items() if code not in taken}


# Faults ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Located:
    """A fault, and the place in the editor to mend it."""

    fault: StudyFault
    section: str
    anchor: str


def locate(faults: list[StudyFault], sections: Mapping[str, list[SectionPart]]) -> list[Located]:
    """Put each fault at its field, or at the nearest table around it."""
    known: dict[str, Any] = {}
    for parts in sections.values():
        for part in parts:
            known |= {part.name: part} if part.name else {}
            known |= {card.place: card for card in part.cards if card.place}
            known |= {each.place: each for card in part.cards for each in card.fields}
    found = []
    for fault in faults:
        place = fault.place
        while place and place not in known:
            place = place[: max(place.rfind("."), place.rfind("["), 0)]
        if place:
            known[place].faults.append(fault)
        found.append(Located(fault, section_of(fault.place), place))
    return found
