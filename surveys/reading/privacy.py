"""Find details that may be personal in a pasted answer, by one set of rules for the page and the server."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

# Every pattern means the same to Python's `re` and to a browser's RegExp with the flag u; <L> in it is any letter and
# <U> any capital. If a pattern has a group 1, only that group is personal, and it ends the match.
RULES_PATH = Path(__file__).parents[1] / "static" / "surveys" / "privacy_rules.json"
*RULES, AGAIN, PUBLIC = json.loads(RULES_PATH.read_text(encoding="utf-8"))
KINDS = tuple(dict.fromkeys(rule["kind"] for rule in RULES))


class PersonalDetail(NamedTuple):
    """Characters `start` to `end` of the text; `of` are the words in which this detail was first found."""

    kind: str
    start: int
    end: int
    of: str = ""


def _compile(pattern: str, flags: str = "") -> re.Pattern[str]:
    letters = pattern.replace("<L>", AGAIN["letters"]).replace("<U>", AGAIN["capitals"])
    return re.compile(letters, re.IGNORECASE if "i" in flags else 0)


# The last entry tells which numbers and addresses are not personal: those of a public place, in an item of a list.
# Either the item names such a place, or it has an address and the answer's opening names one. `own` are words about
# a person.
ENDS = re.compile(PUBLIC["ends"])
SIGNS = {name: re.compile(PUBLIC[name], re.IGNORECASE) for name in ("list", "place", "address", "own")}
BEFORE, AFTER, OPENING = 400, 200, 300  # characters
MOST_PLACES = 30  # no list is longer, and each number costs milliseconds
PATTERNS = [(rule["kind"], rule["replacement"], _compile(rule["pattern"], rule["flags"])) for rule in RULES]
# Contained in every match of these kinds. Most texts lack it, and looking for it costs next to nothing.
NEEDED = (
    (re.compile("/"), ("chat-link",)),
    (re.compile("@"), ("e-mail",)),
    (re.compile("[0-9]{2}"), ("bank-account", "card", "social-security")),
    (re.compile(r"[BbDdGgz](?:orn|ORN|irth|IRTH|ob|OB|\.O\.B|eb|ur Welt)"), ("birth-date",)),
    (
        re.compile(r"[0-9\u0660-\u0669\u06F0-\u06F9][0-9\u0660-\u0669\u06F0-\u06F9 ().\/\u00A0\u2011-]{5}"),
        ("phone",),
    ),
)
DIGITS, LISTED = re.compile("[0-9]+"), re.compile(r"\n[ \t*#]*[0-9]{1,2}[.)][ \t]")
REPLACEMENTS = {kind: replacement for kind, replacement, _ in PATTERNS}
# From the entry before the last: how a detail is recognised again.
FOLD, PARTS, WORDS, UNSPACED = (_compile(AGAIN[name]) for name in ("fold", "part", "word", "joined"))
FORMS = [(_compile(form["of"]), form["before"], form["cut"], form["after"]) for form in AGAIN["forms"]]
PLAIN_WORDS = frozenset(AGAIN["words"].split())
LINK_WORDS, LONGEST_LINK = AGAIN["link"]["words"], AGAIN["link"]["longest"]


def find_personal(text: str) -> list[PersonalDetail]:
    """Personal details with all their occurrences, in the order of the text.

    Of two that overlap, the first to begin is kept.
    """
    absent = {kind for needed, kinds in NEEDED if not needed.search(text) for kind in kinds}
    if len(DIGITS.findall(text)) == len(LISTED.findall(f"\n{text}")):
        absent.add("address")  # every address has a number other than those of a list
    found = [
        PersonalDetail(kind, *match.span(group), match[group])
        for kind, _, pattern in PATTERNS
        if kind not in absent
        for group in (min(pattern.groups, 1),)
        for match in pattern.finditer(text)
    ]
    marks: list[PersonalDetail] = []
    end = 0
    for mark in sorted(found, key=itemgetter(1)):  # stable: of two at one place, the earlier rule wins
        if mark.start >= end:
            marks.append(mark)
            end = mark.end
    numbers = [mark for mark in marks if mark.kind in PUBLIC["public"]][:MOST_PLACES]
    public = {mark for mark in numbers if is_public(text, mark)}
    marks = [mark for mark in marks if mark not in public]
    return sorted([*marks, *_repeats(text, marks)], key=lambda mark: mark.start) if marks else []


def is_public(text: str, mark: PersonalDetail) -> bool:
    """Whether a number or address belongs to a public place, judged by the list item that contains it."""
    before = ENDS.split(text[max(0, mark.start - BEFORE) : mark.start])[-1]
    item = before + text[mark.start : mark.end] + ENDS.split(text[mark.end : mark.end + AFTER])[0]
    if not SIGNS["list"].search(item) or SIGNS["own"].search(item):
        return False
    listed = SIGNS["address"].search(item) and SIGNS["place"].search(text[:OPENING])
    return bool(SIGNS["place"].search(item) or listed)


# --- further occurrences of a detail ---------------------------------------------------------------------------------


def _repeats(text: str, marks: list[PersonalDetail]) -> Iterator[PersonalDetail]:
    """Further occurrences as whole words, whatever their case and accents; names also with endings."""
    plain, taken = _fold(text), bytearray(len(text))
    for mark in marks:
        taken[mark.start : mark.end] = b"\1" * (mark.end - mark.start)
    left, seen = {True: AGAIN["names"], False: AGAIN["details"]}, set()
    for mark in marks:
        is_name = mark.kind == "name"
        if mark.of in seen or not left[is_name]:
            continue
        seen.add(mark.of)
        left[is_name] -= 1
        for pattern in _forms(mark, plain):
            for match in _compile(pattern).finditer(plain):
                start, end = match.span()
                first = text[start]
                is_small = is_name and first == first.lower() != first.upper()
                is_word = is_small and (match[1] or end - start < 3 or match[0] in PLAIN_WORDS)
                if is_word or 1 in taken[start:end]:
                    continue
                taken[start:end] = b"\1" * (end - start)
                yield PersonalDetail(mark.kind, start, end, mark.of)


def _fold(text: str) -> str:
    """The text in lower case and without accents, each character at its place."""
    plain = text if text.isascii() else FOLD.sub(lambda match: unicodedata.normalize("NFD", match[0])[0], text)
    return plain.lower()  # the one letter that becomes two was folded: \u0130


def _forms(mark: PersonalDetail, plain: str) -> list[str]:
    """Patterns that find the detail in a folded text; their group 1 is an ending."""
    if mark.kind == "name":
        parts = PARTS.findall(mark.of)
        single = [part for part in parts if len(part) > 1 and not (len(parts) > 1 and _fold(part) in PLAIN_WORDS)]
        return [_form_of_name(part) for part in dict.fromkeys(single)]
    tokens = [_fold(part) for part in WORDS.findall(mark.of)]
    if len("".join(tokens)) < 5 or plain.count(tokens[0]) < 2:
        return []
    letter = AGAIN["letter"]
    between = rf"(?:(?!{letter})[^\n]){{0,3}}"
    return [f"(?<!{letter})(){between.join(tokens)}(?!{letter})"]


def _form_of_name(part: str) -> str:
    plain, letter = _fold(part), AGAIN["letter"]
    if UNSPACED.search(plain):
        return f"(){plain}"
    forms = ((before, cut, after) for of, before, cut, after in FORMS if of.search(plain))
    before, cut, after = next(forms, ("", "", ""))
    stem = re.sub(cut, "", plain) if cut and len(plain) > 3 else plain
    end = f"({after})?" if after and len(plain) > 2 else "()"
    opening = f"(?:{before})?" if before else ""
    return f"(?<!{letter}){opening}{_spelled(stem, part)}{end}(?!{letter})"


def _spelled(plain: str, name: str) -> str:
    """A pattern that takes each letter with or without an accent, and ü also as ue, or ue as ü."""
    pattern, at = "", 0
    while at < len(plain):
        pattern += re.escape(plain[at]) + r"[\u0300-\u036f]?"
        is_spelled_out = plain[at] in "aou" and plain[at + 1 : at + 2] == "e"
        if is_spelled_out or name[at].lower() in "\u00e4\u00f6\u00fc":
            pattern += "e?"
        at += 2 if is_spelled_out else 1
    return pattern


# --- removing and counting them --------------------------------------------------------------------------------------


def is_link_alone(text: str) -> bool:
    """Whether a text is a link to a chat and at most a few words, which is no answer."""
    if len(text) > LONGEST_LINK or "/" not in text:
        return False
    marks = find_personal(text)
    if not any(mark.kind == "chat-link" for mark in marks):
        return False
    rest = _without(text, marks, dict.fromkeys(KINDS, "")).split()
    return len(rest) <= LINK_WORDS and not (rest and re.match(r"[A-Z]\W*$", rest[0]))


def remove_personal(text: str) -> tuple[str, dict[str, int]]:
    """The text with a word in brackets for each personal detail, and how many of each kind there were."""
    marks = find_personal(text)
    return _without(text, marks, REPLACEMENTS), _count(marks)


def _without(text: str, marks: list[PersonalDetail], replacements: dict[str, str]) -> str:
    pieces, at = [], 0
    for mark in marks:
        pieces += [text[at : mark.start], replacements[mark.kind]]
        at = mark.end
    return "".join([*pieces, text[at:]])


def count_personal(text: str) -> dict[str, int]:
    """How many personal details of each kind the text holds; kinds that do not occur are left out."""
    return _count(find_personal(text))


def _count(marks: list[PersonalDetail]) -> dict[str, int]:
    return dict(Counter(mark.kind for mark in marks))


def show_personal(text: str) -> list[dict[str, Any]]:
    """Each detail once, with its kind and count."""
    counts = Counter((mark.kind, mark.of) for mark in find_personal(text))
    return [{"kind": kind, "words": words, "count": count} for (kind, words), count in counts.items()]
