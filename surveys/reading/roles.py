"""The roles of an answer's parts: a list that asks, remembers, weighs or offers holds no recommendations.

A part is a list with the lines that lead to it. Its role shows in its lead, or in entries most of which describe the
person or name something to ask about. A correction drops everything above it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from surveys.reading.markup import (
    BOLD,
    BOLD_LINE,
    BULLET,
    COLON,
    DASH,
    HEADING,
    NUMBER,
    bare_line,
    indent_of,
    strip_marker,
)
from surveys.reading.words import QUANTITY, QUESTION, is_aspect, is_step

LEAD_LINES = 3  # lines above a list that may tell its role
LEAD_LENGTH = 300
MOST = 0.6  # share of the entries that shows the role by itself

# All for lower-case text with plain apostrophes, each sentence on its own.
ADVISES = re.compile(
    r"\b(?:here are (?!(?:a |some )?(?:few |\w+ )?(?:questions|things i|details))|these (?!questions|details)"
    r"|i(?:'d| would) (?:go|pick|suggest|recommend|look)|suggest(?:ions?|ed)?:|recommend(?:ations?|ed)?:|picks\b"
    r"|for now|meanwhile|in the meantime|hier (?:sind|ist|kommen)|vorschläge|empfehlungen|empfehle\b)"
)
REMEMBERS = re.compile(
    r"\bi (?:still )?(?:remember|recall|know) (?:about|from|that|of)\b|\b(?:what|as|things) (?:i|we) (?:still )?"
    r"(?:remember|recall|know|have (?:saved|stored|learned))\b"
    r"|\b(?:our|your) (?:past|previous|earlier|prior|last) (?:chats?|conversations?|messages?)\b"
    r"|\byou(?:'ve| have)?(?: already| previously)? (?:told|mentioned|shared|said)\b|\b(?:saved|stored) (?:in|to)"
    r" memory\b"
    r"|\b(?:learned|picked up|noticed|gathered|stored|saved|remembered) about you\b|^you:$|\bich weiß,? dass du\b"
    r"|^(?:based on |given )?your (?:\w+ )?(?:preferences|profile|background|situation|history)\b|\bgedächtnis"
    r"|\berinnerungen\b"
    r"|\bmy (?:saved )?memor(?:y|ies)\b|\bi remember:|^(?:a bit |a little |what i know )?(?:about you|your profile)\W*$"
    r"|\b(?:frühere|bisherige|letzte)\w* (?:gespräche?|chats?|unterhaltung\w*)\b|\büber dich (?:weiß|gemerkt"
    r"|gespeichert)"
    r"|\bweiß ich (?:noch )?(?:über|von)|\bich (?:noch )?(?:über|von) dir? ?(?:dich )?weiß|\berinnere mich\b"
    r"|\bdu (?:hast|hattest) (?:mir )?(?:erzählt|erwähnt|gesagt)\b|^(?:über dich|dein profil)\W*$"
)
# Beside remembered facts: the list may be drawn from them.
CONCLUDES = re.compile(
    r"\b(?:based on|given|since|because|considering|as you|taking into account|in view of|knowing"
    r"|tailored to|matched to|inspired by|personali[sz]ed|for you"
    r"|you(?:'d| would| may| might| could|'ll| will) (?:\w+ )?(?:like|enjoy|love)"
    r"|(?:\d{1,2}|three|four|five|six|seven|eight|nine|ten|drei|vier|fünf|sechs|sieben|acht|neun|zehn)"
    r" (?!things|facts|points|dinge)\w+|picks?|so(?! far)|basierend|aufgrund"
    r"|ausgehend|da (?:du|ich)|weil (?:du|ich)|passend\w*|passen|für dich)\b"
)
ASKS = re.compile(
    r"\b(?:(?:tell me|let me know)(?! (?:what you think|if you(?:'d)? (?:want|like|need)))"
    r"|please (?:share|answer|provide|tell)|share (?:a few|some|your|these|with me|the following)"
    r"|(?:could|can) you (?:please )?(?:tell|share|answer|give me|provide)|(?:few|some|more|quick|these|following|\d) "
    r"(?:\w+ )?(?:questions|details|information)\b|help(?:ful|s)?(?: me)?(?: if i)? to know|(?:love|like|need|have)"
    r" to know"
    r"|i(?:'d| would)? need (?:to|a|some|more|your|the following)|know (?:a (?:little |bit )?)?(?:more|about your)"
    r"|need from you|more about you|if you (?:share|give me|tell me|provide)"
    r"|müsste ich|bräuchte ich|brauche ich|benötige ich|verrate|sag mir|schreib mir"
    r"|erzähle? (?:mir|uns|mehr|kurz|gern|etwas)|teile? mir|nenn mir"
    r"|ein paar (?:fragen|rückfragen|angaben|infos|details)|beantworte|wüsste ich|zu (?:folgenden|diesen)"
    r" (?:punkten|fragen))"
)
ADDRESSES = re.compile(r"\b(?:you|your|du|dir|dich|deine?[mnrs]?|sie|ihnen|ihre?[mnrs]?)\b")
OFFERS = re.compile(
    r"\bi (?:can|could)(?: also| then| next| even| help(?: you)?)*\W*$|\bi (?:can|could) also\b|\bwould you like me"
    r" to\b"
    r"|\b(?:do you )?want me to\b|\bhappy to (?:help|also)\b|\bkann ich (?:dir |ihnen |euch )?(?:auch |gerne? |noch"
    r" )*\W*$"
    r"|\bplease (?:contact|call|reach out)\b"
    r"|\bmöchtest du,? dass ich\b|\bsoll ich\b|^(?:next steps?|nächste schritte)\b"
)
WEIGHS = re.compile(
    r"^(?:(?:some |a few |key |main |important |other )*(?:things|factors|criteria|considerations|points)"
    r"(?! (?:to (?:watch|read|do|try|see)|that|people))\b"
    r"|what (?:i(?!'d| would| recommend| suggest)|matters|to (?:look|consider|keep|check|weigh))\b"
    r"|how (?:to|i)\b|why\b(?! not)|purpose\b|goals?\b|before (?:the|you|we|i)\b|worauf\b|kriterien\b|wichtig\w*\b"
    r"|was (?:ich|mir|zählt)\b|wie (?:ich|du)\b|warum\b|tips?\b|tipps?\b|steps?\b|to decide\b|to choose\b|pro tips?\b"
    r"|key takeaways?\b|takeaways?\b)"
)
# At the beginning, whatever it asks for by the way: "Here are five, with some details on each:".
ANNOUNCES = re.compile(
    r"^here are (?!.*\b(?:but|first|before|once|until|questions?|what|need(?:ed)?|things i"
    r"|(?:details|information) (?:i|that|you|to|about you))\b)"
)
CITES = re.compile(r"^(?:sources|references|citations|footnotes|learn more|further reading|quellen|belege)\W*$")
MENTIONS = re.compile(r"^(?:a few |some |and )?(?:honou?rable mentions?|runners?[- ]?up)\b")
ADDS = re.compile(
    r"^(?:a few |some |and )?(?:also (?:worth|consider|great|good)|other \w+"
    r"|bonus|more \w+|alternatives?|close calls?|backups?|weitere\w*|außerdem|noch (?:mehr|ein paar)|ebenfalls|auch)\b"
)
AVOIDS = re.compile(
    r"\b(?:avoid|skip|steer clear|stay away|(?:not|don't) recommend(?:ed)?|leave out|vermeiden?|meiden|lieber nicht"
    r"|nicht empfehlen\w*|abraten)\b"
)
THINKS = re.compile(
    r"^(?:search(?:ing|ed)\b|thinking\b|considering\b(?! (?:your|you|that|what|how))|brainstorm\w*|show thinking"
    r"|thought for|worked for|reasoning\b|looking up|browsing\b|candidates?\b|suche\b|nachgedacht|überlege)"
)
CORRECTS = re.compile(
    r"^(?:the |my )?final (?:list|answer|picks|version)\b|\bmy final (?:list|answer)\b|\bon reflection\b"
    r"|\bi apologi[sz]e\b|\bmy (?:mistake|apologies|bad)\b|\byou (?:asked for|wanted|said)\b|\bdu wolltest\b|\bsie"
    r" wollten\b"
    r"|\b(?:better|revised|corrected|updated|improved|new) (?:list|version|set|answer|suggestions|recommendations"
    r"|picks)\b"
    r"|\blet me (?:try (?:that |this )?again|correct|fix|redo|revise|start over)|\bscratch that\b|\bon second thought\b"
    r"|\b(?:korrigierte|neue|bessere|überarbeitete) (?:liste|version|auswahl|vorschläge)\b|\b(?:noch ?mal|ich"
    r" korrigiere)\b"
)
TAKES_BACK = re.compile(
    r"^\W*(?:wait|oops|whoops|hold on|correction|scratch that|my mistake|my apologies|on second thought|moment"
    r"|halt|stopp|ups|hoppla|korrektur|entschuldigung|sorry)\b|\blet me (?:correct|fix|redo|revise)\b"
    r"|^actually,|^(?:replace|swap|make that|ersetze)\b"
)
OF_THE_PERSON = re.compile(
    r"^(?:(?:lives|works|has|likes|loves|prefers|wants|enjoys|studies|studied|owns|hates|married|vegan|vegetarian"
    r"|lebt|wohnt"
    r"|arbeitet|mag|hat|studiert|live in|work (?:as|in|at)|have an?)\b|you(?:'re|'ve|'d| \w+)|your \w+|the user \w+"
    r"|du \w+st\b|du bist|du hast|dein\w* \w+|sie \w+en\b)"
)
THOUGHTS = re.compile(r"<(think|thinking|thought)>.{0,16000}?(?:</\1>|\Z)", re.I | re.S)
OPENING_SIGNS = re.compile(r"^[^\w+]+")
SENTENCE = re.compile(r"(?<=[.!?])\s+")

Lines = Sequence[str]


@dataclass
class TextPart:
    """Lines of a text from a lead on, with the entries of one list."""

    start: int
    end: int = 0
    entries: list[int] = field(default_factory=list)
    kind: str = ""
    first: int = 0
    last: int = 0


def answering(lines: Lines) -> tuple[list[str], bool]:
    """The lines without the parts that advise nothing, and whether the text takes back items."""
    kept: list[TextPart] = []
    spare: dict[int, TextPart] = {}  # by place in `kept`: lists that are the answer if there is no other
    dropped: TextPart | None = None
    advised = False  # whether there was a list of the answer already
    for part in _parts(lines):
        role, at = _role_of(lines, part, advised)
        if role == "corrects":
            kept, spare, advised = [], {}, True
        elif role or (dropped and _goes_on(dropped, part)):
            if role == "concludes" or (not role and dropped in spare.values()):
                spare[len(kept)], advised = part, True
            dropped = part
            kept.append(TextPart(part.start, at))
            continue
        elif part.entries:
            advised, dropped = True, None
        kept.append(part)
    lists = [part for part in kept if len(part.entries) > 1 or part.first > 1]
    if not lists or any(one.last + 1 == part.first > 1 for one in spare.values() for part in lists):
        kept = [spare.get(place, part) for place, part in enumerate(kept)]
    left = [line for part in kept for line in lines[part.start : part.end]]
    return left, _takes_back(lines, kept)


def _parts(lines: Lines) -> Iterator[TextPart]:
    """Cut the text before each lead, and wherever another list begins."""
    part = TextPart(0)
    blank = False
    for at, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            blank = True
            continue
        kind, number = _entry(line)
        if _begins(part, line, kind, number, blank, lines):
            part.end = at
            yield part
            part = TextPart(at)
        if kind:
            if not part.entries:
                part.kind, part.first = kind, number
            part.entries.append(at)
            part.last = number or part.last
        blank = False
    part.end = len(lines)
    yield part


def _entry(line: str) -> tuple[str, int]:
    """The kind of the line (numbered, bulleted, bold or none), and its number."""
    if number := NUMBER.match(bare_line(line)):
        return "numbered", int(number["number"])
    bare = line.strip()
    if BULLET.match(bare):
        return "bulleted", 0
    return ("bold", 0) if BOLD.match(bare) and not BOLD_LINE.match(bare) else ("", 0)


def _begins(part: TextPart, line: str, kind: str, number: int, blank: bool, lines: Lines) -> bool:
    """Whether another part begins with the line."""
    if not part.entries:
        return bool(HEADING.match(line.strip())) and not kind
    first = lines[part.entries[0]]
    if not kind:
        return is_lead(line) or (blank and indent_of(line) <= indent_of(first))
    if indent_of(line) > indent_of(first) + 1:
        return False
    if kind != part.kind:
        return True
    return kind == "numbered" and (indent_of(line) < indent_of(first) - 1 or number not in (part.last, part.last + 1))


def is_lead(line: str) -> bool:
    """Whether a line announces a list: a heading, a line in bold, or one that ends in a colon."""
    line = line.strip()
    return bool(HEADING.match(line) or BOLD_LINE.match(line)) or line.rstrip("*_").endswith((":", "\uff1a"))


def _goes_on(before: TextPart, part: TextPart) -> bool:
    return bool(part.entries) and part.kind == before.kind == "numbered" and part.first == before.last + 1


def _role_of(lines: Lines, part: TextPart, advised: bool) -> tuple[str, int]:
    """The role of a part, empty if it is the answer or no list, and the line that shows it."""
    if not part.entries or part.first > 1:
        return "", part.start
    first = part.entries[0]
    lead = [at for at in range(part.start, first) if lines[at].strip()][-LEAD_LINES:]
    said = {at: _told(lines[at]) for at in lead}
    found = next(((role, at) for at in reversed(lead) if (role := _role_of_lead(said[at], advised))), ("", first))
    if found[0] in ("", "advises") and advised and any(CORRECTS.search(line) for line in said.values()):
        return "corrects", part.start
    bodies = [strip_marker(lines[at].strip()).replace("\u2019", "'").strip("*_ ") for at in part.entries]
    remembers = sum(bool(OF_THE_PERSON.match(body.lower())) for body in bodies) >= MOST * len(bodies) > 1
    if found[0] and not (remembers and found[0] == "concludes"):
        return "" if found[0] == "advises" else found[0], found[1]
    if lead and is_lead(lines[lead[-1]]) and not said[lead[-1]].endswith((":", "\uff1a")):
        return "", part.start  # a list below a title describes it
    if remembers:
        return "remembers", first
    if sum(bool(QUANTITY.match(body) or is_step(body)) for body in bodies) >= MOST * len(bodies) > 1:
        return "weighs", first
    asks = sum(is_aspect(_head(body)) or _is_question(body) for body in bodies) >= MOST * len(bodies) > 1
    return "asks" if asks else "", first


def _is_question(body: str) -> bool:
    return body.endswith("?") and bool(QUESTION.match(body))


def _told(line: str) -> str:
    told = bare_line(line)[:LEAD_LENGTH].replace("\u2019", "'").replace("*", "").lower().strip(" _")
    return OPENING_SIGNS.sub("", told)


def _role_of_lead(line: str, advised: bool) -> str:
    last = SENTENCE.split(line)[-1]
    if (remembers := REMEMBERS.search(last)) and not last.endswith("."):
        if ADVISES.search(last, remembers.end()):
            return "advises"
        return "concludes" if CONCLUDES.search(last) else "remembers"
    if advised and AVOIDS.search(last):
        return "avoids"
    if OFFERS.search(last):
        return "offers"
    if ANNOUNCES.search(last):
        return "advises"
    asked, advised_at = _end_of(ASKS, last), _end_of(ADVISES, last)
    if max(asked, advised_at) > 0:
        return "asks" if asked > advised_at else "advises"
    if last.endswith("?") and ADDRESSES.search(last):
        return "asks"
    if WEIGHS.match(last):
        return "weighs"
    if CITES.match(last):
        return "cites"
    if THINKS.match(last):
        return "thinks"
    return "adds" if MENTIONS.match(last) or (advised and ADDS.match(last)) else ""


def _end_of(words: re.Pattern[str], line: str) -> int:
    """Where the last match ends; 0 if there is none."""
    return max((match.end() for match in words.finditer(line)), default=0)


def _head(body: str) -> str:
    """The words of an entry before its explanation, folded."""
    cuts = (mark.search(body, 1) for mark in (COLON, DASH))
    head = body[: min((cut.start() for cut in cuts if cut), default=len(body))]
    return head.partition("(")[0].strip(" *_?.!:").lower()


def _takes_back(lines: Lines, kept: Sequence[TextPart]) -> bool:
    """Whether a line after a list says that something in it was wrong, without giving another list."""
    lists = [place for place, part in enumerate(kept) if part.entries]
    after = kept[lists[-1] + 1 :] if lists else []
    told = [_told(line) for part in after for line in lines[part.start : part.end]]
    inside = [_told(line) for place in lists for line in lines[kept[place].entries[-1] + 1 : kept[place].end]]
    return any(TAKES_BACK.search(line) for line in (*told, *inside))


def without_thoughts(text: str) -> str:
    return THOUGHTS.sub("\n", text) if "<th" in text.lower() else text
