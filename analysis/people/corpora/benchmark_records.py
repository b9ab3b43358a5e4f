"""Conversations of made-up users out of benchmarks of personalisation: CUPID, PrefEval, PersonaLens."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.people.corpora.records import (
    LONGEST_ID,
    LONGEST_USER,
    ROLES,
    Message,
    Record,
    RecordError,
    read_key,
    read_messages,
    say_kind,
    storable,
)

LANGUAGE = "English"  # that all three are in
SPEAKERS = ("role", "speaker", "from")
WORDS = ("content", "text", "utterance", "value")
# What PrefEval calls the four messages in which a user chooses, in their order.
CHOICE = (
    ("query", "user"),
    ("assistant_options", "assistant"),
    ("user_selection", "user"),
    ("assistant_acknowledgment", "assistant"),
)


def read_cupid(record: Any) -> list[Record]:
    """Each earlier session of a persona is a conversation; the same one stands in several instances of the file."""
    sessions = field_of(record, "prior_interactions", list, "the sessions of a persona")
    user = read_key(record.get("persona_id"), "persona_id", LONGEST_USER)
    return [made_up(user, read_messages(each, "dialogue", "role", "content")) for each in sessions]


def read_prefeval(record: Any) -> Record:
    """A persona's conversation, a choice in four messages, or the preference alone where it is said explicitly."""
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
    """A dialogue about a task, with the id of the profile whose user speaks."""
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
    """Known by what is said in it, since none of the three gives conversations ids."""
    said = short_hash(json.dumps([[message["role"], message["content"]] for message in messages]))
    return Record(messages, source_id=f"{user} {said}"[:LONGEST_ID], user=user, language=LANGUAGE)


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def in_number(name: Any) -> tuple[int, str]:
    return (int(name), "") if str(name).isdecimal() and len(str(name)) < 9 else (10**9, str(name))


def as_text(said: Any) -> str:
    """One text, or a list of them a line each."""
    is_list = isinstance(said, Sequence) and not isinstance(said, str)
    return "\n".join(map(storable, said)) if is_list else storable(said)


def read_pair(pair: Any) -> Iterator[Message]:
    if not isinstance(pair, Mapping) or not {"user", "assistant"} & set(pair):
        raise RecordError("has a turn without 'user' and 'assistant': each says something")
    for role in ("user", "assistant"):
        if pair.get(role):
            yield {"role": role, "content": storable(pair[role])}


def read_turns(turns: Sequence[Any]) -> Iterator[Message]:
    """Messages by speaker, or pairs of user and assistant."""
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
