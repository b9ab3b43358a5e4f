"""Signs that a text was cut off."""

import re
from collections.abc import Sequence

from surveys.reading.items import count_items
from surveys.reading.markup import BULLET, NUMBER, strip_marker
from surveys.reading.residue import strip_residue

LOOK_BACK = 8000  # characters before the end that are read
ENDED = re.compile(
    r"[.!?\u2026\u3002\uff01\uff1f\u061f\u06d4\u0964\u203c\u2049)\]}\"\u201d\u00bb\u300d\u300f'\u2019`"
    r"|\u2600-\u27bf\U0001f300-\U0001faff]$"
)
BARE_MARKERS = "-*+\u2022\u25cf\u2013#>"
CLOSERS = "*_~ \t\u200d\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069\ufe0e\ufe0f"
HANGING = re.compile(r"(?:[,;:(\[{/&=+<\u2013\u2014\u201c\u00ab\u060c\uff0c\u3001\uff1a\uff08]|\s-|\S-)$")
_FUNCTION_WORDS = (
    "the a an of and or to with in for is are was were be been which that as by from on at your you its "
    "their his her this these those but if when while because than then into about such like it they we i "
    "can will would could should has have had not no both either between also so more most very de la el "
    "los las y o que en un una le les et ou des der die das und oder ein eine "
    "mit von für auf dem den im zum zur con por para du dans avec pour "
    "и в на с о к по для из что это как у за от до не но а или о об "
    "في من إلى على عن مع أو أن التي الذي وهي وهو של את על עם או כי אל और का की के में से पर या कि"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
# Not behind an initial or an abbreviation, as in "Mrs. Dalloway" and "J.P. Morgan".
SENTENCE_WITHIN = re.compile(
    r"(?:[!?]|(?<!\b[^\W\d_])(?<!\b(?:Dr|Mr|Ms|Mt|St|Jr|Sr|vs|ft))(?<!\b(?:Mrs|Inc))(?<!\b(?:Prof|feat))\.)['\"\u201d)*_]*\s+(?=\S)"
)
ADDRESS = re.compile(r"(?:https?://|www\.)\S|\S\.(?:com|org|net|io|gov|edu)", re.I)  # in the last word
NUMBER_WORDS = {"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
ANNOUNCEMENT = re.compile(
    rf"\b(?:here(?: are|'s a list of|\u2019s a list of)|these are|list of|suggest|recommend)(?: (?:my"
    rf"|some|the|your|top|a list of)){{0,2}}"
    rf" ({'|'.join(NUMBER_WORDS)}|[3-9]|1\d|20)\b(?![-\u2013:.,])",
    re.I,
)
OPTION = re.compile(r"[*_]*[(\[]?[A-Z][)\].:]+[*_]*\s")  # "C. the cell membrane" ends as the options of a prompt do
EXPLAINED = re.compile(r":\s|\s[-\u2013\u2014]\s")
# Hebrew, Arabic, the scripts of India, Chinese, Japanese, Korean: a last item often goes without its full stop.
UNSTOPPED = re.compile(r"[\u0590-\u08ff\u0900-\u0dff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
PICTURE = re.compile(r"[\u2600-\u27bf\U0001f300-\U0001faff\u20e3]$")
EMOTICON = re.compile(r"[:;=]-?[()DPp]$")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]$")  # Thai, Lao, Burmese, Khmer end without a sign
PRESS_TO_GO_ON = re.compile(
    r"^[ \t]*(?:continue generating|generierung fortsetzen|continuar generando"
    r"|continuer \u00e0 g\u00e9n\u00e9rer)[ \t]*$",
    re.I | re.M,
)


def find_break(text: str) -> str | None:
    """Why `text` seems cut off (button, code, list, hanging, sentence, explanation, count), or None."""
    if PRESS_TO_GO_ON.search(text[-400:]):
        return "button"
    if text.count("```") % 2:
        return "code"
    lines = [line.rstrip() for line in strip_residue(text[-LOOK_BACK:]).splitlines() if line.strip()]
    if not lines:
        return None
    return _break_of_last(lines) or ("count" if _has_fewer_than_announced(text) else None)


def _has_fewer_than_announced(text: str) -> bool:
    """Whether the list is shorter than its opening says, such as three items after "Here are five films"."""
    match = ANNOUNCEMENT.search(text[:300])
    if not match:
        return False
    announced = NUMBER_WORDS.get(match[1].lower()) or int(match[1])
    return 0 < count_items(text) < announced


def _break_of_last(lines: Sequence[str]) -> str | None:
    last = lines[-1].strip()
    if not strip_marker(last).strip(CLOSERS + BARE_MARKERS):
        return "list"
    words = last.split()
    if len(words) + len(lines) < 4 or ADDRESS.search(words[-1]) or EMOTICON.search(last) or UNSPACED.search(last):
        return None
    if _hangs(last):
        return "hanging"
    if ENDED.search(last.rstrip(CLOSERS)):
        return None
    return _unended(last, lines[:-1])


def _hangs(last: str) -> bool:
    """Whether the line has open markup or brackets, or an end that only leads on to something."""
    bare = last.rstrip("* _")
    words = bare.split()
    opened = (
        last.count("**") % 2 == 1 or bare.count("(") > bare.count(")") or bare.count("\u201c") > bare.count("\u201d")
    )
    return opened or bool(HANGING.search(bare)) or words[-1] in FUNCTION_WORDS


def _unended(last: str, before: Sequence[str]) -> str | None:
    """The break of a last line without a full stop: lines like it have one or explain, or it holds sentences."""
    body = strip_marker(last)
    if OPTION.match(body):
        return None
    if SENTENCE_WITHIN.search(body):
        return "sentence"
    alike = [line.strip() for line in before if _marker(line.strip()) == _marker(last) and len(line.split()) > 3]
    ended = sum(bool(ENDED.search(end) and not PICTURE.search(end)) for end in (line.rstrip(CLOSERS) for line in alike))
    if alike and ended * 3 >= len(alike) * 2 and (_is_marked(last) or len(last.split()) > 3):
        return None if UNSTOPPED.search(body) else "sentence"
    if _is_marked(last) and len(alike) >= 2:
        lacks_one = not _explains(body) and all(_explains(strip_marker(line)) for line in alike)
        return "explanation" if lacks_one else None
    return "sentence" if _is_prose(body) else None


def _explains(body: str) -> bool:
    return bool(EXPLAINED.search(body)) and len(body.split()) > 2


def _is_prose(body: str) -> bool:
    words = [word.strip(".,;:").lower() for word in body.split()]
    return len(words) >= 8 and sum(word in FUNCTION_WORDS for word in words) >= 3


def _marker(line: str) -> str:
    return "number" if NUMBER.match(line) else "bullet" if BULLET.match(line) else ""


def _is_marked(line: str) -> bool:
    return bool(_marker(line))
