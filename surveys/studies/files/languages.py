"""A study's texts in further languages, each read beside the file's own; none may be missing."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from surveys.studies.files.lines import Misfit, Misfits, join_place
from surveys.studies.files.schema import LISTS, MAY_BE_ABSENT, PROMPT_KINDS, TABLES, Language, StudyHead, keys_of
from surveys.studies.files.values import faults_in, kind_of, listed, nearest

# The languages of the pages around a study's texts (settings.LANGUAGES).
PAGE_LANGUAGES = {"en": "English", "de": "Deutsch"}
# The texts that people are shown: the keys of each table, and of each entry of a list, known by its slug.
TEXTS: dict[str, tuple[str, ...]] = {
    "": ("title", "contact"),
    "consent": ("text", "summary"),
    "chatbot_question": ("text", "several", "none"),
    "chatbots": ("new_chat", "memory", "login", "settings", "memory_name", "instructions_name", "model_shown"),
    "questions": ("text", "help", "options"),
    "comprehension": ("text", "options", "explanation"),
    "attention": ("text", "options"),
    "perception": ("text", "options"),
    "prompts": ("title", "text", "question", "choices", "request"),
    "arms": ("name", "instruction"),
    "rating": ("text",),
    "matrix": ("title", "request"),
    "debrief": ("text",),
}
Texts = dict[str, Any]
UNNAMED = ""  # stands for entries whose slug cannot be read


class Wanted(NamedTuple):
    """A text that every language of the study has: its reader, and the text in the file's own language.

    `own` is None if it cannot be read: a translation is then read if there is one, but not required.
    """

    reader: TypeAdapter[Any]
    own: Any


def read_languages(raw: Any, study: Mapping[str, Any]) -> tuple[dict[str, Texts], list[Misfit]]:
    """Read the texts by language, in the shape of the file, and each misfit; `study` is the rest, as read."""
    if not isinstance(raw, dict):
        return {}, [("languages", "must be written as [languages.de], once for each further language")]
    wanted, read, misfits = texts_of(study), {}, []
    for code, given in raw.items():
        place = join_place("languages", code)
        if fault := _fault_of(code, study):
            misfits.append((place, fault))
        else:
            read[code], more = _read_level(place, given, wanted)
            misfits += more
    return read, misfits


def texts_of(study: Mapping[str, Any]) -> dict[str, Any]:
    """All texts that people are shown, as nested `Wanted`; the keys of entries are their slugs."""
    wanted: dict[str, Any] = {}
    level: dict[str, Any]
    for name, keys in TEXTS.items():
        if name in LISTS:
            entries = {entry["slug"]: entry for entry in study[name] if "slug" in entry}
            level = {slug: _wanted(_keys_of(name, entry), keys, entry) for slug, entry in entries.items()}
            if len(entries) < len(study[name]):  # somebody's slug cannot be read
                level[UNNAMED] = _wanted(_keys_of(name, {}), keys, {})
        else:
            table = study.get(name, None if name in MAY_BE_ABSENT else {}) if name else study
            level = {} if table is None else _wanted(keys_of(TABLES[name] if name else StudyHead), keys, table)
        if name == "chatbot_question" and len(study["chatbots"]) < 2:
            level.pop("several", None)  # which is offered to choose between them
        if name and level:
            wanted[name] = level
        elif level:
            wanted |= level
    return wanted


def _keys_of(name: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    kinds = [entry["kind"]] if "kind" in entry else list(PROMPT_KINDS)
    special = [keys_of(PROMPT_KINDS[kind]) for kind in kinds] if name == "prompts" else []
    return dict(chain.from_iterable(keys.items() for keys in (keys_of(LISTS[name]), *special)))


def _wanted(readers: Mapping[str, Any], keys: tuple[str, ...], own: Mapping[str, Any]) -> dict[str, Wanted]:
    return {
        key: Wanted(readers[key].reader, own.get(key)) for key in keys if key in readers and own.get(key, "unreadable")
    }


def _fault_of(code: str, study: Mapping[str, Any]) -> str:
    if code == study.get("language"):
        return "is the language of the file's own texts, given by `language`"
    if code in PAGE_LANGUAGES:
        return ""
    try:
        TypeAdapter(Language).validate_python(code)
    except ValidationError as error:
        return faults_in(error)[0]
    return f"is not a language of the pages around these texts, which speak {listed(tuple(PAGE_LANGUAGES))}"


def _read_level(place: str, given: Any, wanted: Mapping[str, Any]) -> tuple[Texts, list[Misfit]]:
    if not isinstance(given, dict):
        return {}, [(place, f"must be a table, not {kind_of(given)}")]
    read, misfits = (
        {},
        [
            (join_place(place, name), f"is not a text of this study{nearest(name, tuple(wanted))}")
            for name in given
            if name not in wanted and UNNAMED not in wanted
        ],
    )
    unnamed = dict.fromkeys(given if UNNAMED in wanted else (), wanted.get(UNNAMED))
    for name, what in (unnamed | dict(wanted)).items():
        here = join_place(place, name)
        if name not in given:
            misfits += [(missing, "is missing") for missing in _places(here, what)]
        elif isinstance(what, Wanted):
            try:
                read[name] = what.reader.validate_python(given[name])
            except ValidationError as error:
                misfits += [(here, fault) for fault in faults_in(error)]
            else:
                misfits += _same_length(here, what.own, read[name])
        else:
            read[name], more = _read_level(here, given[name], what)
            misfits += more
    return read, misfits


def _places(place: str, what: Any) -> Iterator[str]:
    if isinstance(what, Wanted):
        yield from [place] if what.own else []
    else:
        for name, inner in what.items():
            yield from _places(join_place(place, name), inner)


def _same_length(place: str, own: Any, read: Any) -> Misfits:
    if isinstance(own, tuple) and len(own) != len(read):
        yield (place, f"has {len(read)} entries, but must say the {len(own)} of the study in the same order")
