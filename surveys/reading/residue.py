"""Words that belong to a chatbot's page and not to its answer: buttons, labels, disclaimers."""

import re
from collections.abc import Sequence
from functools import lru_cache

_BOT = r"(?:chatgpt|gemini|claude|copilot|bing|meta ai|grok|assistant)"
_BOT_SPOKE = (
    rf"(?:o )?{_BOT}(?: \S{{1,12}}){{0,2}} (?:said|says|replied|wrote|answered|dijo|disse|sagte|hat gesagt"
    rf"|ha detto|a dit|说|說) ?[:：]?|{_BOT} ?:|قال chatgpt:?"
)
_USER_SPOKE = (
    r"(?:you|user|tú|sie|du|vous|tu|você|hai) (?:said|dijiste|sagten|hast gesagt|sagtest|avez dit|as dit"
    r"|disse|detto) ?:?|(?:you|user) ?:|dijiste:?|has dicho:?|你说[：:]?|لقد قلت:?"
)
# Lines that no answer has by itself; one is enough, wherever it is. Each is a whole line. As in all patterns of lines
# but SPOKE and SITE, for lower-case text, which is twice as fast.
_SURE = (
    _BOT_SPOKE,
    _USER_SPOKE,
    # code and tables
    r"(?:plaintext|text|markdown|python|bash|shell|json|html|css|javascript|sql|yaml|xml)copy(?: code"
    r"|edit).*",
    r"\w{0,12} ?copy code|\w{0,12}copyedit|copy (?:response|message|to clipboard|link|table)|copied!?",
    r"code kopieren|copiar código|copier le code|copia codice|نسخ الكود|复制代码|export to (?:sheets|docs)",
    # progress
    r"(?:thought|worked|reasoned|searched|analy[sz]ed|browsed)(?: about .{1,60}| about this)? for .{1,30}",
    r"(?:(?:finished )?(?:analy[sz]ing|thinking|browsing|searching(?: (?:for|the) .{1,40})?)"
    r"|reading \d+ sources)(?:\u2026|\.\.\.)?",
    r"(?:searched|read|analy[sz]ed) (?:the web|\d+ \w{1,12})|(?:show|hide) thinking",
    r"(?:updated )?(?:saved )?memory(?: (?:updated|full))?|do you want to save this memory\?",
    # buttons
    r"(?:regenerate|retry|redo|try again)(?: response| draft| answer|\.\.\.)?|stop generating|regenerar"
    r"|neu generieren",
    r"(?:show|hide|view (?:all|other)|regenerate) drafts?|draft \d|mostrar borradores|\d{1,2} ?/ ?\d{1,2}",
    r"double-check response|share (?:& export|via \w{1,12})|(?:open|edit) in (?:docs|sheets|canvas|a page)",
    r"(?:good|bad) response|edit (?:message|prompt)|expand prompt|read aloud|switch model|more actions"
    r"|thumbs (?:up|down)",
    r"(?:get plus|upgrade (?:plan|to \w{1,12})|give feedback|log in|sign up(?: for free)?|stay logged out)",
    rf"(?:message|ask) (?:{_BOT}|anything)|enter a prompt here|skip to content|chat history|temporary chat",
    r"(?:start |continue in )?a? ?new chat|search chats|conversation with gemini|google apps",
    # notices and questions of the page
    rf".{{0,30}}\b(?:{_BOT}|ai)\b.{{0,30}}\b(?:mistakes|errores|fehler|erreurs|erros|errori|間違え)\b.{{0,60}}",
    r"gemini (?:may|can) display inaccurate info\b.{0,160}|.{0,60}so double-check (?:it|its responses)\.?",
    r"(?:free research preview|your privacy (?:&|and) gemini).{0,120}|.{0,60}opens in a new window",
    r"(?:is|was) this (?:conversation |response )?(?:helpful|better or worse)(?: so far)?\?"
    r"|do you like this personality\?",
    r"which response do you prefer\?|response [12]|you're giving feedback on .{1,60}"
    r"|chatgpt でも間違える.{0,60}",
)
SURE = re.compile(rf"^[ \t>*]*+(?:{'|'.join(_SURE)})[ \t*]*$")
SPOKE = re.compile(rf"^[ \t>*#]*+(?:(?P<bot>{_BOT_SPOKE})|{_USER_SPOKE})[ \t*]*$", re.I)
# Words that an answer may hold too: they count as a whole line among the first or the last lines only.
_LIKELY = (
    "share|copy|edit|edited|listen|sources|references|like|dislike|save|export|retry|more|report|submit|upgrade|tools",
    "canvas|voice|volume_up|today|you|user|copilot",
    r"chatgpt(?: (?:\d\S*|plus|auto|instant|thinking))?(?: \W)?|gemini(?: (?:advanced|\d\S*(?: (?:flash"
    r"|pro))?))?",
    r"gpt-?\d\S*(?: mini)?|\do(?:-mini)?|\d\.\d (?:flash|pro)|\d{1,2}:\d\d(?: [ap]m)?",
    "compartir|teilen|partager|compartilhar|condividi|copiar|kopieren|copier|copia|bearbeiten|modifier|editar|modifica",
)
LIKELY = re.compile(rf"^(?:{'|'.join(_LIKELY)})$")
# Buttons and notices that only the paste page looks for, which shows the lines it removes; readings ignore them.
_BUTTONS = (
    r"(?:copy|edit) prompt|share conversation|sources and related content",
    r"(?:gute|schlechte) antwort|antwort (?:neu generieren|kopieren|teilen|noch einmal prüfen)|prompt bearbeiten",
    r"in canvas bearbeiten|modell wechseln|weitere aktionen|in google (?:docs|tabellen) exportieren",
    r"(?:gedankengang|überlegungen|quellen|entwürfe) (?:anzeigen|ausblenden)|quellen und ähnliche inhalte",
    r"nachgedacht für .{1,30}|.{1,30} (?:lang )?nachgedacht|das web wird durchsucht|im web gesucht",
    r"(?:gespeicherte )?erinnerung(?:en)? aktualisiert|wird in einem neuen fenster geöffnet",
    rf"(?:frage? (?:irgendwas|{_BOT})|stelle irgendeine frage)",
    rf".{{0,30}}\b(?:{_BOT}|ki)\b.{{0,30}}\bfehler machen\b.{{0,160}}",
)
BUTTONS = re.compile(rf"^[ \t>*]*+(?:{'|'.join(_BUTTONS)})[ \t*]*$")
EDGE_BUTTONS = re.compile(r"^(?:quellen|vorlesen|laut vorlesen|anhören|erneut versuchen|mehr anzeigen|show more)$")
BADGE = re.compile(r"^\+\d{1,2}$")  # how many sources more; the line before it names the first
SITE = re.compile(r"^(?:[a-z0-9-]{1,40}\.){1,3}[a-z]{2,6}$", re.I)
EDGE_LINES = 3
BARE_WORDS = 5
HEAD_LINES, TAIL_LINES = 300, 100  # where the words of the page are looked for


def find_residue(text: str) -> list[str]:
    """The lines of the chatbot's page in `text`, each once: first those that no answer has."""
    found = [line.strip(" \t>*") for line in _outer_lines(text) if is_sure(line)]
    found += [line for line in _edge_lines(text) if is_likely(line)]
    return list(dict.fromkeys(found))


def is_sure(line: str) -> bool:
    return len(line) < 200 and bool(SURE.match(lowered := line.lower()) or BUTTONS.match(lowered))


def is_likely(line: str) -> bool:
    return bool(LIKELY.match(lowered := line.lower()) or EDGE_BUTTONS.match(lowered))


def page_lines(text: str, prompt: str = "") -> list[int]:
    """The numbers, from 0, of the lines that belong to the chatbot's page; none if no other line would stay.

    A badge of sources counts with the site before it. At the edges go buttons that an answer might name too, and the
    prompt before its answer. A line feed alone ends a line.
    """
    lines = [line.strip() for line in text.split("\n")]
    near = {*range(HEAD_LINES), *range(len(lines) - TAIL_LINES, len(lines))}
    gone = {at for at, line in enumerate(lines) if line and at in near and is_sure(line)}
    for at, line in enumerate(lines):
        if BADGE.match(line) and at and SITE.match(lines[at - 1]):
            gone |= {at - 1, at}
    has_likely = bool(_edge_lines(text))
    for way in (range(len(lines)), range(len(lines) - 1, -1, -1)):
        for at in way:
            if lines[at] and at not in gone and not (has_likely and is_likely(lines[at])):
                break
            gone |= {at} if lines[at] else set()
    gone |= _prompt_lines(lines, gone, prompt)
    return sorted(gone) if any(line and at not in gone for at, line in enumerate(lines)) else []


def _prompt_lines(lines: list[str], gone: set[int], prompt: str) -> set[int]:
    """The first lines that are left, if they are the prompt to the letter."""
    left, wanted = [at for at, line in enumerate(lines) if line and at not in gone], prompt.split()
    said: list[str] = []
    for count, at in enumerate(left, 1):
        said += lines[at].split()
        if wanted and said == wanted:
            return set(left[:count])
        if len(said) >= len(wanted):
            break
    return set()


def without_questions(lines: Sequence[str]) -> list[str]:
    """The lines without who spoke, as in "You said:", and without the person's words before each "ChatGPT said:"."""
    kept: list[str] = []
    asked_at: int | None = None
    for line in lines:
        spoke = SPOKE.match(line) if len(line) < 60 else None
        if spoke is None:
            kept.append(line)
        elif not spoke["bot"]:
            asked_at = len(kept)
        elif asked_at is not None:
            del kept[asked_at:]
            asked_at = None
    return kept


# The checks of one paste ask for it several times.
@lru_cache(maxsize=4)
def strip_residue(text: str) -> str:
    """The text without lines of the chatbot's page before the first and after the last line of the answer."""
    lines = text.splitlines()
    while lines and _is_residue(lines[-1]):
        lines.pop()
    first = next((at for at, line in enumerate(lines) if not _is_residue(line)), len(lines))
    return "\n".join(lines[first:])


def _outer_lines(text: str) -> list[str]:
    lines = text.splitlines()
    return lines if len(lines) <= HEAD_LINES + TAIL_LINES else [*lines[:HEAD_LINES], *lines[-TAIL_LINES:]]


def _edge_lines(text: str) -> list[str]:
    """The outermost lines; none of a bare list of names, in which "You" or "Share" may be a title."""
    head = [line.strip() for line in text[:2000].splitlines() if line.strip()]
    tail = [line.strip() for line in text[-2000:].splitlines() if line.strip()]
    if all(len(line.split()) <= BARE_WORDS for line in head):
        return []
    return [*head[:EDGE_LINES], *tail[-EDGE_LINES:]]


def _is_residue(line: str) -> bool:
    line = line.strip()
    return not line or len(line) < 200 and bool(SURE.match(lowered := line.lower()) or LIKELY.match(lowered))
