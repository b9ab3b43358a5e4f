"""The items that an answer names in its sentences if it sets out no list."""

import re
from collections.abc import Sequence
from itertools import islice

from surveys.reading.markup import EDGES, QUOTED
from surveys.reading.residue import strip_residue

_VERBS = (
    "like|enjoy|love|watch|read|play|visit|make|(?:use|try) (?:it|them) to make|use|have|prepare|cook|see|start with"
)
_KINDS = (
    "apps|books|brands|channels|classics|companies|films|games|movies|places|platforms|resources|services|shows"
    "|sites?|songs|textbooks|tools|websites"
)
_ENGLISH = (
    r"recommend(?:ed|ing)?|suggest(?:ing)?|consider(?:ing)?|try(?:ing)?|check(?:ing)? out|how about|what about",
    rf"you(?:['’]d| (?:might|may|could|can|would|should|will))?(?: (?:also|even|both|really|then))* (?:{_VERBS})",
    r"go (?:with|for)|go wrong with|(?<=[,;] )(?:watch|see|read|visit|play)",
    r"options?(?: \w+){0,6} (?:is|are|would be|include)",
    r"(?:alternatives|choices?|picks?|examples?|favou?rites?|ideas|ones|recommendations?)(?: \w+){0,2}"
    r" (?:is|are|would be|could be|include)",
    r"another(?: \w+){1,3} (?:is|would be|could be)|one(?: \w+){0,2} (?:is|would be)",
    r"have you (?:tried|considered|heard of)|includ(?:e|es|ing)|called|named",
)
_ELSEWHERE = (
    "recomiendo|recomendaría|sugiero|podrías (?:ver|leer|probar|visitar)|recomendo|sugiro|consiglio|suggerisco",
    "recommande|conseille|suggère|pourriez (?:voir|lire|essayer)|würde (?:dir|euch|ihnen)|empfehlen?|vorschlagen",
    "рекомендую|советую",
)
_WITHOUT_SPACES = "推荐|推薦|建议|أوصي بـ?|أنصح بـ?"
# Before kinds of things rather than the things, if the text has other words for those.
_KINDS_OF = rf"such as|(?:{_KINDS}) like"
_FILLERS = (
    "you|to|also|even|maybe|perhaps|something like|try|trying|out|make|making|mix|yourself|checking out|using|watching"
    "|visiting|reading|downloading|starting with|one of|either|both"
    "|the (?:following|textbook|book|film|movie|game|(?:free )?app|website|ones?)"
)
# For lower-case text, which is far faster than a pattern for both cases.
CUE = re.compile(
    rf"(?:\b(?=[a-zрс])(?:{'|'.join((*_ENGLISH, *_ELSEWHERE))}|(?P<kinds>{_KINDS_OF}))\b|{_WITHOUT_SPACES})"
    rf"(?:\s+(?:{_FILLERS})\b)*(?:\s*[:：])?\s*"
)
GIVEN = re.compile(r"\bgive (?:the |an? )?(.{3,40}?) a (?:chance|go|try|shot)\b", re.I)
LEAD = re.compile(r"^[^,;:]{3,60}[:：]\s*")
DENIED = re.compile(r"\b(?:not|cannot|never|unable to)\b|n['’]t\b", re.I)
# Questions that recommend.
ASKING = re.compile(
    r"^(?:\W*(?:so|then|or),?\s+)?(?:(?:how|what) about|you (?:could|can|might))\b"
    r"|\bhave you (?:tried|considered|heard of)\b",
    re.I,
)

HARD_STOP = re.compile(r"[;:!?。！]|\.(?:\s|$)|\s[-–]\s|—")
# Words that may follow a name in its sentence and are no part of it.
CLAUSE = re.compile(
    r"(?<!\s)\s+(which|that|who|where|because|since|if|so|when|while|as|than|made|using|with|by|from|for|to|in|on|at"
    r"|is|are|was|has|have|can|could|offers?|provides?|allows?|lets|empfehlen|vorschlagen"
    r"|(?:and|but|or) (?:it|they|you|i|use))\b\s*",
    re.I,
)
# Of those, the ones within a title, as in "Back to the Future", and within a dish, as in "eggs on toast".
IN_TITLES = frozenset(("with", "by", "from", "for", "to", "in", "on", "at"))
IN_DISHES = frozenset(("with", "in", "on"))
_AND = "and|or|y|o|et|und|oder|ou|as well as"
COMMA = re.compile(rf"(?:(?<!\s)\s+)?[,、，،]\s*(?:({_AND}|&)\s+(?:perhaps\s+|maybe\s+|even\s+)?)?")
AND = re.compile(
    rf"(?<!\s)\s+(?:{_AND}|e|и)\s+(?:perhaps\s+|maybe\s+|even\s+)?|(?<=[\u3040-\u9fff])[和及与と](?=[\u3040-\u9fff])"
)
# Between bare names.
SLASH = re.compile(r"(?:(?<!\s)\s+)?[;|•·]\s*|(?<!\s)\s+/\s+")
# A name does not begin with these in lower case; a clause does.
_NOT_NAMES = (
    "i you he she it we they them me us him her this these those that there here which who what where when "
    "how if so because since as to in on at by of from with for than then but and or not no any some "
    "something anything someone everything more other others another each every all both many much most few "
    "several various different new your my our their its his is are was were be been being do does did have "
    "has had can could will would shall should may might must let please sure yes okay ok thanks thank sorry "
    "hello hi etc also even just only very too out up down make making try trying get getting keep give lot "
    "bit variety number couple look combination list way great made based created used "
)
NO_NAME = frozenset(_NOT_NAMES.split())
ARTICLES = ("a", "an", "the")


MOST_SENTENCES = 60
NAME_WORDS, NAME_LENGTH = 6, 60
QUOTED_WORDS = 12
SHORT_ANSWER = 6  # words; a text as short as this may be a name and nothing more
FEW_SENTENCES = 3
MOST_CUES = 20  # of one sentence
CUE_REACH = 400  # characters after the words that recommend

SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"\u201d\u00bb)]*\s+(?=[^\W\d_a-z]|[\"\u201c\u00ab])|(?<=[\u3002\uff01\uff1f])|\n"
)
IN_QUOTES = re.compile(
    r"(?:(?<!\w)[\"\u201c\u00ab]|[\u300a\u300c\u300e])(?=[^\s_a-z])([^\"\u201c\u201d\u00ab\u00bb\u300b\u300d\u300f\n]{1,120})"
    r"(?:[\"\u201d\u00bb](?!\w)|[\u300b\u300d\u300f])"
)
BRACKETS = re.compile(r"(?:(?<!\s)\s+)?[(\[][^()\[\]]{0,200}[)\]]")


def find_named(lines: Sequence[str]) -> list[str]:
    """The names in quotes or after words that recommend; else an enumeration, or one short answer."""
    text = _one_spaced(strip_residue("\n".join(lines)).splitlines())
    quoted = _quoted(text)
    if len(quoted) >= 2:
        return quoted
    sentences = [part for part in SENTENCE_END.split(text) if part.strip()][:MOST_SENTENCES]
    return _recommended(sentences) or _bare_names(sentences)


def count_enumerated(lines: Sequence[str]) -> int:
    """Count what the sentences enumerate after words that recommend, or one of them without; whatever it is."""
    sentences = SENTENCE_END.split(_one_spaced(lines).replace("\n", " "))[:MOST_SENTENCES]
    counts = [_count_parts(sentence) for sentence in sentences]
    return max([sum(count for count, after_cue in counts if after_cue), *(count for count, _ in counts)])


def _count_parts(sentence: str) -> tuple[int, bool]:
    start = max((cue.end() for cue in CUE.finditer(sentence.lower())), default=0)
    parts = [part for part in AND.sub(",", COMMA.sub(",", sentence[start:])).split(",") if part.strip(EDGES)]
    short = [part for part in parts if len(part.split()) <= NAME_WORDS]
    enough = len(short) >= (2 if start else 3) and len(short) >= len(parts) - 1
    return (len(short) if enough else 0), start > 0


def _one_spaced(lines: Sequence[str]) -> str:
    """The lines that are not empty, with single spaces: patterns that skip spaces stay fast."""
    return "\n".join(spaced for line in lines if (spaced := " ".join(line.split())))


def _quoted(text: str) -> list[str]:
    """Titles in quotes; one that is long or ends like a sentence is a quotation."""
    titles = dict.fromkeys(match[1].rstrip(" ,.\u3002") for match in IN_QUOTES.finditer(text))
    return [title for title in titles if title and title[-1] not in "!?" and len(title.split()) <= QUOTED_WORDS]


def _recommended(sentences: Sequence[str]) -> list[str]:
    """The names after words that recommend; kinds of things only if nothing else is named."""
    found = [named for sentence in sentences for named in _after_cues(sentence)]
    return [name for name, is_kind in found if not is_kind] or [name for name, _ in found]


def _after_cues(sentence: str) -> list[tuple[str, bool]]:
    """Each name, and whether it may be a kind of things; questions name nothing, except "How about …"."""
    if sentence.rstrip().endswith(("?", "\uff1f")) and not ASKING.search(sentence):
        return []
    sentence = BRACKETS.sub(",", sentence)
    lowered = sentence.lower()
    named, end = [], 0
    for cue in islice(CUE.finditer(lowered if len(lowered) == len(sentence) else sentence), MOST_CUES):
        denied = DENIED.search(sentence, max(0, cue.start() - 25), cue.start()) and "wrong" not in cue[0]
        if denied or cue.start() < end:
            continue
        found = _enumerated(sentence[cue.end() : cue.end() + CUE_REACH])
        are_kinds = bool(cue["kinds"]) and 2 * sum(name[0].islower() for name in found) > len(found)
        named += [(name, are_kinds) for name in found]
        end = cue.end() + sum(len(name) for name in found)
    return named or [(given[1], False) for given in GIVEN.finditer(sentence) if _is_name(given[1])]


def _bare_names(sentences: Sequence[str]) -> list[str]:
    """An enumeration without words that recommend, as in "Five films: Heat, Alien, Up", or one name alone."""
    for at, sentence in enumerate(sentences if len(sentences) <= FEW_SENTENCES else sentences[:1]):
        lead = LEAD.match(sentence)
        names = _enumerated(sentence[lead.end() :] if lead else sentence)
        enough = len(names) >= (3 if at or lead else 2) and not sentence.rstrip().endswith("?")
        if enough and (lead or _are_proper(names)):
            return names
    listed = SLASH.split(sentences[0].strip()) if len(sentences) == 1 else []
    if len(listed) >= 3 and all(0 < len(name.split()) <= NAME_WORDS for name in listed):
        return listed
    words = sentences[0].casefold().replace("\u2019", "'").split() if len(sentences) == 1 else []
    alone = 0 < len(words) <= SHORT_ANSWER and not sentences[0].endswith(("?", ":"))
    return [sentences[0].rstrip(".")] if alone and NO_NAME.isdisjoint(word.strip(EDGES) for word in words) else []


def _are_proper(names: Sequence[str]) -> bool:
    return _first_word(names[0]).casefold() not in NO_NAME and not any(name[0].islower() for name in names)


def _enumerated(text: str) -> list[str]:
    """The names at the beginning of `text`: "a Manhattan or Old Fashioned, both classics" holds two."""
    stop = HARD_STOP.search(text)
    chunks, oxford = _chunks(text[: stop.start()] if stop else text)
    if len(chunks) < 3:
        parts = [part for chunk in chunks for part in AND.split(chunk)]
    else:
        parts = chunks if oxford else [*chunks[:-1], *AND.split(chunks[-1])]
    names = [name for part in parts if _is_name(name := _unquoted(part))]
    several = len(names) > 2 or (len(names) == 2 and (" or " in text or _stands_alone(names[0])))
    return names if several else [name for name in names if _stands_alone(name)]


def _chunks(text: str) -> tuple[list[str], bool]:
    """The parts between commas up to the first clause, and whether an "and" follows the last comma."""
    chunks: list[str] = []
    joined, ended, at = "", False, 0
    for comma in [*COMMA.finditer(text), None]:
        chunk = text[at : comma.start() if comma else None].strip()
        if not ended or joined == "or":  # a clause ends the list, unless ", or an egg white frittata" goes on with it
            if chunk and _first_word(chunk) in NO_NAME:
                break
            clause = _clause_start(chunk)
            ended = clause is not None
            chunks += [chunk[:clause]] if chunk else []
        if comma:
            joined, at = (comma[1] or "").lower(), comma.end()
    return chunks, bool(joined)


def _clause_start(chunk: str) -> int | None:
    """Where a clause about the name begins; None in "Back to the Future" and "eggs on toast", which hold none."""
    proper = not _without_article(chunk)[:1].islower()
    for clause in CLAUSE.finditer(chunk):
        word = clause[1].lower()
        titled = proper and word in IN_TITLES and _without_article(chunk[clause.end() :])[:1].isupper()
        if not titled and (proper or word not in IN_DISHES):
            return clause.start()
    return None


def _unquoted(part: str) -> str:
    """The quoted words if the part begins with quotes, else the part without a left-over "or" or "and" at its end."""
    quoted = QUOTED.match(part)
    return quoted[1] if quoted else part.removesuffix(" or").removesuffix(" and")


def _is_name(part: str) -> bool:
    if part[:1].islower() and _first_word(part).endswith("ing"):
        return False
    return 0 < len(part.split()) <= NAME_WORDS and len(part) <= NAME_LENGTH and _first_word(part) not in NO_NAME


def _stands_alone(name: str) -> bool:
    """Whether the name has an article or a capital; a single small word after "try" may be anything."""
    return name.startswith(("a ", "an ")) or not name.removeprefix("the ")[0].islower()


def _first_word(text: str) -> str:
    """The first word after an article; "I" is no name, but "Up" and "It" are."""
    words = _without_article(text).split(maxsplit=1)
    word = words[0].strip(EDGES) if words else ""
    return word.lower() if word.startswith(("I'", "I\u2019")) or word == "I" else word


def _without_article(text: str) -> str:
    first, _, rest = text.strip().partition(" ")
    return rest if first.lower() in ARTICLES and rest else text
