"""What counts as an answer: one reader for pasted responses and for completions, items and choices alike."""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surveys.item_forms import EDGES, SYMBOLS, cut_explanation, find_titles, strip_marker, strip_markup

# Raise this whenever the same text may be read differently; stored answers name the version that read them.
RULES_VERSION = 2

# A paste may hold 200 kB; an answer says what it names, or which letter, near one of its ends.
HEAD, TAIL = 16_000, 8_000
MOST_TITLES = 100

# Replies that were asked for by JSON schema, perhaps in a code block, perhaps cut off at the longest length.
JSON_OPENING = r"\s*(?:```(?:json)?\s*)?\{\s*"
JSON_STRING = re.compile(r'[\s,]*("(?:[^"\\]|\\.)*")')
JSON_ITEMS = re.compile(JSON_OPENING + r'"items"\s*:\s*\[', re.I)
JSON_CHOICE = re.compile(JSON_OPENING + r'"choice"\s*:\s*("(?:[^"\\]|\\.)*")\s*\}\s*(?:```\s*)?$', re.I)

PARENTHESIS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]?\s*$")
ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\w)")
CORPORATE = re.compile(
    r"(?:,\s*|\s+)(?:inc(?:orporated)?|corp(?:oration)?|co|company|ltd|limited|llc|llp|plc|gmbh|ag"
    r"|s\.?a|n\.?v|b\.?v|s\.?p\.?a|k\.?k)\.?$"
)

# A sentence that names the answer; what follows it must be the letter or the text of a choice.
STATEMENT = re.compile(
    r"(?:\b(?:final|correct|best|right|my|the|only)\s+)?"
    r"(?:\b(?:answer|choice|option|respuesta|opci[oó]n|antwort|r[eé]ponse|resposta|risposta|ответ)\b|答案"
    r"|الإجابة)"
    r"(?:\s+(?:correcta|correcte|correta|corretta|الصحيحة))?"
    r"(?:\s+(?:to\s+(?:the|this)\s+question|here))?"
    r"\s*(?:\b(?:would\s+be|will\s+be|must\s+be|is|es|ist|est|é|è)\b|是|هي|[:：=→-]+)*\s*[:：]*\s*"
    r"(?:(?:therefore|thus|clearly|most\s+likely|probably|likely|indeed|definitely)\s+)?"
    r"(?:(?:option|choice|letter|answer)\s+)?",
    re.I,
)
FINAL = re.compile(r"\bfinal\b|\btherefore\b|\bthus\b|\bconclusion\b|\bso,?\s+the\b", re.I)
DENIED = re.compile(
    r"(?:\bnot\b|n['’]t\b|\bcannot\b|\bwrong\b|\bincorrect\b|\brather than\b|\binstead of\b)"
    r"(?:(?!\bbut\b)[^.;:\n])*$",
    re.I,
)
BOXED = re.compile(r"\$?\\?(?:boxed|text|textbf|mathrm)\s*\{\s*([^{}]{1,80})\}\$?")
CHOSEN_LINE = re.compile(r"^(?:\*\*|__|✅|✔|☑|👉|→)")


# Why a reading may be wrong and a person should look at the text.
DOUBTS = {
    "nothing-found": "No item or letter was found in the text.",
    "refusal": "The text seems to decline the request.",
    "fewer-than-asked": "Fewer items were found than were asked for.",
    "prose-list": "The items stand in a sentence, where names and other words look alike.",
    "long-item": "An item is so long that it may hold more than a name.",
    "cut-off": "The text seems to be cut off.",
    "several-letters": "The text names several letters and settles on none.",
}


@dataclass(frozen=True)
class Reading:
    """What was read in a text: items and the names they were written as, or a letter ("" = unknown)."""

    items: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    letter: str = ""
    doubt: str = ""  # one of DOUBTS, or "" where there is none


def read_answer(text: str, kind: str, *, limit: int = 5, letters: str = "ABCD", choices: Sequence[str] = ()) -> Reading:
    """The items of a recommendation, at most `limit`, or the letter of a choice; with the first doubt there is."""
    if kind == "choice":
        letter = read_choice(text, letters, choices) or ""
        return Reading(letter=letter, doubt="" if letter else "nothing-found")
    named = list(_named_items(text).items())[:limit]
    doubt = "" if len(named) == limit else "fewer-than-asked" if named else "nothing-found"
    return Reading(tuple(item for item, _ in named), tuple(name for _, name in named), doubt=doubt)


def read_items(text: str, limit: int = 5) -> list[str]:
    """The first `limit` distinct recommendations in `text`, normalised, in the order of the text."""
    return list(_named_items(text))[:limit]


def count_items(text: str, prose: bool = True) -> int:
    """How many distinct recommendations `text` names in all; without `prose`, those in a list only."""
    return len(_named_items(text, prose))


def normalise_item(raw: str) -> str:
    """The form in which two names of one thing are equal: no markup, number, explanation, article, suffix."""
    item = ARTICLE.sub("", " ".join(clean_name(raw).casefold().split()))
    return CORPORATE.sub("", item).strip(EDGES)


def clean_name(raw: str) -> str:
    """The name as it was written, without markup, number, pictures and explanation."""
    name = unicodedata.normalize("NFKC", strip_markup(strip_marker(raw.translate(SYMBOLS).strip())))
    name = cut_explanation(_strip_pictures(name).strip()).strip(EDGES)
    return PARENTHESIS.sub("", name).strip(EDGES) or name


def read_choice(text: str, letters: str = "ABCD", choices: Sequence[str] = ()) -> str | None:
    """The one letter that `text` settles on, or None: refusals, several letters, bare prose are unknown."""
    if not letters:
        return None
    text = _plain(outer_text(text))
    if answer := JSON_CHOICE.match(text):
        text = _unquote(answer[1])
    for read in (_whole_text, _stated, _marked_line, _lone_mention):
        found = read(text, letters.upper(), choices)
        if found:
            return found if len(found) == 1 else None
    return None


def outer_text(text: str) -> str:
    """The text, or of a very long one its beginning and its end."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


# --- items


def _named_items(text: str, prose: bool = True) -> dict[str, str]:
    """Each item once, in the order of the text, with the name it was first written as."""
    titles = _json_items(text[:HEAD])
    if titles is None:
        titles = find_titles(text[:HEAD], prose)
    named: dict[str, str] = {}
    for title in titles[:MOST_TITLES]:
        item = normalise_item(title)
        if any(c.isalnum() for c in item):
            named.setdefault(item, clean_name(title))
    return named


def _json_items(text: str) -> list[str] | None:
    """The strings of {"items": [...]}, as far as they are whole; None where the text is something else."""
    opening = JSON_ITEMS.match(text)
    if opening is None:
        return None
    items, at = [], opening.end()
    while found := JSON_STRING.match(text, at):
        items.append(_unquote(found[1]))
        at = found.end()
    return items


def _unquote(literal: str) -> str:
    """The text of a JSON string; as it stands where its escapes are wrong."""
    try:
        return json.loads(literal, strict=False)
    except ValueError:
        return literal.strip('"')


def _strip_pictures(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) not in ("So", "Sk", "Cs", "Co"))


# --- choices: each reader gives the letters it finds, "" for none, more than one for a conflict


def _plain(text: str) -> str:
    return BOXED.sub(r" \1 ", unicodedata.normalize("NFKC", text)).strip()


def _letter_after(letters: str) -> re.Pattern[str]:
    """A letter on its own: capital or bracketed anywhere, small only before punctuation."""
    upper, lower = f"[{letters}]", f"[{letters.lower()}]"
    return re.compile(
        rf"[\s*_`\"'“(\[]*(?:(?<=[(\[])({upper}|{lower})[)\]]|({upper})(?![\w'’])"
        rf"|({lower})(?=[*_`\"'”)\].,:;!]*(?:\s*$|[)\].,:;!])))"
    )


def _letter_at(text: str, start: int, letters: str) -> str:
    match = _letter_after(letters).match(text, start)
    if not match:
        return ""
    also = re.match(
        rf"[)\].*_\s]*(?:,|and|or|/|&|y|und|et)+\s*(?:option\s+)?[(\[*_]*([{letters}])(?![\w'’])",
        text[match.end() :],
    )
    return (match[1] or match[2] or match[3]).upper() + (also[1] if also else "")


def _choice_at(text: str, choices: Sequence[str], letters: str) -> str:
    """The letter of the choice whose words, and nothing more, are the rest of this sentence or line."""
    rest = _words(re.split(r"[\n]|[.;](?:\s|$)", text, maxsplit=1)[0])
    return "".join(letter for letter, choice in zip(letters, choices, strict=False) if rest and rest == _words(choice))


def _words(text: str) -> str:
    return " ".join(re.findall(r"[\w%°+/.,-]*\w", text.casefold()))


def _whole_text(text: str, letters: str, choices: Sequence[str]) -> str:
    bare = text.strip(" \n\t*_`\"'“”().[]:")
    if len(bare) == 1 and bare.upper() in letters:
        return bare.upper()
    return _choice_at(text, choices, letters) if "\n" not in text else ""


def _stated(text: str, letters: str, choices: Sequence[str]) -> str:
    """Sentences such as "The answer is (C)"; where they disagree, one that says it is final is believed."""
    stated = []
    for match in STATEMENT.finditer(text):
        found = _letter_at(text, match.end(), letters) or _choice_at(text[match.end() :], choices, letters)
        before = text[max(0, match.start() - 80) : match.start()]
        if found and not DENIED.search(before):
            stated.append((found, bool(FINAL.search(before[-30:] + match[0]))))
    final = [found for found, is_final in stated if is_final]
    if final:
        return final[-1]
    return _join(found for found, _ in stated)


def _marked_line(text: str, letters: str, choices: Sequence[str]) -> str:
    """A line that opens with the letter, "C. mitosis"; of several (the options repeated) the marked one."""
    opening = re.compile(rf"^[*_>#\s✅✔☑👉→]*[(\[]?([{letters}])(?:[)\].:]|\s*[-–—])(?=[\s*_]|$)")
    lines = [line.strip() for line in text.splitlines()]
    found = [(match[1], line) for line in lines if (match := opening.match(line))]
    chosen = [letter for letter, line in found if CHOSEN_LINE.match(line)]
    return _join(chosen) if len(set(chosen)) == 1 else _join(letter for letter, _ in found)


def _lone_mention(text: str, letters: str, choices: Sequence[str]) -> str:
    """Letters in brackets, in bold or after "option"; a bare capital may be a word of the sentence."""
    mentioned = re.findall(
        rf"[(\[]([{letters}])[)\]]|(?i:\b(?:option|choice|letter"
        rf"|opci[oó]n)\s+)[*_\"“(]*([{letters}])(?![\w'’])|\*\*([{letters}])\*\*",
        text,
    )
    return _join("".join(groups) for groups in mentioned)


def _join(found: Iterable[str]) -> str:
    return "".join(dict.fromkeys("".join(found)))
