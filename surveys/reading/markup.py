"""The marks with which a chatbot sets out its text, and the text without them."""

import html
import re

MOST_LINES = 1_000  # what has more in the characters that are read is no answer

# A number stands before an item as "1.", "1)", "(1)", "#1:", "1 -", "**1.**", a keycap or the Chinese "1、".
NUMBER = re.compile(
    r"^(?P<open>[*_(\[]{0,3})(?:#|no\.? ?)?(?P<number>\d{1,2})(?:\u20e3|\\?[.):\]]+(?!\d)|\u3001"
    r"|\s?[-\u2013\u2014](?=\s|[A-Z]))(?P<close>[*_]*)\s*",
    re.I,
)
_BULLETS = "•●○◦▪▫■□▶►◆❖‣·⁃➤➢→・✓✔✅☑🔹🔸🔷🔶🔺🔻🟢🔵🟣🟠🟡🔴🥇🥈🥉🏅①-⑩❶-❿➀-➓"
BULLET = re.compile(rf"^(?:[-*+\u2013\u2014]\s+|-(?=[^\W\d_]|[\"\u201c*\[])|[{_BULLETS}]\ufe0f?\s*)")
HEADING = re.compile(r"^#{1,6}\s+")
BOLD = re.compile(r"(\*{2,3}|__)(?=\S)([^*\n]{1,200}?)\1")
BOLD_LINE = re.compile(r"^(\*{2,3}|__)([^*\n]{1,120})\1[:.]?$")
ITALIC = re.compile(r"^([*_])(?=[^\s*_])([^*_\n]{1,120})\1(?!\w)")
QUOTED = re.compile(
    r"^[\"\u201c\u201e\u00ab\u300a\u300c\u300e\u2018']\s?([^\"\u201c\u201d\u00bb\u300b\u300d\u300f\u2019\n]{1,120})"
    r"[\"\u201c\u201d\u00bb\u300b\u300d\u300f\u2019'](?!\w)"
)
TABLE_RULE = re.compile(r"^(?=[\s:|+-]*?--)[\s:|+-]+$")
# Whatever a bracket opens is passed over at once, link or not: many that are not closed are read once, not once each.
LINK = re.compile(r"!?\[([^\]\n]++)(?:\](\((?:[^()\s]|\([^()\s]*\)){0,500}(?:\s\"[^\"\n]{0,200}\")?\))?)?")
LONGEST_LABEL = 300
CITATION = re.compile(
    r"\u3010[^\u3011\n]{0,80}+\u3011|\[\[\d{1,3}\]\](?:\([^()\s]{0,500}\))?|\[\^?\d{1,3}\^?(?:, ?\d{1,3}){0,9}\](?!\()"
    r"|(?<=[\w*_)])[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,3}(?!\w)"
    r"|:contentReference\[[^\]\n]{0,80}\](?:\{[^}\n]{0,80}\})?"
)
# What models say between turns, as <|im_end|> and </s>.
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
# Signs that are seen, if at all, as part of no name.
SYMBOLS = re.compile("[\u2122\u00ae\u00a9\u200b-\u200f\u2060\ufeff\ufe0e\ufe0f\u00ad]")
STARS = re.compile("[*`]")
PUNCTUATION = str.maketrans("\u2019\u2018\u2010\u2011", "''--")
_QUOTES = "\"'\u201c\u201d\u201e\u00ab\u00bb\u300a\u300b\u300c\u300d\u300e\u300f"
EDGES = _QUOTES + " \t\r\n.,;:!?\u3002\u3001\uff0c\uff01_~#>|-\u2013\u2014\u00b7\u2022&"


def plain_text(text: str) -> str:
    """The text without tags, links, citations and marks of turns; bold and the ends of lines stay."""
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
    """The words of a link; they begin at the first bracket that is near enough."""
    label, whole = link[1], link[0]
    if not link[2]:
        return whole
    if len(label) <= LONGEST_LABEL:
        return label
    at = label.find("[", len(label) - LONGEST_LABEL - 1, len(label) - 1)
    before = whole[: whole.index("[") + 1] + label[: max(at, 0)]
    return whole if at < 0 else before.removesuffix("!") + label[at + 1 :]


def split_lines(text: str) -> list[str]:
    """The lines of the text as a reader of it sees them, without tags and links."""
    return [line.rstrip() for line in plain_text(text).splitlines()[:MOST_LINES]]


def strip_marker(line: str) -> str:
    """The line without its bullet, heading mark or number."""
    return NUMBER.sub("", BULLET.sub("", HEADING.sub("", line)))


def strip_markup(text: str) -> str:
    """A name without tags, links, stars and code marks, its apostrophes and hyphens made plain."""
    if "<" in text:
        text = TAG.sub(" ", TOKEN.sub("", text))
    if "[" in text:
        text = LINK.sub(_label, text)
    text = STARS.sub("", text if text.isascii() else text.translate(PUNCTUATION))
    return text.strip().lstrip("#>~ ")


def indent_of(line: str) -> int:
    if "\t" in line:
        line = line.expandtabs(4)
    return len(line) - len(line.lstrip())


def bare_line(line: str) -> str:
    """The line without what may stand before its number: heading marks and the marks of a quoted reply."""
    bare = line.strip()
    return bare.lstrip("#>").strip() if bare.startswith(("#", ">")) else bare
