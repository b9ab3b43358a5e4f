"""The marks with which a chatbot sets out text, the text without them, and names in the form that is compared."""

import html
import re
import unicodedata
from functools import lru_cache

from surveys.reading.words import is_label

MOST_LINES = 1_000  # a text with more, in the characters that are read, is no answer

# A number before an item may be "1.", "1)", "(1)", "#1:", "1 -", "**1.**", a keycap or the Chinese "1、".
NUMBER = re.compile(
    r"^(?P<open>[*_(\[\uff08]{0,3})(?:#|no\.? ?)?(?P<number>\d{1,2})(?:\u20e3|\\?[.):\]]+(?!\d)"
    r"|[\u3001\uff09\uff0e\uff1a]|\s?[-\u2013\u2014](?=\s|[A-Z]))(?P<close>[*_]*)\s*",
    re.I,
)
_BULLETS = "•●○◦▪▫■□▶►◆❖‣·⁃➤➢→・✓✔✅☑🔹🔸🔷🔶🔺🔻🟢🔵🟣🟠🟡🔴🥇🥈🥉🏅①-⑩❶-❿➀-➓"
BULLET = re.compile(rf"^(?:[-*+\u2013\u2014]\s+|-(?=[^\W\d_]|[\"\u201c*\[])|[{_BULLETS}]\ufe0f?\s*)")
HEADING = re.compile(r"^#{1,6}\s+")
CLOSING_MARK = re.compile(r"(?<!\s)\s+#+$")  # of a heading; C# ends so too
BOLD = re.compile(r"(\*{2,3}|__)(?=\S)([^*\n]{1,200}?)\1")
BOLD_LINE = re.compile(r"^(\*{2,3}|__)([^*\n]{1,120})\1[:.]?$")
ITALIC = re.compile(r"^([*_])(?=[^\s*_])([^*_\n]{1,120})\1(?!\w)")
QUOTED = re.compile(
    r"^[\"\u201c\u201e\u00ab\u300a\u300c\u300e\u2018']\s?([^\"\u201c\u201d\u00bb\u300b\u300d\u300f\u2019\n]{1,120})"
    r"[\"\u201c\u201d\u00bb\u300b\u300d\u300f\u2019'](?!\w)"
)
TABLE_RULE = re.compile(r"^(?=[\s:|+-]*?--)[\s:|+-]+$")
# The text behind a bracket is skipped at once, link or not: many that are not closed are read once, not once each.
LINK = re.compile(r"!?\[([^\]\n]++)(?:\](\((?:[^()\s]|\([^()\s]*\)){0,500}(?:\s\"[^\"\n]{0,200}\")?\))?)?")
LONGEST_LABEL = 300
CITATION = re.compile(
    r"\u3010[^\u3011\n]{0,80}+\u3011|\[\[\d{1,3}\]\](?:\([^()\s]{0,500}\))?|\[\^?\d{1,3}\^?(?:, ?\d{1,3}){0,9}\](?!\()"
    r"|(?<=[^\W\d]|[*)])[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,3}(?!\w)"  # behind a digit it is a power
    r"|:contentReference\[[^\]\n]{0,80}\](?:\{[^}\n]{0,80}\})?"
)
# Marks of models between turns, as <|im_end|> and </s>.
TOKEN = re.compile(r"<\|\w{1,30}\|>|</?s>")
BREAK_TAG = re.compile(r"<(?:br|/?p|/?li|/?tr|/?div|/?h[1-6]|/?[ou]l)\b[^<>\n]{0,80}>", re.I)
BOLD_TAG = re.compile(r"</?(?:b|strong)>", re.I)
TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,5});")
ESCAPE = re.compile(r"\\([.()\[\]*_#+~|-])")
STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
LATEX = re.compile(r"^[ \t]*\\(?:item\b|(?:begin|end)\{\w{1,20}\})", re.M)
FENCE = re.compile(r"^[ \t]*```.*$", re.M)

WORD = re.compile(r"\w+")
# Signs that are part of no name, if they are seen at all.
SYMBOLS = re.compile("[\u2122\u00ae\u00a9\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufe0e\ufe0f\u00ad]")
STARS = re.compile("[*`]")
PUNCTUATION = str.maketrans("\u2019\u2018\u2010\u2011", "''--")
_QUOTES = "\"'\u201c\u201d\u201e\u00ab\u00bb\u300a\u300b\u300c\u300d\u300e\u300f"
EDGES = _QUOTES + " \t\r\n.,;:!?\u3002\u3001\uff0c\uff01_~>|-\u2013\u2014\u00b7\u2022&"


def plain_text(text: str) -> str:
    """The text without tags, links, citations and the marks of turns; bold and line ends stay."""
    if "&" in text:
        text = ENTITY.sub(lambda match: html.unescape(match[0]), text)
    if "<" in text:
        text = BOLD_TAG.sub("**", BREAK_TAG.sub("\n", TOKEN.sub("", text)))
        text = TAG.sub(" ", text)
    if "[" in text or not text.isascii():
        text = CITATION.sub("", LINK.sub(_label, text))
    if "```" in text:
        text = FENCE.sub("", text)
    if "~~" in text:
        text = STRUCK.sub("", text)
    if "\\" in text:
        text = ESCAPE.sub(r"\1", LATEX.sub("- ", text))
    return text if text.isascii() else SYMBOLS.sub("", text)


def _label(link: re.Match[str]) -> str:
    """The words of a link, from the first bracket that is near enough; anything else stays."""
    label, whole = link[1], link[0]
    if not link[2]:
        return whole
    if len(label) <= LONGEST_LABEL:
        return label
    at = label.find("[", len(label) - LONGEST_LABEL - 1, len(label) - 1)
    before = whole[: whole.index("[") + 1] + label[: max(at, 0)]
    return whole if at < 0 else before.removesuffix("!") + label[at + 1 :]


def split_lines(text: str) -> list[str]:
    """The first MOST_LINES lines of the text as its reader sees them, without tags and links."""
    return [line.rstrip() for line in plain_text(text).splitlines()[:MOST_LINES]]


def strip_marker(line: str) -> str:
    """The line without its bullet, heading mark or number."""
    return NUMBER.sub("", BULLET.sub("", HEADING.sub("", line)))


def strip_markup(text: str) -> str:
    """A name without tags, links, stars and code marks, with plain apostrophes and hyphens."""
    if "<" in text:
        text = TAG.sub(" ", TOKEN.sub("", text))
    if "[" in text:
        text = LINK.sub(_label, text)
    text = STARS.sub("", text if text.isascii() else text.translate(PUNCTUATION))
    return CLOSING_MARK.sub("", text.strip()).lstrip("#>~ ")


def indent_of(line: str) -> int:
    if "\t" in line:
        line = line.expandtabs(4)
    return len(line) - len(line.lstrip())


def bare_line(line: str) -> str:
    """The line without marks that may precede its number: those of headings and quoted replies."""
    bare = line.strip()
    return bare.lstrip("#>").strip() if bare.startswith(("#", ">")) else bare


# --- names ---------------------------------------------------------------------


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
INITIALS = re.compile(r"\b(?:[^\W\d_]\.){1,4}[^\W\d_]$")  # "D.C" and "E.T", whose last full stop belongs to them
ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\w)")
HYPHENED = re.compile(r"^[*_]*\d{1,2}-[^\W\d]")  # 7-Eleven has no number to strip
# Before the name, as in "Film 1: Heat", "Title: Heat" and "First, Heat".
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


@lru_cache(maxsize=256)
def clean_name(raw: str) -> str:
    """The name as it was written, without markup, number, pictures, explanation and closing brackets."""
    name = (raw if raw.isascii() else SYMBOLS.sub("", raw)).strip()
    name = strip_markup(name if HYPHENED.match(name) else strip_marker(name))
    if not name.isascii():
        name = _strip_pictures(FRACTIONS.sub(lambda plain: unicodedata.normalize("NFKC", plain[0]), name)).strip()
    written = cut_explanation(FOREWORD.sub("", name))
    name = written.strip(EDGES)
    name = " ".join((PARENTHESIS.sub("", name).strip(EDGES) or name).split())
    return f"{name}." if INITIALS.search(name) and f"{name}." in written else name


def cut_explanation(item: str) -> str:
    """Cut at the first dash or explaining colon; a long rest is also cut where a clause begins to explain."""
    dash = DASH.search(item, 1)
    if dash:
        item = item[: dash.start()]
    if colon := explaining_colon(item):
        item = item[: colon.start()]
    sentence = SENTENCE.search(item)
    if sentence:
        item = item[: sentence.start()]
    if len(item.split()) > 5:
        clause = min((m.start() for m in (EXPLAINING.search(item, 1), GLOSS.search(item, 1)) if m), default=len(item))
        item = item[:clause]
    return " ".join(item.split()[:TITLE_WORDS])


def explaining_colon(item: str, subtitled: bool = True) -> re.Match[str] | None:
    """The first colon with no subtitle up to the next colon or, if the item may end with one, its end; else None."""
    colon = COLON.search(item, 1)
    while colon and not (subtitled and _is_subtitle(item[colon.end() :])):
        further = COLON.search(item, colon.end())
        if not further or not _is_subtitle(title := item[colon.end() : further.start()]) or is_label(title):
            return colon
        colon = further
    return None


def _is_subtitle(rest: str) -> bool:
    """Whether it is a subtitle, as in "Avatar: The Way of Water", and not as in "Tesla: makes electric cars"."""
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
