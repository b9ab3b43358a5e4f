"""The JSON Schema of study files, for editors: the checker's own keys, in the words of docs/study-files.md."""

import re
from pathlib import Path
from typing import Any

from surveys.studies.files.definitions import MOST_ENTRIES, NEEDED_LISTS, NOT_FOR_ANNOTATORS
from surveys.studies.files.schema import LISTS, MAY_BE_ABSENT, PROMPT_KINDS, TABLES, Key, StudyHead, keys_of

DOCS = Path(__file__).resolve().parents[3] / "docs" / "study-files.md"
SECTION = re.compile(r"^### (?:`\[+(?P<table>[\w.]+)\]+`)?.*\n(?P<body>(?:(?!##).*\n)*)", re.MULTILINE)
ROW = re.compile(r"^\| (?P<names>`\w+`(?:, `\w+`)*) \| (?P<words>[^|]*) \|", re.MULTILINE)

Schema = dict[str, Any]
Words = dict[tuple[str, str], str]


def study_schema(docs: str) -> Schema:
    """The schema by which an editor checks a study file; loading the file checks the rest."""
    words = read_words(docs)
    needed = [name for name, table in TABLES.items() if any(key.required for key in keys_of(table).values())]
    needed = [name for name in (*needed, *NEEDED_LISTS) if name not in MAY_BE_ABSENT]
    properties = {name: described(words, "", name, key) for name, key in keys_of(StudyHead).items()}
    properties |= {name: table_schema(words, name, keys_of(table)) for name, table in TABLES.items()}
    properties |= {
        name: {"type": "array", "maxItems": MOST_ENTRIES, "items": entry_schema(words, name)} for name in LISTS
    }
    properties["languages"] = {"type": "object", "additionalProperties": {"type": "object"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A study file of Field Study",
        **closed(properties, [name for name, key in keys_of(StudyHead).items() if key.required]),
        "if": {"required": ["annotation"]},
        "then": {
            "required": [name for name in needed if name not in (*NOT_FOR_ANNOTATORS, *NEEDED_LISTS)],
            "properties": dict.fromkeys(NOT_FOR_ANNOTATORS, False),
        },
        "else": {"required": needed},
    }


def closed(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def table_schema(words: Words, place: str, keys: dict[str, Key]) -> Schema:
    return closed(
        {name: described(words, place, name, key) for name, key in keys.items()},
        [name for name, key in keys.items() if key.required],
    )


def entry_schema(words: Words, name: str) -> Schema:
    keys = keys_of(LISTS[name])
    if name != "prompts":
        return table_schema(words, name, keys)
    found = {kind: table_schema(words, name, keys | keys_of(table)) for kind, table in PROMPT_KINDS.items()}
    for kind, schema in found.items():
        schema["properties"]["kind"] |= {"enum": [kind]}
    return {"oneOf": list(found.values())}


def described(words: Words, place: str, name: str, key: Key) -> Schema:
    schema = key.reader.json_schema()
    blank = list(key.default) if key.default == () else key.default
    if not key.required and blank in ("", []):  # written out, it says the same as when it is left out
        schema = {"anyOf": [schema, {"const": blank}]}
    return schema | {"description": words.get((place, name)) or words.get(("", place)) or words[place, ""]}


def read_words(docs: str) -> Words:
    """The docs' description of each key, by table and key; under an empty key, their first line about the table."""
    found: Words = {}
    for section in SECTION.finditer(docs):
        found[section["table"] or "", ""] = section["body"].strip().partition("\n")[0]
        for row in ROW.finditer(section["body"]):
            for name in re.findall(r"\w+", row["names"]):
                found.setdefault((section["table"] or "", name), row["words"].strip())
    return found
