"""A study that is there, written as a study file: the inverse of reading one."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from surveys.editor.sections import keys_of_entry
from surveys.editor.writing import CannotWriteError, Literal, as_toml, literal
from surveys.studies.files.definitions import Definition, StudyFileError, parse_study
from surveys.studies.files.lines import join_place
from surveys.studies.files.schema import LISTS, MAY_BE_ABSENT, TABLES, Key, StudyHead, keys_of

EVERYBODY = {"slug": "annotators", "name": "Annotators", "where": {}}


def to_file(definition: Definition) -> str:
    """A file that says the same as the definition, to the letter."""
    text = "\n".join(_lines(_raw(definition)))
    try:
        if parse_study(text.encode()) == as_in_file(definition):
            return text
    except StudyFileError as fault:
        raise CannotWriteError(f"{definition.slug} cannot be written as a study file: {fault}") from fault
    raise CannotWriteError(f"{definition.slug} holds more than a study file can say.")


def as_in_file(definition: Definition) -> Definition:
    """Without what the server's benchmarks gave it when it was loaded."""
    prompts = tuple(replace(prompt, imported=False) for prompt in definition.prompts)
    matrix = definition.matrix and replace(definition.matrix, questions=())
    return replace(definition, prompts=prompts, matrix=matrix)


def _raw(definition: Definition) -> dict[str, Any]:
    """The tables and lists of the file, from a document whose tables of one key are plain fields."""
    raw: dict[str, Any] = asdict(definition)
    raw["places"] = {"lease_minutes": definition.lease_minutes}
    later = {"settings": "after-first-prompt"} if definition.settings_later else {}
    raw["order"] = {"scheme": definition.order_scheme} | later
    raw["checks"] = {"paste": definition.paste_checks}
    raw["debrief"] = {"text": definition.debrief}
    raw["team"] = {"second_person": definition.second_person}
    raw["recruiting"] = {"description": definition.description, "blocked_from": definition.blocked_from}
    if work := raw["annotation"]:
        raw |= dict.fromkeys(("order", "checks", "chatbot_question"))
        raw["wordings"] = work["wordings"]
        first, *more = raw["cells"]
        if not more and first.items() >= EVERYBODY.items():
            work["annotators"], raw["cells"] = first["places"], ()
    return raw


def _lines(raw: Mapping[str, Any]) -> Iterator[str]:
    yield from _assignments(keys_of(StudyHead), raw)
    for name, table in TABLES.items():
        said = list(_assignments(keys_of(table), raw[name])) if raw.get(name) else []
        if said or (raw.get(name) and name in MAY_BE_ABSENT):
            yield from ("", f"[{name}]", *said)
    for name in LISTS:
        for entry in raw.get(name) or ():
            yield from ("", f"[[{name}]]", *_assignments(keys_of_entry(name, entry), entry))
    for code, texts in raw["languages"].items():
        yield from _level(f"languages.{code}", texts)
    yield ""


def _level(place: str, texts: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"[{place}]")
    yield from (
        f"{join_place('', key)} = {_written(said)}" for key, said in texts.items() if not isinstance(said, dict)
    )
    for key, inner in texts.items():
        if isinstance(inner, dict):
            yield from _level(join_place(place, key), inner)


def _assignments(keys: Mapping[str, Key], table: Mapping[str, Any]) -> Iterator[str]:
    for name, key in keys.items():
        if key.required or table.get(name) not in (key.default, "", (), {}, None):
            yield f"{name} = {_written(table[name])}"


def _written(value: Any) -> str:
    if isinstance(value, tuple | list):
        return literal([_entry(entry) for entry in value])
    return literal(_entry(value))


def _entry(value: Any) -> str:
    if isinstance(value, str):
        return value
    return Literal(as_toml(_thawed(value)))


def _thawed(value: Any) -> Any:
    """Tables of options as files write them: one alone without brackets."""
    if isinstance(value, dict):
        return {key: _thawed(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else list(value)
    return value
