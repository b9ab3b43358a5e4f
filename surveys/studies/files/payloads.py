"""The payload of an annotation item: each reader tidies one key or raises PayloadFault."""

from collections.abc import Callable, Mapping
from typing import Any

from surveys.studies.files.values import kind_of

LONGEST_TEXT = 200_000
LONGEST_HISTORY = 1_000_000
MOST_ENTRIES = 200
ROLES = ("user", "assistant")

Reader = Callable[[Any], Any]


class PayloadFault(ValueError):
    """A value that no item can show; the message continues the name of the key."""


def read_text(value: Any) -> str:
    """Read a text of at most LONGEST_TEXT characters."""
    if not isinstance(value, str):
        raise PayloadFault(f"must be text, not {kind_of(value)}")
    if not value.strip():
        raise PayloadFault("is empty")
    if len(value) > LONGEST_TEXT:
        raise PayloadFault(f"has {len(value):,} characters; the limit is {LONGEST_TEXT:,}")
    return check_storable(value)


def check_storable(text: str) -> str:
    """Refuse NUL and half a surrogate pair, which PostgreSQL's JSON cannot hold."""
    if "\x00" in text:
        raise PayloadFault("holds the character NUL, which cannot be stored")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PayloadFault("holds half of a character (a lone surrogate)") from None
    return text


def read_texts(value: Any) -> list[str]:
    """Read at least one text; a single text needs no list."""
    return [read_text(entry) for entry in as_list(value)]


def as_list(value: Any) -> list[Any]:
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise PayloadFault("is empty")
    if len(entries) > MOST_ENTRIES:
        raise PayloadFault(f"has {len(entries):,} entries; the limit is {MOST_ENTRIES}")
    return entries


def read_parts(value: Any) -> list[dict[str, Any]]:
    """Read texts that are judged one by one, each with an id: `[{"id": "a1", "text": "…"}]`; bare texts are numbered.

    `mentioned` may say whether the personalised response names the part; nobody is shown that.
    """
    parts = [read_part(entry, number) for number, entry in enumerate(as_list(value), 1)]
    ids = [part["id"] for part in parts]
    if repeated := next((name for name in ids if ids.count(name) > 1), None):
        raise PayloadFault(f"has the id {repeated!r} more than once")
    return parts


def read_part(entry: Any, number: int) -> dict[str, Any]:
    if not isinstance(entry, dict):
        return {"id": str(number), "text": read_text(entry)}
    name = entry.get("id", str(number))
    if not isinstance(name, str | int) or not 0 < len(str(name)) <= 50 or not str(name).isprintable():
        raise PayloadFault(f"has an entry {number} whose id is not 1 to 50 printable characters")
    part = {"id": str(name), "text": read_text(entry.get("text"))}
    if "mentioned" not in entry:
        return part
    if not isinstance(entry["mentioned"], bool):
        raise PayloadFault(f"has an entry {number} whose `mentioned` is neither true nor false")
    return part | {"mentioned": entry["mentioned"]}


def read_history(value: Any) -> list[dict[str, Any]]:
    """Read conversations, `[{"title": "March", "turns": [{"role": "user", "text": "…"}]}]`; a text is one turn."""
    raw = [{"turns": [{"role": "user", "text": value}]}] if isinstance(value, str) else value
    if not isinstance(raw, list) or not raw:
        raise PayloadFault("must be a list of conversations")
    characters = count_characters(raw)
    if characters > LONGEST_HISTORY:
        raise PayloadFault(
            f"has {characters:,} characters; the limit is {LONGEST_HISTORY:,}. "
            "Cut it to the conversations that the evidence is from"
        )
    return [read_conversation(conversation, number) for number, conversation in enumerate(raw, 1)]


def count_characters(value: Any) -> int:
    if isinstance(value, dict):
        return sum(count_characters(entry) for entry in value.values())
    if isinstance(value, list):
        return sum(count_characters(entry) for entry in value)
    return len(value) if isinstance(value, str) else 0


def read_conversation(raw: Any, number: int) -> dict[str, Any]:
    turns = raw.get("turns") if isinstance(raw, dict) else raw
    if not isinstance(turns, list) or not turns:
        raise PayloadFault(f"has no turns in conversation {number}")
    title = raw.get("title", "") if isinstance(raw, dict) else ""
    if not isinstance(title, str):
        raise PayloadFault(f"has a title that is not text in conversation {number}")
    return {"title": check_storable(title), "turns": [read_turn(turn, number) for turn in turns]}


def read_turn(raw: Any, number: int) -> dict[str, str]:
    text = raw.get("text", raw.get("content")) if isinstance(raw, dict) else None
    if not isinstance(text, str):
        raise PayloadFault(f"has a turn without text in conversation {number}")
    if raw.get("role") not in ROLES:
        raise PayloadFault(f"has a turn in conversation {number} whose role is neither `user` nor `assistant`")
    return {"role": raw["role"], "text": check_storable(text)}


def read_evidence(value: Any) -> list[dict[str, Any]]:
    """Read quotes, `[{"quote": "…", "conversation": 3, "turn": 1}]`, counted from 1; a bare quote is searched for."""
    if value is None or value == "" or value == []:
        raise PayloadFault("is missing: an attribute is judged by the snippets that it rests on")
    return [read_snippet(entry, number) for number, entry in enumerate(as_list(value), 1)]


def read_snippet(entry: Any, number: int) -> dict[str, Any]:
    raw = entry if isinstance(entry, dict) else {"quote": entry}
    try:
        snippet: dict[str, Any] = {"quote": read_text(raw.get("quote"))}
    except PayloadFault as fault:
        raise PayloadFault(f"has a quote {number} that {fault}") from None
    for name in ("conversation", "turn"):
        at = raw.get(name)
        if at is not None and (not isinstance(at, int) or isinstance(at, bool) or at < 1):
            raise PayloadFault(f"has a quote {number} whose {name} is not a whole number from 1")
        snippet[name] = at
    return snippet


def locate_evidence(payload: Mapping[str, Any], history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give each quote the conversation and turn that hold it, or neither if the history has no such words.

    A place that the item names is kept if the quote is there; otherwise the first turn that has it is taken.
    """
    return [locate_snippet(snippet, history) for snippet in payload["evidence"]]


def locate_snippet(snippet: Mapping[str, Any], history: list[dict[str, Any]]) -> dict[str, Any]:
    places = [
        (number, at)
        for number, conversation in enumerate(history, 1)
        for at, turn in enumerate(conversation["turns"], 1)
        if snippet["quote"] in turn["text"]
    ]
    named = (snippet["conversation"], snippet["turn"])
    found = named if named in places else next(iter(places), (None, None))
    return {"quote": snippet["quote"], "conversation": found[0], "turn": found[1]}
