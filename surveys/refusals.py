"""Answers that are none: a chatbot that declines, and pages that report an error or a limit."""

import re

HEAD = 320  # characters in which a refusal says so

_VERBS = (
    "help|assist|provide|answer|give|recommend|suggest|do|fulfil+|comply|respond|discuss|create|generate"
    "|share|support|make"
    "|complete|offer|tell|process|access|browse|continue|engage|advise|confirm|perform|produce|promote"
    "|participate|choose|take|pick|judge"
)
DECLINES = re.compile(
    r"^(?:oh,? |hmm,? )?(?:(?:i'm|i am) (?:very |so |really |truly )?sorry|sorry|my apologies|apologies"
    r"|i apologi[sz]e),? (?:but|i|as|that|this|we)\b"
    r"|\bi(?:'m| am) (?:\w+ly )?(?:unable|incapable|(?:only|just) a (?:large )?language model|a text-based"
    r"|not (?:able|capable|allowed|permitted|comfortable|programmed|designed|qualified|in a position))"
    rf"|\bi(?: simply| really| still)? (?:can't|cannot|can not|couldn't|could not|won't"
    rf"|will not)(?: be able to)? (?:\w+ly )?(?:{_VERBS})\b"
    r"|\bi (?:(?:must|have to|need to) (?:\w+ly )?)?decline\b|\bi(?:'d| would) (?:rather|prefer) not\b"
    r"|\bi do(?:n't| not) (?:\w+ly )?(?:feel comfortable|have (?:enough|the (?:ability|capacity"
    r"|capability)|(?:\S+ )?access|any (?:way|information)))"
    r"|\b(?:it|this|that)(?:'s| is|'d be| would) not (?:be )?(?:\w+ly )?(?:ethical|appropriate|possible"
    r"|something i)\b|\bnot something i(?:'m| am| can)\b"
    r"|\bagainst my (?:programming|guidelines|polic)|\blet's (?:talk about|discuss|change) (?:something"
    r"|the (?:topic|subject))\b"
    r"|\bstill learning how to\b|\bnot among them\b",
    re.I,
)
DECLINES_ELSEWHERE = re.compile(
    r"^\s*(?:lo siento|lamentablemente|desculpe|sinto muito|lamento|je suis d\u00e9sol\u00e9"
    r"|d\u00e9sol\u00e9|malheureusement|es tut mir leid"
    r"|tut mir leid|leider kann ich|mi dispiace|przykro mi"
    r"|\u0438\u0437\u0432\u0438\u043d\u0438\u0442\u0435"
    r"|\u043a \u0441\u043e\u0436\u0430\u043b\u0435\u043d\u0438\u044e"
    r"|\u0622\u0633\u0641|\u0639\u0630\u0631|\u0623\u0646\u0627 \u0622\u0633\u0641|\u62b1\u6b49"
    r"|\u5bf9\u4e0d\u8d77|\u7533\u3057\u8a33|\u3059\u307f\u307e\u305b\u3093|\uc8c4\uc1a1)",
    re.I,
)
FAILED = re.compile(
    r"something (?:went|seems to have gone) wrong|(?:a )?network error|error in (?:message|input) stream"
    r"|message stream error"
    r"|encountered an error|(?:an|there was an) (?:unexpected |unknown "
    r"|internal )?error(?: has)? (?:occurred|generating)|error generating (?:a )?response"
    r"|you(?:'ve| have) (?:reached|hit|run out of) (?:your|the|our)\b.{0,40}(?:limit|quota|messages?"
    r"|plan)|(?:usage|message|rate) (?:limit|cap) (?:reached|exceeded)"
    r"|too many (?:requests|messages)|(?:request|response|connection) (?:has )?(?:timed out"
    r"|was interrupted|failed)|unable to (?:load|connect|reach)"
    r"|failed to (?:get|load|fetch|generate)\b.{0,40}|(?:at capacity|experiencing (?:high|heavy"
    r"|exceptionally high) (?:demand|load|traffic))"
    r"|check your (?:internet|network) connection|no internet|you(?:'re| are) (?:currently )?offline"
    r"|please try again (?:later|in a)"
    r"|(?:may|might) violate (?:our|the) (?:usage|content|terms)|violates our|verify (?:that )?you(?:'re"
    r"| are) (?:a )?human|your session has expired"
    r"|(?:sign|log) in to (?:continue|your account)|you(?:'ve| have) been (?:logged|signed) out"
    r"|isn't (?:currently )?(?:supported|available) in your"
    r"|service (?:is )?(?:temporarily )?unavailable|internal server error|bad gateway|error code:? ?\d"
    r"|access denied|couldn't connect|response (?:was )?stopped"
    r"|you stopped this response|conversation not found|if this issue persists|load failed"
    r"|something's not right",
    re.I,
)


def declines(text: str) -> bool:
    """Whether the opening of `text` says that no answer will be given."""
    head = _plain(text[:HEAD])
    return bool(DECLINES.search(head) or DECLINES_ELSEWHERE.match(head))


def reports_failure(text: str) -> str | None:
    """The words of an error message at the beginning or the end of `text`."""
    plain = _plain(text)
    if len(plain) > 600:
        plain = plain[-160:]
        match = FAILED.search(plain)
        return match[0] if match and len(plain.splitlines()[-1]) < 160 else None
    match = FAILED.search(plain)
    return match[0] if match else None


def _plain(text: str) -> str:
    return text.replace("\u2019", "'").replace("*", "").strip()
