"""The one reader of answers, pasted or completed: items of a recommendation, the letter of a choice."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from surveys.reading import endings, refusals
from surveys.reading.items import NamedItems, count_items, find_items
from surveys.reading.markup import WORD, bare_line, clean_name, normalise_item, plain_text, strip_marker
from surveys.reading.nesting import read_json
from surveys.reading.residue import strip_residue, without_questions

__all__ = [
    "DOUBTS",
    "RULES_VERSION",
    "AnswerReading",
    "clean_name",
    "count_items",
    "find_name",
    "normalise_item",
    "outer_text",
    "read_answer",
    "read_choice",
    "read_items",
]

# Raise this whenever the same text may be read differently; stored answers name the version that read them.
RULES_VERSION = 9

LONGEST_TEXT = 1_000_000  # characters of one answer, pasted or imported
# In a refusal: its list may name places to look or things to do instead.
POINTS_ELSEWHERE = re.compile(
    r"\binstead\b|\bstattdessen\b|\b(?:you|du) (?:can|could|might|kannst|könntest) (?:\w+ )?(?:check|look|search"
    r"|consult|ask|auf|bei)\b"
)
LONG_NAME = 10  # words; a name this long may hold more than the name

# Why a reading may be wrong and a person should look at the text.
DOUBTS = {
    "refusal": "The text seems to decline the request or to report an error.",
    "nothing-found": "No item or letter was found in the text.",
    "several-letters": "The text names several letters and settles on none.",
    "two-lists": "Two lists in the text name different things; the one with the asked number counts.",
    "takes-back": "The text takes something back that it said before.",
    "two-names": "An item gives two names, or one in two languages; the first counts.",
    "label-like": "Some items look like labels or headings rather than names.",
    "loose-lines": "The items stand in lines without marks, among others that may be items too.",
    "prose-list": "The items stand in sentences, where names and other words look alike.",
    "long-item": "An item is so long that it may hold more than a name.",
    "cut-off": "The text stops early, so that the last item may be cut off or missing.",
    "fewer-than-asked": "Fewer items were found than were asked for.",
    "added-name": "The person who pasted it added a name that the text does not hold.",
}


@dataclass(frozen=True)
class AnswerReading:
    """The reading of a text: items and the names they were written as, or a letter ("" = unknown)."""

    items: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    letter: str = ""
    doubt: str = ""  # one of DOUBTS, or "" if there is none


def clean_text(text: str) -> str:
    """Restore the line ends that the browser's form encoding changed, and replace NUL, which PostgreSQL cannot hold."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")


def read_answer(
    text: str, kind: str, *, limit: int = 5, letters: str = "ABCD", choices: Sequence[str] = ()
) -> AnswerReading:
    """Read the items of a recommendation, at most `limit`, or the letter of a choice; with the first doubt, if any."""
    return _read_letter(text, letters, choices) if kind == "choice" else _read_list(text, limit)


def read_items(text: str, limit: int = 5) -> list[str]:
    """The first `limit` distinct recommendations in `text`, normalised, in the order of the text."""
    return list(find_items(text, True, limit).names)[:limit]


def find_name(text: str, name: str) -> int | None:
    """Find the words of `name` in `text` without marks and in folded case; their place in that text, or None."""
    folded, words = _fold_text(text), _fold_words(name)
    # Not every script separates words.
    place = f" {folded} ".find(f" {words} " if words.isascii() else words) if words else -1
    return None if place < 0 else place


# Every name of a reading is looked for in one text.
@lru_cache(maxsize=2)
def _fold_text(text: str) -> str:
    return _fold_words(plain_text(text))


def _fold_words(text: str) -> str:
    return " ".join(WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def read_choice(text: str, letters: str = "ABCD", choices: Sequence[str] = ()) -> str | None:
    """The one letter that `text` settles on; None for refusals, several letters and bare prose."""
    return _read_letter(text, letters, choices).letter or None


def _read_letter(text: str, letters: str, choices: Sequence[str]) -> AnswerReading:
    found = find_letters(text, letters, choices)
    if len(found) == 1:
        return AnswerReading(letter=found)
    if not found and text and refusals.declines(text):
        return AnswerReading(doubt="refusal")
    return AnswerReading(doubt="several-letters" if found else "nothing-found")


def _read_list(text: str, limit: int) -> AnswerReading:
    named = find_items(text, True, limit)
    if len(named.names) < min(3, limit) and _declines(text, named):
        return AnswerReading(doubt="refusal")
    items, names = tuple(named.names)[:limit], tuple(named.names.values())[:limit]
    return AnswerReading(items, names, doubt=_doubt_of(text, named, limit))


def _declines(text: str, named: NamedItems) -> bool:
    """Whether the text is a refusal or an error message, whose sentences name no recommendation."""
    in_prose = named.form in ("", "sentence")
    return in_prose and (refusals.declines(text) or refusals.reports_failure(text) is not None)


def _doubt_of(text: str, named: NamedItems, limit: int) -> str:
    """The first doubt about a list; text after the last item that counts raises none."""
    if not named.names:
        return "nothing-found"
    if named.form == "sentence":
        return "prose-list"
    if named.doubt:
        return named.doubt
    if POINTS_ELSEWHERE.search(text[: refusals.HEAD].lower()) and refusals.declines(text):
        return "refusal"
    if any(len(name.split()) > LONG_NAME for name in list(named.names.values())[:limit]):
        return "long-item"
    if len(named.names) < limit:
        return "cut-off" if endings.find_break(text) else "fewer-than-asked"
    last = list(named.names.values())[limit - 1]
    return "cut-off" if last in text[-len(last) - 10 :] and endings.find_break(text) else ""


# A paste may hold 200 kB; an answer says which letter near one of its ends.
HEAD, TAIL = 16_000, 8_000

JSON_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?\{.{0,400}\}\s*(?:```\s*)?$", re.I | re.S)
ANSWER_KEYS = ("choice", "answer", "letter", "option", "correct_answer", "correct_option", "final_answer")

# A sentence that names the answer; the letter or the text of a choice must follow it.
STATEMENT = re.compile(
    r"(?:\b(?=[acorlо])(?:answer|choice|option|respuesta|opci[oó]n|antwort|l[oö]sung|r[eé]ponse|resposta|risposta"
    r"|ответ|odpowiedź)\b"
    r"|\b(?:right|correct)\s+one\b|\brichtig\b|答案|答え|正解|정답은?|उत्तर|الإجابة)"
    r"(?:\s+(?:correcta|correcte|correta|corretta|الصحيحة))?"
    r"(?:\s+(?:to\s+(?:the|this)\s+question|here))?"
    r"\s*(?P<link>(?:\b(?:would\s+be|will\s+be|must\s+be|should\s+be|is|es|ist|lautet|est|é|è)\b|是|为|は|है|هي"
    r"|[:：=→–—-]+)*\s*[:：]*)\s*"
    r"(?:(?:therefore|thus|clearly|most\s+likely|probably|likely|indeed|definitely)\s+)?"
    r"(?:(?:la|le|a|il|die|der)\s++(?=\W*+[A-Z]\b|letra|lettera|lettre|letter))?"
    r"(?:(?:option|choice|letter|answer|letra|lettera|lettre|opción|opção|buchstabe)\s+)?",
    re.I,
)
FINAL = re.compile(r"\bfinal\b|\btherefore\b|\bthus\b|\bconclusion\b|\bso,?\s+the\b", re.I)
DENIED = re.compile(
    r"(?:\bnot\b|n['’]t\b|\bcannot\b|\bwrong\b|\bincorrect\b|\brather than\b|\binstead of\b)"
    r"(?:(?!\b(?:but|and|so|hence|thus|therefore)\b)[^.,;:\n\u2013\u2014])*$"
    r"|\b(?:each|every|rul(?:e[sd]?|ing)\s+out|eliminat\w+|exclud\w+)\s+(?:answer\s+)?$",
    re.I,
)
WORDING = re.compile(r"\$?\\?(?:text|textbf|mathrm|mathbf)\s*\{(?:\s*+([^{}]{1,80})|\s+)\}\$?")
BOXED = re.compile(r"\$?\\?boxed\s*\{(?:\s*+([^{}]{1,80})|\s+)\}\$?")
CHOICE_END = re.compile(r"\n|[.;](?:\s|$)")
# "A" before any other small word is an article: "The answer is A decrease in pH".
BEHIND_LETTER = (
    r"(?:and|or|as|is|was|would|but|because|since|if|for|which|due|given|though|although|while|with|where|when|here"
    r"|by|in|on|from|over|rather|instead|only|alone|then|plus|weil|denn|da|car|parce|porque|pois|perché)\b"
)
CHOICE_WORD = re.compile(r"(?<![\w%°+/.,-])[\w%°+/.,-]*\w")
MINUSES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"))
TICKED = re.compile(r"^(?:\*\*|__|✅|✔|☑|👉|→)|[✅✔☑][^\w✅✔☑]*$")


def find_letters(text: str, letters: str, choices: Sequence[str]) -> str:
    """The one letter that `text` settles on; several if it settles on none of those it names; empty for none."""
    letters = letters.upper()
    text = outer_text(text)
    if JSON_OBJECT.match(text):
        text = _json_answer(text)
    text = _plain(text)
    if "\n" in text:
        text = strip_residue("\n".join(without_questions(text.splitlines())))
    for read in READERS:
        if letters and (found := read(text, letters, choices)):
            return found
    return ""


def outer_text(text: str) -> str:
    """The text, or the beginning and end of a very long one."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


def _plain(text: str) -> str:
    """The text without markup; a box holds the final answer."""
    text = plain_text(text)
    if "{" in text:
        text = BOXED.sub(r"\nFinal answer: \1\n", WORDING.sub(r" \1 ", text))
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).strip()


def _json_answer(text: str) -> str:
    """The text under the key of the answer; empty with two such keys or none, the whole text if it is not JSON."""
    try:
        pairs = read_json(text.strip(" \n`").removeprefix("json"), object_pairs_hook=list, strict=False)
    except ValueError:
        return text
    held = [value for key, value in pairs if key.lower() in ANSWER_KEYS and isinstance(value, str)]
    return held[0] if len(held) == 1 else ""


# --- each of these gives the letters it finds, "" for none, more than one for a conflict


@lru_cache(maxsize=64)
def _alone(letters: str) -> re.Pattern[str]:
    """A letter on its own: capital or bracketed anywhere, small only before punctuation."""
    upper, lower = f"[{letters}]", f"[{letters.lower()}]"
    return re.compile(
        rf"[\s*_`\"'‘“«(\[✅✔☑👉→]*(?:(?<=[(\[])({upper}|{lower})[)\]]|({upper})(?![a-zA-Z0-9_]|['’][a-z]"
        rf"|(?<=A)[^\S\n](?!{BEHIND_LETTER})[a-z])"
        rf"|({lower})(?=[*_`\"'”)\].,:;!]*(?:\s*$|[)\].,:;!])))"
    )


@lru_cache(maxsize=64)
def _second(letters: str) -> re.Pattern[str]:
    """A further letter after the first, as in "A and B"."""
    return re.compile(rf"[)\].*_\s]*(?:,|and|or|/|&|y|und|et)+\s*(?:option\s+)?[(\[*_]*([{letters}])(?![\w'’])")


@lru_cache(maxsize=64)
def _opening(letters: str) -> re.Pattern[str]:
    return re.compile(rf"^[*_>#\s✅✔☑👉→-]*[(\[]?([{letters}])(?:[)\].:]|\s*[-–—])(?=[\s*_]|$)")


@lru_cache(maxsize=64)
def _correct(letters: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:^|[.,!?:\n][^\S\n]*|\b(?:[Oo]ption|[Ll]etter)\s+)[(\[*_\"“]*([{letters}])[)\]*_\"”]*"
        r"\s+(?:is|would be|must be)\s+(?:the\s+)?(?:clearly\s+|indeed\s+|most\s+likely\s+)?"
        r"(?:correct|right|best|true|answer)\b"
    )


@lru_cache(maxsize=64)
def _said(letters: str) -> re.Pattern[str]:
    return re.compile(
        r"\b(?:(?i:it|that|this)(?:['’]s|\s+is|\s+must\s+be|\s+would\s+be)|I(?:['’]d|\s+would)?\s+(?:say|pick|choose)"
        rf"|go(?:ing)?\s+with|leaves|[Ss]o|[Tt]hus|[Hh]ence),?\s+(?:option\s+)?[(\[*_\"“'‘]*([{letters}])[)\]*_\"”'’]*"
        r"(?=[.,;!]|\s*$|\s+(?:because|since|as|though)\b)"
        rf"|\A[(\[*_\"“]*([{letters}])[)\]*_\"”]*,\s+(?:because|since)\b",
        re.M,
    )


@lru_cache(maxsize=64)
def _ruled_out(letters: str) -> re.Pattern[str]:
    """As in "Option A is wrong" and "options A, B and D do not fit"."""
    one = rf"[(\[*_]*[{letters}](?![\w'’])[)\]*_]*"
    return re.compile(
        rf"\b(?i:options?|choices?|answers?|letters?)\s+{one}(?:\s*(?:[,&]|\b(?:and|or)\b)+\s*{one})*"
        r"(?:\s*\([^()\n]{1,80}\)[*_]*)?\s+(?:(?:is|are|was|were|do|does|can|could|would)(?:n['’]t|\s+not)|cannot"
        r"|(?:is|are|was|were)\s+(?:\w+ly\s+|also\s+|both\s+)?(?:wrong|incorrect|false|ruled|excluded|eliminated|out))\b"
    )


@lru_cache(maxsize=64)
def _mention(letters: str) -> re.Pattern[str]:
    return re.compile(
        rf"[(\[]([{letters}])[)\]]|(?i:\b(?:option|choice|letter|choose|pick|select|go with"
        rf"|opci[oó]n|letra)\s+)[*_\"“(]*([{letters}])(?![\w'’])|\*\*([{letters}])\*\*"
    )


def _letter_at(text: str, start: int, letters: str) -> str:
    match = _alone(letters).match(text, start)
    if not match:
        return ""
    also = _second(letters).match(text, match.end())
    return (match[1] or match[2] or match[3]).upper() + (also[1] if also else "")


def _choice_at(text: str, choices: Sequence[str], letters: str) -> str:
    """The letter of the choice whose words, and nothing more, make up the rest of this sentence or line."""
    if not choices:
        return ""
    rest = _words(CHOICE_END.split(text, maxsplit=1)[0])
    named = zip(letters, map(_choice_words, choices), strict=False)
    return "".join(letter for letter, words in named if rest and rest == words)


@lru_cache(maxsize=512)
def _choice_words(choice: str) -> str:
    return _words(_plain(choice))


def _words(text: str) -> str:
    return " ".join(CHOICE_WORD.findall(text.translate(MINUSES).casefold()))


def _whole_text(text: str, letters: str, choices: Sequence[str]) -> str:
    """A letter with which the text opens, alone on its line, or that of a choice whose words are the text."""
    opening = _lone_letter(text.partition("\n")[0], letters)
    if opening and opening == _lone_line(text, letters, choices):
        return opening
    return _choice_at(text, choices, letters) if "\n" not in text else ""


def _lone_line(text: str, letters: str, choices: Sequence[str]) -> str:
    """A letter alone on a line; sentences count more, as a copied formula stands in such lines too."""
    return _join(_lone_letter(line, letters) for line in text.splitlines())


def _lone_letter(line: str, letters: str) -> str:
    bare = strip_marker(bare_line(line)).strip(" \t*_`\"'“”‘’«»().[]:!✅✔☑👉→").upper()
    return bare if len(bare) == 1 and bare in letters else ""


def _statements(text: str, letters: str, choices: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield the letter of each sentence that names the answer and is not denied, its words, and whether it says so."""
    for match in STATEMENT.finditer(text):
        said = text[match.end() : match.end() + 300]
        found = _letter_at(text, match.end(), letters) or _choice_at(said, choices, letters)
        if found and not _is_denied(text, match):
            before = text[max(0, match.start() - 30) : match.start()]
            yield found, before + match[0], bool(match["link"]) or before.lower().endswith("final ")


def _stated(text: str, letters: str, choices: Sequence[str]) -> str:
    """Sentences such as "The answer is (C)"; if they disagree, one that says it is final is believed."""
    stated = [(found, words) for found, words, is_told in _statements(text, letters, choices) if is_told]
    final = [found for found, words in stated if FINAL.search(words)]
    return final[-1] if final else _join(found for found, _ in stated)


def _named_only(text: str, letters: str, choices: Sequence[str]) -> str:
    """Words such as "option C", which a text that weighs the options has for each; those that it rules out are none."""
    return _join(found for found, *_ in _statements(_ruled_out(letters).sub(" ", text), letters, choices))


def _correct_one(text: str, letters: str, choices: Sequence[str]) -> str:
    """Sentences such as "C is correct"."""
    return _join(_correct(letters).findall(text))


def _said_one(text: str, letters: str, choices: Sequence[str]) -> str:
    """Sentences such as "I'd say C" and "That leaves C."."""
    return _undenied(_said(letters), text)


def _marked_line(text: str, letters: str, choices: Sequence[str]) -> str:
    """A line that opens with the letter, "C. mitosis"; of several (the options repeated), the marked one, or one that
    comes before the others out of their order.
    """
    opening = _opening(letters)
    lines = [line.strip() for line in text.splitlines()]
    found = [(match[1], line) for line in lines if (match := opening.match(line))]
    chosen = [letter for letter, line in found if TICKED.search(line)]
    if len(set(chosen)) == 1:
        return chosen[0]
    first, *others = [letter for letter, _ in found] or [""]
    return first if len(others) > 1 and first > others[0] and others == sorted(others) else _join([first, *others])


def _lone_mention(text: str, letters: str, choices: Sequence[str]) -> str:
    """Letters in brackets, in bold or after "option"; a bare capital may be a word of the sentence."""
    return _undenied(_mention(letters), _ruled_out(letters).sub(" ", text))


def _undenied(pattern: re.Pattern[str], text: str) -> str:
    return _join("".join(match.groups("")) for match in pattern.finditer(text) if not _is_denied(text, match))


def _is_denied(text: str, match: re.Match[str]) -> bool:
    """Whether its sentence denies it beforehand."""
    return bool(DENIED.search(text[max(0, match.start() - 80) : match.start()]))


# Tried in this order; the first that finds a letter, or several, counts.
READERS = (_whole_text, _stated, _correct_one, _said_one, _lone_line, _named_only, _marked_line, _lone_mention)


def _join(found: Iterable[str]) -> str:
    return "".join(dict.fromkeys("".join(found)))
