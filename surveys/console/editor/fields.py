"""A key of a study file as a form field, whose kind, words and bounds come from the declared schema alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from django.http import QueryDict
from tomlkit.items import Float, Integer

from surveys.console.editor.writing import Literal, Value, as_toml, item_of, plain
from surveys.studies.files.definitions import StudyFault
from surveys.studies.files.json_schema import DOCS, described, read_words
from surveys.studies.files.lines import join_place
from surveys.studies.files.schema import Key
from surveys.studies.files.values import LONGEST_TEXT

LINK = re.compile(r"\[(`[^`]+`|[^\[\]]+)\]\([^()]+\)")  # code may have brackets of its own
Groups = Mapping[str, tuple[str, tuple[str, ...]]]  # by key: its words and its options, none if it is typed


@dataclass
class FormField:
    """One key: its place in the file, its form field, and the file's value."""

    table: str
    key: str
    kind: str  # `toml`: for values that no other kind of field can show, written as in the file
    help: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    groups: Groups = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)
    default: Any = None  # what stands in for a key that is left out
    raw: Any = None
    own: Any = None  # of a translation: the file's own text
    faults: list[StudyFault] = field(default_factory=list)

    @property
    def place(self) -> str:
        return join_place(self.table, self.key)

    @property
    def label(self) -> str:
        return self.key.replace("_", " ").capitalize()

    @property
    def shown(self) -> Any:
        """The field's content, in the shape in which the form sends it back."""
        if self.raw is None:
            blank = {
                "tick": self.default,
                "set": [*self.default] if self.kind == "set" and self.default else [],
                "groups": {},
            }
            return blank.get(self.kind, "")
        match self.kind:
            case "lines":
                return "\n".join(self.raw)
            case "groups":
                return {key: [said] if isinstance(said, str) else said for key, said in self.raw.items()}
            case "toml":
                return as_toml(self.raw)
            case "tick" | "set":
                return self.raw
            case _:
                return str(self.raw)

    @property
    def default_words(self) -> str:
        """The default in words, for an empty field."""
        said = ", ".join(self.default) if isinstance(self.default, tuple) else self.default
        return str(said) if said and said is not True else ""

    @property
    def rows(self) -> int:
        """Lines of the box, so that a long text can be read whole."""
        lines = self.shown.split("\n")
        return min(24, max(2, sum(1 + len(line) // 70 for line in lines)))

    @property
    def chosen(self) -> str:
        """A table of options in one line."""
        return ", ".join(" or ".join(options) for options in self.shown.values())

    @property
    def words(self) -> str:
        """The documentation's words about the key, with its bounds or how to type it."""
        most = self.bounds.get("max")
        bounds = f" From {self.bounds.get('min', 0):,} to {most:,}." if most and f"{most:,}" not in self.help else ""
        one = bounds or " One a line." if self.kind == "lines" else " As TOML." if self.kind == "toml" else ""
        words = as_words(self.help).rstrip(".")
        return f"{words[:1].upper()}{words[1:]}.{one}" if words else one.strip()

    @property
    def options(self) -> list[tuple[str, bool]]:
        """Each choice, even one that only the file names, and whether it is chosen."""
        chosen = self.shown if isinstance(self.shown, list) else [self.shown]
        unknown = [name for name in chosen if name and name not in self.choices]
        return [(name, name in chosen) for name in (*self.choices, *unknown)]

    @property
    def group_rows(self) -> list[dict[str, Any]]:
        known = {key: (key, ()) for key in self.shown} | dict(self.groups)
        rows = []
        for key, (words, offered) in known.items():
            chosen = self.shown.get(key, [])
            options = [(option, option in chosen) for option in dict.fromkeys((*offered, *chosen))] if offered else []
            rows.append({"name": f"{self.place}|{key}", "words": words, "options": options, "typed": "\n".join(chosen)})
        return rows

    def posted(self, form: QueryDict) -> Any:
        """The form's value, in the shape of `shown`; a text that it leaves out stays."""
        match self.kind:
            case "tick":
                return bool(form.getlist(self.place))
            case "set":
                said = form.getlist(self.place)
                return [name for name, _ in self.options if name in said]
            case "groups":
                found = {row["name"].rpartition("|")[2]: self._of_group(form, row) for row in self.group_rows}
                return {key: said for key, said in found.items() if said}
            case _:
                return plain(form.get(self.place, self.shown))

    def _of_group(self, form: QueryDict, row: Mapping[str, Any]) -> list[str]:
        if row["options"]:
            said = form.getlist(row["name"])
            return [option for option, _ in row["options"] if option in said]
        return _lines(plain(form.get(row["name"], row["typed"])))

    def change(self, form: QueryDict) -> dict[str, Value | None]:
        """The key with its new value, None to remove it; empty if the form says what the file says."""
        said = self.posted(form)
        if said == self.shown or (self.kind == "set" and set(said) == set(self.shown)):
            return {}
        return {self.key: self.written(said)}

    def written(self, said: Any) -> Value | None:
        match self.kind:
            case "tick":
                return Literal("true" if said else "false")
            case "groups":
                one = {key: options[0] if len(options) == 1 else options for key, options in said.items()}
                return Literal(as_toml(one)) if one or self.required else None
            case "lines":
                return _lines(said) or None
            case "set":
                return said or ([] if self.default else None)
            case "number":
                item = item_of(said.strip())
                return (Literal(said.strip()) if isinstance(item, Integer | Float) else said) if said.strip() else None
            case "toml":
                return (said if item_of(said) is None else Literal(said)) if said.strip() else None
            case _:
                return said if said.strip() else None


def as_words(markdown: str) -> str:
    """A sentence of the documentation without its marks; empty if it is a table."""
    return "" if markdown.startswith("|") else re.sub(r"[`*]", "", LINK.sub(r"\1", markdown)).rstrip(":")


def _lines(said: str) -> list[str]:
    return [line.strip() for line in said.splitlines() if line.strip()]


@cache
def words_of_docs() -> dict[tuple[str, str], str]:
    return read_words(DOCS.read_text(encoding="utf-8"))


SHAPES: dict[tuple[str, str], dict[str, Any]] = {}  # by table and key, read once


def shape_of(part: str, name: str, key: Key) -> dict[str, Any]:
    """Kind, help, choices and bounds of a key, as the JSON Schema of study files has them."""
    schema = described(words_of_docs(), part, name, key)
    whole = schema | next((each for each in schema.get("anyOf", ()) if "const" not in each), {})
    inner = whole.get("items", {})
    if whole.get("type") == "array":
        kind = "set" if "enum" in inner else "lines"
    elif "enum" in whole:
        kind = "choice"
    elif whole.get("type") == "string":
        kind = "text" if whole.get("maxLength") == LONGEST_TEXT else "line"
    else:
        kind = {"boolean": "tick", "integer": "number", "number": "number"}.get(whole.get("type", ""), "toml")
    bounds = {
        "min": whole.get("minimum", whole.get("exclusiveMinimum")),
        "max": whole.get("maximum"),
        "longest": whole.get("maxLength"),
    }
    return {
        "kind": kind if inner.get("type", "string") == "string" else "toml",
        "help": schema["description"],
        "required": key.required,
        "choices": tuple(whole.get("enum") or inner.get("enum") or ()),
        "bounds": {name: bound for name, bound in bounds.items() if bound is not None},
        "default": None if key.required else key.default,
    }


def fields_for(
    part: str, table: str, keys: Mapping[str, Key], raw: Mapping[str, Any], groups: Mapping[str, Groups] | None = None
) -> list[FormField]:
    """A field for each key of a table, and for each other key in the file."""
    found = []
    for name, key in keys.items():
        shape = SHAPES.get((part, name)) or SHAPES.setdefault((part, name), shape_of(part, name, key))
        if groups and name in groups:
            shape = shape | {"kind": "groups", "groups": groups[name]}
        found.append(FormField(table, name, raw=raw.get(name), **shape))
    found += [FormField(table, name, "toml", raw=raw[name]) for name in raw if name not in keys]
    for each in found:
        if each.raw is not None and not fits(each):
            each.kind = "toml"
    return found


def fits(each: FormField) -> bool:
    """Whether the field can show what the file says."""
    raw = each.raw
    match each.kind:
        case "groups":
            return isinstance(raw, dict) and all(
                _are_lines([said] if isinstance(said, str) else said) for said in raw.values()
            )
        case "lines" | "set":
            return _are_lines(raw)
        case "number":
            typed = isinstance(raw, str) and not isinstance(item_of(raw), Integer | Float)
            return typed or (isinstance(raw, int | Decimal) and not isinstance(raw, bool))
        case "tick":
            return isinstance(raw, bool)
        case "toml":
            return True
        case kind:
            return isinstance(raw, str) and (kind == "text" or "\n" not in raw)


def _are_lines(entries: Any) -> bool:
    """Whether a text with a line for each entry says the same."""
    return isinstance(entries, list) and all(
        isinstance(entry, str) and entry and entry == entry.strip() and "\n" not in entry for entry in entries
    )
