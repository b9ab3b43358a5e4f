"""Turns records of each format into conversations, with the hash that identifies them and their turns for a model."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import TypeAdapter

Message = dict[str, str]
write_json: Callable[[Any], bytes] = TypeAdapter(Any).dump_json


def by_turns(messages: Iterable[Message]) -> list[Message]:
    """The part of a conversation that can stand in front of a prompt.

    Providers want user and assistant to alternate. So system messages, empty ones, those before the first user
    message, and a last message without a reply are left out; consecutive ones of one side are joined.
    """
    joined: list[Message] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "system" or not content.strip() or (not joined and role != "user"):
            continue
        if joined and joined[-1]["role"] == role:
            joined[-1]["content"] += "\n\n" + content
        else:
            joined.append({"role": role, "content": content})
    return joined[:-1] if len(joined) % 2 else joined


def count_turns(messages: Iterable[Message]) -> int:
    """User messages that have a reply."""
    return len(by_turns(messages)) // 2


LONGEST_USER, LONGEST_ID = 100, 200
KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
UNSTORABLE = re.compile("[\ud800-\udfff]")  # lone surrogates, which no database takes
ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "system": "system",
}


class RecordError(Exception):
    """The record is no conversation of this format; the message says what is missing."""


class Record(NamedTuple):
    messages: list[Message]
    source_id: str = ""
    user: str = ""
    language: str = ""
    began_at: datetime | None = None
    toxic: bool | None = None  # None: the source does not say
    redacted: bool | None = None


def read_messages(record: Any, field: str, role: str, content: str) -> list[Message]:
    """Read the list of messages in `field`, by the format's names for role and content. Raises RecordError."""
    if not isinstance(record, dict):
        raise RecordError(f"is {say_kind(record)}; a conversation is an object in curly brackets")
    written = record.get(field)
    if not isinstance(written, list):
        raise RecordError(f"has no list {field!r} with the messages; is this file of another format?")
    return [_read_message(message, role, content) for message in written]


def _read_message(message: Any, role: str, content: str) -> Message:
    if not isinstance(message, dict) or role not in message or content not in message:
        raise RecordError(f"has a message without {role!r} and {content!r}: each names its side and says something")
    speaker = ROLES.get(str(message[role]).lower())
    if speaker is None:
        known = ", ".join(ROLES)
        raise RecordError(f"has a message of {str(message[role])[:40]!r}; the sides that are known are {known}")
    return {"role": speaker, "content": storable(message[content])}


def storable(value: Any) -> str:
    """The value as text that PostgreSQL takes: without NUL characters, and with lone surrogates replaced."""
    text = "" if value is None else str(value)
    if text.isascii() and "\0" not in text:  # most are, and Python knows it without reading them
        return text
    text = text.replace("\0", "")
    try:
        text.encode()  # takes a tenth of the search's time
    except UnicodeEncodeError:
        return UNSTORABLE.sub("\ufffd", text)
    return text


def say_kind(value: Any) -> str:
    """The JSON type of the value, in words."""
    return "empty (null)" if value is None else KINDS.get(type(value), "a value of another kind")


def read_key(value: Any, name: str, longest: int) -> str:
    """Read an identifier whole, since one cut off could be another one's too. Raises RecordError if it is too long."""
    key = storable(value)
    if len(key) > longest:
        raise RecordError(f"has {len(key):,} characters in {name}; the limit is {longest}: shorten or hash them")
    return key


def read_time(value: Any) -> datetime | None:
    """Read a time as WildChat writes it, in UTC if it names no zone; None if it is not one."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime) or not 1 < value.year < 9999:  # in UTC, in a year that cannot be read back
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def any_true(values: Iterable[Any]) -> bool | None:
    """Whether any of them is true; None if none is a boolean."""
    said = [value for value in values if isinstance(value, bool)]
    return any(said) if said else None


def encode_messages(messages: Sequence[Message]) -> tuple[bytes, str]:
    """The messages as JSON, and the SHA-256 of their roles and contents that identifies a conversation.

    The hash is over what json.dumps(…, ensure_ascii=False, separators=(",", ":")) writes, in a third of its time.
    """
    pairs = write_json([(message["role"], message["content"]) for message in messages])
    return write_json(messages), hashlib.sha256(pairs).hexdigest()


def short_hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


# --- formats ----------------------------------------------------------------


def read_wildchat(record: Any) -> Record:
    messages = read_messages(record, "conversation", "role", "content")
    first = record["conversation"][0] if messages else {}
    return Record(
        messages,
        source_id=read_key(record.get("conversation_hash"), "conversation_hash", LONGEST_ID),
        user=read_key(record.get("hashed_ip") or first.get("hashed_ip"), "hashed_ip (the user)", LONGEST_USER),
        language=storable(record.get("language"))[:30],
        began_at=read_time(first.get("timestamp")) or read_time(record.get("timestamp")),
        toxic=any_true(part.get("toxic") for part in (record, *record["conversation"])),
        redacted=any_true(part.get("redacted") for part in (record, *record["conversation"])),
    )


def read_sharegpt(record: Any) -> Record:
    messages = read_messages(record, "conversations", "from", "value")
    return Record(messages, source_id=read_key(record.get("id"), "id", LONGEST_ID))


def read_lmsys(record: Any) -> Record:
    messages = read_messages(record, "conversation", "role", "content")
    return Record(
        messages,
        source_id=read_key(record.get("conversation_id"), "conversation_id", LONGEST_ID),
        language=storable(record.get("language"))[:30],
        toxic=any_true(said.get("flagged") for said in _moderations(record)),
        redacted=any_true([record.get("redacted")]),
    )


def _moderations(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What OpenAI's moderation said of each message; empty if the record has none."""
    written = record.get("openai_moderation")
    if not isinstance(written, Sequence) or isinstance(written, str):
        return []
    return [said for said in written if isinstance(said, Mapping)]


# --- conversations of made-up users out of benchmarks of personalisation ----

LANGUAGE = "English"  # the language of all three
SPEAKERS = ("role", "speaker", "from")
WORDS = ("content", "text", "utterance", "value")
# PrefEval's names for the four messages in which a user chooses, in order.
CHOICE = (
    ("query", "user"),
    ("assistant_options", "assistant"),
    ("user_selection", "user"),
    ("assistant_acknowledgment", "assistant"),
)


def read_cupid(record: Any) -> list[Record]:
    """Make a conversation of each earlier session of a persona; several instances of the file repeat the same one."""
    sessions = field_of(record, "prior_interactions", list, "the sessions of a persona")
    user = read_key(record.get("persona_id"), "persona_id", LONGEST_USER)
    return [made_up(user, read_messages(each, "dialogue", "role", "content")) for each in sessions]


def read_prefeval(record: Any) -> Record:
    """Read a persona's conversation, a choice in four messages, or the preference alone if it is said explicitly."""
    preference = field_of(record, "preference", str, "what the user prefers")
    user = short_hash(storable(record.get("persona") or preference))
    conversation = record.get("conversation")
    if conversation is None:
        return made_up(user, [{"role": "user", "content": storable(preference)}])
    if isinstance(conversation, list):
        return made_up(user, list(read_turns(conversation)))
    if not isinstance(conversation, Mapping):
        raise RecordError(f"has a conversation that is {say_kind(conversation)}; PrefEval has an object there")
    if any(name in conversation for name, _ in CHOICE):
        chosen = [(role, conversation.get(name)) for name, role in CHOICE]
        return made_up(user, [{"role": role, "content": as_text(said)} for role, said in chosen if said])
    pairs = [conversation[name] for name in sorted(conversation, key=in_number)]
    return made_up(user, [message for pair in pairs for message in read_pair(pair)])


def read_personalens(record: Any) -> Record:
    """Read a dialogue about a task, with the id of the profile whose user speaks."""
    names = [key for key in ("dialogue", "conversation", "messages") if isinstance(record, dict) and key in record]
    turns = field_of(record, [*names, "dialogue"][0], list, "what user and assistant say")
    user = next((record[key] for key in ("user_id", "profile_id", "user") if record.get(key) not in (None, "")), "")
    task = storable(record.get("task_id"))
    made = made_up(read_key(user, "user_id", LONGEST_USER), list(read_turns(turns)))
    return made._replace(source_id=read_key(f"{made.source_id} {task}".strip(), "task_id", LONGEST_ID))


def field_of(record: Any, name: str, kind: type, what: str) -> Any:
    if not isinstance(record, dict):
        raise RecordError(f"is {say_kind(record)}; it is an object in curly brackets")
    if not isinstance(record.get(name), kind):
        raise RecordError(f"has no {name!r} with {what}; is this file of another format?")
    return record[name]


def made_up(user: str, messages: list[Message]) -> Record:
    """Make a record with an id from its messages, since none of the three formats gives conversations ids."""
    said = short_hash(json.dumps([[message["role"], message["content"]] for message in messages]))
    return Record(messages, source_id=f"{user} {said}"[:LONGEST_ID], user=user, language=LANGUAGE)


def in_number(name: Any) -> tuple[int, str]:
    return (int(name), "") if str(name).isdecimal() and len(str(name)) < 9 else (10**9, str(name))


def as_text(said: Any) -> str:
    """Return one text as it is, or join a list of texts, one a line."""
    is_list = isinstance(said, Sequence) and not isinstance(said, str)
    return "\n".join(map(storable, said)) if is_list else storable(said)


def read_pair(pair: Any) -> Iterator[Message]:
    if not isinstance(pair, Mapping) or not {"user", "assistant"} & set(pair):
        raise RecordError("has a turn without 'user' and 'assistant': each says something")
    for role in ("user", "assistant"):
        if pair.get(role):
            yield {"role": role, "content": storable(pair[role])}


def read_turns(turns: Sequence[Any]) -> Iterator[Message]:
    """Yield messages from turns with a speaker, or from pairs of user and assistant."""
    for turn in turns:
        speaker = next((turn[name] for name in SPEAKERS if name in turn), None) if isinstance(turn, Mapping) else None
        if speaker is None:
            yield from read_pair(turn)
            continue
        role = ROLES.get(str(speaker).lower())
        words = next((turn[name] for name in WORDS if name in turn), None)
        if role is None or words is None:
            known = ", ".join(ROLES)
            raise RecordError(f"has a message of {str(speaker)[:40]!r} without words, or of nobody known ({known})")
        yield {"role": role, "content": storable(words)}
