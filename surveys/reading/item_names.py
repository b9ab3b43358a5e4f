"""One name for one thing: cut free from its explanation, and in the form in which two names are compared."""

import re
import unicodedata

from surveys.reading.markup import EDGES, SYMBOLS, strip_marker, strip_markup

TITLE_WORDS = 16
SUBTITLE_WORDS = 7

DASH = re.compile(
    r"(?<!\s)\s+(?:[-\u2013\u2014\u2015]+\s|\u2013|[\u2014\u2015]|--)|[\u2014\u2015]|--|\u2013\s|(?<=\w)-\s+(?=\w+\s+\w+\s+\w)"
)
COLON = re.compile(r"[:\uff1a](?:\s|$)|\uff1a|(?<=[a-z]):(?=[a-z])")
# Where, after a name, a sentence about it begins.
_TELLS = (
    "offers?|provides?|features?|lets|allows|uses|combines|specializes|focuses|helps|teaches"
    r"|(?:is|are|was)\s+(?:an?|the|one|about|made|another|similar|also|perfect|great|ideal|known)|has\s+(?:an?|really)|made\s+(?:with|by)"
)
EXPLAINING = re.compile(
    rf"(?:,\s++|(?<!\s)\s++)(?:which|who|where|because|since|{_TELLS})\s|,\s++(?:another|\w+\s+(?:that|which))\s"
    r"|,\s++(?:an?|the|with|known|featuring|starring|directed|based|located)\s(?=(?:\S+\s+){4}\S)|[.;!?]\s",
    re.I,
)
FRACTIONS = re.compile("[^\u00bc-\u00be\u2150-\u215e]+")  # all but these, which would run into a number, as in 8½
SENTENCE = re.compile(r"(?<=[^\W\d_]{4})(?<!\bProf)[.!]\s+(?=[A-Z])")  # not behind an abbreviation
GLOSS = re.compile(r"\s[(\[][^()\[\]]{1,80}[)\]]\s+(?=[A-Z]\w*\s+\w+\s+\w+\s+\w)")
PARENTHESIS = re.compile(r"(?:(?<!\s)\s+)?[(\[](?:[^()\[\]]*[)\]]\s*|[^()\[\]]*)$")
ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\w)")
# What some put before the name, as in "Film 1: Heat", "Title: Heat" and "First, Heat".
_ORDINALS = "first|second|third|fourth|fifth|finally|lastly"
_THINGS = (
    "books?|compan(?:y|ies)|films?|haircuts?|ideas?|items?|majors?|movies?|options?|picks?|recommendations?"
    "|restaurants?|songs?"
)
FOREWORD = re.compile(
    rf"^(?:(?:{_THINGS})\s*#?\d{{1,2}}\s*:|(?:title|name)\s*:|(?:{_ORDINALS})(?:ly)?\s*[,:])\s*(?=\S)", re.I
)
CORPORATE = re.compile(
    r"(?:,\s*|(?<!\s)\s+)(?:inc(?:orporated)?|corp(?:oration)?|co|company|ltd|limited|llc|llp|plc|gmbh|ag"
    r"|s\.?a|n\.?v|b\.?v|s\.?p\.?a|k\.?k)\.?$"
)


def normalise_item(raw: str) -> str:
    """The form in which two names of one thing are equal: no markup, number, explanation, article, suffix."""
    return fold_name(clean_name(raw))


def fold_name(name: str) -> str:
    """A clean name without its article and corporate suffix, in folded case."""
    return CORPORATE.sub("", ARTICLE.sub("", " ".join(name.casefold().split()))).strip(EDGES)


def clean_name(raw: str) -> str:
    """The name as it was written, without markup, number, pictures, explanation and closing brackets."""
    name = strip_markup(strip_marker((raw if raw.isascii() else SYMBOLS.sub("", raw)).strip()))
    if not name.isascii():
        name = _strip_pictures(FRACTIONS.sub(lambda plain: unicodedata.normalize("NFKC", plain[0]), name)).strip()
    name = cut_explanation(FOREWORD.sub("", name)).strip(EDGES)
    return " ".join((PARENTHESIS.sub("", name).strip(EDGES) or name).split())


def cut_explanation(item: str) -> str:
    """Cut at the first dash or explaining colon; a long rest is also cut where a clause begins to explain."""
    dash = DASH.search(item, 1)
    if dash:
        item = item[: dash.start()]
    colon = COLON.search(item, 1)
    if colon and not _is_subtitle(item[colon.end() :]):
        item = item[: colon.start()]
    sentence = SENTENCE.search(item)
    if sentence:
        item = item[: sentence.start()]
    if len(item.split()) > 5:
        clause = min((m.start() for m in (EXPLAINING.search(item, 1), GLOSS.search(item, 1)) if m), default=len(item))
        item = item[:clause]
    return " ".join(item.split()[:TITLE_WORDS])


def _is_subtitle(rest: str) -> bool:
    """True of "Avatar: The Way of Water", one title; not of "Tesla: makes electric cars"."""
    words = rest.strip(EDGES).split()
    long = [word for word in words if len(word) > 3]
    return (
        0 < len(words) <= SUBTITLE_WORDS
        and bool(long)
        and all(not word[0].islower() for word in long)
        and any(word[0].isupper() for word in long)
        and not rest.rstrip().endswith(".")
    )


def _strip_pictures(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) not in ("So", "Sk", "Cs", "Co"))
