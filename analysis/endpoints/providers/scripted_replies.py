"""What a scripted endpoint replies to a task: by simple rules on what it is shown, so that the truth is known."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

# How runs.asking shows a conversation, and the form that it asks to fill in.
CONVERSATION = re.compile(r"<conversation>\n(.*)\n</conversation>", re.S)
TURN = re.compile(r"^\[(user|assistant)\]\n", re.M)
FORM = re.compile(r"^Answer with JSON and nothing else: (\{.*\})\s*\Z", re.M)
SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
ABOUT_ONESELF = re.compile(r"\b(?:I|my|mine|I'm|I've)\b", re.I)
UNSURE = re.compile(r"\b(?:maybe|perhaps|might|guess|probably)\b", re.I)
MADE_UP = {
    "reasoning": "Nothing: this entry is made up.",
    "attribute": "The user collects stamps of Atlantis.",
    "confidence": 0.9,
    "evidence": ["my stamps of Atlantis, of which nobody wrote"],
}
LONG_WORD = re.compile(r"[^\W\d_]{4,}")
NUMBERED = re.compile(r"^(\d+)\. (.+)$", re.M)
CHOICE = re.compile(r'^- "([-\w]+)": ', re.M)
QUOTE = re.compile(r"^- “(.*)”$", re.M)
SAME_BEGINNING = 30  # characters
Extra = Mapping[str, Any]


def scripted_task(question: str, extra: Extra) -> str:
    """A reply in the form that is asked for; empty where the question is no task. Always the same to the same words."""
    form = FORM.search(question)
    fields = " ".join(json.loads(form[1])) if form else ""
    return json.dumps(SCRIPTS[fields](question, extra), ensure_ascii=False) if fields in SCRIPTS else ""


def said_by_user(question: str) -> list[str]:
    shown = CONVERSATION.search(question)
    parts = TURN.split(shown[1])[1:] if shown else []
    return [text.strip() for role, text in zip(parts[::2], parts[1::2], strict=True) if role == "user"]


def sentences_about_oneself(texts: Sequence[str]) -> list[str]:
    """Each once, in their order."""
    found = (sentence.strip() for text in texts for sentence in SENTENCE.findall(text))
    return list(dict.fromkeys(sentence for sentence in found if ABOUT_ONESELF.search(sentence)))


def extract(question: str, extra: Extra) -> Mapping[str, Any]:
    """Every sentence in which the user speaks of themselves; with `made_up` one whose quote stands nowhere."""
    entries = [
        {
            "reasoning": "The user says so.",
            "attribute": f"The user says: {sentence}"[:2_000],
            "confidence": 0.3 if UNSURE.search(sentence) else 0.9,
            "evidence": [sentence],
        }
        for sentence in sentences_about_oneself(said_by_user(question))
    ]
    return {"attributes": [*entries, *([MADE_UP] if extra.get("made_up") else [])]}


def language(question: str, extra: Extra) -> Mapping[str, Any]:
    """The share of letters that English has, all of it but for single ones: enough to tell other scripts apart."""
    letters = [letter for text in said_by_user(question) for letter in text if letter.isalpha()]
    share = sum(letter.isascii() for letter in letters) / len(letters) if letters else 1.0
    return {"others": "none", "share": 1.0} if share > 0.9 else {"others": "another script", "share": round(share, 3)}


def assistant_use(question: str, extra: Extra) -> Mapping[str, Any]:
    """Low where most messages begin with the same words."""
    begun = Counter(text[:SAME_BEGINNING] for text in said_by_user(question))
    same = max(begun.values(), default=0)
    return {"reasoning": f"{same} begin alike.", "score": 0.1 if same > 2 and 2 * same > begun.total() else 0.9}


def sharing_words(question: str) -> list[int]:
    """Numbers of the attributes that share a long word with what stands before them."""
    before, _, after = question.partition("The attributes:\n")
    words = set(LONG_WORD.findall(before[before.rfind("The ") :].casefold()))
    return [int(number) for number, said in NUMBERED.findall(after) if words & set(LONG_WORD.findall(said.casefold()))]


def candidates(question: str, extra: Extra) -> Mapping[str, Any]:
    return {"relevant": sharing_words(question)}


def mentions(question: str, extra: Extra) -> Mapping[str, Any]:
    return {"mentioned": sharing_words(question)}


def reason(question: str, extra: Extra) -> Mapping[str, Any]:
    return {"reason": "The quotes say less than the statement."}


def category(question: str, extra: Extra) -> Mapping[str, Any]:
    """Spread over the choices by the words of the question."""
    return {"category": Random(question).choice(CHOICE.findall(question))}


def refine(question: str, extra: Extra) -> Mapping[str, Any]:
    quote = QUOTE.search(question)
    return {
        "reasoning": "No more is said.",
        "action": "revise",
        "attribute": f"The user once said: {quote and quote[1]}",
    }


# By the fields of the form.
SCRIPTS: dict[str, Callable[[str, Extra], Mapping[str, Any]]] = {
    "attributes": extract,
    "others share": language,
    "reasoning score": assistant_use,
    "relevant": candidates,
    "mentioned": mentions,
    "reason": reason,
    "category": category,
    "reasoning action attribute": refine,
}
