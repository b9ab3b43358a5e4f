"""Limits of all imports: the depth of JSON and TOML from outside, and the memory that a file may take."""

import json
import re
from collections.abc import Iterator
from itertools import accumulate, takewhile
from operator import itemgetter
from typing import Any

# Bytes that an import may take, whatever its file is and holds. The limits of each format are made from these three;
# tests/test_import_memory.py measures what hostile files take.
MEMORY = 512 << 20
LONGEST_RECORD = MEMORY // 32  # of one record, line or row as written: its text is in memory several times, or wider
MOST_VALUES = MEMORY // 2  # of the values made of a record, and of all that is kept of a file until its end
MOST_WEIGHT = 50  # bytes of memory for one byte of JSON, at most: lists in lists
DEEPEST = 100  # levels; a study file has 4, a conversation 3
# Strings are passed over, since brackets in them open nothing.
JSON_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[\]{}])', re.DOTALL)
TOML_TOKEN = re.compile(
    r"#[^\n]*+"
    r'|"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""+)?'
    r"|'''(?:[^']++|'(?!''))*+(?:'''+)?"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|([\[\]{}])",
    re.DOTALL,
)
# Bytes that a value takes besides its text: lists and objects with their first entry, further entries, keys.
WEIGHTS = {"[": 100, "{": 200, ",": 110, ":": 110}
WEIGHED = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[\]{},:])', re.DOTALL)
STEPS = {None: 0, "[": 1, "{": 1, "]": -1, "}": -1}


class NestedTooDeeply(ValueError):
    def __init__(self) -> None:
        super().__init__(f"it is nested more than {DEEPEST} levels deep")


class TooManyValues(ValueError):
    def __init__(self) -> None:
        super().__init__(f"it holds so many values that they take more than {MOST_VALUES >> 20} MB of memory")


def depths(token: re.Pattern[str], text: str, at: int = 0) -> Iterator[int]:
    return accumulate(map(STEPS.__getitem__, map(itemgetter(1), token.finditer(text, at))))


def is_deep_json(text: str, at: int = 0) -> bool:
    """Whether the value that begins here is nested too deeply, whatever comes after it."""
    return any(map(DEEPEST.__lt__, takewhile((0).__lt__, depths(JSON_TOKEN, text, at))))


def is_deep_toml(text: str) -> bool:
    return any(map(DEEPEST.__lt__, depths(TOML_TOKEN, text)))


def has_too_many_values(*texts: str) -> bool:
    """Whether the values of these texts take too much memory besides the texts, all together."""
    if MOST_WEIGHT * sum(map(len, texts)) <= MOST_VALUES:
        return False
    if sum(text.count(mark) * weight for mark, weight in WEIGHTS.items() for text in texts) <= MOST_VALUES:
        return False
    return sum(WEIGHTS.get(found[1], 0) for text in texts for found in WEIGHED.finditer(text)) > MOST_VALUES


def begins_too_much(text: str, at: int) -> bool:
    """Whether the value that begins here takes too much memory; it may not have been read to its end."""
    if MOST_WEIGHT * (len(text) - at) <= MOST_VALUES:
        return False
    weight = depth = 0
    for found in WEIGHED.finditer(text, at):
        weight += WEIGHTS.get(found[1], 0)
        depth += STEPS.get(found[1], 0)
        if depth <= 0 or weight > MOST_VALUES:
            break
    return weight > MOST_VALUES


def read_json(content: str | bytes, **options: Any) -> Any:
    """Like `json.loads`. Raises ValueError if it is not JSON, too deep or too large."""
    text = content if isinstance(content, str) else content.decode(json.detect_encoding(content), "surrogatepass")
    if opens_many(text, 0, len(text)) and is_deep_json(text):
        raise NestedTooDeeply
    if has_too_many_values(text):
        raise TooManyValues
    return json.loads(text, **options)


def read_json_at(decoder: json.JSONDecoder, text: str, at: int) -> tuple[Any, int]:
    """The value that begins here, and where it ends. Raises ValueError if it is not JSON, too deep or too large."""
    if is_deep_json(text, at):
        raise NestedTooDeeply
    if begins_too_much(text, at):
        raise TooManyValues
    return decoder.raw_decode(text, at)


def read_record_at(decoder: json.JSONDecoder, text: str, at: int) -> tuple[Any, int]:
    """Like `read_json_at`, twice as fast where hardly any value is deep."""
    if begins_too_much(text, at):
        return read_json_at(decoder, text, at)
    try:
        value, end = decoder.raw_decode(text, at)
    except (json.JSONDecodeError, RecursionError):
        if is_deep_json(text, at):
            raise NestedTooDeeply from None
        raise
    if opens_many(text, at, end) and is_deep_json(text, at):
        raise NestedTooDeeply
    return value, end


def opens_many(text: str, at: int, end: int) -> bool:
    """Whether the text has enough brackets to be nested too deeply; counting them is cheaper than following them."""
    return text.count("[", at, end) + text.count("{", at, end) > DEEPEST


# Faults that the decoder finds, by the beginning of its message.
FAULTS = {
    "Expecting value": "a value is missing or written wrongly",
    "Expecting ',' delimiter": "a comma is missing between two entries",
    "Expecting ':' delimiter": "a colon is missing after a name",
    "Expecting property name": "a name in double quotes is missing",
    "Illegal trailing comma": "a comma stands before the closing bracket",
    "Unterminated string": "a text has no closing quotation mark",
    "Extra data": "more stands behind the value",
    "Invalid control character": "a text holds a line break or another control character",
    "Invalid \\": "a backslash stands before a sign that it does not go with",
}


def say_fault(error: ValueError, *, where: bool = True) -> str:
    """A fault of JSON in plain words, and `where` it is; errors of ours keep their words."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8: save the file with the encoding UTF-8"
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    words = next((said for begins, said in FAULTS.items() if error.msg.startswith(begins)), "it does not go on as JSON")
    line = f"line {error.lineno:,}, " if error.lineno > 1 else ""
    return f"it is no JSON: {words}" + (f" ({line}character {error.colno:,})" if where else "")
