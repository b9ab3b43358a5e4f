"""Texts that are no answers: a chatbot that declines, and pages that report an error or a limit."""

import re

HEAD = 320  # characters in which a refusal shows
SHORT = 250  # in a text this short that names nothing, less is enough: it can only be a refusal or an error

_VERBS = (
    "help|assist|provide|answer|give|recommend|suggest|do|fulfil+|comply|respond|discuss|create|generate"
    "|share"
    "|support|make|complete|offer|tell|process|access|browse|continue|engage|advise|confirm|perform|produce"
    "|promote|participate|choose|take|pick|judge"
)
# After "I" when a chatbot declines. All patterns are for lower-case text, which is faster by half.
_I_DECLINE = (
    r"(?:'m| am) (?:\w+ly )?(?:unable|incapable|(?:only|just) a (?:large )?language model|a text-based"
    r"|not (?:able|capable|allowed|permitted|comfortable|programmed|designed|qualified|in a position))",
    r"(?: simply| really| still)? (?:can't|cannot|can not|couldn't|could not|won't|will not)(?: be able to)?"
    rf" (?:\w+ly )?(?:{_VERBS})\b",
    r" (?:(?:must|have to|need to) (?:\w+ly )?)?decline\b",
    r"(?:'d| would) (?:rather|prefer) not\b",
    r" do(?:n't| not) (?:\w+ly )?(?:feel comfortable|have (?:enough|the (?:ability|capacity|capability)"
    r"|(?:\S+ )?access|any (?:way|information)))",
)
DECLINES = re.compile(
    r"^(?:oh,? |hmm,? )?(?:(?:i'm|i am) (?:very |so |really |truly )?sorry|sorry|my apologies|apologies"
    r"|i apologi[sz]e),? (?:but|i|as|that|this|we)\b"
    rf"|\b(?:i(?:{'|'.join(_I_DECLINE)})"
    r"|(?:it|this|that)(?:'s| is|'d be| would) not (?:be )?(?:\w+ly )?(?:ethical|appropriate|possible"
    r"|something i)\b"
    r"|not (?:something i(?:'m| am| can)|among them)\b"
    r"|against my (?:programming|guidelines|polic)"
    r"|let's (?:talk about|discuss|change) (?:something|the (?:topic|subject))\b"
    r"|still learning how to\b)"
)
DECLINES_ELSEWHERE = re.compile(
    r"\s*(?:lo siento|lamentablemente|desculpe|sinto muito|lamento|(?:je suis )?désolé|malheureusement"
    r"|(?:es )?tut mir leid|leider kann ich|mi dispiace|przykro mi|извините|к сожалению|(?:أنا )?آسف|عذر"
    r"|entschuldig|ich (?:kann|darf|möchte|werde)(?: \w+){0,4} (?:nicht|keine?)\b(?! nur)"
    r"|抱歉|对不起|申し訳|すみません|죄송)"
)
FAILED = re.compile(
    r"something(?: (?:went|seems to have gone) wrong|'s not right)|network error|error in (?:message"
    r"|input) stream"
    r"|message stream error|encountered an error|error(?: has)? (?:occurred|generating)|error code:? ?\d"
    r"|you(?:'ve| have) (?:reached|hit|run out of) (?:your|the|our)\b.{0,40}(?:limit|quota|messages?|plan)"
    r"|(?:usage|message|rate) (?:limit|cap) (?:reached|exceeded)|too many (?:requests|messages)"
    r"|(?:request|response|connection) (?:has )?(?:timed out|was interrupted|failed)"
    r"|unable to (?:load|connect|reach)|failed to (?:get|load|fetch|generate)\b.{0,40}"
    r"|at capacity|experiencing (?:high|heavy|exceptionally high) (?:demand|load|traffic)"
    r"|check your (?:internet|network) connection|no internet|you(?:'re| are) (?:currently )?offline"
    r"|please try again (?:later|in a)|(?:may|might) violate (?:our|the) (?:usage|content|terms)|violates our"
    r"|verify (?:that )?you(?:'re| are) (?:a )?human|your session has expired"
    r"|(?:sign|log) in to (?:continue|your account)|you(?:'ve| have) been (?:logged|signed) out"
    r"|isn't (?:currently )?(?:supported|available) in your|service (?:is )?(?:temporarily )?unavailable"
    r"|internal server error|bad gateway|access denied|couldn't connect|response (?:was )?stopped"
    r"|ein fehler (?:ist )?aufgetreten|ist (?:etwas )?schiefgelaufen|netzwerkfehler|fehler bei der generierung"
    r"|limit erreicht|versuche? es (?:bitte )?später|du hast diese antwort angehalten"
    r"|you stopped this response|conversation not found|if this issue persists|load failed"
)
DECLINES_SHORTLY = re.compile(
    r"\bi(?:'m| am| was| do| did| can| could| will| would| should)?(?: not|n't|not)\b|\bunable\b|\bpass on\b"
    r"|\bi(?:'m| am) an ai\b|\b(?:isn't|is not|not) (?:something|my place|a question) (?:i|to|for)\b"
    r"|\buncomfortable\b"
    r"|\b(?:beyond|outside) (?:what|my)\b|\bguidelines?\b|\bpolic(?:y|ies)\b|\bthis request\b"
    r"|\bno puedo\b|\bnon posso\b|\bnão posso\b|\bne (?:peux|suis) pas\b|\bkann\b.{0,40}\bnicht\b"
)
FAILED_SHORTLY = re.compile(
    r"\b(?:errors?|failed|failure|oops|unavailable|overloaded|interrupted|unsuccessful|expired|timeout)\b"
    r"|\b(?:went|gone) wrong\b|\bat capacity\b|\btry(?:ing)? (?:again|to reconnect)|\breconnect"
    r"|\bstatus code\b"
    r"|\bconnection (?:lost|closed|reset|is)|\b(?:refresh|reload)(?:ing)? (?:the|this) page"
    r"|\bunusual activity\b"
    r"|\b(?:sign|log) (?:up|in) to\b|\bhaving trouble\b|\bout of (?:free )?(?:messages|requests|credits)"
    r"|\b(?:limit|quota)\b|\bnot found\b|\btoo many\b|\bcome back\b|\bservers?\b|\bin a (?:few|moment)\b"
    r"|\bupgrade to\b|\bused (?:all|up)\b|\b(?:generation|response) stopped\b|\bno output\b|\bcan(?:'t"
    r"|not) be reached\b|\bbe back\b"
)


def declines(text: str) -> bool:
    """Whether the opening of `text` says that no answer will be given."""
    head = _plain(text[:HEAD])
    return bool(DECLINES.search(head) or DECLINES_ELSEWHERE.match(head))


def falls_short(text: str) -> bool:
    """Whether a short `text` speaks of something impossible or failed; the caller sees whether it names anything."""
    if len(text) > SHORT:
        return False
    head = _plain(text)
    return bool(DECLINES_SHORTLY.search(head) or FAILED_SHORTLY.search(head))


def reports_failure(text: str) -> str | None:
    """The words of an error message, anywhere in a short text or in the last line of a longer one; else None."""
    plain = _plain(text)
    if len(plain) > 600:
        plain = plain[-160:].splitlines()[-1]
    match = FAILED.search(plain)
    return match[0] if match else None


def _plain(text: str) -> str:
    return text.replace("\u2019", "'").replace("*", "").strip().lower()
