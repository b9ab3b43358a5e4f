"""Which keys a study file has and what each may hold; the rules between keys are in `study_rules`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from surveys.reading.checks import CHECKS
from surveys.study_files.kinds import KINDS
from surveys.study_files.lines import join_place
from surveys.study_files.orders import SCHEMES
from surveys.study_files.values import (
    Check,
    kind_of,
    line,
    lines_by_key,
    list_of,
    listed,
    long_text,
    matching,
    money,
    nearest,
    number,
    one_of,
    whole_number,
    yes_or_no,
)

# A file of nothing but typing errors need not be answered in full.
MOST_UNKNOWN = 50
MOST_ENTRIES = 200
SLUG = r"[a-z0-9][a-z0-9-]{0,49}"
OUTCOMES = (
    "completed",
    "no_consent",
    "screened_out",
    "over_quota",
    "technical",
    "late",
    "withdrawn",
    "returned",
)
# What the page about the chatbot's context can be answered (models.ChatbotContext); `product` is a chatbot's slug too.
CONTEXT = {
    "product": ("other",),
    "plan": ("free", "paid", "work", "unknown"),
    "memory": ("on", "off", "unknown"),
    "personalisation": ("on", "off", "unknown"),
    "chat": ("new", "same", "temporary"),
    "device": ("computer", "phone", "tablet"),
}
# What the first question can be answered beside a chatbot's slug.
SEVERAL = "several"
NONE = "none"

# The place of something that does not fit, and what is the matter with it.
Misfit = tuple[str, str]


@dataclass(frozen=True)
class Key:
    """One key of a table: what it may hold, and what stands in for it when it is left out."""

    check: Check
    required: bool = True
    default: Any = ""
    read: Callable[[Any], Any] = lambda value: value


# The tables ----------------------------------------------------------------------------------------------

slug = matching(SLUG, "small letters, digits and hyphens, at most 50")
address = matching(r"https://[^\s/@\"'<>]+\.[^\s/@\"'<>]+(/[^\s\"'<>]*)?", "an address that begins with https://")
code = matching(r"[A-Z0-9]{4,20}", "4 to 20 capital letters and digits")
benchmark_item = matching(r"[A-Za-z0-9][\w./:-]{0,199}", "an item's id such as mmlu/college_medicine/test/34")
short_name = matching(r".{1,40}", "a short name of at most 40 characters")
options = list_of(line, least=2)
model_pattern = matching(r"[A-Za-z0-9\[\]!?*._:/@-]{1,100}", "a model's name, in which * stands for anything")

STUDY = {
    "slug": Key(matching(r"[a-z0-9-]{2,50}", "2 to 50 small letters, digits and hyphens")),
    "title": Key(line),
    "language": Key(matching(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", "a language code such as en or pt-BR")),
    "minutes": Key(whole_number(1, 240)),
    "contact": Key(line),
    "prolific_study_ids": Key(
        list_of(matching(r"[0-9a-f]{24}", "the 24 digits and letters a–f of a Prolific study")),
        required=False,
        default=[],
    ),
}
TABLES: dict[str, dict[str, Key]] = {
    "pay": {"currency": Key(one_of("USD", "GBP")), "amount": Key(money)},
    "consent": {"version": Key(line), "text": Key(long_text)},
    "places": {"lease_minutes": Key(whole_number(5, 1440), required=False, default=45)},
    "chatbot_question": {
        "text": Key(line),
        "several": Key(line, required=False, default="More than one of these"),
        "none": Key(line, required=False),
    },
    "codes": {name: Key(code) for name in OUTCOMES} | {"misunderstood": Key(code, required=False)},
    "order": {"scheme": Key(one_of(*SCHEMES), required=False, default="williams")},
    "checks": {"paste": Key(list_of(one_of(*CHECKS)), required=False, default=list(CHECKS))},
    "debrief": {"text": Key(long_text)},
    "annotation": {
        "kind": Key(one_of(*KINDS)),
        "annotators": Key(whole_number(1, 100_000), required=False, default=0),
        "overlap": Key(whole_number(1, 20), required=False, default=3),
        "quota": Key(whole_number(1, 10_000)),
        "least": Key(whole_number(1, 10_000), required=False, default=1),
        "block": Key(one_of("user", "shuffled"), required=False, default="shuffled"),
        "hold_minutes": Key(whole_number(1, 120), required=False, default=10),
        "pass_mark": Key(whole_number(0, 100), required=False, default=70),
        "gold_every": Key(whole_number(1, 1_000), required=False, default=10),
        "invited_from": Key(slug, required=False),
        "guidelines_version": Key(line),
        "guidelines": Key(long_text),
    },
}
OPTIONAL_TABLES = ("places", "order", "checks")
# A study with this table is worked on by annotators, who are shown items and need no chatbot.
ANNOTATION = "annotation"
NOT_FOR_ANNOTATORS = ("chatbots", "chatbot_question", "prompts", "order", "checks", "attention", "exclusions")
LISTS: dict[str, dict[str, Key]] = {
    "chatbots": {
        "slug": Key(slug),
        "name": Key(line),
        "address": Key(address),
        "model": Key(line),
        "new_chat": Key(long_text),
        "memory": Key(long_text),
        "login": Key(long_text),
        "models": Key(list_of(model_pattern), required=False, default=[]),
    },
    "questions": {
        "slug": Key(slug),
        "text": Key(long_text),
        "kind": Key(one_of("choice", "number", "text")),
        "purpose": Key(one_of("screening", "quota", "background")),
        "options": Key(options, required=False, default=[]),
        "accept": Key(list_of(line, least=1), required=False, default=[]),
        "required": Key(yes_or_no, required=False, default=True),
        "help": Key(long_text, required=False),
    },
    "cells": {
        "slug": Key(slug),
        "name": Key(line),
        "where": Key(lines_by_key),
        "places": Key(whole_number(1, 100_000)),
    },
    "comprehension": {
        "slug": Key(slug),
        "text": Key(long_text),
        "options": Key(options),
        "answer": Key(line),
        "explanation": Key(long_text),
    },
    "attention": {
        "slug": Key(slug),
        "text": Key(long_text),
        "options": Key(options),
        "answer": Key(line),
        "also": Key(list_of(line), required=False, default=[]),
        "after": Key(whole_number(1, 200)),
        "kind": Key(one_of("instruction", "nonsense")),
    },
    "prompts": {
        "slug": Key(slug),
        "title": Key(line),
        "kind": Key(one_of("recommendation", "choice")),
        "variant_of": Key(slug, required=False),
        "variant": Key(short_name, required=False),
    },
    "exclusions": {
        "slug": Key(slug),
        "text": Key(long_text),
        "attention_fails": Key(whole_number(0, 200), required=False, default=0),
        "minutes_under": Key(number(0, 240, above=True), required=False, default=0.0, read=float),
        "seconds_under": Key(number(0, 3600, above=True), required=False, default=0.0, read=float),
        "pasted_under": Key(number(0, 1, above=True), required=False, default=0.0, read=float),
        "flags": Key(list_of(one_of(*CHECKS), least=1), required=False, default=[]),
        "flags_kept": Key(whole_number(1, 200), required=False, default=0),
        "context": Key(lines_by_key, required=False, default={}),
    },
    "references": {
        "benchmark": Key(slug),
        "name": Key(line),
        "accuracy": Key(number(0, 1), read=float),
        "source": Key(line),
    },
}
NEEDED_LISTS = ("chatbots", "cells", "prompts")
# What a prompt has beside slug, title and kind depends on its kind.
PROMPT_KINDS: dict[str, dict[str, Key]] = {
    "recommendation": {"text": Key(long_text), "items": Key(whole_number(1, 20), required=False, default=5)},
    "choice": {
        "question": Key(long_text),
        "choices": Key(list_of(line, least=2, most=8)),
        "answer": Key(matching(r"[A-H]", "the letter of the right choice")),
        "request": Key(line, required=False, default="Please answer with the letter of one option."),
        "benchmark": Key(slug, required=False),
        "item": Key(benchmark_item, required=False),
    },
}

# Reading -------------------------------------------------------------------------------------------------


def read_keys(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Misfit]]:
    """The study with its defaults filled in and what is unusable left out, and each misfit."""
    misfits: list[Misfit] = []
    study = _read_table(
        "", {k: v for k, v in raw.items() if k not in TABLES | LISTS}, STUDY, misfits, (*TABLES, *LISTS)
    )
    annotates = ANNOTATION in raw
    misfits += [(name, "is not for a study of annotators") for name in NOT_FOR_ANNOTATORS if annotates and name in raw]
    for name, keys in TABLES.items():
        if name in raw or name in OPTIONAL_TABLES:
            study[name] = _read_table(name, raw.get(name, {}), keys, misfits)
        elif name != ANNOTATION and not (annotates and name in NOT_FOR_ANNOTATORS):
            misfits.append((name, "is missing"))
    for name in LISTS:
        study[name] = _read_list(name, raw.get(name, []), misfits, name in NEEDED_LISTS and not annotates)
    return study, misfits


def _read_list(name: str, raw: Any, misfits: list[Misfit], needed: bool) -> list[dict[str, Any]]:
    if not isinstance(raw, list):
        misfits.append((name, f"must be written as [[{name}]], once for each entry"))
        return []
    if not raw and needed:
        misfits.append((name, f"is missing: at least one [[{name}]] is needed"))
    if len(raw) > MOST_ENTRIES:
        misfits.append((name, f"has {len(raw):,} entries; the limit is {MOST_ENTRIES}"))
    return [
        _read_entry(name, f"{name}[{number}]", entry, misfits) for number, entry in enumerate(raw[:MOST_ENTRIES], 1)
    ]


def _read_entry(name: str, place: str, entry: Any, misfits: list[Misfit]) -> dict[str, Any]:
    keys = LISTS[name]
    if name == "prompts" and isinstance(entry, dict):
        kind = entry.get("kind")
        if not isinstance(kind, str) or kind not in PROMPT_KINDS:
            # Without a kind nothing can be said about the keys that only one kind has.
            own = {key for kind_keys in PROMPT_KINDS.values() for key in kind_keys}
            entry = {key: value for key, value in entry.items() if key not in own}
        else:
            keys = keys | PROMPT_KINDS[kind]
    return _read_table(place, entry, keys, misfits)


def _read_table(
    place: str, raw: Any, keys: Mapping[str, Key], misfits: list[Misfit], more: tuple[str, ...] = ()
) -> dict[str, Any]:
    if not isinstance(raw, dict):
        misfits.append((place, f"must be a table, not {kind_of(raw)}"))
        return {}
    misfits += _unknown_keys(place, raw, (*keys, *more))
    table: dict[str, Any] = {}
    for name, key in keys.items():
        if name not in raw and key.required:
            misfits.append((join_place(place, name), "is missing"))
        elif name not in raw or _left_blank(raw[name], key):
            table[name] = key.default
        elif fault := key.check(raw[name]):
            misfits.append((join_place(place, name), fault))
        else:
            table[name] = key.read(_tidy(raw[name]))
    return table


def _left_blank(value: Any, key: Key) -> bool:
    return not key.required and value in ("", []) and value == key.default


def _unknown_keys(place: str, raw: Mapping[str, Any], known: tuple[str, ...]) -> list[Misfit]:
    unknown = [name for name in raw if name not in known][:MOST_UNKNOWN]
    return [(join_place(place, name), f"is no key here{nearest(name, known) or _keys_here(known)}") for name in unknown]


def _keys_here(known: tuple[str, ...]) -> str:
    return f"; the keys here are {listed(known)}"


def _tidy(value: Any) -> Any:
    """Texts without the blank space around them."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [_tidy(entry) for entry in value]
    return {name: _tidy(entry) for name, entry in value.items()} if isinstance(value, dict) else value


def entries(study: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each entry of a list with its place."""
    for count, entry in enumerate(study[name], 1):
        yield f"{name}[{count}]", entry


def as_list(wanted: Any) -> list[str]:
    return wanted if isinstance(wanted, list) else [wanted]
