"""Words that belong to a chatbot's page and not to its answer: buttons, labels, disclaimers."""

import re

# Lines that no answer has by itself; one is enough, wherever it stands.
SURE = re.compile(
    r"^[ \t>*]*(?:"
    r"(?:chatgpt|gemini|claude|copilot|bing|assistant)(?: \S{1,12}){0,2} (?:said|replied|wrote|answered"
    r"|says):?"
    r"|(?:you|user) said:?|you:|chatgpt:|gemini:"
    r"|\w{0,12} ?copy code|\w{0,12}copyedit|copy (?:response|message|to clipboard|link|table)|copied!?"
    r"|(?:regenerate|retry)(?: response| draft| answer)?|try again\.\.\.|stop generating"
    r"|(?:show|hide|view other|regenerate) drafts?|draft \d|show thinking|hide thinking"
    r"|thought (?:for|about this for) (?:a (?:few )?seconds?|\d{1,4} ?(?:s|seconds?|m"
    r"|minutes?)(?: \d{1,2} ?(?:s|seconds?))?)"
    r"|reasoned (?:about .{1,60} )?for .{1,30}|analy[sz]ed \d+ images?|searched \d+ sites|searching the web"
    r"|export to (?:sheets|docs)|double-check response|share & export|open in (?:docs|sheets|canvas)"
    r"|(?:good|bad) response|edit (?:message|prompt|in a page)|read aloud|switch model|more actions"
    r"|(?:chatgpt|gemini|copilot|claude) (?:can|may|could) make mistakes\b.{0,120}"
    r"|gemini (?:may|can) display inaccurate info\b.{0,160}|.{0,60}so double-check (?:it|its responses)\.?"
    r"|(?:free research preview|your privacy (?:&|and) gemini).{0,120}"
    r"|conversation with gemini|google apps|(?:saved )?memory (?:updated|full)|updated saved memory"
    r"|is this conversation helpful so far\?|was this response better or worse\?|opens in a new window"
    r"|which response do you prefer\?|response [12]|you're giving feedback on .{1,60}"
    r"|message (?:chatgpt|gemini|copilot)|ask (?:anything|gemini)|enter a prompt here|log in"
    r"|sign up(?: for free)?"
    r"|skip to content|chat history|temporary chat|new chat|\d{1,2} ?/ ?\d{1,2}"
    r"|chatgpt hat gesagt:?|du hast gesagt:?|code kopieren|chatgpt kann fehler machen.{0,80}|neu generieren"
    r"|chatgpt dijo:?|dijiste:?|has dicho:?|copiar c\u00f3digo|chatgpt puede cometer errores.{0,80}"
    r"|regenerar|mostrar borradores"
    r"|chatgpt a dit\s?:?|vous avez dit\s?:?|copier le code|chatgpt peut (?:faire des erreurs"
    r"|commettre des erreurs).{0,80}"
    r"|chatgpt disse:?|voc\u00ea disse:?|copiar c\u00f3digo|hai detto:?|chatgpt ha detto:?|copia codice"
    r"|\u0642\u0627\u0644 chatgpt:?|\u0644\u0642\u062f \u0642\u0644\u062a:?"
    r"|\u0646\u0633\u062e \u0627\u0644\u0643\u0648\u062f"
    r"|chatgpt \u8bf4[\uff1a:]?|\u4f60\u8bf4[\uff1a:]?|\u590d\u5236\u4ee3\u7801"
    r"|chatgpt \u3067\u3082\u9593\u9055\u3048\u308b\u3053\u3068\u304c\u3042\u308a\u307e\u3059.{0,60}"
    r")[ \t*]*$",
    re.I,
)
# Words that an answer may hold too: they count as a whole line among the first or the last lines only.
LIKELY = re.compile(
    r"^(?:share|copy|edit|listen|sources|like|dislike|save|export|retry|more|report|submit|upgrade|tools"
    r"|canvas|"
    r"chatgpt(?: (?:\d\S*|plus|auto|instant|thinking))?|gemini(?: (?:advanced|\d\S*(?: (?:flash|pro))?))?"
    r"|gpt-?\d\S*|\do(?:-mini)?|flash|"
    r"2\.\d (?:flash|pro)|you|user|copilot|compartir|teilen|partager|copiar|kopieren|copier|bearbeiten"
    r"|modifier|editar)$",
    re.I,
)
EDGE_LINES = 3
HEAD_LINES, TAIL_LINES = 300, 100  # where the words of the page are looked for


def find_residue(text: str) -> list[str]:
    """The words of the chatbot's page that stand in `text`, each once, in their order."""
    found = [line.strip(" \t>*") for line in _outer_lines(text) if len(line) < 200 and SURE.match(line)]
    found += [line for line in _edge_lines(text) if LIKELY.match(line)]
    return list(dict.fromkeys(found))


def strip_residue(text: str) -> str:
    """`text` without such lines before its first and after its last line of answer."""
    lines = text.splitlines()
    while lines and _is_residue(lines[-1]):
        lines.pop()
    first = next((at for at, line in enumerate(lines) if not _is_residue(line)), len(lines))
    return "\n".join(lines[first:])


def _outer_lines(text: str) -> list[str]:
    lines = text.splitlines()
    return lines if len(lines) <= HEAD_LINES + TAIL_LINES else [*lines[:HEAD_LINES], *lines[-TAIL_LINES:]]


def _edge_lines(text: str) -> list[str]:
    """The outermost lines of a text of several; a text of one line is all answer."""
    head = [line.strip() for line in text[:2000].splitlines() if line.strip()]
    tail = [line.strip() for line in text[-2000:].splitlines() if line.strip()]
    return [*head[:EDGE_LINES], *tail[-EDGE_LINES:]] if len(head) > 1 else []


def _is_residue(line: str) -> bool:
    line = line.strip()
    return not line or len(line) < 200 and bool(SURE.match(line) or LIKELY.match(line))
